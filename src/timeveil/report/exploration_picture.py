"""A picture of a sweep: what each setting loses above, what it risks below."""

from __future__ import annotations

from xml.sax.saxutils import escape

from timeveil.attack.canvas import HEIGHT, LEFT, RIGHT, WIDTH, percent, picture
from timeveil.explore import Exploration, Setting
from timeveil.report.exploration import knee_told, limits_told, option, told
from timeveil.report.wording import counted

_PANELS = {"loss": (94, 208), "risk": (240, 342)}
"""From where to where the bars of each reach, downward."""
_CLASSES = {"loss": "before", "risk": "after"}
_NICE = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 0.75, 1.0)
_WIDEST = 54
_READABLE = 22
"""Bars as wide as that have room for a number."""


def exploration_svg(found: Exploration) -> str:
    """Pairs of bars, a pair to a setting: the loss above, the risk below, knee and limits as broken lines.

    A setting that was refused has no bars and says so.
    """
    title = f"What {option(found)} costs, and what it gives"
    body = [f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>', *_head(found, title)]
    for name in _PANELS:
        body += _panel(found, name)
    body += [*_axis(found), *_knee(found)]
    return picture(escape(title), escape(_words(found)), body)


def _words(found: Exploration) -> str:
    """The picture in sentences."""
    said = [
        f"{option(found)} {told(one)}: not possible."
        if one.refused is not None
        else f"{option(found)} {told(one)}: loss {percent(one.loss)}, risk {percent(one.risk)}."
        for one in found.settings
    ]
    return " ".join([*said, knee_told(found), *([limits_told(found)] if found.limited else [])])


def _head(found: Exploration, title: str) -> list[str]:
    tried = counted(len(found.settings), "setting")
    refused = len(found.settings) - len(found.feasible)
    told_refused = f", {refused} of them not possible" if refused else ""
    return [
        f'<text class="head" x="{LEFT}" y="28">{escape(title)}</text>',
        f'<text class="soft" x="{LEFT}" y="47">{tried} tried{told_refused}.</text>',
        *_legend("loss", f"loss ({found.loss.replace('_', ' ')})"),
        *_legend("risk", f"risk ({found.risk})"),
    ]


def _legend(name: str, words: str) -> list[str]:
    y = _PANELS[name][0] - 24
    return [
        f'<rect class="{_CLASSES[name]}" x="{LEFT}" y="{y}" width="11" height="11"/>',
        f'<text x="{LEFT + 17}" y="{y + 10}">{escape(words)}</text>',
    ]


def _panel(found: Exploration, name: str) -> list[str]:
    """Lines at 0 and at the top, bars, and the limit."""
    limit = found.max_loss if name == "loss" else found.max_risk
    shares = [getattr(setting, name) for setting in found.feasible]
    top = _top(max([*shares, 0.0 if limit is None else limit]))
    lines: list[str] = []
    for mark in (0.0, top / 2, top):
        y = _height(name, mark, top)
        lines += [
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>',
            f'<text class="soft" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{percent(mark)}</text>',
        ]
    for place, setting in enumerate(found.settings):
        lines += _bar(setting, name, _middle(place, found), _width(found), top)
    if limit is not None:
        y = _height(name, limit, top)
        lines += [
            f'<line class="edge" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>',
            f'<text x="{WIDTH - RIGHT}" y="{_PANELS[name][0] - 14}" text-anchor="end">'
            f"limit {percent(limit)}</text>",
        ]
    return lines


def _bar(setting: Setting, name: str, x: float, width: float, top: float) -> list[str]:
    low = _PANELS[name][1]
    if setting.refused is not None:
        return [f'<text class="soft" x="{x:.1f}" y="{low - 6}" text-anchor="middle">×</text>']
    share = getattr(setting, name)
    y = min(_height(name, share, top), low - 1.0)
    lines = [
        f'<rect class="{_CLASSES[name]}" x="{x - width / 2:.1f}" y="{y:.1f}" width="{width:.1f}" '
        f'height="{low - y:.1f}"/>'
    ]
    if width >= _READABLE:
        lines.append(
            f'<text class="num" x="{x:.1f}" y="{y - 4:.1f}" text-anchor="middle">{percent(share)}</text>'
        )
    return lines


def _axis(found: Exploration) -> list[str]:
    base = _PANELS["risk"][1]
    lines = [
        f'<text class="soft" x="{_middle(place, found):.1f}" y="{base + 18}" text-anchor="middle">'
        f"{told(setting)}</text>"
        for place, setting in enumerate(found.settings)
        if place % max(1, round(_READABLE / _width(found))) == 0
    ]
    name = option(found) + (" (×: not possible)" if len(found.feasible) < len(found.settings) else "")
    middle = (LEFT + WIDTH - RIGHT) / 2
    return [
        *lines,
        f'<text class="soft" x="{middle}" y="{base + 40}" text-anchor="middle">{escape(name)}</text>',
    ]


def _knee(found: Exploration) -> list[str]:
    """A broken line to the left of the knee's bars, through both panels."""
    if found.knee is None:
        return []
    x = _middle(found.settings.index(found.knee), found) - _width(found) / 2 - 4
    high, low = _PANELS["loss"][0] - 18, _PANELS["risk"][1]
    return [
        f'<line class="edge" x1="{x:.1f}" x2="{x:.1f}" y1="{high}" y2="{low}"/>',
        f'<text x="{x:.1f}" y="{high - 6}" text-anchor="middle">knee</text>',
    ]


def _height(name: str, share: float, top: float) -> float:
    high, low = _PANELS[name]
    return low - min(share / top, 1.0) * (low - high)


def _top(most: float) -> float:
    """The round share that all fit below.

    >>> _top(0.26), _top(0.0), _top(1.4)
    (0.5, 0.01, 1.4)
    """
    return next((nice for nice in _NICE if nice >= most), most)


def _step(found: Exploration) -> float:
    return (WIDTH - LEFT - RIGHT) / max(len(found.settings), 1)


def _middle(place: int, found: Exploration) -> float:
    return LEFT + (place + 0.5) * _step(found)


def _width(found: Exploration) -> float:
    return min(_step(found) * 0.7, _WIDEST)
