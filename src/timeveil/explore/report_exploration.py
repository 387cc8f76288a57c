"""What a sweep came to, in words: a table of settings, the knee, and what stays within the limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from timeveil.explore import Exploration, Setting
from timeveil.explore.judging import SLOTS
from timeveil.page.wording import WIDTH, aligned, counted, share, wrapped

_LOSSES: Mapping[tuple[str, str], str] = {
    ("time", "window_error"): "the mean error of random counts over windows of time",
    ("time", "withheld"): "the share of rows that were withheld",
    ("stream", "window_error"): f"the mean error of random counts over windows of {SLOTS} slots",
    ("stream", "withheld"): "the share of records that were withheld",
    ("stream", "moved"): "the share of records that were published late",
    ("series", "both"): "the mean of what values and patterns lost",
    ("series", "values"): "how wide envelopes are, as a share of one around everybody",
    ("series", "pattern"): "how far published patterns are from true ones: 1 less their correlation",
    ("series", "withheld"): "the share of series that were suppressed",
    ("patterns", "count_error"): "the mean error of published counts",
    ("patterns", "changed"): "the share of patterns with another count",
    ("patterns", "lost"): "the share of patterns that are not published",
}
_FOUND = {
    "time": "names the right person",
    "stream": "tells a person's true value",
    "series": "names the right row",
    "patterns": "names somebody of a group that follows from the counts",
}
_KNOWS = {
    "published-slot": "the quasi-identifiers and the slot a record was published in",
    "true-slot": "the quasi-identifiers and the slot it truly happened in",
    "several-slots": "the quasi-identifiers and every slot a person was published in",
}
_CHANCES = {"worst": "the highest chance", "mean": "the chance on average", "promised": "the highest chance"}


def described(found: Exploration, source: str, width: int = WIDTH) -> list[str]:
    """The whole page."""
    sentences = [_compared(found), knee_told(found)]
    if found.limited:
        sentences.append(limits_told(found))
    lines = [f"{source} -> what {option(found)} costs, and what it gives", "", *settings_table(found, width)]
    lines.append("")
    for number, sentence in enumerate(sentences, start=1):
        lines += wrapped(sentence, width, f"{number}. ")
    return lines


def option(found: Exploration) -> str:
    """The parameter as words name it.

    >>> option(Exploration("stream", "protect_slot", ()))
    'protect-slot'
    """
    return found.parameter.replace("_", "-")


def told(setting: Setting) -> str:
    """The value of a setting.

    >>> told(Setting(5)), told(Setting(0.015))
    ('5', '0.015')
    """
    return f"{setting.value:g}" if abs(setting.value) < 1e6 else str(setting.value)


def settings_table(found: Exploration, width: int = WIDTH) -> list[str]:
    """A line to a setting; those that were refused say why below."""
    if not found.feasible:
        return _refusals(found, width)
    facts, losses = list(found.feasible[0].facts), list(found.feasible[0].losses)
    risks = list(found.feasible[0].risks)
    heads = [option(found), *facts, *(name.replace("_", " ") for name in losses), *risks, ""]
    rows = [heads]
    for setting in found.feasible:
        cells = [_cell(setting.facts[name]) for name in facts]
        shares = [share(setting.losses[name]) for name in losses] + [
            share(setting.risks[name]) for name in risks
        ]
        rows.append([told(setting), *cells, *shares, _marks(found, setting)])
    return [
        *_aligned(rows),
        *(["", *_refusals(found, width)] if len(found.feasible) < len(found.settings) else []),
    ]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """All to the right but the marks at the end."""
    longest = max(len(row[-1]) for row in rows)
    return aligned([[*row[:-1], row[-1].ljust(longest)] for row in rows], left=0)


def _cell(fact: Any) -> str:
    return f"{fact:,}" if isinstance(fact, int) else str(fact)


def _marks(found: Exploration, setting: Setting) -> str:
    marks = ["knee"] if setting is found.knee else []
    if setting is found.best:
        marks.append("best within limits")
    elif found.limited and setting in found.within:
        marks.append("within limits")
    return f"<- {', '.join(marks)}" if marks else ""


def _refusals(found: Exploration, width: int) -> list[str]:
    """Why settings are not possible, those with one reason together."""
    reasons: dict[str, list[str]] = {}
    for setting in found.settings:
        if setting.refused is not None:
            reasons.setdefault(setting.refused, []).append(told(setting))
    lines: list[str] = []
    for reason, values in reasons.items():
        lines += wrapped(f"{reason}.", width, f"{option(found)} {', '.join(values)} not possible: ", "  ")
    return lines


def _compared(found: Exploration) -> str:
    risk = f"{_CHANCES[found.risk]} that an outsider {_knowing(found)}{_FOUND[found.model]}"
    bound = ", as the promise bounds it" if found.risk == "promised" else ""
    return f"Loss is {_LOSSES[found.model, found.loss]}. Risk is {risk}{bound}."


def _knowing(found: Exploration) -> str:
    """What the outsider knows who was tried."""
    known = found.adversary
    match found.model:
        case _ if found.risk == "promised":
            return ""
        case "time":
            return f"who knows the quasi-identifiers and the time of {counted(known['visits'], 'visit')} "
        case "stream":
            return f"who knows {_KNOWS[known['knows']]} "
        case "series":
            values = "the values of " + _instants(known["values"]) if known["values"] else ""
            pattern = "the pattern" if known["pattern"] else ""
            return f"who knows {' and '.join(part for part in (values, pattern) if part)} "
    return ""


def _instants(values: int | str | Sequence[str]) -> str:
    if values == "all":
        return "all instants"
    return counted(values if isinstance(values, int) else len(values), "instant")


def knee_told(found: Exploration) -> str:
    """The knee and the rule that found it."""
    if found.knee is None:
        return f"No knee: {counted(len(found.feasible), 'setting')} gave a release, and it takes three."
    where = f"The knee is {option(found)} {told(found.knee)}: "
    if found.risk_differs:
        return (
            f"{where}with loss and risk each on a scale from the least to the most of all settings, it is "
            "the one nearest to the least of both."
        )
    return (
        f"{where}the risk is the same at every setting, and it is the first, from the small end, that saves "
        "nine tenths of the loss that can be saved."
    )


def limits_told(found: Exploration) -> str:
    """Which settings stay within the limits, and which of them is best."""
    stated = {"loss": found.max_loss, "risk": found.max_risk}
    limits = " and ".join(
        f"a {name} of at most {share(limit)}" for name, limit in stated.items() if limit is not None
    )
    best = found.best
    if best is None:
        return f"No setting stays within {limits}.{_nearest(found)}"
    values = ", ".join(told(setting) for setting in found.within)
    told_best = f"{option(found)} {told(best)} has the least {found.best_has_least}"
    if len(found.within) == 1:
        return f"Only {option(found)} {values} stays within {limits}: {_numbers(best)}."
    return f"{option(found)} {values} stay within {limits}; of these {told_best}: {_numbers(best)}."


def _nearest(found: Exploration) -> str:
    if not found.feasible:
        return ""
    parts = []
    if found.max_loss is not None:
        parts.append(f"least loss is {share(min(one.loss for one in found.feasible))}")
    if found.max_risk is not None:
        parts.append(f"least risk is {share(min(one.risk for one in found.feasible))}")
    return f" The {' and the '.join(parts)}."


def _numbers(setting: Setting) -> str:
    return f"loss {share(setting.loss)}, risk {share(setting.risk)}"
