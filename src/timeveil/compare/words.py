"""A comparison in words and as a picture: a table, what each release is best in, and cautions."""

from __future__ import annotations

from collections.abc import Iterator

from timeveil.compare.comparison import Cell, Comparison, Line
from timeveil.domain.judgement import Verdict
from timeveil.page.charts import ORIGINAL, RELEASE, Bar, BarGroup, grouped_bars
from timeveil.page.svg import Picture, shortened
from timeveil.page.wording import WIDTH, aligned, counted, numbered, percent, share

BEST = "*"
_NAMES = {
    "both": "values and pattern",
    "promised": "chance promised",
    "promised_true_slot": "chance promised (true slot)",
    "worst": "worst chance found",
    "mean": "mean chance found",
    "worst_true_slot": "worst chance (true slot)",
    "mean_true_slot": "mean chance (true slot)",
    "envelopes_alone": "chance by envelopes alone",
    "worst_values": "worst chance (few values)",
    "mean_values": "mean chance (few values)",
    "transactions": "people counted",
    "virtual": "virtual people",
}
_LONGEST_CELL, _LONGEST_NAME = 30, 20
_COLOURS = {"loss": ORIGINAL, "risk": RELEASE}


def comparison_lines(comparison: Comparison, width: int = WIDTH) -> list[str]:
    """The comparison as a page of text."""
    lines = [f"{counted(len(comparison.names), 'release')} side by side", ""]
    for table in _tables(comparison, width):
        lines += [*table, ""]
    return [*lines, *numbered(_sentences(comparison), width)]


def _sentences(comparison: Comparison) -> Iterator[str]:
    """What the table cannot show."""
    if any(line.best for line in comparison.lines):
        yield f"{BEST} marks the best on its line, where less is better. {best_sentence(comparison)}"
    for name, verdict in zip(comparison.names, comparison.verdicts, strict=True):
        for violation in verdict.violations[:3]:
            yield f"`{name}` is violated: {violation.message}."
    if comparison.same_data == "agrees":
        yield "The ledgers hold the same original: as many rows, and the same values in shared columns."
    else:
        yield "That these are releases of the same data is assumed; nothing here shows it."
    yield from comparison.notes


def best_sentence(comparison: Comparison) -> str:
    """Which release is best in what.

    >>> line = Line("loss", "withheld", (0.0, 0.1), share=True, ranked=True)
    >>> best_sentence(Comparison(("a", "b"), ("time", "time"), (), (line,), "assumed"))
    '`a` is best in withheld; `b` in nothing.'
    """
    parts: list[str] = []
    for name in comparison.names:
        lines = [line_name(line) for line in comparison.lines if line.name in comparison.best_in(name)]
        parts.append(f"`{name}` {'' if parts else 'is best '}in {', '.join(lines) or 'nothing'}")
    return f"{'; '.join(parts)}."


def line_name(line: Line) -> str:
    """What a line is called."""
    return _NAMES.get(line.name, line.name.replace("_", " "))


def cell_text(line: Line, cell: Cell) -> str:
    """A cell in words.

    >>> cell_text(Line("loss", "withheld", (), share=True), 0.25), cell_text(Line("size", "rows", ()), 4000)
    ('25 %', '4,000')
    """
    if cell is None:
        return "unknown"
    if isinstance(cell, str):
        return shortened(cell, _LONGEST_CELL)
    return share(cell) if line.share else f"{cell:,}"


def _tables(comparison: Comparison, width: int) -> Iterator[list[str]]:
    """The table, with as many releases side by side as fit the width."""
    heads = ["", *(line_name(line) for line in comparison.lines)]
    heads.insert(3, "verified")
    columns = [_column(comparison, place) for place in range(len(comparison.names))]
    while columns:
        used = max(map(len, heads))
        fitting: list[list[str]] = []
        while columns and (not fitting or used + 2 + max(map(len, columns[0])) <= width):
            used += 2 + max(map(len, columns[0]))
            fitting.append(columns.pop(0))
        yield aligned([(head, *cells) for head, *cells in zip(heads, *fitting, strict=True)])


def _column(comparison: Comparison, index: int) -> list[str]:
    """All cells of one release; the best are marked, and the others keep their width."""
    cells = [(cell_text(line, line.cells[index]), index in line.best) for line in comparison.lines]
    cells = [
        (comparison.names[index], False),
        *cells[:2],
        (_verified(comparison.verdicts[index]), False),
        *cells[2:],
    ]
    ranked = any(line.best for line in comparison.lines)
    return [cell + (f" {BEST}" if best else "  " if ranked else "") for cell, best in cells]


def _verified(verdict: Verdict) -> str:
    return "holds" if verdict else f"violated ({len(verdict.violations)})"


def comparison_picture(comparison: Comparison) -> Picture:
    """A group of bars for every share that is known of all releases, a bar per release, the best starred."""
    lines = [line for line in comparison.lines if line.share]
    ranked = any(line.best for line in comparison.lines)
    groups = [
        BarGroup(line_name(line), tuple(_bars(comparison, line)), _COLOURS[line.part]) for line in lines
    ]
    picture = grouped_bars(
        f"{counted(len(comparison.names), 'release')} side by side",
        f"{'Less is better; ★ is the best' if ranked else 'Shown, not ranked'}. Each group has its own scale "
        "from 0.",
        groups,
    )
    best = f" {best_sentence(comparison)}" if any(line.best for line in lines) else ""
    return Picture(picture.title, picture.description + best, picture.height, picture.body, picture.width)


def _bars(comparison: Comparison, line: Line) -> Iterator[Bar]:
    for index, (name, cell) in enumerate(zip(comparison.names, line.cells, strict=True)):
        part = cell if isinstance(cell, int | float) else 0.0
        star = " ★" if index in line.best else ""
        yield Bar(shortened(name, _LONGEST_NAME), (part,), (f"{percent(part)}{star}",), strong=bool(star))
