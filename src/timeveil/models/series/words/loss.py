"""What a series release lost, in words."""

from __future__ import annotations

from timeveil.models.series.judges.measure import TOLERANCE, QueryError, SeriesLoss
from timeveil.page.wording import WIDTH, aligned, counted, share, wrapped

_ASKED = {
    "range": "values in ranges",
    "pattern-range": "differences in ranges",
    "similarity": "similar shapes, the paper's tolerance",
    "similarity at one tolerance": f"similar shapes, within {TOLERANCE:g}",
    "complex": "values and shapes",
}


def described(loss: SeriesLoss, width: int = WIDTH) -> list[str]:
    """The loss in sentences, and random questions as a table."""
    told = sentences(loss)
    if loss.query_errors:
        told.append(asked(loss) + ":")
    lines = [
        line
        for number, sentence in enumerate(told, start=1)
        for line in wrapped(sentence, width, f"{number}. ")
    ]
    if not loss.query_errors:
        return lines
    return [*lines, "", *aligned([(f"   {row[0]}", *row[1:]) for row in table(loss)])]


def sentences(loss: SeriesLoss) -> list[str]:
    """What was published, and how far values and shapes are off."""
    return [_published(loss), _values(loss), _shapes(loss)]


def asked(loss: SeriesLoss) -> str:
    """How many random questions the table is about."""
    return (
        f"{counted(loss.query_errors[0].queries, 'random question')} of each kind, answered from the release"
    )


def table(loss: SeriesLoss) -> list[tuple[str, ...]]:
    """How far off random questions are, a head and a line for each kind."""
    head = ("asked for", "count off by", "in the median", "precision", "recall")
    return [head, *(_row(found) for found in loss.query_errors)]


def _published(loss: SeriesLoss) -> str:
    return (
        f"{counted(loss.rows, 'series', 'series')} published in {counted(loss.groups, 'group')} and "
        f"{counted(loss.cells, 'cell')} of one pattern; {loss.suppressed:,} suppressed "
        f"({share(loss.suppressed_share)})."
    )


def _values(loss: SeriesLoss) -> str:
    if loss.value_loss is None or loss.value_span is None:
        return "No values were published."
    part = share(loss.value_loss / loss.value_span) if loss.value_span else share(0.0)
    told = f"Envelopes are {loss.value_loss:.4g} wide on average, {part} of the span of all series"
    before = loss.value_loss_unrounded
    if before is None or abs(before - loss.value_loss) <= 1e-9 * loss.value_loss:
        return f"{told}."
    return f"{told}; {before:.4g} before they were rounded outward."


def _shapes(loss: SeriesLoss) -> str:
    if loss.pattern_loss is None:
        return "No patterns were published."
    return (
        f"A shape differs from the published one by {loss.pattern_loss:.3g} on average (1 is nothing in "
        f"common); patterns have {loss.level_mean:.3g} levels on average and {loss.level_min} at least."
    )


def _row(found: QueryError) -> tuple[str, ...]:
    sets = (found.precision, found.recall)
    return (
        _ASKED[found.kind],
        share(found.mean),
        share(found.median),
        *("" if part is None else share(part) for part in sets),
    )
