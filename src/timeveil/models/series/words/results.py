"""What attacks find in series, what a series release lost, and what a report shows."""

from __future__ import annotations

from typing import Any

from timeveil.domain.wording import Progress
from timeveil.models.series.judges.attack import SeriesAdversary, SeriesBreach, attack
from timeveil.models.series.judges.measure import TOLERANCE, SeriesLoss, measure
from timeveil.models.series.words import Facts
from timeveil.models.series.words.pictures import (
    attack_picture,
    error_picture,
    overview,
    release_picture,
    size_picture,
    width_picture,
)
from timeveil.page import templates
from timeveil.page.facts import Attempt, attack_table, risk_table
from timeveil.page.markdown import Table
from timeveil.page.report import Summary
from timeveil.page.wording import counted

QUESTIONS = 1_000
"""Random questions of each kind that a report asks, fewer than `measure`."""
SAMPLE = 2_000
"""People who are tried by outsiders other than the one who knows everything."""
_QUERIES = {
    "range": "values in ranges",
    "pattern-range": "differences in ranges",
    "similarity": "similar shapes, the paper's tolerance",
    "similarity at one tolerance": f"similar shapes, within {TOLERANCE:g}",
    "complex": "values and shapes",
}


def attack_summary(breach: SeriesBreach) -> Summary:
    """An attack as a page."""
    sentences, limits = templates.marked("models/series/words/attack.j2", breach=breach)
    title = f"An outsider knows {breach.adversary.words} -> what they find"
    limits.append("Who is in the release at all, and whatever kept columns show.")
    return Summary(sentences, risk_table(breach, "the row"), title, limits)


def loss_summary(loss: SeriesLoss) -> Summary:
    """The loss as numbered sentences and a table."""
    return Summary(templates.sentences("models/series/words/loss.j2", loss=loss), query_table(loss))


def query_table(loss: SeriesLoss) -> Table | None:
    """The errors of random questions, a line for each kind; None where none was asked."""
    if not loss.query_errors:
        return None
    rows = [
        (_QUERIES[error.kind], error.mean, error.median, error.precision, error.recall)
        for error in loss.query_errors
    ]
    questions = counted(loss.query_errors[0].queries, "random question")
    head = ("question about", "mean error", "median error", "precision", "recall")
    return Table(f"{questions} of each kind, answered from the release", head, rows)


def public(f: Facts) -> dict[str, Any]:
    """What the template of a report needs besides the facts."""
    release, published, drawn = f.evidence.release, f.evidence.published, []
    if f.series["values"] and f.series["pattern"] and f.counts["rows"]:
        # Several groups, and a single one in case that is too large to show.
        numbers = overview(published)
        drawn = [release_picture(release), release_picture(release, numbers[len(numbers) // 2])]
    rows = published.rows
    return {
        "sizes": size_picture(published, f.k, f.p),
        "shared": (int(rows.min()), int(rows.max())) if len(rows) else None,
        "drawn": drawn,
        "widths": width_picture(published),
    }


def private(f: Facts, progress: Progress) -> dict[str, Any]:
    """What only the custodian may see: the risk before, the loss, and attacks."""
    progress("attacking", 0.2)
    quarter, outsiders = len(f.series["instants"]) // 4, [SeriesAdversary(pattern=True)]
    if quarter and f.series["values"]:
        outsiders.append(SeriesAdversary(quarter, sample=SAMPLE))
    if f.series["pattern"]:
        outsiders.append(SeriesAdversary(None, pattern=True, sample=SAMPLE))
    breaches = [attack(f.evidence, outsider) for outsider in outsiders]
    attempts = [Attempt(breach.adversary.words, breach, breach.p) for breach in breaches]
    progress("measuring", 0.6)
    loss = measure(f.evidence, queries=QUESTIONS, seed=0)
    queries = query_table(loss)
    return {
        "breach": breaches[0],
        "knowledge": attempts[0].knows,
        "attacked": attack_picture(breaches[0]),
        "risks": risk_table(breaches[0], "the row"),
        "attacks": attack_table(attempts),
        "broken": any(attempt.broken for attempt in attempts),
        "losses": loss_summary(loss).sentences,
        "errors": error_picture(loss, queries),
        "error_table": queries,
        "exposed": templates.marked("models/series/words/attack.j2", breach=breaches[0])[1],
    }
