"""A picture of a sweep: what each setting loses above, what it risks below."""

from __future__ import annotations

from xml.sax.saxutils import escape

from timeveil.explore import Exploration, Setting
from timeveil.explore.report_exploration import knee_told, limits_told, option, told
from timeveil.page.canvas import HEIGHT, LEFT, RIGHT, WIDTH, percent, picture
from timeveil.page.wording import counted

_PANELS = {"loss": (108, 214), "risk": (246, 342)}
"""From where to where the bars of each reach, downward."""
_CLASSES = {"loss": "before", "risk": "after"}
_NICE = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 0.75, 1.0)
_WIDEST = 54
_LEGEND, _KNEE = 62, 90
"""How far down both stand."""
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
        else f"{option(found)} {told(one)}: loss {told_share(one.loss)}, risk {told_share(one.risk)}."
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
        *_legend(found),
    ]


def _legend(found: Exploration) -> list[str]:
    """What the colours mean on the left, the limits on the right."""
    words = {"loss": found.loss.replace("_", " "), "risk": found.risk}
    lines, x = [], LEFT
    for name, meant in words.items():
        said = f"{name} ({meant})"
        lines += [
            f'<rect class="{_CLASSES[name]}" x="{x}" y="{_LEGEND}" width="11" height="11"/>',
            f'<text x="{x + 17}" y="{_LEGEND + 10}">{escape(said)}</text>',
        ]
        x += 44 + 7 * len(said)
    stated = {"loss": found.max_loss, "risk": found.max_risk}
    limits = ", ".join(f"{name} {told_share(limit)}" for name, limit in stated.items() if limit is not None)
    if limits:
        right = f'x="{WIDTH - RIGHT}" y="{_LEGEND + 10}" text-anchor="end"'
        lines.append(f"<text {right}>- - limit: {limits}</text>")
    return lines


def told_share(part: float) -> str:
    """A share as short as a bar has room for, and never nothing unless it is.

    >>> [told_share(part) for part in (0.0, 0.00018, 0.0123, 0.5, 1.0)]
    ['0%', '0.018%', '1.2%', '50%', '100%']
    """
    return percent(part) if part >= 0.001 or not part else f"{100 * part:.2g}%"


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
            f'<text class="soft" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{told_share(mark)}</text>',
        ]
    for place, setting in enumerate(found.settings):
        lines += _bar(setting, name, _middle(place, found), _width(found), top, limit)
    if limit is not None:
        y = _height(name, limit, top)
        lines.append(f'<line class="edge" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
    return lines


def _bar(setting: Setting, name: str, x: float, width: float, top: float, limit: float | None) -> list[str]:
    """A bar and its number, which steps over the line of a limit."""
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
        line = None if limit is None else _height(name, limit, top)
        above = y if line is None or not y - 14 < line < y else line
        place = f'x="{x:.1f}" y="{above - 4:.1f}" text-anchor="middle"'
        lines.append(f'<text class="num" {place}>{told_share(share)}</text>')
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
    low = _PANELS["risk"][1]
    return [
        f'<line class="edge" x1="{x:.1f}" x2="{x:.1f}" y1="{_KNEE + 4}" y2="{low}"/>',
        f'<text x="{x:.1f}" y="{_KNEE}" text-anchor="middle">knee</text>',
    ]


def _height(name: str, share: float, top: float) -> float:
    high, low = _PANELS[name]
    return low - min(share / top, 1.0) * (low - high)


def _top(most: float) -> float:
    """The round share that all fit below.

    >>> _top(0.26), _top(0.0), _top(1.4)
    (0.5, 0.0001, 1.4)
    """
    return next((nice for nice in _NICE if nice >= most), most)


def _step(found: Exploration) -> float:
    return (WIDTH - LEFT - RIGHT) / max(len(found.settings), 1)


def _middle(place: int, found: Exploration) -> float:
    return LEFT + (place + 0.5) * _step(found)


def _width(found: Exploration) -> float:
    return min(_step(found) * 0.7, _WIDEST)
