"""What the report on a series release shows: tables, pictures and attacks."""

from __future__ import annotations

from typing import Any

from timeveil.domain.release import Ledger
from timeveil.domain.run import Run
from timeveil.domain.wording import Progress
from timeveil.models.series.judges.attack import SeriesAdversary, SeriesBreach, attack
from timeveil.models.series.judges.measure import measure
from timeveil.models.series.parameters import SeriesParameters
from timeveil.models.series.words.facts import Facts
from timeveil.models.series.words.groups import overview
from timeveil.models.series.words.pictures import (
    attack_picture,
    error_picture,
    release_picture,
    size_picture,
    width_picture,
)
from timeveil.models.series.words.results import exposed, loss_sentences, query_table
from timeveil.page.attacks import Attempt, attack_table, risk_table
from timeveil.page.command import typed_roles
from timeveil.page.markdown import Markdown, Table
from timeveil.page.svg import Picture
from timeveil.page.wording import visible

QUESTIONS = 1_000
"""Random questions of each kind that a report asks, fewer than `measure`."""
SAMPLE = 2_000
"""People who are tried by outsiders other than the one who knows everything."""


def context(f: Facts, progress: Progress) -> dict[str, Any]:
    """What the template needs besides the facts."""
    counts, published = f.counts, f.evidence.published
    figures = [
        ("series published", f"{counts['rows']:,}"),
        ("series withheld", f"{counts['suppressed']:,}"),
        ("instants", f"{published.size:,}"),
        ("groups of one envelope", f"{counts['groups']:,}"),
        ("patterns in them", f"{counts['cells']:,}"),
    ]
    shared = (int(published.rows.min()), int(published.rows.max())) if len(published.rows) else None
    public = {
        "figures": Table("The release in numbers", ("figure", "value"), figures, words=2),
        "sizes": size_picture(published, f.k, f.p),
        "shared": shared,
        "drawn": _groups(f),
        "widths": width_picture(published),
        "again": None,
        "breach": None,
    }
    if f.ledger is None or not counts["rows"]:
        return public
    return {**public, **_private(f, f.ledger, progress)}


def _groups(f: Facts) -> list[Picture]:
    """Several groups, and a single one in case that is too large to show."""
    if not (f.series["values"] and f.series["pattern"] and f.counts["rows"]):
        return []
    numbers = overview(f.release)
    return [release_picture(f.release), release_picture(f.release, numbers[len(numbers) // 2])]


def _private(f: Facts, ledger: Ledger, progress: Progress) -> dict[str, Any]:
    """What only the custodian may see: the risk before, the loss, and attacks."""
    progress("attacking", 0.2)
    breach = attack(f.evidence, SeriesAdversary(pattern=True))
    breaches = [breach, *(attack(f.evidence, outsider) for outsider in _other_outsiders(f))]
    attempts = [_attempt(tried) for tried in breaches]
    progress("measuring", 0.6)
    loss = measure(f.evidence, queries=QUESTIONS, seed=0)
    questioned = bool(loss.query_errors)
    return {
        "breach": breach,
        "knowledge": breach.adversary.words,
        "attacked": attack_picture(breach),
        "risks": risk_table(breach.before, breach.after, "the row"),
        "attacks": attack_table(attempts),
        "broken": any(attempt.broken for attempt in attempts),
        "losses": loss_sentences(loss),
        "errors": error_picture(loss) if questioned else None,
        "queries": query_table(loss) if questioned else None,
        "exposed": exposed(breach),
        "again": Markdown(visible(_command(f, ledger))),
    }


def _other_outsiders(f: Facts) -> list[SeriesAdversary]:
    """Outsiders who know a quarter of the values, or the shape alone."""
    quarter, outsiders = len(f.series["instants"]) // 4, []
    if quarter and f.series["values"]:
        outsiders.append(SeriesAdversary(quarter, sample=SAMPLE))
    if f.series["pattern"]:
        outsiders.append(SeriesAdversary(None, pattern=True, sample=SAMPLE))
    return outsiders


def _attempt(breach: SeriesBreach) -> Attempt:
    above = breach.share_above(1 / breach.p + 1e-12)
    return Attempt(breach.adversary.words, breach.people, breach.p, breach.worst, breach.mean, above)


def _command(f: Facts, ledger: Ledger) -> str:
    axis = ledger.original.axis
    clock = {} if axis is None else {"zone": axis.zone, "unit": axis.unit}
    return Run.of_release(SeriesParameters, typed_roles(ledger), f.parameters, **clock).command()
