"""Numbers, names and lists in sentences, and sentences as lines of text.

Text is plain, with names from the data in backquotes: `name` and `quoted` put them there. Characters that do
not show, or that turn the direction of writing, are written out, so that no name can pass for anything else.
"""

import textwrap
from collections.abc import Callable, Iterable, Sequence

from timeveil.domain.wording import counted as counted  # noqa: PLC0414 (one door for words)

WIDTH = 100  # columns of text where the width of the screen is unknown
UNITS = {"bits": "bits"}  # the losses that are no shares, and what they are counted in
LONGEST_NAME = 200  # characters of a name that are shown in a sentence


def people(number: int) -> str:
    """A number of people."""
    return counted(number, "person", "people")


def visible(text: object) -> str:
    """Text with every character that does not show written out."""
    return "".join(
        mark if mark.isprintable() else mark.encode("unicode_escape").decode("ascii") for mark in str(text)
    )


def name(text: object) -> str:
    """A name from the data, in backquotes."""
    safe = visible(text).replace("`", "'")
    return f"`{shortened(safe, LONGEST_NAME)}`"


def shortened(text: str, longest: int) -> str:
    """A text cut to a number of characters."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def quoted(names: Iterable[object], most: int = 12) -> str:
    """Names in backquotes, joined as in a sentence."""
    marked = [name(text) for text in names]
    if len(marked) > most:
        marked = [*marked[:most], f"{len(marked) - most} more"]
    return joined(marked)


def joined(parts: Sequence[str]) -> str:
    """Parts as in a sentence."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def capital(text: str) -> str:
    """Text that begins a sentence."""
    return f"{text[:1].upper()}{text[1:]}"


def share(part: float) -> str:
    """A share in percent; never 0 or 100 unless it is exactly that.

    >>> share(0.0), share(0.00004), share(0.0048), share(0.5), share(0.9999), share(1.0), share(41.78)
    ('0 %', 'under 0.01 %', '0.48 %', '50 %', 'over 99.9 %', '100 %', '4,180 %')
    """
    number = 100 * part
    if number in (0, 100):
        return f"{number:.0f} %"
    if number < 0.01:
        return "under 0.01 %"
    if 99.9 < number < 100:
        return "over 99.9 %"
    if number >= 1000:
        return f"{float(f'{number:.3g}'):,.0f} %"
    return f"{number:.2g} %" if number < 10 else f"{number:.3g} %"


def percent(part: float) -> str:
    """A share as short as a picture needs it; never 0 or 100 unless it is exactly that."""
    if 0 < part < 0.001:
        return "≈0 %"
    if 0.999 < part < 1:
        return "≈100 %"
    return f"{100 * part:.1f}".removesuffix(".0") + " %"


def amount(measure: str, number: float, as_share: Callable[[float], str] = share) -> str:
    """A loss or a risk by its name: a share, or a number with the unit that it is counted in."""
    if measure not in UNITS:
        return as_share(number)
    text = "under 0.1" if 0 < number < 0.1 else f"{number:,.1f}" if number else "0"
    return f"{text} {UNITS[measure]}"


def cell(measure: str, number: float) -> str:
    """The same in a table, whose header names the unit."""
    return amount(measure, number).removesuffix(f" {UNITS.get(measure, '')}")


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Rows of cells as lines of text, the first `left` columns aligned left and the others right."""
    rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        padded = (cell.ljust(size) if index < left else cell.rjust(size) for index, (cell, size) in cells)
        lines.append("  ".join(padded).rstrip())
    return lines


def wrapped(text: str, width: int, mark: str = "", indent: str | None = None) -> list[str]:
    """Lines of text after a mark, line breaks kept; names such as `half-year` are not broken.

    Lines after the first are indented by `indent`, or else by the width of the mark.
    """
    inset = " " * len(mark) if indent is None else indent
    wrapper = textwrap.TextWrapper(width, mark, inset, break_long_words=False, break_on_hyphens=False)
    lines: list[str] = []
    for part in text.split("\n"):
        wrapper.initial_indent = inset if lines else mark
        lines += wrapper.wrap(part)
    return lines


def numbered(sentences: Iterable[str], width: int = WIDTH) -> list[str]:
    """Sentences with their numbers, as lines."""
    lines = list[str]()
    for number, sentence in enumerate(sentences, start=1):
        lines += wrapped(sentence, width, f"{number}. ")
    return lines
