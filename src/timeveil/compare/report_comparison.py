"""Releases side by side, in words: a table, what each is best in, and what to be careful of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from timeveil.compare import Comparison, Line
from timeveil.compare.compare_comparison import Cell
from timeveil.domain.verdict import Verdict
from timeveil.page.wording import WIDTH, aligned, counted, share, wrapped

BEST = "*"
NOT_TOLD = "not told"
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
_LONGEST = 30


def described(found: Comparison, width: int = WIDTH) -> list[str]:
    """The whole page."""
    lines = [f"{counted(len(found.names), 'release')} side by side", ""]
    for block in _blocks(found, width):
        lines += [*block, ""]
    for number, sentence in enumerate(sentences(found), start=1):
        lines += wrapped(sentence, width, f"{number}. ")
    return lines


def sentences(found: Comparison) -> Iterator[str]:
    """What the table cannot say."""
    if any(line.best for line in found.lines):
        yield f"{BEST} is the best on its line, where less is better. {best_told(found)}"
    for name, verdict in zip(found.names, found.verdicts, strict=True):
        for violation in verdict.violations[:3]:
            yield f"`{name}` is violated: {violation.message}."
    if found.same_data == "agrees":
        yield "The ledgers hold the same original: as many rows, and the same values in columns they share."
    else:
        yield "That these are releases of the same data is assumed: nothing at hand shows it."
    yield from found.notes


def best_told(found: Comparison) -> str:
    """Which release is best in what.

    >>> line = Line("loss", "withheld", (0.0, 0.1), share=True, ranked=True)
    >>> best_told(Comparison(("a", "b"), ("time", "time"), (), (line,), "assumed"))
    '`a` is best in withheld; `b` in nothing.'
    """
    parts: list[str] = []
    for name in found.names:
        lines = [told_name(line) for line in found.lines if line.name in found.best_in(name)]
        parts.append(f"`{name}` {'' if parts else 'is best '}in {_listed(lines)}")
    return f"{'; '.join(parts)}."


def told_name(line: Line) -> str:
    """What a line is called."""
    return _NAMES.get(line.name, line.name.replace("_", " "))


def told_cell(line: Line, cell: Cell) -> str:
    """A cell in words.

    >>> told_cell(Line("loss", "withheld", (), share=True), 0.25), told_cell(Line("size", "rows", ()), 4000)
    ('25 %', '4,000')
    """
    if cell is None:
        return NOT_TOLD
    if isinstance(cell, str):
        return cell if len(cell) <= _LONGEST else f"{cell[: _LONGEST - 1]}…"
    return share(cell) if line.share else f"{cell:,}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "nothing"


def _blocks(found: Comparison, width: int) -> Iterator[list[str]]:
    """The table, as many releases beside each other as the width has room for."""
    heads = ["", *(told_name(line) for line in found.lines)]
    heads.insert(3, "verified")
    columns = [_column(found, place) for place in range(len(found.names))]
    inset = max(map(len, heads))
    while columns:
        used, some = inset, [columns.pop(0)]
        used += 2 + _wide(some[0])
        while columns and used + 2 + _wide(columns[0]) <= width:
            used += 2 + _wide(columns[0])
            some.append(columns.pop(0))
        yield aligned([(head, *cells) for head, *cells in zip(heads, *some, strict=True)])


def _wide(column: Sequence[str]) -> int:
    return max(map(len, column))


def _column(found: Comparison, place: int) -> list[str]:
    """All that is told of one release; the best is marked, and the others keep their places."""
    cells = [(told_cell(line, line.cells[place]), place in line.best) for line in found.lines]
    verified = (_verified(found.verdicts[place]), False)
    marked = [(found.names[place], False), *cells[:2], verified, *cells[2:]]
    ranked = any(line.best for line in found.lines)
    return [cell + (f" {BEST}" if best else "  " if ranked else "") for cell, best in marked]


def _verified(verdict: Verdict) -> str:
    return "holds" if verdict else f"violated ({len(verdict.violations)})"
