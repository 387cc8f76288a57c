"""The words about a stream release: its facts, its losses, and what attacks find.

How many records were moved and withheld is private: it comes from the ledger, and only the custodian sees it.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from timeveil.domain.release import Release
from timeveil.domain.wording import Progress
from timeveil.evidence.published import columns_of
from timeveil.evidence.risk import Posterior
from timeveil.models.stream.evidence import Evidence, ineligible_slots, least_packet_sizes
from timeveil.models.stream.judges.attack import StreamBreach, attack
from timeveil.models.stream.judges.measure import StreamLoss, measure
from timeveil.models.stream.judges.profile import StreamProfile, Tradeoff
from timeveil.models.stream.parameters import KNOWLEDGE, Knowledge, StreamAdversary, StreamParameters
from timeveil.models.stream.words import pictures
from timeveil.page import templates
from timeveil.page.charts import bar_chart
from timeveil.page.report import Summary, Table
from timeveil.page.templates import Attempt, ReleaseFacts, attack_table
from timeveil.page.wording import counted, name, percent, quoted, share

LEARNABLE_ROWS = 20_000  # the same for an attack that takes longer
CHEAP_ROWS = 200_000  # above this many rows, a run does not try the attack that the promise does not cover
WINDOWS = 1_000  # random window counts of each length that the loss is measured by in a report
_PARTS = {
    "constant": "the same value every time",
    "changing": "not the same every time",
    "guess": "the best guess is right",
    "sure": "the same, where it is above 80 %",
}


class Facts(ReleaseFacts):
    """What the templates of this model are filled with; the ledger adds what only the custodian knows."""

    table, achieved = StreamParameters, "no value in more than 1 in {l} records"

    def __init__(self, evidence: Evidence, hierarchies: Sequence[str] = ()) -> None:
        super().__init__(evidence, hierarchies)
        self.unit: str = evidence.unit if evidence.grouped else "slot"
        self.furthest: int = evidence.reach - 1

    @cached_property
    def slots(self) -> dict[str, int]:
        """How many slots had records, and how many of them were not l-diverse as they were.

        Where the true slot is protected, also the records, and their slots, that get a weaker promise.
        """
        if self.ledger is None:
            return {"slots_with_records": 0, "slots_not_eligible": 0}
        journeys = self.evidence.linked
        slot, codes = (column[journeys.complete] for column in (journeys.origin, journeys.value.codes))
        ineligible = ineligible_slots(slot, codes, self.l)
        numbers = {"slots_with_records": len(np.unique(slot)), "slots_not_eligible": ineligible}
        if (promised := self.evidence.true_slot) is not None:
            weaker = least_packet_sizes(slot, codes, promised) < promised
            numbers["records_promised_less"] = int(np.count_nonzero(weaker))
            numbers["slots_promised_less"] = len(np.unique(slot[weaker]))
        return numbers

    @cached_property
    def attacks(self) -> dict[Knowledge, StreamBreach]:
        """The attacks of those who know more than the promise covers, without any that would take long."""
        if self.ledger is None or self.ledger.original.rows > CHEAP_ROWS or not self.counts["rows"]:
            return {}
        return {knows: attack(self.evidence, StreamAdversary(knows)) for knows in self.tried(LEARNABLE_ROWS)}

    def tried(self, learnable_rows: int) -> list[Knowledge]:
        """What more an outsider may know; correlations can be learnt from this many rows."""
        possible: dict[Knowledge, bool] = {
            "true-slot": True,
            "several-slots": self.original.roles.respondent is not None,
            "correlation": self.is_learnable and self.original.rows <= learnable_rows,
        }
        return [knows for knows in possible if possible[knows]]

    @property
    def is_learnable(self) -> bool:
        """Whether an outsider could learn from the release which values come with which quasi-identifiers."""
        return self.evidence.grouped and bool(self.original.roles.quasi_columns)

    @property
    def exposure(self) -> dict[str, Any] | None:
        """Chances of those who know more than the promise covers.

        `fates` has the mean chance for moved and missing records, of someone who knows the true slot;
        `returning` is about people in several slots, where there are any.
        """
        if not self.attacks:
            return None
        parts = {fate: self.attacks["true-slot"].parts[fate] for fate in ("moved", "missing")}
        numbers: dict[str, Any] = {"fates": {f: part.mean for f, part in parts.items() if len(part.chance)}}
        breach, learnt = self.attacks.get("several-slots"), self.attacks.get("correlation")
        if breach is not None and breach.people:
            above = breach.share_above(1 / self.l)
            numbers["returning"] = {"people": breach.people, "share": above, "mean": breach.mean}
        if learnt is not None and learnt.people:
            numbers["guessed"] = learnt.parts["guess"].mean
        return numbers

    @property
    def withheld(self) -> dict[str, int]:
        """How many records were withheld, by reason."""
        reasons = {
            "because the person already has a record in that slot": self.run.get("duplicates", 0),
            "because of another record of the person": self.run.get("repeats", 0),
            "without a time, a person or a value": self.run.get("incomplete", 0),
            f"in slots of fewer than {self.parameters.get('k')} records": self.run.get("few", 0),
        }
        return {"to keep the promise": self.run.get("withheld", 0) - sum(reasons.values()), **reasons}

    def figures(self) -> list[tuple[str, Any]]:
        counts = self.counts
        return [
            ("records published", counts["rows"]),
            ("slots", counts["slots"]),
            ("from and to", f"{counts['first_slot']} to {counts['last_slot']}" if counts["rows"] else "none"),
            ("groups", counts["groups"]) if self.evidence.generalized else ("buckets", counts["buckets"]),
        ]

    def as_dict(self, *entries: str) -> dict[str, Any]:
        private = {"parameters", *(name for name, line in self.table.table().items() if line.private)}
        return {
            **super().as_dict("time", "parameters", *entries),
            **{name: value for name, value in self.run.items() if name not in private},
            **self.slots,
            **{f"{knows.replace('-', '_')}_known": each.as_dict() for knows, each in self.attacks.items()},
        }


def attack_summary(breach: StreamBreach, release: Release, plain: StreamBreach | None = None) -> Summary:
    """An attack as a page; `plain` is the same attack on what the paper's method makes of the records."""
    quasi, slots = columns_of(release, "quasi"), KNOWLEDGE[breach.adversary.knows]
    promised = breach.true_slot is not None and breach.adversary.knows == "true-slot"
    bounds = [breach.l, *([breach.true_slot] if promised else [])]
    rows = [("from the original", *_chances(breach.before, bounds))]
    for label, tried in (("with the paper's method", plain), ("from the release", breach)):
        if tried is not None:
            rows.append((label, *_chances(tried.after, bounds)))
            for fate, chances in tried.parts.items():
                numbers = _chances(chances, bounds)
                if fate in ("guess", "sure"):  # right or wrong: only the mean says something
                    numbers = (*numbers[:2], *["–"] * (1 + len(bounds)))
                rows.append((f"  {_PARTS.get(fate, fate)}", *numbers))
    head = ("chance of knowing the true value", "people", "mean", "worst")
    caption = f"What an outsider finds who knows {slots}"
    table = Table(caption, (*head, *(f"above 1 in {size}" for size in bounds)), rows)
    split = any(part.people != round(part.people) for part in breach.parts.values())
    # Groups cannot be had together with the promises for known slots and for people who return.
    may_group = {"k", "true_slot", "recurring"}.isdisjoint(release.manifest["guarantee"])
    context = {"breach": breach, "bounds": bounds, "split": split, "may_group": may_group}
    sentences, limits = templates.marked("models/stream/words/attack.j2", **context)
    columns = f"{quoted(quasi)} and " if quasi else ""
    return Summary(sentences, table, f"An outsider knows {columns}{slots} -> what they find", limits)


