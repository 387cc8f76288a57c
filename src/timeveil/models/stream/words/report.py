"""A run of the stream publisher explains itself: rows, slots, what was moved, withheld and left open.

Sentences are made from the manifest, the ledger's facts and counts: column names and numbers, never a value.
They are for the custodian, since they tell how much was moved and withheld.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.domain.run import Run
from timeveil.domain.verdict import Verdict
from timeveil.evidence.published import promised
from timeveil.judging.attack import attack
from timeveil.models.events.words.explanation import Explanation
from timeveil.models.stream.evidence import Evidence
from timeveil.models.stream.judges.alternatives import Snapshots
from timeveil.models.stream.judges.attack import StreamAdversary, StreamBreach
from timeveil.models.stream.words.packets import packet_warnings, promised_less
from timeveil.page.wording import counted, quoted, share

CHEAP_ROWS = 200_000
MUCH_WITHHELD = 0.01


@dataclass(frozen=True, slots=True)
class SlotCounts:
    """How many slots had records, and how many of them were not l-eligible as they were.

    `promised_less`: how many records, in how many slots, are promised less than others to whoever knows the
    true slot.
    """

    with_records: int
    not_eligible: int
    promised_less: tuple[int, int] = (0, 0)


def explain_stream(
    release: Release,
    ledger: Ledger,
    *,
    verdict: Verdict | None = None,
    run: Run | None = None,
) -> Explanation:
    """Say what a run of `publish_stream` did, from what it returned."""
    slots, breach = slot_counts(release, ledger), true_slot_known(release, ledger)
    warned = warnings(release, ledger.facts, slots)
    sentences = [
        *_read(release, ledger),
        *_rules(release),
        *_slots(release, slots),
        *_moved(ledger),
        *_left_out(ledger),
        *_clock(release),
        *([] if verdict is None else _checked(verdict)),
        *(f"Warning: {warning}" for warning in warned),
    ]
    source = ledger.original.source or "the table"
    where = "" if run is None else f", in `{run.out}`"
    return Explanation(
        title=f"{source} -> every slot {promised(release, 'l')}-diverse{where}",
        sentences=tuple(sentences),
        limits=tuple(_limits(release, breach)),
        facts=_facts(release, ledger, slots, warned, breach, verdict, run),
        run=run,
    )


def told_to_all(release: Release) -> list[str]:
    """What can be said of a run from its release alone, which does not tell how many were moved."""
    counts, parameters, time = (release.manifest[name] for name in ("counts", "parameters", "time"))
    kind = "numbered slots" if time["slot"] is None else f"slots of one `{time['slot']}`"
    span = f", from {counts['first_slot']} to {counts['last_slot']}" if counts["rows"] else ""
    told = [f"Published {counted(counts['rows'], 'record')} in {counts['slots']:,} {kind}{span}."]
    told += _rules(release)
    size = Evidence(release).true_slot
    if size is not None:
        told.append(f"Records stayed, moved or were withheld in packets of {size} different values or more.")
    if parameters["buckets"] == "anatomy":
        told.append(
            f"Records and their values stand in two tables, linked by {counted(counts['buckets'], 'bucket')}."
        )
    if parameters["window"] > 1 or parameters["jitter"]:
        told.append("How many records were moved or withheld, and which, is not published.")
    return [*told, *_clock(release)]


def slot_counts(release: Release, ledger: Ledger) -> SlotCounts:
    """Look at the slots as they came in."""
    journeys = Evidence(release, ledger).linked
    whole = journeys.complete
    distinct, slot = np.unique(journeys.origin[whole], return_inverse=True)
    values = journeys.value
    snapshots = Snapshots(slot, values.codes[whole], len(distinct), values.size)
    less = promised_less(release, slot, values.codes[whole])
    return SlotCounts(len(distinct), snapshots.ineligible(promised(release, "l")), less)


def true_slot_known(release: Release, ledger: Ledger) -> StreamBreach | None:
    """The attack that the promise does not cover; None where it would take long."""
    if ledger.original.rows > CHEAP_ROWS or not release.manifest["counts"]["rows"]:
        return None
    return attack(release, ledger, StreamAdversary("true-slot"))


def warnings(release: Release, facts: Mapping[str, Any], counts: SlotCounts) -> list[str]:
    """What no window cures, and what a larger one would."""
    parameters, l = release.manifest["parameters"], promised(release, "l")
    withheld = facts["withheld"] - facts.get("duplicates", 0) - facts.get("incomplete", 0)
    told = []
    slots, jitter = release.manifest["counts"]["slots"], parameters["jitter"]
    if jitter and slots and slots - jitter <= jitter:
        told.append(
            f"a jitter of {jitter:,} is no less than the {counted(slots - jitter, 'slot')} that records came "
            "in: when anything happened can hardly be told. Choose a smaller jitter."
        )
    told += packet_warnings(release, facts, counts.promised_less)
    if facts["values_above_share"]:
        return [
            *told,
            f"a sensitive value makes up {share(facts['largest_share'])} of all records, more than 1 in {l}: "
            f"no window cures that, it is paid for with withheld records. {_cure(l, facts['largest_share'])}",
        ]
    if facts["rows"] and withheld / facts["rows"] > MUCH_WITHHELD:
        return [
            *told,
            f"{counted(withheld, 'record')} ({share(withheld / facts['rows'])}) had to be withheld, although "
            f"no value is above 1 in {l} overall: a window of {parameters['window']} is too small for how "
            "unevenly values come. Choose a larger window.",
        ]
    return told


def _cure(l: int, largest: float) -> str:
    """What helps against a value above 1 in l; an l of 2 is the smallest there is."""
    if l > 2 and largest <= 1 / 2:
        return f"Choose a smaller l, of {int(1 / largest)} at most."
    return (
        "It is too common for any l: take another column for the sensitive one, or split that value into "
        "finer ones."
    )


def _read(release: Release, ledger: Ledger) -> Iterator[str]:
    facts, counts, time = ledger.facts, release.manifest["counts"], release.manifest["time"]
    kind = "numbered slots" if time["slot"] is None else f"slots of one `{time['slot']}`"
    column = ledger.original.roles.sensitive[0]
    yield (
        f"Read {counted(ledger.original.rows, 'row')} in {counts['slots']:,} {kind}, with "
        f"{counted(facts['values'], 'value')} of `{column}`, the commonest {share(facts['largest_share'])} "
        "of all."
    )


def _rules(release: Release) -> Iterator[str]:
    parameters, l = release.manifest["parameters"], promised(release, "l")
    furthest = parameters["window"] - 1 + parameters["jitter"]
    wait = f"up to {counted(furthest, 'slot')} later" if furthest else "in its own slot only"
    where = "bucket" if parameters["buckets"] == "anatomy" else "slot"
    yield (
        f"Published so that in no {where} a value is held by more than 1 in {l} records; "
        f"window of {counted(parameters['window'], 'slot')}, so a record may be published {wait}."
    )


def _slots(release: Release, slots: SlotCounts) -> Iterator[str]:
    yield (
        f"{slots.not_eligible:,} of {counted(slots.with_records, 'slot')} with records could not have been "
        "published as they were."
    )
    counts = release.manifest["counts"]
    if release.manifest["parameters"]["buckets"] == "none":
        yield (
            "Records stand with their values, without buckets: make every slot l-diverse before it leaves "
            "the building."
        )
    else:
        yield f"Published {counted(counts['rows'], 'record')} in {counted(counts['buckets'], 'bucket')}."


def _moved(ledger: Ledger) -> Iterator[str]:
    facts = ledger.facts
    total = max(facts["rows"], 1)
    if facts["moved"]:
        yield (
            f"Moved {counted(facts['moved'], 'record')} ({share(facts['moved'] / total)}) to a later slot, "
            f"by {facts['mean_distance']:.3g} slots on average and {facts['largest_distance']} at most."
        )
    else:
        yield "No record was moved."
    yield _withheld(facts, total)


def _withheld(facts: Mapping[str, Any], total: int) -> str:
    incomplete, duplicates = facts.get("incomplete", 0), facts.get("duplicates", 0)
    withheld = facts["withheld"]
    if not withheld:
        return "No record was withheld."
    reasons = []
    if duplicates:
        reasons.append(f"{duplicates:,} of people who stand in that slot already")
    if incomplete:
        reasons.append(f"{incomplete:,} without a time, a person or a value")
    said = f" ({'; '.join(reasons)})" if reasons else ""
    return f"Withheld {counted(withheld, 'record')}, {share(withheld / total)} of all{said}."


def _left_out(ledger: Ledger) -> Iterator[str]:
    relation = ledger.original
    person = relation.roles.respondent
    columns = [*([] if person is None else [person]), *relation.dropped]
    if columns:
        yield f"Left out: {quoted(columns)}."


def _clock(release: Release) -> Iterator[str]:
    time = release.manifest["time"]
    match time["kind"], time["slot"]:
        case "zoned", _:
            yield f"Times were read on the clocks of {time['zone']}."
        case "relative", None:
            yield "Whole numbers in the time column are slots."
        case "relative", _:
            yield f"Times are whole numbers of the unit {time['unit']}, since a start of their own."
        case _:
            yield "Times have no zone and were taken as they are."


def _checked(verdict: Verdict) -> Iterator[str]:
    how = "with the ledger" if verdict.scope == "with ledger" else "by what a recipient sees"
    outcome = "passed" if verdict else f"found {counted(len(verdict.violations), 'violation')}"
    yield f"Checked independently of the method, {how}: {counted(len(verdict.checks), 'check')} {outcome}."


def _limits(release: Release, breach: StreamBreach | None) -> Iterator[str]:
    l, size = promised(release, "l"), Evidence(release).true_slot
    if size is None:
        yield (
            f"1 in {l} holds for whoever knows a record's published slot. Whoever knows when it happened, "
            "and finds it in a later slot or nowhere, learns that it was moved or withheld, and such records "
            f"mostly have the value that was too common.{_chances(breach)}"
        )
    else:
        yield (
            f"1 in {l} holds for whoever knows a record's published slot, 1 in {size} for whoever knows when "
            f"it happened, as far as no value takes more than 1 in {size} of that slot's records. Neither "
            "holds for whoever can tell values by other columns, or knows those of others in the packet, nor "
            f"for somebody with several records in a slot.{_chances(breach)}"
        )
    yield "Somebody who is in several slots can be followed over them, and the buckets intersected."
    yield "A count of a single slot is not what happened in it; counts of longer spans are closer."


def _chances(breach: StreamBreach | None) -> str:
    if breach is None:
        return ""
    shown = [
        f"{share(part.mean)} for {name} records"
        for name, part in breach.parts.items()
        if name in ("moved", "missing") and len(part.chance)
    ]
    return f" Their chance to guess the value here, on average: {', '.join(shown)}." if shown else ""


def _facts(
    release: Release,
    ledger: Ledger,
    slots: SlotCounts,
    warned: list[str],
    breach: StreamBreach | None,
    verdict: Verdict | None,
    run: Run | None,
) -> dict[str, Any]:
    manifest = release.manifest
    facts: dict[str, Any] = {
        "source": ledger.original.source,
        "guarantee": manifest["guarantee"],
        **{name: manifest[name] for name in ("time", "parameters", "counts")},
        **{
            name: value
            for name, value in ledger.facts.items()
            if name not in ("seed", "withhold_cost", "parameters")
        },
        "slots_with_records": slots.with_records,
        "slots_not_eligible": slots.not_eligible,
        "dropped": list(ledger.original.dropped),
        "warnings": warned,
    }
    if Evidence(release).true_slot is not None:
        facts["records_promised_less"], facts["slots_promised_less"] = slots.promised_less
    if breach is not None:
        facts["true_slot_known"] = breach.as_dict()
    if verdict is not None:
        facts["verified"] = verdict.as_dict()
    if run is not None:
        facts["out"], facts["ledger"] = run.out, run.ledger
    return facts
