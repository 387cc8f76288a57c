"""The order as a picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from itertools import pairwise

from timeveil.calendar.catalogue import CATALOGUE
from timeveil.calendar.definitions import groups_of
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.order import Order
from timeveil.page.charts import order_picture

SVG = "{http://www.w3.org/2000/svg}"


def _svg(granularities: Iterable[Granularity]) -> str:
    return order_picture(granularities).svg()


def _boxes(picture: str) -> dict[str, tuple[float, float, float, float]]:
    root = ET.fromstring(picture)  # noqa: S314 - our own picture
    names = [text.text or "" for text in root.iter(f"{SVG}text") if text.get("class") == "strong"]
    rects = [rect for rect in root.iter(f"{SVG}rect") if rect.attrib["class"].startswith("stripe1")]
    sizes = [tuple(float(rect.attrib[k]) for k in ("x", "y", "width", "height")) for rect in rects]
    return dict(zip(names, sizes, strict=True))


def test_every_granularity_has_a_box_and_every_edge_a_line() -> None:
    picture = _svg(CATALOGUE.values())
    order = Order(CATALOGUE.values())
    assert set(_boxes(picture)) == set(CATALOGUE)
    assert picture.count("<polyline") == sum(len(order.directly_coarser(g)) for g in CATALOGUE.values())


def test_the_coarser_is_above_and_all_on_top() -> None:
    boxes = _boxes(_svg(CATALOGUE.values()))
    order = Order(CATALOGUE.values())
    for g in CATALOGUE.values():
        assert all(boxes[h.name][1] < boxes[g.name][1] for h in order.directly_coarser(g))
    assert min(boxes.values(), key=lambda box: box[1]) == boxes["all"]


def test_boxes_do_not_overlap_and_stay_in_the_picture() -> None:
    picture = _svg(CATALOGUE.values())
    _, _, width, height = (float(n) for n in ET.fromstring(picture).attrib["viewBox"].split())  # noqa: S314
    rows: dict[float, list[tuple[float, float, float, float]]] = {}
    for x, y, w, h in _boxes(picture).values():
        assert x >= 0
        assert x + w <= width
        assert 0 <= y <= height - h
        rows.setdefault(y, []).append((x, y, w, h))
    for row in rows.values():
        assert all(a[0] + a[2] < b[0] for a, b in pairwise(sorted(row)))


def test_it_is_accessible_and_follows_the_surroundings() -> None:
    picture = _svg([CATALOGUE["day"], CATALOGUE["week"], CATALOGUE["month"]])
    assert 'role="img"' in picture
    assert "day is directly finer than week, month" in picture
    assert "prefers-color-scheme:dark" in picture
    assert "dashed" not in picture
    assert "dashed" in _svg([CATALOGUE["business-day"]])


def test_names_are_escaped() -> None:
    odd = groups_of('<b>&"odd"', "day", 3, title="<i>")
    picture = _svg([odd])
    assert set(_boxes(picture)) == {'<b>&"odd"'}


def test_nothing_gives_an_empty_picture() -> None:
    none: list[Granularity] = []
    assert _boxes(_svg(none)) == {}
