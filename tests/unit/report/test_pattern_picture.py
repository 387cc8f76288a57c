"""Pictures of pattern releases: what is in them, what is not, and that they are sound SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from timeveil.datasets import load_curves
from timeveil.domain.guarantee import NoInferenceChannel
from timeveil.domain.release import Release
from timeveil.domain.roles import Roles
from timeveil.errors import ParameterError
from timeveil.models.patterns.evidence import Evidence
from timeveil.models.patterns.method import sanitize_patterns
from timeveil.models.patterns.words.pictures import MOST, release_picture

SVG = "{http://www.w3.org/2000/svg}"


def made(counts: dict[tuple[str, ...], int], instants: list[str] | None, virtual: int = 0) -> Release:
    """A release of these counts, over three letters if it is of series."""
    series = instants is not None
    about = {
        "kind": "series" if series else "baskets",
        "structural": series,
        "symbols": 3 if series else None,
        "center": "mean" if series else None,
        "instants": instants,
        "published": "frequent",
        **({"origin": "table"} if series else {}),
    }
    asked = {"k": 2, "min_support": 2, "method": "additive", "max_len": None}
    manifest = {
        "model": "patterns",
        "patterns": about,
        "parameters": asked,
        "counts": {"patterns": len(counts), "virtual": virtual},
    }
    lists = pa.array([list(items) for items in counts], pa.list_(pa.string()))
    return Release(
        NoInferenceChannel(2), manifest, {"data": pa.table({"pattern": lists, "support": [*counts.values()]})}
    )


SHAPES = {(): 20, ("t<1=a",): 12, ("t2=c",): 11, ("t3=b",): 10, ("t<1=a", "t2=c"): 9, ("t<1=a", "t3=b"): 7}
BASKETS = {(): 9, ("ham & eggs",): 6, ("milk",): 5, ("tea",): 4, ("ham & eggs", "milk"): 4}


def drawn(*given: Any, **named: Any) -> str:
    release, *others = given
    return release_picture(Evidence(release), *others, **named).svg()


def found(svg: str, kind: str, tag: str) -> list[ET.Element]:
    tree = ET.fromstring(svg)  # noqa: S314
    return [node for node in tree.iter(f"{SVG}{tag}") if kind in node.get("class", "").split()]


def texts(svg: str, kind: str) -> list[str]:
    return [node.text or "" for node in found(svg, kind, "text")]


def names(svg: str) -> list[str]:
    """The names of bars, which end where the bars begin."""
    texts = ET.fromstring(svg).iter(f"{SVG}text")  # noqa: S314
    return [node.text or "" for node in texts if node.get("text-anchor") == "end"]


def test_shapes_strongest_first() -> None:
    svg = drawn(made(SHAPES, ["t<1", "t2", "t3"]))
    assert texts(svg, "head") == ["The 2 strongest of 2 patterns with 2 or more items"]
    assert texts(svg, "strong") == ["9 people", "7 people"]
    assert len(found(svg, "cell", "rect")) == 4
    near, far = found(svg, "pattern", "polyline")
    assert near.get("class") == "pattern s0"  # t1 and t2 stand side by side
    assert far.get("class") == "pattern s0 far"  # nothing is said of t2
    assert len(found(svg, "stripe0", "rect") + found(svg, "stripe1", "rect")) == 2 * 3
    assert "t&lt;1" in svg


def test_a_higher_letter_stands_higher_at_its_instant() -> None:
    svg = drawn(made(SHAPES, ["t<1", "t2", "t3"]), number=1)
    low, high = found(svg, "cell", "rect")  # t1=a and t2=c
    assert float(high.get("y", "")) + float(high.get("height", "")) < float(low.get("y", ""))
    assert float(low.get("x", "")) < float(high.get("x", ""))


def test_all_lengths_and_what_virtual_people_leave_sure() -> None:
    svg = drawn(made(SHAPES, ["t<1", "t2", "t3"], virtual=3), number=2, longer_than=0)
    assert texts(svg, "head") == ["The 2 strongest of 5 patterns"]
    assert texts(svg, "strong") == ["12 people, 9 at least", "11 people, 8 at least"]
    assert "Counts include up to 3 people who do not exist." in texts(svg, "soft")


def test_baskets_are_bars_with_the_names_of_items() -> None:
    svg = drawn(made(BASKETS, None), longer_than=0)
    assert names(svg) == ["ham & eggs", "milk", "tea", "ham & eggs, milk"]
    assert texts(svg, "soft")[1:] == ["6 people", "5 people", "4 people", "4 people"]
    widths = [float(bar.get("width", "")) for bar in found(svg, "f0", "rect")]
    assert [round(6 * width / widths[0], 2) for width in widths] == [6, 5, 4, 4]


@pytest.mark.parametrize(("number", "longer_than"), [(0, None), (MOST + 1, None), (3, 2)])
def test_what_cannot_be_drawn(number: int, longer_than: int | None) -> None:
    with pytest.raises(ParameterError) as refused:
        drawn(made(BASKETS, None), number, longer_than)
    assert refused.value.code == "bad-parameter"


def test_a_picture_says_itself_in_words() -> None:
    tree = ET.fromstring(drawn(made(BASKETS, None)))  # noqa: S314
    assert tree.get("role") == "img"
    said = tree.find(f"{SVG}desc")
    assert said is not None
    assert said.text == "Bars: how many of 9 people have all of the items. ham & eggs, milk: 4 people."
    assert "prefers-color-scheme:dark" in drawn(made(BASKETS, None))


@pytest.mark.parametrize("rows", [[["a"]] * 4, [["a" * 200, "b"]] * 4])
def test_real_releases_however_short_or_long_their_names(rows: list[list[str]]) -> None:
    release, _ = sanitize_patterns(pa.table({"has": rows}), Roles(item="has"), k=2, min_support=2)
    (name,) = names(drawn(release))
    assert len(name) <= 64


def test_the_picture_of_the_tutorial_is_what_is_drawn() -> None:
    hours = [f"h{hour:02}" for hour in range(24)]
    roles = Roles(respondent="household", series=hours, drop="rest")
    how = {"k": 10, "min_support": 0.1, "symbols": 4, "instants": hours[16:23]}
    release, _ = sanitize_patterns(load_curves(people=2000), roles, **how)
    picture = Path(__file__).parents[3] / "docs" / "explanation" / "pictures" / "patterns-release.svg"
    assert drawn(release) == picture.read_text("utf-8")
