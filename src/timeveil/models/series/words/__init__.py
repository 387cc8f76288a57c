"""The words about a series release: its facts, its losses, and what attacks find."""

from collections.abc import Sequence
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from timeveil.domain.release import Release
from timeveil.domain.wording import Progress
from timeveil.evidence.codes import distinct_pairs, encode
from timeveil.evidence.published import columns_of
from timeveil.models.series.evidence import Evidence
from timeveil.models.series.judges.attack import SeriesBreach, attack
from timeveil.models.series.judges.measure import TOLERANCE, SeriesLoss, measure
from timeveil.models.series.judges.profile import SeriesProfile
from timeveil.models.series.parameters import SeriesAdversary, SeriesParameters
from timeveil.models.series.words import pictures
from timeveil.page import templates
from timeveil.page.charts import bar_chart
from timeveil.page.report import Summary, Table
from timeveil.page.svg import RISK
from timeveil.page.templates import Attempt, ReleaseFacts, attack_table, risk_table
from timeveil.page.wording import counted, percent

_LOSSES = ("value_loss", "value_loss_unrounded", "value_span", "pattern_loss", "level_mean", "withheld_by")
QUESTIONS = 1_000  # random questions of each kind that a report asks, fewer than `measure`
SAMPLE = 2_000  # people who are tried by outsiders other than the one who knows everything
_QUERIES = {
    "range": "values in ranges",
    "pattern-range": "differences in ranges",
    "similarity": "similar shapes, the paper's tolerance",
    "similarity at one tolerance": f"similar shapes, within {TOLERANCE:g}",
    "complex": "values and shapes",
}


class Facts(ReleaseFacts):
    """What the templates of this model are filled with; the ledger adds what only the custodian knows."""

    table, achieved = SeriesParameters, "{k} share every envelope, {p} every pattern"

    def __init__(self, evidence: Any, hierarchies: Sequence[str] = ()) -> None:
        super().__init__(evidence, hierarchies)
        self.p = evidence.least_candidates
        if not self.manifest["series"]["pattern"]:
            self.title = self.title.rpartition(", ")[0]

    @cached_property
    def exposure(self) -> dict[str, Any] | None:
        """The release held against its original, with the ledger.

        `alone` is the share of series whose values nobody else has, `constant` that of series that never
        change. Sizes are the smallest and the largest. `commonest` gives per sensitive column the share of
        its most common value in the worst cell, which is a pattern within a group; `different` the number of
        different values per row. `attained` is the share of published bounds that are a member's exact value.
        """
        if self.ledger is None:
            return None
        evidence, table = self.evidence, self.evidence.release.table
        published, matrix = evidence.published, evidence.matrix
        sizes = published.group_sizes[1]
        loss = measure(evidence, queries=0, seed=0)
        packed = np.ascontiguousarray(matrix + 0.0).view(np.dtype((np.void, matrix.shape[1] * 8))).ravel()
        times = np.unique(packed, return_counts=True)[1]
        cell = np.repeat(np.arange(len(published.rows)), published.rows)
        sensitive = {name: encode(table[name]) for name in columns_of(evidence.release, "sensitive")}
        commonest = dict[str, float]()
        for name, values in sensitive.items():
            owner, _, often = distinct_pairs(cell, values.codes, values.size)
            commonest[name] = float((often / published.rows[owner]).max())
        return {
            **{name: getattr(loss, name) for name in _LOSSES},
            "alone": float((times == 1).sum() / len(matrix)),
            "constant": float((matrix == matrix[:, :1]).all(axis=1).mean()),
            "group_sizes": (int(sizes.min()), int(sizes.max())),
            "cell_sizes": (int(published.rows.min()), int(published.rows.max())),
            "commonest": commonest,
            "different": {name: values.size / max(len(cell), 1) for name, values in sensitive.items()},
            "attained": _attained(evidence),
        }

    def figures(self) -> list[tuple[str, Any]]:
        counts = self.counts
        return [
            ("series published", counts["rows"]),
            ("series withheld", counts["suppressed"]),
            ("instants", len(self.manifest["series"]["instants"])),
            ("groups of one envelope", counts["groups"]),
            *([("patterns in them", counts["cells"])] if self.manifest["series"]["pattern"] else []),
        ]

    def as_dict(self, *entries: str) -> dict[str, Any]:
        data = super().as_dict("series", "parameters", *entries)
        return {**data, "run": dict(self.run), **(self.exposure or {})}


def _attained(evidence: Evidence) -> float:
    """Share of bounds that a member has exactly."""
    published, released = evidence.published, evidence.released
    run, values = evidence.run[released], evidence.matrix[released][:, published.values]
    starts = np.flatnonzero(np.diff(published.group[run], prepend=-1))
    ends = (np.minimum, published.low), (np.maximum, published.high)
    attained = np.array([side.reduceat(values, starts) == bounds[run[starts]] for side, bounds in ends])
    return float(attained.mean()) if attained.size else 0.0


