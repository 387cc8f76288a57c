"""One colour means one thing in all pictures."""

from __future__ import annotations

import re

from tests.conformance.releases import made

import timeveil as tv
from timeveil.judging import gather
from timeveil.models.events.words import pictures as of_events
from timeveil.models.patterns.words import pictures as of_patterns
from timeveil.models.series.words import pictures as of_series
from timeveil.models.stream.words import pictures as of_streams
from timeveil.page.svg import LOSS, ORIGINAL, OTHER, OTHER_TOO, RELEASE, RISK, Picture, stylesheet


def filled(picture: Picture) -> list[int]:
    """The colours of bars, from top to bottom and in order of their first use."""
    return list(dict.fromkeys(int(n) for n in re.findall(r'<rect class="f(\d)"', picture.svg())))


def test_six_meanings_have_six_colours() -> None:
    meanings = (RELEASE, ORIGINAL, OTHER, OTHER_TOO, RISK, LOSS)
    colours = {re.search(rf"\.f{n}{{fill:(#\w+)}}", stylesheet())[1] for n in meanings}  # type: ignore[index]
    assert len(colours) == 6


def test_the_original_and_the_release_keep_their_colours() -> None:
    for model, pictures in (("time", of_events), ("stream", of_streams), ("series", of_series)):
        breach = tv.attack(*made(model))
        assert set(filled(pictures.attack_picture(breach))) == {ORIGINAL, RELEASE}
    release, ledger = made("patterns")
    drawn = of_patterns.group_picture(tv.attack(release, ledger)).svg()
    assert re.findall(r'<rect class="f(\d)"', drawn) == [str(ORIGINAL), str(RELEASE)]


def test_other_ways_to_publish_are_not_the_original() -> None:
    loss = tv.measure(*made("stream"))
    assert filled(of_streams.error_picture(loss))[:2] == [RELEASE, OTHER]
    candidates = {"day": {"groups": 9}, "week": {"groups": 4}, "month": {"groups": 2}}
    picture = of_events.granularity_picture(candidates, "week")
    assert picture
    assert re.findall(r'<rect class="f(\d)"', picture.svg()) == [str(OTHER), str(RELEASE), str(OTHER)]


def test_patterns_are_shades_of_the_release_and_originals_are_not() -> None:
    drawn = of_series.release_picture(gather(*made("series")), private=True).svg()
    classes = set(re.findall(r'<polyline class="(\w+) (\w)(\d) d\d"', drawn))
    assert {(kind, letter) for kind, letter, _ in classes} == {("pattern", "b"), ("original", "s")}
    assert {n for kind, _, n in classes if kind == "original"} == {str(ORIGINAL)}
