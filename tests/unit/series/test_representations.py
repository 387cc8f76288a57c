"""Patterns of segments and of slopes: the same judges, recounted by hand."""

from __future__ import annotations

from itertools import pairwise
from statistics import NormalDist, fmean, median, pstdev
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.sabotage.tampering import section, with_values

import timeveil as tv
from timeveil.datasets import load_curves
from timeveil.symbols import LETTERS, Representation, Segments, Slopes, z_normalised

HOURS = [f"h{hour:02}" for hour in range(7)]
LOADS = load_curves(people=60, instants=7, seed=3)
ROLES = tv.Roles(respondent="household", series=HOURS, sensitive=["tariff"])
PAA: dict[str, Any] = {"representation": "paa", "segment": 3}
SLOPES: dict[str, Any] = {"representation": "slopes"}
KINDS = pytest.mark.parametrize("kind", [PAA, SLOPES], ids=["paa", "slopes"])


def features_of(row: list[float], kind: dict[str, Any], center: str = "mean") -> list[float]:
    """By the definition, one number at a time."""
    middle, deviation = {"mean": fmean, "median": median}[center](row), pstdev(row)
    z = [(value - middle) / deviation if deviation else 0.0 for value in row]
    if kind is PAA:
        return [fmean(z[0:3]), fmean(z[3:6]), z[6]]
    return [(after - before) / 2**0.5 for before, after in pairwise([*z, z[0]])]


def has(feature: float, letter: str, level: int) -> bool:
    """Whether a feature is in the cell of a letter; a border belongs to the upper one."""
    borders = (NormalDist().inv_cdf(part / level) for part in range(1, level))
    return sum(border <= feature + 1e-12 for border in borders) == LETTERS.index(letter)


def rows_that_fit(release: tv.Release, row: list[float], kind: dict[str, Any], known: set[int]) -> int:
    """How many published rows have the letters of a series at these features."""
    features, fits = features_of(row, kind, release.manifest["series"]["center"]), 0
    for line in release.table.select(["pattern", "level"]).to_pylist():
        levels = np.broadcast_to(line["level"], len(features)).tolist()
        cells = zip(features, line["pattern"], levels, strict=True)
        fits += all(has(*cell) for place, cell in enumerate(cells) if place in known)
    return fits


@KINDS
@pytest.mark.parametrize("method", ["adaptive", "kapra", "naive", "representative"])
@pytest.mark.parametrize("center", ["mean", "median"])
def test_every_judge_judges_it(kind: dict[str, Any], method: str, center: str) -> None:
    """Letters are those of the series, counted by hand; nobody is found above 1 in p."""
    release, ledger = tv.anonymize_series(
        LOADS, ROLES, k=6, p=3, method=method, center=center, effort=0, **kind
    )
    assert tv.verify(release)
    assert tv.verify(release, ledger)
    width = 3 if kind is PAA else 7
    assert {len(text) for text in release.table["pattern"].to_pylist()} == {width}
    assert tv.attack(release, ledger, tv.SeriesAdversary(pattern=True)).worst <= 1 / 3
    without, _ = tv.anonymize_series(LOADS, ROLES, k=6, p=1, method="kapra", center=center, **kind)
    assert tv.verify(without)
    assert tv.answer(without, tv.RangeCount({"h00": (0, 1)})).high <= 60
    assert 0 <= tv.measure(release, ledger, queries=20).pattern_loss <= 2
    if release.manifest["series"]["own_patterns"]:
        matrix = np.column_stack([LOADS[hour].to_numpy() for hour in HOURS])
        breach = tv.attack(release, ledger, tv.SeriesAdversary(None, pattern=True))
        published = ledger.table["group"].is_valid().to_pylist()
        for candidates, row, is_published in zip(
            breach.after.candidates.tolist(), matrix.tolist(), published, strict=True
        ):
            assert candidates == (rows_that_fit(release, row, kind, set(range(width))) * is_published)


@pytest.mark.parametrize(("kind", "known"), [(PAA, {1}), (SLOPES, {2, 3, 4})], ids=["paa", "slopes"])
def test_a_part_of_a_shape_shows_what_follows_from_it_alone(kind: dict[str, Any], known: set[int]) -> None:
    """Who knows h02 to h05 knows the second segment, and three of the seven steps."""
    release, ledger = tv.anonymize_series(LOADS, ROLES, k=6, p=3, effort=0, **kind)
    adversary = tv.SeriesAdversary(None, pattern=True, pattern_of=HOURS[2:6])
    candidates = tv.attack(release, ledger, adversary).after.candidates.tolist()
    matrix = np.column_stack([LOADS[hour].to_numpy() for hour in HOURS]).tolist()
    assert candidates == [rows_that_fit(release, row, kind, known) for row in matrix]


def test_segments_and_steps_have_names() -> None:
    release, _ = tv.anonymize_series(LOADS, ROLES, k=6, p=3, effort=0, **PAA)
    assert release.manifest["series"]["pattern"] == ["h00..h02", "h03..h05", "h06"]
    release, _ = tv.anonymize_series(LOADS, ROLES, k=6, p=3, effort=0, **SLOPES)
    assert release.manifest["series"]["pattern"][::6] == ["h00 to h01", "h06 to h00"]


