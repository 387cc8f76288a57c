"""The order as a picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

from timeveil.calendar.catalogue import CATALOGUE
from timeveil.calendar.definitions import groups_of
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.order import Order, order_svg

SVG = "{http://www.w3.org/2000/svg}"


def _boxes(picture: str) -> dict[str, tuple[float, float, float, float]]:
    boxes = {}
    for group in ET.fromstring(picture).iter(f"{SVG}g"):  # noqa: S314 - our own picture
        rect, text = group.find(f"{SVG}rect"), group.find(f"{SVG}text")
        assert rect is not None
        assert text is not None
        boxes[text.text or ""] = tuple(float(rect.attrib[k]) for k in ("x", "y", "width", "height"))
    return boxes


def test_every_granularity_has_a_box_and_every_edge_a_line() -> None:
    picture = order_svg(CATALOGUE.values())
    order = Order(CATALOGUE.values())
    assert set(_boxes(picture)) == set(CATALOGUE)
    assert picture.count('class="line"') == sum(len(order.directly_coarser(g)) for g in CATALOGUE.values())


def test_the_coarser_is_above_and_all_on_top() -> None:
    boxes = _boxes(order_svg(CATALOGUE.values()))
    order = Order(CATALOGUE.values())
    for g in CATALOGUE.values():
        assert all(boxes[h.name][1] < boxes[g.name][1] for h in order.directly_coarser(g))
    assert min(boxes.values(), key=lambda box: box[1]) == boxes["all"]


def test_boxes_do_not_overlap_and_stay_in_the_picture() -> None:
    picture = order_svg(CATALOGUE.values())
    width, height = (float(ET.fromstring(picture).attrib[k]) for k in ("width", "height"))  # noqa: S314
    rows: dict[float, list[tuple[float, float, float, float]]] = {}
    for x, y, w, h in _boxes(picture).values():
        assert x >= 0
        assert x + w <= width
        assert 0 <= y <= height - h
        rows.setdefault(y, []).append((x, y, w, h))
    for row in rows.values():
        assert all(a[0] + a[2] < b[0] for a, b in pairwise(sorted(row)))


def test_it_is_accessible_and_follows_the_surroundings() -> None:
    picture = order_svg([CATALOGUE["day"], CATALOGUE["week"], CATALOGUE["month"]])
    assert 'role="img"' in picture
    assert "day is directly finer than week, month" in picture
    assert "prefers-color-scheme: dark" in picture
    assert "dashed" not in picture
    assert "dashed" in order_svg([CATALOGUE["business-day"]])


def test_names_are_escaped() -> None:
    odd = groups_of('<b>&"odd"', "day", 3, title="<i>")
    picture = order_svg([odd])
    assert set(_boxes(picture)) == {'<b>&"odd"'}


def test_nothing_gives_an_empty_picture() -> None:
    none: list[Granularity] = []
    assert _boxes(order_svg(none)) == {}