def _chances(chances: Posterior, bounds: list[int | None]) -> tuple[object, ...]:
    """How many people, the mean and the worst chance, and the share above 1 in each bound."""
    if not chances.people:  # of nobody there is no chance, which is not a chance of 0
        return "0", *["–"] * (2 + len(bounds))
    number = round(chances.people) if chances.people >= 0.5 else "under 1"
    return number, chances.mean, chances.worst, *(chances.share_above(1 / size) for size in bounds if size)


def loss_summary(loss: StreamLoss) -> Summary:
    """The loss as numbered sentences and a table."""
    return Summary(templates.sentences("models/stream/words/loss.j2", loss=loss), window_table(loss))


def window_table(loss: StreamLoss) -> Table:
    """The error of random window counts, by the length of the window."""
    head = ("slots in the window", "this release", "withholding only", "merging slots")
    rows = [
        (each.length, each.release, each.suppress_only, "not possible" if each.merge is None else each.merge)
        for each in loss.window_errors
    ]
    return Table("Mean error of random window counts", head, rows)


def profile_summary(risk: StreamProfile, source: str, known: Sequence[str]) -> Summary:
    """Which slots could be published as they are, by l."""
    rows = f"{counted(risk.rows, 'record')} in {counted(risk.slots, 'slot')} by the {risk.slot}, "
    rows += f"{risk.records_per_slot:.1f} on average."
    if risk.rows_incomplete:
        rows += f" {counted(risk.rows_incomplete, 'record')} without a time or a sensitive value left out."
    fits = next(each for each in risk.by_l if each.l == risk.l)
    verdict = f"not yet {risk.l}-diverse: {fits.slots:,} of {counted(risk.slots, 'slot')} are as they are."
    if risk.already_diverse:
        verdict = f"holds: every slot is already {risk.l}-diverse."
    knows = f"anyone who knows the slot{f' and {quoted(known)}' if known else ''}"
    certain = f"Of {share(risk.certain)} of the records, {knows} knows the sensitive value for certain."
    caption, head = "Slots that could be published as they are", ("l", "slots", "share of slots")
    rows_by_l = [(f"1 in {by.l}", by.slots, by.share_of_slots, by.share_of_records) for by in risk.by_l]
    table = Table(caption, (*head, "share of records"), rows_by_l)
    picture = bar_chart(
        caption,
        f"Share of slots in which no value of a record is held by more than 1 in l. In bold: l = {risk.l}.",
        {f"l = {each.l}": each.share_of_slots for each in risk.by_l},
        label=percent,
        strong=f"l = {risk.l}",
    )
    title = f"{source} -> what a {name(risk.slot)} reveals to an outsider"
    return Summary([rows, certain, verdict], table, title, picture=picture)