@KINDS
@pytest.mark.parametrize("method", ["adaptive", "kapra"])
def test_a_wrong_letter_is_noticed(kind: dict[str, Any], method: str) -> None:
    """One step away, in all rows of a cell, at the level where there are most letters.

    Constant series are on a border between letters, so their cells do not count.
    """
    release, ledger = tv.anonymize_series(LOADS, ROLES, k=6, p=3, effort=0, method=method, **kind)
    table = release.table
    lines = table.select(["group", "pattern", "level"]).to_pylist()
    levels = [np.broadcast_to(line["level"], len(line["pattern"])) for line in lines]
    varied = [len(set(line["pattern"])) > 1 for line in lines]
    number = int(
        np.argmax([level.max() * is_varied for level, is_varied in zip(levels, varied, strict=True)])
    )
    place = int(levels[number].argmax())
    text = lines[number]["pattern"]
    letter = LETTERS.index(text[place])
    wrong = LETTERS[letter - 1 if letter else 1]
    rows = [row for row, line in enumerate(lines) if line == lines[number]]
    changed = with_values(table, "pattern", dict.fromkeys(rows, text[:place] + wrong + text[place + 1 :]))
    forged = tv.Release(release.guarantee, release.manifest, {"data": changed})
    codes = {violation.code for violation in tv.verify(forged, ledger).violations}
    assert codes & {"pattern-not-own", "ledger-groups"}


@pytest.mark.parametrize(
    ("kind", "lie"),
    [(PAA, {"segment": 2}), (PAA, {"representation": "slopes"}), (SLOPES, {"segment": 3}), (PAA, None)],
)
def test_a_manifest_cannot_call_symbols_what_they_are_not(kind: dict[str, Any], lie: Any) -> None:
    release, _ = tv.anonymize_series(LOADS, ROLES, k=6, p=3, effort=0, **kind)
    if lie is None:
        forged = section(release, "series", pattern=["h00..h02", "h03..h05"])
    else:
        forged = section(release, "parameters", **lie)
    assert tv.verify(release)
    assert not tv.verify(forged)


@KINDS
@pytest.mark.parametrize("center", ["mean", "median"])
def test_values_left_out_are_in_their_estimated_ranges(kind: dict[str, Any], center: str) -> None:
    release, ledger = tv.anonymize_series(
        LOADS, ROLES, k=6, p=3, center=center, publish_values=HOURS[::2], **kind
    )
    ranges, subgroup = tv.estimate_ranges(release).to_pylist(), ledger.table["subgroup"].to_pylist()
    first: dict[Any, int] = {}
    for row, line in enumerate(release.table.select(["group", "pattern", "level"]).to_pylist()):
        first.setdefault(str(line), row)
    rows = list(first.values())
    for series, number in zip(LOADS.to_pylist(), subgroup, strict=True):
        for hour in HOURS[1::2]:
            found = ranges[rows[number - 1]]
            assert found[f"{hour}_lo"] <= series[hour] <= found[f"{hour}_hi"]
    assert tv.estimate_patterns(release).num_columns == 0


@KINDS
def test_patterns_are_mined_from_it(kind: dict[str, Any]) -> None:
    release, _ = tv.anonymize_series(LOADS, ROLES, k=6, p=3, effort=0, **kind)
    mined, ledger = tv.sanitize_patterns(release, k=6, min_support=0.2, symbols=3)
    assert tv.verify(mined, ledger)
    items = {item.rpartition("=")[0] for items in mined.table["pattern"].to_pylist() for item in items}
    assert items <= set(release.manifest["series"]["pattern"])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"representation": "paa"}, "segments need a length"),
        ({"segment": 3}, "segment applies to segments only"),
        ({**PAA, "publish_pattern": ["h00"]}, "cannot be selected"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(tv.ParameterError, match=says):
        tv.anonymize_series(LOADS, ROLES, k=6, p=3, **options)


@pytest.mark.parametrize("representation", [Representation(7), Segments(7, 3), Slopes(7)])
def test_weights_and_sequences_are_those_of_linear_algebra(representation: Representation) -> None:
    """Against the matrix of the features and its pseudo-inverse."""
    chance = np.random.default_rng(5)
    matrix = representation.features(np.eye(7))
    z = z_normalised(chance.normal(size=(200, 7)))
    features = representation.features(z)
    assert np.allclose(features, z @ matrix)
    assert np.allclose(representation.sequence(features), features @ np.linalg.pinv(matrix))
    for weights in chance.normal(size=(20, 7)):
        on_features, slack = representation.weights(weights, 0.0)
        assert (np.abs(z @ weights - features @ on_features) <= slack + 1e-9).all()
    drifting = z_normalised(chance.exponential(size=(200, 7)) ** 3, "median")
    on_features, slack = representation.weights(weights, 1.0)
    off = np.abs(drifting @ weights - representation.features(drifting) @ on_features)
    assert (off <= slack + 1e-9).all()


def test_huge_numbers_are_attacked_without_a_warning() -> None:
    matrix = np.random.default_rng(1).normal(size=(40, 3)) * 1e200
    table = pa.table({f"t{place}": matrix[:, place] for place in range(3)})
    pair = tv.anonymize_series(table, tv.Roles(series=["t0", "t1", "t2"]), k=4, p=2, effort=0)
    assert tv.attack(*pair, tv.SeriesAdversary(2)).worst <= 1 / 2
