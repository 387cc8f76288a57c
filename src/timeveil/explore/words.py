"""The result of a sweep in words and as a picture: settings, the knee, and what stays within the limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from timeveil.explore.exploration import Exploration, Setting
from timeveil.explore.judgement import SLOTS
from timeveil.page.charts import ORIGINAL, RELEASE
from timeveil.page.svg import (
    LEFT,
    RIGHT,
    WIDTH,
    Panel,
    Picture,
    heading,
    legend,
    line,
    rect,
    text,
    value_axis,
)
from timeveil.page.wording import WIDTH as TEXT_WIDTH
from timeveil.page.wording import aligned, counted, joined, numbered, percent, share, wrapped

_LOSSES: Mapping[tuple[str, str], str] = {
    ("time", "window_error"): "the mean error of random counts over windows of time",
    ("time", "withheld"): "the share of rows that were withheld",
    ("stream", "window_error"): f"the mean error of random counts over windows of {SLOTS} slots",
    ("stream", "withheld"): "the share of records that were withheld",
    ("stream", "moved"): "the share of records that were published late",
    ("series", "both"): "the mean of the losses of values and patterns",
    ("series", "values"): "the width of envelopes, as a share of one envelope around everyone",
    ("series", "pattern"): "the distance of published patterns from true ones: 1 less their correlation",
    ("series", "withheld"): "the share of series that were withheld",
    ("patterns", "count_error"): "the mean error of published counts",
    ("patterns", "changed"): "the share of patterns with another count",
    ("patterns", "lost"): "the share of patterns that are not published",
}
_GOALS = {
    "time": "names the right person",
    "stream": "knows a person's true value",
    "series": "names the right row",
    "patterns": "names a member of a group that follows from the counts",
}
_KNOWLEDGE = {
    "published-slot": "the quasi-identifiers and the slot in which a record was published",
    "true-slot": "the quasi-identifiers and the slot in which it happened",
    "several-slots": "the quasi-identifiers and every slot in which a person was published",
}
_CHANCES = {"worst": "the highest chance", "mean": "the mean chance", "promised": "the highest chance"}
_PANELS = {"loss": (108, 106, ORIGINAL), "risk": (246, 96, RELEASE)}
"""Top, height and colour of each panel."""
_ROUND = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 0.75, 1.0)
_WIDEST, _NUMBERED, _LEGEND, _KNEE = 54, 22, 62, 90


def exploration_lines(exploration: Exploration, source: str, width: int = TEXT_WIDTH) -> list[str]:
    """The result as a page of text."""
    sentences = [_measures(exploration), knee_sentence(exploration)]
    if exploration.limited:
        sentences.append(limit_sentence(exploration))
    title = f"{source} -> what {option(exploration)} costs, and what it gives"
    return [title, "", *_setting_lines(exploration, width), "", *numbered(sentences, width)]


def option(exploration: Exploration) -> str:
    """The parameter as it is typed.

    >>> option(Exploration("stream", "protect_slot", ()))
    'protect-slot'
    """
    return exploration.parameter.replace("_", "-")


def value_label(setting: Setting) -> str:
    """The value of a setting.

    >>> value_label(Setting(5)), value_label(Setting(0.015))
    ('5', '0.015')
    """
    return f"{setting.value:g}" if abs(setting.value) < 1e6 else str(setting.value)


def knee_sentence(exploration: Exploration) -> str:
    """The knee and the rule that chose it."""
    if exploration.knee is None:
        settings = counted(len(exploration.feasible), "setting")
        return f"No knee: {settings} gave a release, and a knee takes three."
    knee = f"The knee is {option(exploration)} {value_label(exploration.knee)}: "
    if exploration.risk_differs:
        return (
            f"{knee}if loss and risk are each put on a scale from the least to the most of all settings, it "
            "is the closest to the least of both."
        )
    return (
        f"{knee}the risk is the same at every setting, and this is the smallest one that saves nine tenths "
        "of the loss that can be saved."
    )


def limit_sentence(exploration: Exploration) -> str:
    """Which settings stay within the limits, and which of them is best."""
    limits = " and ".join(
        f"a {measure} of at most {share(limit)}"
        for measure, limit in (("loss", exploration.max_loss), ("risk", exploration.max_risk))
        if limit is not None
    )
    best = exploration.best
    if best is None:
        return f"No setting stays within {limits}.{_nearest(exploration)}"
    numbers = f"loss {share(best.loss)}, risk {share(best.risk)}"
    values = [value_label(setting) for setting in exploration.within]
    if len(values) == 1:
        return f"Only {option(exploration)} {values[0]} stays within {limits}: {numbers}."
    least = f"{option(exploration)} {value_label(best)} has the least {exploration.best_has_least}"
    return f"{option(exploration)} {joined(values)} stay within {limits}; of these, {least}: {numbers}."


def _nearest(exploration: Exploration) -> str:
    if not exploration.feasible:
        return ""
    parts = []
    if exploration.max_loss is not None:
        parts.append(f"least loss is {share(min(setting.loss for setting in exploration.feasible))}")
    if exploration.max_risk is not None:
        parts.append(f"least risk is {share(min(setting.risk for setting in exploration.feasible))}")
    return f" The {' and the '.join(parts)}."


def _measures(exploration: Exploration) -> str:
    bound = ", as the promise bounds it" if exploration.risk == "promised" else ""
    outsider = f"an outsider {_knowing(exploration)}{_GOALS[exploration.model]}"
    risk = f"{_CHANCES[exploration.risk]} that {outsider}{bound}"
    return f"Loss is {_LOSSES[exploration.model, exploration.loss]}. Risk is {risk}."


def _knowing(exploration: Exploration) -> str:
    """What the outsider knows."""
    adversary = exploration.adversary
    match exploration.model:
        case _ if exploration.risk == "promised":
            return ""
        case "time":
            return f"who knows the quasi-identifiers and the time of {counted(adversary['visits'], 'visit')} "
        case "stream":
            return f"who knows {_KNOWLEDGE[adversary['knows']]} "
        case "series":
            values = adversary["values"]
            parts = ["the pattern"] if adversary["pattern"] else []
            if values:
                number = values if isinstance(values, int) else len(values)
                instants = "all instants" if values == "all" else counted(number, "instant")
                parts.insert(0, f"the values of {instants}")
            return f"who knows {' and '.join(parts)} "
    return ""


def _setting_lines(exploration: Exploration, width: int) -> list[str]:
    """A line per setting; below them, why others were refused."""
    refusals = _refusal_lines(exploration, width)
    if not exploration.feasible:
        return refusals
    first = exploration.feasible[0]
    losses = [measure.replace("_", " ") for measure in first.losses]
    rows = [[option(exploration), *first.facts, *losses, *first.risks, ""]]
    for setting in exploration.feasible:
        facts = [_fact(setting.facts[fact]) for fact in first.facts]
        shares = [share(setting.losses[measure]) for measure in first.losses]
        shares += [share(setting.risks[measure]) for measure in first.risks]
        rows.append([value_label(setting), *facts, *shares, _marks(exploration, setting)])
    longest = max(len(row[-1]) for row in rows)
    lines = aligned([[*row[:-1], row[-1].ljust(longest)] for row in rows], left=0)
    return [*lines, *(["", *refusals] if refusals else [])]


def _fact(fact: Any) -> str:
    return f"{fact:,}" if isinstance(fact, int) else str(fact)


def _marks(exploration: Exploration, setting: Setting) -> str:
    marks = ["knee"] if setting is exploration.knee else []
    if setting is exploration.best:
        marks.append("best within limits")
    elif exploration.limited and setting in exploration.within:
        marks.append("within limits")
    return f"<- {', '.join(marks)}" if marks else ""


def _refusal_lines(exploration: Exploration, width: int) -> list[str]:
    """Why settings are not possible; those with the same reason share a line."""
    reasons: dict[str, list[str]] = {}
    for setting in exploration.settings:
        if setting.refused is not None:
            reasons.setdefault(setting.refused, []).append(value_label(setting))
    lines: list[str] = []
    for reason, values in reasons.items():
        lines += wrapped(
            f"{reason}.", width, f"{option(exploration)} {', '.join(values)} not possible: ", "  "
        )
    return lines


def exploration_picture(exploration: Exploration) -> Picture:
    """A pair of bars per setting, loss above and risk below, with the knee and the limits as broken lines.

    A setting that was refused has a cross instead of bars.
    """
    title = f"What {option(exploration)} costs, and what it gives"
    refused = len(exploration.settings) - len(exploration.feasible)
    note = f", {refused} of them not possible" if refused else ""
    names = [f"loss ({exploration.loss.replace('_', ' ')})", f"risk ({exploration.risk})"]
    body = [
        *heading(title, f"{counted(len(exploration.settings), 'setting')} tried{note}."),
        *legend(names, (ORIGINAL, RELEASE), top=_LEGEND),
        *_limit_legend(exploration),
    ]
    for measure in _PANELS:
        body += _panel(exploration, measure)
    body += [*_axis(exploration), *_knee_line(exploration)]
    return Picture(title, _described(exploration), 400, tuple(body))


def _described(exploration: Exploration) -> str:
    sentences = []
    for setting in exploration.settings:
        label = f"{option(exploration)} {value_label(setting)}"
        sentences.append(
            f"{label}: not possible."
            if setting.refused is not None
            else f"{label}: loss {short_share(setting.loss)}, risk {short_share(setting.risk)}."
        )
    return " ".join(
        [
            *sentences,
            knee_sentence(exploration),
            *([limit_sentence(exploration)] if exploration.limited else []),
        ]
    )


def _limit_legend(exploration: Exploration) -> list[str]:
    limits = [
        f"{measure} {short_share(limit)}"
        for measure, limit in (("loss", exploration.max_loss), ("risk", exploration.max_risk))
        if limit is not None
    ]
    return [text(WIDTH - RIGHT, _LEGEND + 10, f"- - limit: {', '.join(limits)}", "", "end")] if limits else []


def short_share(part: float) -> str:
    """A share as short as a bar has room for, and never 0 unless it is.

    >>> [short_share(part) for part in (0.0, 0.00018, 0.0123, 0.5, 1.0)]
    ['0%', '0.018%', '1.2%', '50%', '100%']
    """
    return percent(part) if part >= 0.001 or not part else f"{100 * part:.2g}%"


def _panel(exploration: Exploration, measure: str) -> Iterator[str]:
    """Lines at 0, at the top and between, bars, and the limit."""
    top, height, colour = _PANELS[measure]
    limit = exploration.max_loss if measure == "loss" else exploration.max_risk
    shares = [getattr(setting, measure) for setting in exploration.feasible]
    highest = _round_up(max([*shares, limit or 0.0]))
    panel = Panel(LEFT, top, WIDTH - LEFT - RIGHT, height, 0.0, highest, len(exploration.settings))
    marks = (0.0, highest / 2, highest)
    yield from value_axis(panel, marks, [short_share(mark) for mark in marks])
    for index, setting in enumerate(exploration.settings):
        x, width = _middle(index, exploration), _width(exploration)
        if setting.refused is not None:
            yield text(x, panel.bottom - 6, "×", "soft", "middle")
            continue
        part = getattr(setting, measure)
        y = min(panel.y(min(part, highest)), panel.bottom - 1.0)
        yield rect(x - width / 2, y, width, panel.bottom - y, f"f{colour}")
        if width >= _NUMBERED:
            edge = None if limit is None else panel.y(limit)
            above = (
                y if edge is None or not y - 14 < edge < y else edge
            )  # the number is not on the limit's line
            yield text(x, above - 4, short_share(part), "num", "middle")
    if limit is not None:
        yield line(panel.left, panel.y(limit), panel.left + panel.width, panel.y(limit), "edge")


def _axis(exploration: Exploration) -> Iterator[str]:
    top, height, _ = _PANELS["risk"]
    every = max(1, round(_NUMBERED / _width(exploration)))
    for index, setting in enumerate(exploration.settings):
        if index % every == 0:
            yield text(_middle(index, exploration), top + height + 18, value_label(setting), "soft", "middle")
    note = " (×: not possible)" if len(exploration.feasible) < len(exploration.settings) else ""
    yield text(
        (LEFT + WIDTH - RIGHT) / 2, top + height + 40, f"{option(exploration)}{note}", "soft", "middle"
    )


def _knee_line(exploration: Exploration) -> list[str]:
    if exploration.knee is None:
        return []
    x = _middle(exploration.settings.index(exploration.knee), exploration) - _width(exploration) / 2 - 4
    top, height, _ = _PANELS["risk"]
    return [line(x, _KNEE + 4, x, top + height, "edge"), text(x, _KNEE, "knee", "", "middle")]


def _round_up(most: float) -> float:
    """A round share that is at least as large.

    >>> _round_up(0.26), _round_up(0.0), _round_up(1.4)
    (0.5, 0.0001, 1.4)
    """
    return next((nice for nice in _ROUND if nice >= most), most)


def _middle(index: int, exploration: Exploration) -> float:
    return LEFT + (index + 0.5) * (WIDTH - LEFT - RIGHT) / max(len(exploration.settings), 1)


def _width(exploration: Exploration) -> float:
    return min((WIDTH - LEFT - RIGHT) / max(len(exploration.settings), 1) * 0.7, _WIDEST)
