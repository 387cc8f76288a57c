"""The knee and the limits, on settings made up."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeveil.explore.exploration import Exploration, Setting, exploration_lines, exploration_picture
from timeveil.page.svg import RISK

SHARES = st.floats(0, 1)
POINTS = st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=12)


def sweep(
    points: Sequence[tuple[float, float] | None], max_loss: float | None = None, max_risk: float | None = None
) -> Exploration:
    """Settings 1, 2, 3 ... with these losses and risks; None for one that was refused."""
    settings = tuple(
        Setting(place, refused="too few people")
        if point is None
        else Setting(place, *point, {"window_error": point[0]}, {"worst": point[1]})
        for place, point in enumerate(points, start=1)
    )
    return Exploration("time", "k", settings, adversary={"visits": 1}, max_loss=max_loss, max_risk=max_risk)


def value(setting: Setting | None) -> float | None:
    return None if setting is None else setting.value


def test_the_knee_is_nearest_to_the_least_of_both() -> None:
    assert value(sweep([(0.0, 1.0), (0.1, 0.3), (0.5, 0.2), (1.0, 0.0)]).knee) == 2


def test_the_knee_does_not_depend_on_the_scale_of_either() -> None:
    points = [(0.0, 1.0), (0.1, 0.3), (0.5, 0.2), (1.0, 0.0)]
    assert value(sweep([(loss / 50 + 0.3, risk) for loss, risk in points]).knee) == 2


@pytest.mark.parametrize("absurd", [9.0, 1e6])
def test_one_absurd_setting_does_not_move_the_knee(absurd: float) -> None:
    points = [(0.10, 0.5), (0.12, 0.2), (0.18, 0.1), (0.30, 0.05)]
    assert value(sweep(points).knee) == 2
    assert value(sweep([*points, (absurd, 0.04)]).knee) == 2
    same_risk = [(0.9, 0.2), (0.30, 0.2), (0.12, 0.2), (0.10, 0.2)]
    assert value(sweep(same_risk).knee) == 3
    assert value(sweep([(absurd, 0.2), *same_risk]).knee) == 4


def test_where_the_risk_is_the_same_the_knee_saves_nine_tenths() -> None:
    assert value(sweep([(1.0, 0.2), (0.5, 0.2), (0.1, 0.205), (0.0, 0.2)]).knee) == 3
    assert value(sweep([(1.0, 0.2), (0.5, 0.2), (0.11, 0.2), (0.0, 0.2)]).knee) == 4


def test_where_nothing_differs_the_knee_is_the_first() -> None:
    assert value(sweep([(0.5, 0.2)] * 3).knee) == 1


def test_refused_settings_are_no_knee_and_two_have_none() -> None:
    assert value(sweep([None, (0.0, 0.9), (0.1, 0.1), (0.9, 0.0), None]).knee) == 3
    assert sweep([None, (0.0, 0.9), (0.1, 0.1)]).knee is None
    assert sweep([None, None]).knee is None


def test_of_two_alike_the_knee_and_the_best_promise_more() -> None:
    settings = [
        Setting(k, loss, risk, {}, {"promised": 1 / k})
        for k, loss, risk in ((2, 0.0, 1.0), (5, 0.1, 0.1), (8, 0.1, 0.1), (9, 1.0, 0.0))
    ]
    found = Exploration("time", "k", tuple(settings), max_risk=0.5)
    assert (value(found.knee), value(found.best)) == (8, 8)


def test_limits() -> None:
    points = [(0.0, 1.0), (0.1, 0.3), (0.5, 0.2), (1.0, 0.0)]
    assert value(sweep(points, max_risk=0.3).best) == 2
    assert value(sweep(points, max_loss=0.5).best) == 3
    assert value(sweep(points, max_loss=0.5, max_risk=0.9).best) == 2
    assert [one.value for one in sweep(points, max_loss=0.5, max_risk=0.9).within] == [2, 3]
    assert sweep(points, max_loss=0.05, max_risk=0.5).best is None
    assert sweep(points).best is None


def test_a_limit_on_loss_takes_least_loss_where_the_risk_is_the_same() -> None:
    assert value(sweep([(0.3, 0.2), (0.1, 0.201), (0.2, 0.2)], max_loss=0.5).best) == 2


@given(POINTS, SHARES, SHARES)
def test_the_best_is_within_and_nothing_within_beats_it(
    points: list[tuple[float, float]], max_loss: float, max_risk: float
) -> None:
    found = sweep(points, max_loss=max_loss, max_risk=max_risk)
    fits = [one for one in found.settings if one.loss <= max_loss and one.risk <= max_risk]
    assert [one.value for one in fits] == [one.value for one in found.within] or len(found.within) > len(fits)
    if found.best is not None:
        assert found.best in found.within
        assert found.best.loss == min(one.loss for one in found.within)


@given(POINTS)
def test_nothing_is_better_than_the_knee_in_both(points: list[tuple[float, float]]) -> None:
    found = sweep(points)
    if found.knee is not None and found.risk_differs:
        knee = found.knee
        assert not any(one.loss < knee.loss - 1e-6 and one.risk < knee.risk - 1e-6 for one in found.feasible)


@pytest.mark.parametrize("limits", [{}, {"max_loss": 0.2}, {"max_loss": 0.0, "max_risk": 0.0}])
@pytest.mark.parametrize(
    "points",
    [[None], [(0.1, 0.2)], [(0.0, 0.0), None], [(0.0, 1.0), (0.1, 0.3), (1.7, 0.0)], [(0.2, 0.1)] * 60],
)
def test_every_sweep_can_be_told_drawn_and_written(
    points: list[tuple[float, float] | None], limits: dict[str, float]
) -> None:
    found = sweep(points, **limits)
    text = "\n".join(exploration_lines(found, "visits.csv"))
    assert all(len(line) <= 100 for line in text.splitlines())
    assert ("not possible: too few people." in text) == (None in points)
    tree = ET.fromstring(exploration_picture(found).svg())  # noqa: S314
    labels = [one.text for one in tree.iter() if one.tag.endswith("text")]
    assert [labels.count(f"k {one.value}") for one in found.settings] == [2] * len(points)
    assert labels.count("not possible") == 2 * points.count(None)
    assert labels.count("limit") == len(limits)
    bars = [one for one in tree.iter() if one.get("class") == f"f{RISK}"]
    assert len(bars) == len(points) + ("max_risk" in limits)
    assert all(0 <= float(one.get("width", math.nan)) <= 820 for one in bars)
    data = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert [one["value"] for one in data["settings"]] == [one.value for one in found.settings]


def test_the_words_say_the_rule_and_the_limits() -> None:
    text = " ".join(
        " ".join(
            exploration_lines(sweep([(0.0, 1.0), (0.1, 0.3), (1.0, 0.0)], max_risk=0.3), "visits.csv")
        ).split()
    )
    assert "The knee is k 2: if loss and risk are each put on a scale from the least to the most" in text
    assert "k 2 and 3 stay within a risk of at most 30 %; of these, k 2 has the least loss" in text
    text = " ".join(exploration_lines(sweep([(0.2, 1.0)], max_loss=0.1), "visits.csv"))
    assert "No setting stays within a loss of at most 10 %. The least loss is 20 %." in text


def test_bits_are_a_number_and_not_a_share() -> None:
    points = ((2, 0.04, 0.5), (3, 2.25, 0.3), (4, 13.0, 0.2))
    settings = tuple(Setting(k, loss, risk, {"bits": loss}, {"worst": risk}) for k, loss, risk in points)
    found = Exploration("time", "k", settings, "bits", adversary={"visits": 1}, max_loss=2.5, max_risk=0.4)
    lines = exploration_lines(found, "visits.csv")
    assert [line.split()[:3] for line in lines[2:6]] == [
        ["k", "bits", "worst"],
        ["2", "under", "0.1"],
        ["3", "2.2", "30"],
        ["4", "13.0", "20"],
    ]
    words = " ".join(" ".join(lines).split())
    assert "Only k 3 stays within a loss of at most 2.5 bits and a risk of at most 40 %" in words
    assert "loss 2.2 bits, risk 30 %." in words
    tree = ET.fromstring(exploration_picture(found).svg())  # noqa: S314
    labels = [one.text for one in tree.iter() if one.tag.endswith("text")]
    assert {"under 0.1 bits", "13.0 bits", "2.5 bits", "20 %", "40 %"} <= set(labels)
    assert found.as_dict()["unit"] == "bits"
