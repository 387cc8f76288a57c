"""What the report on a stream release shows: tables, pictures and attacks."""

from __future__ import annotations

from typing import Any, Literal, get_args

from timeveil.domain.release import Ledger
from timeveil.domain.run import Run
from timeveil.domain.wording import Progress
from timeveil.models.stream.judges.attack import StreamAdversary, StreamBreach, attack
from timeveil.models.stream.judges.measure import measure
from timeveil.models.stream.parameters import StreamParameters
from timeveil.models.stream.words.facts import Facts
from timeveil.models.stream.words.pictures import (
    KNOWLEDGE,
    attack_picture,
    bucket_picture,
    error_picture,
    time_picture,
)
from timeveil.models.stream.words.results import cells, loss_sentences, packet_sentences, window_table
from timeveil.page.attacks import Attempt, attack_table
from timeveil.page.command import typed_roles
from timeveil.page.markdown import Markdown, Table
from timeveil.page.wording import share, visible

WINDOWS = 1_000
"""Random window counts of each length that the loss is measured by."""
_Knows = Literal["published-slot", "true-slot", "several-slots"]


def context(f: Facts, progress: Progress) -> dict[str, Any]:
    """What the template needs besides the facts."""
    counts = f.counts
    span = f"{counts['first_slot']} to {counts['last_slot']}" if counts["rows"] else "none"
    figures = [
        ("records published", f"{counts['rows']:,}"),
        ("slots", f"{counts['slots']:,}"),
        ("from and to", span),
        ("buckets", f"{counts['buckets']:,}"),
    ]
    public = {
        "figures": Table("The release in numbers", ("figure", "value"), figures, words=2),
        "sizes": bucket_picture(f.evidence),
        "over_time": time_picture(f.evidence),
        "again": None,
        "breach": None,
    }
    if f.ledger is None or not counts["rows"]:
        return public
    return {**public, **_private(f, f.ledger, progress)}


def _private(f: Facts, ledger: Ledger, progress: Progress) -> dict[str, Any]:
    """What only the custodian may see: the risk before, the loss, and attacks."""
    progress("attacking", 0.2)
    without_people = ledger.original.roles.respondent is None
    outsiders = [knows for knows in get_args(_Knows) if knows != "several-slots" or not without_people]
    breaches = [
        f.breach if knows == "true-slot" and f.breach else attack(f.evidence, StreamAdversary(knows))
        for knows in outsiders
    ]
    progress("measuring", 0.6)
    loss = measure(f.evidence, windows=WINDOWS, seed=0)
    first, second = breaches[:2]
    return {
        "breach": first,
        "knowledge": KNOWLEDGE["published-slot"],
        "attacked": attack_picture(first),
        "true_slot_attacked": attack_picture(second),
        "risks": _risk_table(first),
        "attacks": attack_table([_attempt(breach) for breach in breaches]),
        "fates": _fate_table(second),
        "broken": first.share_above(1 / first.l) > 0,
        "above_true_slot": first.true_slot is not None and second.share_above(1 / first.true_slot) > 0,
        "losses": [*loss_sentences(loss), *packet_sentences(loss.packets)],
        "errors": error_picture(loss),
        "windows": window_table(loss),
        "again": Markdown(visible(_command(f, ledger))),
    }


def _attempt(breach: StreamBreach) -> Attempt:
    bound = {"published-slot": breach.l, "true-slot": breach.true_slot}.get(breach.adversary.knows)
    above = breach.share_above(1 / (bound or 2))
    knows = f"the {KNOWLEDGE[breach.adversary.knows]}"
    return Attempt(knows, breach.people, bound, breach.worst, breach.mean, above)


def _risk_table(breach: StreamBreach) -> Table:
    head = ("source", "mean chance", "worst chance", "certain", f"above 1 in {breach.l}")
    rows = [
        (
            source,
            share(chances.mean),
            share(chances.worst),
            share(chances.certain),
            share(chances.share_above(1 / breach.l)),
        )
        for source, chances in (("original", breach.before), ("release", breach.after))
    ]
    return Table("Chance that this outsider gives to a person's true value", head, rows)


def _fate_table(breach: StreamBreach) -> Table:
    rows = [(fate, *cells(part)) for fate, part in breach.parts.items()]
    head = ("what became of the record", "people", "mean chance", "worst chance")
    return Table("Chances of an outsider who knows the true slot, by what became of the record", head, rows)


def _command(f: Facts, ledger: Ledger) -> str:
    clock = ledger.original.clock
    roles = typed_roles(ledger)
    run = Run.of_release(StreamParameters, roles, f.parameters, zone=clock.zone, unit=clock.unit)
    return run.command()
