"""What the recipient of a stream release should know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from timeveil.domain.guarantee import LDiversity
from timeveil.page.text_wrapping import clocks, files, listed, shown

_MEANING = {
    "slot": "the slot of time that the record was published in",
    "quasi": "what an outsider may know of a person",
    "keep": "published as it was",
    "bucket": "number of the bucket within its slot",
    "sensitive": "sensitive",
    "count": "how many records of the bucket have this value",
}


def of_stream(guarantee: LDiversity, manifest: Mapping[str, Any]) -> list[str]:
    """The letter's paragraphs about promise, tables, time and conclusions."""
    bucketed = "sensitive_columns" in manifest
    return [
        f"The promise: {guarantee.sentence}." if bucketed else _promise_of_slots(guarantee),
        *_tables(manifest),
        *files(manifest),
        _time(manifest),
        _joining() if bucketed else _counting(),
        _conclusions(guarantee, bucketed=bucketed),
    ]


def _promise_of_slots(guarantee: LDiversity) -> str:
    return (
        f"The promise: in every published slot no sensitive value is held by more than 1 in {guarantee.l} "
        "records. Records stand with their values and without buckets; make them l-diverse before they "
        "are passed on."
    )


def _tables(manifest: Mapping[str, Any]) -> list[str]:
    told = [listed(manifest["columns"], _MEANING, {}, "Columns of the table data, one row per record:")]
    if "sensitive_columns" in manifest:
        head = "Columns of the table sensitive, one row per bucket and value:"
        told.append(listed(manifest["sensitive_columns"], _MEANING, {}, head))
    return told


def _time(manifest: Mapping[str, Any]) -> str:
    time, parameters = manifest["time"], manifest["parameters"]
    late = parameters["window"] - 1 + parameters.get("jitter", 0)
    slots = f"A slot is one {shown(time['slot'])}. {clocks(time)}"
    if time.get("slot_definition") is None:
        slots = "Slots are numbered; slot n + 1 follows slot n."
    arrived = parameters.get("late") == "move"
    if not late and not arrived:
        return (
            f"{slots} Every record stands in its own slot. Some may have been withheld; how many is not told."
        )
    moved = "A record never stands in a slot before its own, but it may stand"
    why = f"up to {late} slots later than it happened: records may have been moved to keep the promise."
    if arrived:
        why = (
            f"in a later one: records may have been moved, up to {late} slots, to keep the promise, and one "
            "that arrived after its slot was published counts from the slot that it arrived in."
        )
    return (
        f"{slots} {moved} {why} Some may have been withheld. Which and how many is not published. A slot "
        "without rows had none to publish."
    )


def _joining() -> str:
    return (
        "How to join the tables: on slot and bucket together. A bucket of n records of which c have a value "
        "says that c of these n records have it, and not which. To estimate how many records with some "
        "columns have the value, add up, over the buckets, the matching records times c / n. "
        "`timeveil query FOLDER --between A B --where COLUMN=VALUE` does it, with bounds."
    )


def _counting() -> str:
    return (
        "How to ask: count the records of the slots and columns that you ask about. "
        "`timeveil query FOLDER --between A B --where COLUMN=VALUE` does it, with bounds."
    )


def _conclusions(guarantee: LDiversity, *, bucketed: bool) -> str:
    joined = (
        "Joining the tables gives every record every value of its bucket; only one of them is its own. "
        if bucketed
        else ""
    )
    known = "" if guarantee.true_slot is None else _true_slot(guarantee.true_slot)
    sizes = "" if guarantee.true_slot is None else " A large bucket may be one with moved records in it."
    return (
        f"What not to conclude: {joined}That nobody's value is known with more than 1 in {guarantee.l} holds "
        f"for whoever knows a record's columns and its published slot. {known}Counts per slot are counts of "
        "published records; a single slot can differ from what happened in it, and longer windows differ "
        "less. Records of one person in several slots are not linked. The order of rows within a slot means "
        f"nothing, and neither do bucket numbers.{sizes}"
    )


def _true_slot(size: int) -> str:
    return (
        f"For whoever also knows in which slot it belongs, 1 in {size} holds, as far as no value took more "
        f"than 1 in {size} of that slot's records. Where one took more, less is promised, and nothing where "
        "it took more than half. It does not hold for whoever can tell values by the columns, nor for "
        "somebody with several records. "
    )