def attack_summary(breach: SeriesBreach, release: Release) -> Summary:
    """An attack as a page."""
    sentences, limits = templates.marked("models/series/words/attack.j2", breach=breach, release=release)
    title = f"An outsider knows {breach.adversary.words} -> what they find"
    limits.append("Who is in the release at all, and whatever kept columns show.")
    return Summary(sentences, risk_table(breach, "the row", release), title, limits)


def loss_summary(loss: SeriesLoss) -> Summary:
    """The loss as numbered sentences and a table."""
    return Summary(templates.sentences("models/series/words/loss.j2", loss=loss), query_table(loss))


def query_table(loss: SeriesLoss) -> Table | None:
    """The errors of random questions, a line for each kind; None where none was asked."""
    if not loss.query_errors:
        return None
    errors = loss.query_errors
    rows = [(_QUERIES[e.kind], e.mean, e.median, e.precision, e.recall) for e in errors]
    questions = counted(errors[0].queries, "random question")
    head = ("question about", "mean error", "median error", "precision", "recall")
    return Table(f"{questions} of each kind, answered from the release", head, rows)


def profile_summary(risk: SeriesProfile, source: str, _known: Sequence[str] = ()) -> Summary:
    """Which series are alone with what an outsider knows of them."""
    instants = list(dict.fromkeys(each.instants for each in risk.known))
    rows = f"{counted(risk.series, 'series', 'series')} of {counted(risk.instants, 'instant')}."
    if risk.left_out:
        rows += f" {counted(risk.left_out, 'series', 'series')} with gaps left out."
    verdict = f"holds: {risk.k} series share every value at every instant."
    if not risk.already_anonymous:
        verdict = f"not yet {risk.k}-anonymous: the table shows how many series are alone or nearly so."
    lines = groupby(risk.known, key=lambda each: _precision(each.digits))
    rows_of_table = [(precision, *(each.alone for each in line)) for precision, line in lines]
    head = ("values known", *(counted(number, "instant") for number in instants))
    table = Table("Share of series that are the only one with the values known", head, rows_of_table)
    bars = {
        f"{counted(each.instants, 'instant')}, {_precision(each.digits)}": each.below_k for each in risk.known
    }
    picture = bar_chart(
        f"Series that fewer than {risk.k} share",
        "Share of series, by how many neighbouring instants are known and how precisely.",
        bars,
        colours=dict.fromkeys(bars, RISK),
        label=percent,
        strong=f"{counted(instants[-1], 'instant')}, {_precision(None)}",
    )
    return Summary(
        [rows, verdict], table, f"{source} -> what known values reveal to an outsider", picture=picture
    )


def _precision(digits: int | None) -> str:
    return "exact" if digits is None else f"to {counted(digits, 'digit')}"


def public(f: Facts) -> dict[str, Any]:
    """What the template of a report needs besides the facts."""
    published, drawn = f.evidence.published, []
    if f.manifest["series"]["values"] and f.counts["rows"]:
        # Several groups, and a single one in case that is too large to show.
        numbers = pictures.overview(published)
        drawn = [pictures.release_picture(f.evidence, group) for group in (None, numbers[len(numbers) // 2])]
    rows = published.rows
    return {
        "sizes": pictures.size_picture(published, f.k, f.p),
        "shared": (int(rows.min()), int(rows.max())) if len(rows) else None,
        "drawn": drawn,
        "widths": pictures.width_picture(published),
    }


def private(f: Facts, progress: Progress) -> dict[str, Any]:
    """What only the custodian may see: the risk before, the loss, and attacks."""
    release = f.evidence.release
    progress("attacking", 0.2)
    quarter, outsiders = len(f.manifest["series"]["instants"]) // 4, [SeriesAdversary(pattern=True)]
    if quarter and f.manifest["series"]["values"]:
        outsiders.append(SeriesAdversary(quarter, sample=SAMPLE))
    if f.manifest["series"]["pattern"]:
        outsiders.append(SeriesAdversary(None, pattern=True, sample=SAMPLE))
    breaches = [attack(f.evidence, outsider) for outsider in outsiders]
    attempts = [Attempt(breach.adversary.words, breach, breach.p) for breach in breaches]
    progress("measuring", 0.6)
    loss = measure(f.evidence, queries=QUESTIONS, seed=0)
    queries = query_table(loss)
    return {
        "breach": breaches[0],
        "knowledge": attempts[0].knows,
        "attacked": pictures.attack_picture(breaches[0]),
        "risks": risk_table(breaches[0], "the row", release),
        "attacks": attack_table(attempts),
        "broken": any(attempt.broken for attempt in attempts),
        "losses": loss_summary(loss).sentences,
        "errors": pictures.error_picture(loss, queries),
        "error_table": queries,
        "exposed": templates.marked("models/series/words/attack.j2", breach=breaches[0], release=release)[1],
    }
