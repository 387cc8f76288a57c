"""What attacks find in series, and what a series release lost, as tables and sentences."""

from __future__ import annotations

from timeveil.models.series.judges.attack import SeriesBreach
from timeveil.models.series.judges.measure import TOLERANCE, QueryError, SeriesLoss
from timeveil.page.attacks import risk_table
from timeveil.page.markdown import Table
from timeveil.page.summary import Summary
from timeveil.page.wording import counted, name, people, share

_QUERIES = {
    "range": "values in ranges",
    "pattern-range": "differences in ranges",
    "similarity": "similar shapes, the paper's tolerance",
    "similarity at one tolerance": f"similar shapes, within {TOLERANCE:g}",
    "complex": "values and shapes",
}


def attack_summary(breach: SeriesBreach) -> Summary:
    """An attack as a page."""
    sentences = []
    if breach.people < breach.everyone:
        sentences.append(f"{people(breach.people)} of {breach.everyone:,} were attacked, drawn at random.")
    above = breach.share_above(1 / breach.p + 1e-12)
    sentences.append(
        f"In the release, {share(above)} of the people can be named with a chance above 1 in {breach.p}."
        if above
        else f"In the release, nobody can be named with a chance above 1 in {breach.p} by a blind guess."
    )
    if breach.adversary.pattern and not breach.own_patterns:
        sentences.append(
            "Patterns of this release do not fit every series: the outsider bets on the nearest, and is "
            f"wrong about {share(breach.after.out_of_reach)} of the people."
        )
    title = f"An outsider knows {breach.adversary.words} -> what they find"
    limits = [*exposed(breach), "Who is in the release at all, and whatever kept columns show."]
    return Summary(sentences, risk_table(breach.before, breach.after, "the row"), title, limits)


def exposed(breach: SeriesBreach) -> list[str]:
    """What this outsider can still see."""
    sentences = []
    for column, chances in breach.told.items():
        sentences.append(
            f"All rows that fit have the same {name(column)} for {share(breach.homogeneous[column])} of the "
            f"people; the true value gets a chance of {share(chances.mean)} on average and of "
            f"{share(chances.worst)} in the worst case."
        )
    if breach.own_patterns and not breach.adversary.pattern:
        sentences.append(
            "Values were compared with envelopes alone. Anyone who knows many of them can also rule out "
            f"patterns: what is promised is 1 in {breach.p}."
        )
    if not breach.own_patterns:
        sentences.append(
            "Anyone who knows all but one who share a pattern can nearly compute the last one's shape."
        )
    return sentences


def loss_summary(loss: SeriesLoss) -> Summary:
    """The loss as numbered sentences and a table."""
    return Summary(loss_sentences(loss), query_table(loss) if loss.query_errors else None)


def loss_sentences(loss: SeriesLoss) -> list[str]:
    """What was published, and how far off values and shapes are."""
    published = (
        f"{counted(loss.rows, 'series', 'series')} published in {counted(loss.groups, 'group')} and "
        f"{counted(loss.cells, 'cell')} of one pattern each; {loss.suppressed:,} withheld "
        f"({share(loss.suppressed_share)})."
    )
    values = "No values were published."
    if loss.value_loss is not None and loss.value_span is not None:
        part = share(loss.value_loss / loss.value_span) if loss.value_span else share(0.0)
        values = f"Envelopes are {loss.value_loss:.4g} wide on average, {part} of the span of all series"
        before = loss.value_loss_unrounded
        rounded = before is not None and abs(before - loss.value_loss) > 1e-9 * loss.value_loss
        values += f"; {before:.4g} before bounds were rounded outward." if rounded else "."
    shapes = "No patterns were published."
    if loss.pattern_loss is not None:
        shapes = (
            f"A published shape differs from the true one by {loss.pattern_loss:.3g} on average (1 means "
            f"unrelated); patterns have {loss.level_mean:.3g} levels on average and {loss.level_min} at "
            "least."
        )
    return [published, values, shapes]


def query_table(loss: SeriesLoss) -> Table:
    """The errors of random questions, a line for each kind."""
    questions = counted(loss.query_errors[0].queries, "random question")
    head = ("question about", "mean error", "median error", "precision", "recall")
    rows = [_query_row(error) for error in loss.query_errors]
    return Table(f"{questions} of each kind, answered from the release", head, rows)


def _query_row(error: QueryError) -> tuple[str, ...]:
    sets = ("" if part is None else share(part) for part in (error.precision, error.recall))
    return _QUERIES[error.kind], share(error.mean), share(error.median), *sets
