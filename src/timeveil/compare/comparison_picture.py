"""A picture of a comparison: for every share that is told of all releases, a bar to a release."""

from __future__ import annotations

from xml.sax.saxutils import escape

from timeveil.compare import Comparison, Line
from timeveil.compare.report_comparison import best_told, told_name
from timeveil.page.canvas import LEFT, RIGHT, WIDTH, percent, picture
from timeveil.page.wording import counted

_TOP, _BAR, _GAP, _PANEL = 74, 16, 6, 34
"""Where panels begin, how tall a bar is, what is between two, and what a panel takes besides."""
_START = 190
"""Where bars begin: names stand to the left of it."""
_LONGEST = 20
_CLASSES = {"loss": "before", "risk": "after"}


def comparison_svg(found: Comparison) -> str:
    """A panel to a line, bars from 0 to the most of its line; the best has its number in full and a mark."""
    panels = [line for line in found.lines if line.share]
    title = f"{counted(len(found.names), 'release')} side by side"
    each = _PANEL + len(found.names) * (_BAR + _GAP)
    height = _TOP + max(len(panels), 1) * each + 20
    body = [
        f'<rect class="paper" width="{WIDTH}" height="{height}"/>',
        f'<text class="head" x="{LEFT}" y="28">{escape(title)}</text>',
        f'<text class="soft" x="{LEFT}" y="47">{escape(_legend(found))}</text>',
    ]
    for place, line in enumerate(panels):
        body += _panel(found, line, _TOP + place * each)
    return picture(escape(title), escape(_words(found, panels)), body, height)


def _legend(found: Comparison) -> str:
    ranked = any(line.best for line in found.lines)
    marked = "Less is better, ★ is the best." if ranked else "Shown, not ranked."
    return f"{marked} Bars reach from 0 to the most of each line."


def _words(found: Comparison, panels: list[Line]) -> str:
    """The picture in sentences."""
    said = []
    for line in panels:
        cells = ", ".join(f"{name} {percent(cell)}" for name, cell in _pairs(found, line))
        said.append(f"{told_name(line)}: {cells}.")
    return " ".join([*said, *([best_told(found)] if any(line.best for line in panels) else [])])


def _pairs(found: Comparison, line: Line) -> list[tuple[str, float]]:
    cells = [cell if isinstance(cell, int | float) else 0.0 for cell in line.cells]
    return list(zip(found.names, cells, strict=True))


def _panel(found: Comparison, line: Line, y: float) -> list[str]:
    lines = [
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>',
        f'<text x="{LEFT}" y="{y + 18}">{escape(told_name(line))}</text>',
    ]
    pairs = _pairs(found, line)
    most = max([cell for _, cell in pairs], default=0.0) or 1.0
    room, colour = WIDTH - RIGHT - 64 - _START, _CLASSES[line.part]
    for place, (name, cell) in enumerate(pairs):
        top = y + _PANEL - 8 + place * (_BAR + _GAP)
        wide = max(room * cell / most, 1.0)
        mark = " ★" if place in line.best else ""
        lines += [
            f'<text class="soft" x="{_START - 8}" y="{top + 12}" text-anchor="end">{_short(name)}</text>',
            f'<rect class="{colour}" x="{_START}" y="{top}" width="{wide:.1f}" height="{_BAR}"/>',
            f'<text x="{_START + wide + 6:.1f}" y="{top + 12}">{percent(cell)}{mark}</text>',
        ]
    return lines


def _short(name: str) -> str:
    return escape(name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…")