def public(f: Facts) -> dict[str, Any]:
    """What the template of a report needs besides the facts."""
    return {"sizes": pictures.bucket_picture(f.evidence), "over_time": pictures.time_picture(f.evidence)}


def private(f: Facts, progress: Progress) -> dict[str, Any]:
    """What only the custodian may see: the risk before, the loss, and attacks."""
    progress("attacking", 0.2)
    attempts = list[Attempt]()
    for knows in ("published-slot", *f.tried(CHEAP_ROWS)):
        breach = f.attacks.get(knows) or attack(f.evidence, StreamAdversary(knows))
        bound = Tradeoff().bound(f.evidence, knows)
        attempts.append(Attempt(Tradeoff().known({"knows": knows}), breach, bound))
    first, second = (attempt.breach for attempt in attempts[:2])
    progress("measuring", 0.6)
    loss = measure(f.evidence, windows=WINDOWS, seed=0)
    return {
        "breach": first,
        "knowledge": KNOWLEDGE["published-slot"],
        "attacked": pictures.attack_picture(first),
        "true_slot_attacked": pictures.attack_picture(second),
        "risks": attack_summary(first, f.evidence.release).table,
        "attacks": attack_table(attempts),
        "fates": attack_summary(second, f.evidence.release).table,
        "broken": any(tried.breach.share_above(1 / f.l) > 0 for tried in attempts if tried.bound == f.l),
        "above_true_slot": first.true_slot is not None and second.share_above(1 / first.true_slot) > 0,
        "losses": loss_summary(loss).sentences,
        "errors": pictures.error_picture(loss),
        "error_table": window_table(loss),
    }
