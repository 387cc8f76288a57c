"""What the report on a release of timestamped rows shows: tables, pictures and attacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.domain.release import Ledger
from timeveil.domain.run import Run
from timeveil.domain.wording import Progress
from timeveil.models.events.judges.attack import Adversary, Breach, attack
from timeveil.models.events.judges.measure import measure
from timeveil.models.events.parameters import EventParameters
from timeveil.models.events.words.facts import Facts
from timeveil.models.events.words.pictures import attack_picture, granularity_picture, size_picture
from timeveil.models.events.words.results import knowledge, loss_sentences
from timeveil.page.attacks import Attempt, attack_table, risk_table
from timeveil.page.command import typed_roles
from timeveil.page.markdown import Markdown, Table
from timeveil.page.wording import name, visible

SAMPLE = 2_000
"""People who are tried by outsiders other than the one that the promise covers."""
_MOST_CANDIDATES = 40
WINDOWS = 1_000
"""Random window counts that the loss is measured by."""


def context(f: Facts, progress: Progress) -> dict[str, Any]:
    """What the template needs besides the facts."""
    counts = f.counts
    figures = [
        ("rows published", f"{counts['rows']:,}"),
        ("rows withheld", f"{counts['withheld']:,} of {counts['rows_read']:,}"),
        ("granularity of time", name(f.granularity)),
        ("groups of the same quasi-identifiers and time", f"{counts['groups']:,}"),
        ("people in the smallest group", f"{counts['smallest_group']:,}"),
    ]
    candidates = dict(list(f.allowed.items())[:_MOST_CANDIDATES])
    public = {
        "figures": Table("The release in numbers", ("figure", "value"), figures, words=2),
        "sizes": size_picture(f.release, f.k),
        "granularities": granularity_picture(candidates, f.granularity),
        "candidates": _candidate_table(f, candidates),
        "again": None,
        "breach": None,
    }
    if f.ledger is None or not counts["rows"]:
        return public
    return {**public, **_private(f, f.ledger, progress)}


def _private(f: Facts, ledger: Ledger, progress: Progress) -> dict[str, Any]:
    """What only the custodian may see: the risk before, the loss, and attacks."""
    release, time = f.release, f.manifest["time"]
    progress("attacking", 0.2)
    breach = attack(f.evidence, Adversary())
    near = 1 if time["kind"] == "relative" else 86_400
    attempts = [_attempt(breach, f, promised=True)]
    attempts.append(_attempt(attack(f.evidence, Adversary(tolerance=near, sample=SAMPLE)), f, promised=True))
    for visits in (2, 3):
        if visits <= max(2, _most_rows(ledger)):
            several = attack(f.evidence, Adversary(visits=visits, sample=SAMPLE))
            attempts.append(_attempt(several, f, promised=False))
    progress("measuring", 0.7)
    return {
        "breach": breach,
        "knowledge": knowledge(breach, release),
        "attacked": attack_picture(breach, time["unit"] or "second"),
        "risks": risk_table(breach.before, breach.after, "a person"),
        "attacks": attack_table(attempts),
        "broken": any(attempt.broken for attempt in attempts),
        "losses": loss_sentences(measure(f.evidence, windows=WINDOWS, seed=0)),
        "again": Markdown(visible(_command(f, ledger))),
    }


def _attempt(breach: Breach, f: Facts, *, promised: bool) -> Attempt:
    bound = breach.k if promised else None
    above = breach.share_above(1 / (bound or 2) + 1e-12)
    return Attempt(knowledge(breach, f.release), breach.people, bound, breach.worst, breach.mean, above)


def _most_rows(ledger: Ledger) -> int:
    """The rows of the person with the most."""
    original = ledger.original
    people = pa.Table.from_batches(original.batches([original.respondent]))
    counts = people.group_by(original.respondent).aggregate([([], "count_all")])["count_all"]
    return int(np.asarray(counts).max(initial=0))


def _candidate_table(f: Facts, candidates: dict[str, Any]) -> Table | None:
    rows = [
        (
            name(granularity) + (" (chosen)" if granularity == f.granularity else ""),
            *(f"{counts[key]:,}" for key in ("groups", "smallest_group", "groups_below_k", "rows_below_k")),
            "yes" if counts["feasible"] else "no",
        )
        for granularity, counts in candidates.items()
    ]
    head = ("time by", "groups", "smallest group", "groups below k", "rows below k", "would work")
    return Table("What each granularity gives, before rows are withheld", head, rows) if rows else None


def _command(f: Facts, ledger: Ledger) -> str:
    clock = ledger.original.clock
    levels = {column: level["level"] for column, level in f.levels.items()} or None
    stated = {**f.parameters, "zone": clock.zone, "unit": clock.unit, "levels": levels}
    return Run.of_release(EventParameters, typed_roles(ledger), stated).command()
