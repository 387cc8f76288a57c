"""With p = 1 no pattern is promised and none is published: k-anonymity of values (Shou et al. 2013, §5.5)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import timeveil as tv
from timeveil.datasets import load_curves
from timeveil.jobs.request import read_job
from timeveil.models.series.evidence import Evidence
from timeveil.models.series.words.pictures import release_picture

LOADS = load_curves(people=120, instants=6, seed=3)
HOURS = [f"h{hour:02}" for hour in range(6)]
ROLES = tv.Roles(respondent="household", series=HOURS, sensitive=["tariff"])


@pytest.fixture(scope="module", params=["adaptive", "kapra", "naive"])
def pair(request: pytest.FixtureRequest) -> tuple[tv.Release, tv.Ledger]:
    return tv.anonymize_series(LOADS, ROLES, k=5, p=1, method=request.param)


def test_envelopes_are_shared_and_no_pattern_is_published(pair: tuple[tv.Release, tv.Ledger]) -> None:
    release, ledger = pair
    assert tv.verify(release)
    assert tv.verify(release, ledger)
    assert not {"pattern", "level"} & set(release.table.column_names)
    assert min(Counter(release.table["group"].to_pylist()).values()) >= 5
    assert release.guarantee.sentence == "every value envelope is shared by at least 5 series"


def test_an_outsider_who_knows_everything_is_left_with_k(pair: tuple[tv.Release, tv.Ledger]) -> None:
    breach = tv.attack(*pair)
    assert breach.worst <= 1 / 5
    assert breach.as_dict()["p"] == 5


def test_to_publish_the_pattern_of_no_instant_is_the_same() -> None:
    alone, _ = tv.anonymize_series(LOADS, ROLES, k=5, p=1)
    named, _ = tv.anonymize_series(LOADS, ROLES, k=5, p=3, publish_pattern=[])
    assert named.table.equals(alone.table)
    assert named.manifest == alone.manifest


def test_envelopes_are_as_narrow_as_groups_by_value_allow() -> None:
    """No weight is given to a shape that is not published."""
    widths = {
        p: tv.measure(*tv.anonymize_series(LOADS, ROLES, k=6, p=p), queries=0).value_loss for p in (1, 3)
    }
    assert widths[1] < widths[3]


def test_l_is_counted_in_envelopes() -> None:
    """Five series in a row have one number; without patterns l may be as large as k."""
    table = pa.table({"a": np.arange(40.0), "b": np.arange(40.0), "income": np.arange(40) // 5})
    roles = tv.Roles(series=["a", "b"], sensitive=["income"])
    release, ledger = tv.anonymize_series(table, roles, k=4, p=1, l=4)
    assert tv.verify(release, ledger)
    for group in set(release.table["group"].to_pylist()):
        rows = release.table.filter(pa.compute.equal(release.table["group"], group))
        assert max(Counter(rows["income"].to_pylist()).values()) <= rows.num_rows / 4
    with pytest.raises(tv.ParameterError, match="l cannot be above k"):
        tv.anonymize_series(table, roles, k=4, p=1, l=5)


def test_what_shows_no_shape_answers_no_question_about_one(pair: tuple[tv.Release, tv.Ledger]) -> None:
    release, _ = pair
    truth = sum(1 for value in LOADS["h03"].to_pylist() if value <= 0.5)
    count = tv.answer(release, tv.RangeCount({"h03": (None, 0.5)}))
    assert count.low <= truth <= count.high
    with pytest.raises(tv.ParameterError, match="were not published"):
        tv.answer(release, tv.PatternRange({("h00", "h03"): (None, -1)}))
    with pytest.raises(tv.ParameterError, match="has no patterns"):
        tv.estimate_patterns(release)


def test_it_is_drawn_and_reported_without_a_word_of_patterns(
    pair: tuple[tv.Release, tv.Ledger], tmp_path: Path
) -> None:
    release, ledger = pair
    tv.write(release, tmp_path / "out")
    drawn = release_picture(Evidence(release, ledger), private=True).svg()
    assert "Band: the envelope that all share. Thin lines" in drawn
    assert "a pattern" not in (tmp_path / "out" / "README.txt").read_text("utf-8")
    assert "at most 1 in 5" in tv.report(release, ledger).html


def test_a_pattern_that_nobody_need_share_is_refused() -> None:
    with pytest.raises(tv.ParameterError, match="p is 1"):
        tv.anonymize_series(LOADS, ROLES, k=5, p=1, publish_pattern=["h00"])


def test_representatives_without_a_pattern_are_refused_as_such() -> None:
    with pytest.raises(tv.ParameterError, match="and `publish_pattern` names none"):
        tv.anonymize_series(LOADS, ROLES, k=5, p=3, method="representative", publish_pattern=[])


def test_a_release_without_patterns_and_one_person_short_is_refused(
    pair: tuple[tv.Release, tv.Ledger],
) -> None:
    release, _ = pair
    sizes = Counter(release.table["group"].to_pylist())
    group = min(sizes, key=lambda number: sizes[number])
    rows = [row for row, number in enumerate(release.table["group"].to_pylist()) if number == group]
    short = release.table.take([row for row in range(release.table.num_rows) if row not in rows[4:]])
    counts = {**release.manifest["counts"], "rows": short.num_rows}
    forged = replace(release, parts={"data": short}, manifest={**release.manifest, "counts": counts})
    assert [violation.code for violation in tv.verify(forged).violations] == ["group-below-k"]


def test_a_pattern_cannot_be_left_out_of_what_promises_one() -> None:
    release, _ = tv.anonymize_series(LOADS, ROLES, k=5, p=3)
    series = {**release.manifest["series"], "pattern": []}
    stated = {**release.manifest["parameters"], "publish_pattern": []}
    columns = [c for c in release.manifest["columns"] if c["name"] not in ("pattern", "level")]
    manifest = {**release.manifest, "series": series, "parameters": stated, "columns": columns}
    forged = replace(release, parts={"data": release.table.drop(["pattern", "level"])}, manifest=manifest)
    assert "statements" in [violation.code for violation in tv.verify(forged).violations]


def test_a_column_of_patterns_cannot_be_smuggled_in(pair: tuple[tv.Release, tv.Ledger]) -> None:
    release, _ = pair
    for names in (["pattern"], ["pattern", "level"]):
        table = release.table
        for name in names:
            table = table.append_column(name, pa.array(["abcdef"] * table.num_rows))
        columns = [
            *release.manifest["columns"],
            *({"name": n, "role": "keep", "type": "string"} for n in names),
        ]
        forged = replace(release, parts={"data": table}, manifest={**release.manifest, "columns": columns})
        assert "columns" in [violation.code for violation in tv.verify(forged).violations]


def test_there_is_nothing_to_mine(pair: tuple[tv.Release, tv.Ledger]) -> None:
    with pytest.raises(tv.InputError, match="no patterns to mine"):
        tv.sanitize_patterns(pair[0], k=3, min_support=5)


def test_settings_with_and_without_patterns_are_compared() -> None:
    """A shape that is not published is lost altogether."""
    tried = tv.explore(tv.anonymize_series, LOADS, ROLES, k=6, p=[1, 2, 3])
    assert tried.settings[0].losses["pattern"] == 1.0
    assert str(tried)


def test_instants_may_be_an_array() -> None:
    chosen: Any = np.array(HOURS[:3])
    release, _ = tv.anonymize_series(LOADS, ROLES, k=5, p=3, publish_pattern=chosen)
    assert release.manifest["series"]["pattern"] == HOURS[:3]


def test_a_job_does_not_take_an_empty_list_for_all(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(
        'command = "anonymize-series"\nin = "loads.csv"\nout = "out"\nk = 5\np = 3\npublish_pattern = []\n'
        f'respondent = "household"\nseries = {HOURS}\nsensitive = ["tariff"]\n'
    )
    with pytest.raises(tv.ParameterError, match="publish_pattern"):
        read_job(job)
