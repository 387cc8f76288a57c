"""Pictures of series releases: what is in them, what is not, and that they are sound SVG."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeveil.domain.guarantee import KPAnonymity
from timeveil.domain.release import Ledger, Release
from timeveil.domain.roles import Roles
from timeveil.errors import InputError, ParameterError
from timeveil.models.series.evidence import Evidence
from timeveil.models.series.words.pictures import PRIVATE, Group, fitted, overview, release_picture
from timeveil.reading.collection import read_series

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ["a", "b<&", "c"]


def made(
    groups: int = 2, values: list[str] = NAMES, pattern: list[str] = NAMES, *, each: bool = False
) -> Release:
    """Groups of four series, two patterns each: one rises, one falls."""
    rows: list[dict[str, Any]] = []
    for group in range(groups):
        for member in range(4):
            row: dict[str, Any] = {"group": group + 1}
            for place, name in enumerate(NAMES):
                if name in values:
                    row[f"{name}_lo"] = 10.0 * group + place
                    row[f"{name}_hi"] = 10.0 * group + place + 2.0 + group
            letters = ("abc", "cba")[member // 2]
            row["pattern"] = "".join(letters[NAMES.index(name)] for name in pattern)
            row["level"] = [3] * len(pattern) if each else 3
            rows.append(row)
    about = {"instants": NAMES, "values": values, "pattern": pattern, "center": "mean", "own_patterns": False}
    bounds = [(f"{name}_{end}", role) for name in values for end, role in (("lo", "low"), ("hi", "high"))]
    manifest = {
        "model": "series",
        "series": about,
        "columns": [{"name": name, "role": role} for name, role in bounds],
        "counts": {"rows": 4 * groups, "groups": groups, "suppressed": 0},
        "parameters": {"fill": None},
    }
    return Release(KPAnonymity(4, 2), manifest, {"data": pa.Table.from_pylist(rows)})


def original(groups: int = 2) -> Ledger:
    rows = [
        [10.0 * g + p + (m if m < 2 else 2 - p) for p in range(3)] for g in range(groups) for m in range(4)
    ]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(NAMES)}
    relation = read_series(pa.table(columns), Roles(series=NAMES))
    number = np.arange(4 * groups)
    table = pa.table({"row": number, "group": number // 4 + 1, "subgroup": number // 2})
    return Ledger("series", table, relation)


def drawn(release: Release, group: int | None = None, ledger: Ledger | None = None) -> str:
    return release_picture(Evidence(release, ledger), group, private=ledger is not None).svg()


def found(svg: str, kind: str, tag: str = "polyline") -> list[ET.Element]:
    tree = ET.fromstring(svg)  # noqa: S314
    return [node for node in tree.iter(f"{SVG}{tag}") if kind in node.get("class", "").split()]


@pytest.mark.parametrize("each", [False, True])
def test_one_group(each: bool) -> None:
    svg = drawn(made(each=each), group=2)
    assert len(found(svg, "band", "polygon")) == 1
    assert len(found(svg, "pattern")) == 2
    assert found(svg, "original") == []
    assert "Group 2 of 2: 4 series" in svg
    assert "2 series: abc" in svg
    assert "b&lt;&amp;" in svg
    assert PRIVATE not in svg


def test_an_overview_goes_from_narrow_to_wide() -> None:
    svg = drawn(made(groups=9))
    names = re.findall(r"group (\d+): 4 series, 2 patterns", svg)
    assert (
        [int(name) for name in names]
        == overview(Evidence(made(groups=9)).published)
        == sorted(map(int, names))
    )
    assert len(names) == 6
    assert (names[0], names[-1]) == ("1", "9")
    assert len(found(svg, "band", "polygon")) == 6


def test_it_can_be_read_aloud_in_the_dark_and_runs_nothing() -> None:
    tree = ET.fromstring(drawn(made()))  # noqa: S314
    assert tree.get("role") == "img"
    labels = tree.get("aria-labelledby", "").split()
    assert [node.get("id") for node in (tree[0], tree[1])] == labels
    assert "4 series in an envelope" in (tree[1].text or "")
    svg = drawn(made())
    assert "prefers-color-scheme:dark" in svg
    assert "<script" not in svg
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")


def test_with_the_ledger_the_originals_are_in_it_and_it_says_so() -> None:
    svg = drawn(made(), group=1, ledger=original())
    assert len(found(svg, "original")) == 4
    assert svg.count(PRIVATE) == 2
    group = Group(Evidence(made(), original()), 1, private=True)
    rising, falling = group.subgroups
    assert rising.originals.tolist() == [[0, 1, 2], [1, 2, 3]]
    assert falling.originals.tolist() == [[2, 2, 2], [2, 2, 2]]


def test_instants_that_are_not_published_are_gaps() -> None:
    group = Group(Evidence(made(values=["a", "c"], pattern=["a", "b<&"])), 1, private=False)
    assert np.isnan(group.low).tolist() == [False, True, False]
    assert np.isnan(group.subgroups[0].line).tolist() == [False, False, True]
    svg = drawn(made(values=["a", "c"], pattern=["a", "b<&"]), group=1)
    assert len(found(svg, "band", "rect")) == 2
    assert len(found(svg, "pattern")) == 2


def test_a_ledger_of_another_release() -> None:
    with pytest.raises(InputError) as caught:
        drawn(made(groups=3), group=3, ledger=original())
    assert caught.value.code == "ledger-mismatch"


def test_a_group_that_is_not_there() -> None:
    with pytest.raises(ParameterError) as caught:
        drawn(made(), group=3)
    assert caught.value.message == "there is no group 3; the release has groups 1 to 2"


def test_a_line_with_room_stays_in_its_envelope() -> None:
    line = fitted(np.array([-1.0, 0.0, 1.0]), np.array([0.0, 0.0, 0.0]), np.array([4.0, 4.0, 4.0]))
    assert line[1] == pytest.approx(2.0)
    assert 0 < line[0] < 2 < line[2] < 4


numbers = st.floats(-1e6, 1e6, allow_nan=False)


@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=8))
def test_any_shape_and_envelope_give_a_line(cells: list[tuple[float, float, float]]) -> None:
    shape = np.array([cell[0] for cell in cells])
    low = np.array([min(cell[1:]) for cell in cells])
    high = np.array([max(cell[1:]) for cell in cells])
    line = fitted(shape, low, high)
    assert np.isfinite(line).all()
    order = np.argsort(shape)
    assert (np.diff(line[order]) >= -1e-6 * np.abs(line).max()).all()


def test_flat_and_single_instants_are_drawn() -> None:
    table = pa.table(
        {"group": [1, 1], "a_lo": [5.0, 5.0], "a_hi": [5.0, 5.0], "pattern": ["a", "a"], "level": [1, 1]}
    )
    series = {"instants": ["a"], "values": ["a"], "pattern": ["a"], "center": "mean", "own_patterns": True}
    columns = [{"name": "a_lo", "role": "low"}, {"name": "a_hi", "role": "high"}]
    counts = {"rows": 2, "groups": 1, "suppressed": 0}
    manifest = {"model": "series", "series": series, "columns": columns, "counts": counts, "parameters": {}}
    svg = drawn(Release(KPAnonymity(2, 2), manifest, {"data": table}))
    assert "nan" not in svg
    assert len(found(svg, "pattern", "circle")) == 1
