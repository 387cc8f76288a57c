"""What the report on a pattern release shows: tables, pictures and attacks."""

from __future__ import annotations

from typing import Any

from timeveil.domain.release import Ledger
from timeveil.domain.run import Run
from timeveil.domain.wording import Progress
from timeveil.models.patterns.judges.attack import PatternAdversary, PatternBreach, attack
from timeveil.models.patterns.judges.measure import measure
from timeveil.models.patterns.parameters import PatternParameters
from timeveil.models.patterns.words.facts import Facts
from timeveil.models.patterns.words.pictures import (
    error_picture,
    group_picture,
    length_picture,
    release_picture,
)
from timeveil.models.patterns.words.results import alternative_table, beyond, loss_sentences, risk_table
from timeveil.page.command import typed_roles
from timeveil.page.markdown import Markdown, Table
from timeveil.page.wording import share, visible


def context(f: Facts, progress: Progress) -> dict[str, Any]:
    """What the template needs besides the facts."""
    counts, published = f.counts, f.evidence.patterns
    figures = [
        ("patterns published, including the empty one", f"{counts['patterns']:,}"),
        ("people counted, including virtual ones", f"{counts['transactions']:,}"),
        ("virtual people among them", f"{counts['virtual']:,}"),
        ("people who have a pattern, at least", f"{f.parameters['min_support']:,}"),
    ]
    public = {
        "figures": Table("The release in numbers", ("figure", "value"), figures, words=2),
        "published": published,
        "strongest": release_picture(f.evidence) if int(published.lengths.max(initial=0)) else None,
        "lengths": length_picture(published),
        "again": None,
        "breach": None,
    }
    return public if f.ledger is None else {**public, **_private(f, f.ledger, progress)}


def _private(f: Facts, ledger: Ledger, progress: Progress) -> dict[str, Any]:
    """What only the custodian may see: the risk before, the loss, and attacks."""
    progress("attacking", 0.2)
    breach = attack(f.evidence, PatternAdversary())
    progress("measuring", 0.7)
    loss = measure(f.evidence, against=None, seed=0)
    return {
        "breach": breach,
        "attacked": group_picture(breach),
        "risks": risk_table(breach),
        "attacks": _attack_table(breach),
        "all_solved": breach.beyond is not None and breach.beyond.tried == breach.beyond.possible,
        "losses": loss_sentences(loss),
        "errors": error_picture(loss),
        "alternatives": alternative_table(loss),
        "exposed": beyond_the_promise(breach),
        "again": Markdown(visible(_command(f, ledger))),
    }


def _attack_table(breach: PatternBreach) -> Table:
    head = ("the outsider", "promised", "groups below k", "people in one", "result")
    result = "above the bound" if breach.broken else "within the bound"
    if breach.channels_after and not breach.broken:
        result = "beyond the promise"
    groups, part = f"{breach.channels_after:,}", share(breach.exposed_after)
    rows = [(breach.adversary.words, "none", groups, part, result)]
    bounds = breach.beyond
    if bounds is not None and bounds.tried == bounds.possible:
        outcome = f"{bounds.exact:,} known exactly" if bounds.pinned else "none is certain to be small"
        rows.append(("solves for all data with these counts", "nothing", f"{bounds.pinned:,}", "", outcome))
    return Table("Attacks on the release", head, rows, words=2)


def beyond_the_promise(breach: PatternBreach) -> list[str]:
    """What equations give, and bounds if all were tried or a small group was found before time was up."""
    bounds, (first, *equations) = breach.beyond, beyond(breach)
    conclusive = bounds is not None and (bounds.tried == bounds.possible or bounds.pinned > 0)
    return [first, *equations] if conclusive else equations


def _command(f: Facts, ledger: Ledger) -> str:
    stated, instants = dict(f.parameters), f.patterns["instants"]
    for name in () if instants else ("symbols", "center", "structural"):
        stated.pop(name, None)
    stated["instants"] = instants if instants and tuple(instants) != ledger.original.roles.series else None
    released = ledger.facts.get("origin") == "release"
    return Run.of_release(PatternParameters, None if released else typed_roles(ledger), stated).command()
