"""What a series release lost, in words."""

from __future__ import annotations

from timeveil.measure.series_loss import QueryError, SeriesLoss
from timeveil.report.wording import WIDTH, aligned, counted, share, wrapped

_KINDS = {
    "range": "values in ranges",
    "pattern-range": "differences in ranges",
    "similarity": "shapes alike, tolerance by pattern loss",
    "similarity at one tolerance": "shapes alike, tolerance 0.1",
    "complex": "values and shape together",
}


def described(loss: SeriesLoss, width: int = WIDTH) -> list[str]:
    """The loss in sentences, and random questions as a table."""
    sentences = [
        f"{counted(loss.rows, 'series', 'series')} published in {counted(loss.groups, 'group')} with "
        f"{counted(loss.cells, 'pattern')}, {loss.suppressed:,} suppressed ({share(loss.suppressed_share)})."
    ]
    if loss.value_loss is not None and loss.value_span is not None:
        whole = (
            f", {share(loss.value_loss / loss.value_span)} of what all series span" if loss.value_span else ""
        )
        sentences.append(
            f"An envelope is {loss.value_loss:.4g} wide on average (value loss){whole}; before rounding "
            f"outward it was {loss.value_loss_unrounded:.4g}."
        )
    if loss.pattern_loss is not None:
        sentences.append(
            f"A pattern is {loss.pattern_loss:.4g} away from the shape of a series on average (pattern loss: "
            f"1 less their correlation), with {loss.level_mean:.3g} letters to an instant on average and "
            f"{loss.level_min} at least."
        )
    if loss.query_errors:
        sentences.append(f"{counted(loss.query_errors[0].queries, 'random question')} of each kind:")
    lines = [
        line
        for number, sentence in enumerate(sentences, start=1)
        for line in wrapped(sentence, width, f"{number}. ")
    ]
    return [*lines, "", *_questions(loss.query_errors)] if loss.query_errors else lines


def _questions(errors: tuple[QueryError, ...]) -> list[str]:
    head = ("   how many series have", "off by, mean", "median", "precision", "recall")
    rows = [
        (
            f"   {_KINDS.get(found.kind, found.kind)}",
            share(found.mean),
            share(found.median),
            "" if found.precision is None else share(found.precision),
            "" if found.recall is None else share(found.recall),
        )
        for found in errors
    ]
    return aligned([head, *rows])
