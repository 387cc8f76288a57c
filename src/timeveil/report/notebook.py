"""How results look in a notebook: tables and pictures, as in a report, but only the first rows and columns.

Pictures are images of their own and a report is a page of its own, so that nothing in them meets the
notebook's style. Names and cells are escaped. Nothing of a ledger is shown.
"""

import base64
from collections.abc import Iterator
from functools import singledispatch
from html import escape
from typing import Any

from timeveil.domain.judgement import Shown, Verdict
from timeveil.domain.release import Release
from timeveil.evidence.risk import Exposure
from timeveil.explore import exploration as explorations
from timeveil.judging import gather, is_well_formed
from timeveil.models import FOLDERS, part
from timeveil.page.report import Report, Table, html_of
from timeveil.page.svg import Picture
from timeveil.page.wording import capital, counted, shortened, visible
from timeveil.report import LARGEST_PICTURE, facts_of, findings_of

ROWS, COLUMNS = 10, 12
DRAWN_ROWS = 1_000_000  # of a release; a larger one has no picture
_PRIVATE = "<p>Private: made with the ledger.</p>"
_STYLE = "max-width:60rem"
_PICTURES = ("over_time", "drawn", "strongest", "sizes")
"""Pictures of a public report, the first that a model has."""


def html(result: Shown) -> str:
    """A result as HTML for a notebook."""
    return f'<div style="{_STYLE}">\n' + "\n".join(filter(None, _blocks(result))) + "\n</div>"


@singledispatch
def _blocks(result: Any) -> Iterator[str]:
    """The loss that a model's judge measured."""
    yield _PRIVATE
    summary = part(_model_of(result), "words").loss_summary(result)
    yield from (f"<p>{html_of(sentence)}</p>" for sentence in summary.sentences)
    if summary.table is not None:
        yield summary.table.html(0)


@_blocks.register
def _(release: Release) -> Iterator[str]:
    yield f"<p><strong>{html_of(capital(release.guarantee.sentence))}.</strong></p>"
    for name in release.parts:
        yield _first_rows(release, name)
    rows = sum(content.num_rows for content in release.parts.values())
    if release.guarantee.model in FOLDERS and rows <= DRAWN_ROWS and is_well_formed(release):
        figures = part(release.guarantee.model, "words").public(facts_of(gather(release)))
        drawn = next((figures[name] for name in _PICTURES if figures.get(name)), None)
        yield _image(next(iter(drawn), None) if isinstance(drawn, list) else drawn)


@_blocks.register
def _(verdict: Verdict) -> Iterator[str]:
    sentence, *_ = str(verdict).partition("\n")
    yield f"<p><strong>{html_of(capital(sentence))}</strong></p>"
    yield "<ul>" + "".join(f"<li>{html_of(item)}</li>" for item in findings_of(verdict)) + "</ul>"


@_blocks.register
def _(breach: Exposure) -> Iterator[str]:
    numbers = {"highest chance": breach.worst, "mean chance": breach.mean}
    pictures = part(_model_of(breach), "words.pictures")
    picture = getattr(pictures, "attack_picture", None) or pictures.group_picture
    yield _PRIVATE
    yield Table("Chance of a right guess", ("figure", "value"), list(numbers.items())).html(0)
    yield _image(picture(breach))


@_blocks.register
def _(report: Report) -> Iterator[str]:
    # Without any right: a report has no script and no address to call.
    yield f'<iframe sandbox srcdoc="{escape(report.html)}" title="{escape(report.title)}" \
style="width:100%;height:40rem;border:0"></iframe>'


@_blocks.register
def _(exploration: explorations.Exploration) -> Iterator[str]:
    table = explorations.exploration_table(exploration)
    yield "" if table is None else table.html(0)
    yield from (f"<p>{html_of(sentence)}</p>" for sentence in explorations.exploration_sentences(exploration))
    yield _image(explorations.exploration_picture(exploration))


def _model_of(result: object) -> str:
    """The model that a loss or a breach is of, by the folder that its class is in."""
    folder = type(result).__module__.split(".")[2]
    return next(model for model, name in FOLDERS.items() if name == folder)


def _first_rows(release: Release, name: str) -> str:
    """The first rows of a table; a release larger than memory is read no further."""
    batches = release.batches(name)
    first = next((batch for batch in batches if batch.num_rows), None)
    part_of = release.parts[name]
    total, columns = part_of.num_rows, part_of.schema.names
    names = columns[:COLUMNS]
    rows = [] if first is None else first.slice(0, ROWS).select(names).to_pylist()
    cells = [[shortened(_cell(row[column]), 60) for column in names] for row in rows]
    size = f"{counted(total, 'row')}, {counted(len(columns), 'column')}"
    caption = f"{name}: {size}" + (", the first of each" if total > ROWS or len(columns) > COLUMNS else "")
    return Table(caption, [visible(column) for column in names], cells, words=len(names)).html(0)


def _cell(value: object) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else visible(value)


def _image(picture: Picture | None) -> str:
    """A picture as an image; nothing where there is none, or a picture too large for a notebook."""
    svg = "" if picture is None else picture.svg()
    if picture is None or len(svg) > LARGEST_PICTURE:
        return ""
    data = base64.b64encode(svg.encode()).decode()
    return f'<img alt="{escape(visible(picture.description))}" src="data:image/svg+xml;base64,{data}">'
