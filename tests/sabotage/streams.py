"""What can be done to a release of `publish_stream`: in buckets, whole, and in closed packets."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa

import timeveil as tv
from tests.sabotage.tampering import (
    Tampered,
    counts,
    entry,
    holds,
    in_order,
    lines,
    noted,
    original,
    promised,
    sabotage,
    section,
    several,
    with_lines,
    with_role,
    with_table,
    with_values,
)
from timeveil.calendar.catalogue import granularity
from timeveil.domain.guarantee import LDiversity

_NEW = "canary new"


def _sizes(release: tv.Release) -> Counter[tuple[Any, int]]:
    return Counter((line["slot"], line["bucket"]) for line in lines(release))


def _of(rows: list[dict[str, Any]], key: tuple[Any, int]) -> list[int]:
    return [n for n, line in enumerate(rows) if (line["slot"], line["bucket"]) == key]


@sabotage("stream buckets", "recipient", "value-too-frequent")
def one_value_too_frequent_in_a_bucket(release, ledger, chance):
    """The records of one value told to have that of another, until they are one too many."""
    promise, sizes, entries = release.guarantee.l, _sizes(release), lines(release, "sensitive")
    exact = [key for key in sorted(sizes) if sizes[key] < 2 * promise]
    key = chance.choice(exact)
    first, second = chance.sample(_of(entries, key), 2)
    entries[first]["count"] += entries[second]["count"]
    del entries[second]
    said = f"1 bucket in which a value is held by more than 1 in {promise} records"
    return Tampered(with_lines(release, entries, "sensitive"), ledger, said)


@sabotage("stream whole", "recipient", "value-too-frequent")
def one_value_too_frequent_in_a_slot(release, ledger, chance):
    """As few records as can be are told to have the commonest value of their slot."""
    rows, promise = lines(release), release.guarantee.l
    slot = chance.choice(sorted({line["slot"] for line in rows}))
    here = [n for n, line in enumerate(rows) if line["slot"] == slot]
    [(common, often)] = Counter(rows[n]["ill"] for n in here).most_common(1)
    others = [n for n in here if rows[n]["ill"] != common]
    for n in others[: len(here) // promise + 1 - often]:
        rows[n]["ill"] = common
    said = f"1 slot in which a value is held by more than 1 in {promise} records"
    return Tampered(in_order(with_lines(release, rows)), ledger, said)


@sabotage("stream buckets", "recipient", "bucket-size")
def one_record_short_in_a_bucket(release, ledger, chance):
    """Left out of both tables, and counted out of the manifest."""
    promise, sizes = release.guarantee.l, _sizes(release)
    exact = [key for key, size in sorted(sizes.items()) if size == promise]
    if not exact:
        return None
    key, rows, entries = chance.choice(exact), lines(release), lines(release, "sensitive")
    del rows[chance.choice(_of(rows, key))]
    del entries[chance.choice([n for n in _of(entries, key) if entries[n]["count"] == 1])]
    short = with_lines(with_lines(release, rows), entries, "sensitive")
    said = f"1 bucket with fewer than {promise} records; the smallest has {promise - 1}"
    return Tampered(counts(short, rows=-1), ledger, said)


@sabotage("stream buckets", "recipient", "tables-disagree")
def a_row_moved_to_a_neighbouring_bucket(release, ledger, chance):
    rows, sizes = lines(release), _sizes(release)
    pairs = [(a, b) for a, b in pairwise(sorted(sizes)) if a[0] == b[0]]
    if not pairs:
        return None
    one, other = chance.choice(pairs)
    rows[chance.choice(_of(rows, one))]["bucket"] = other[1]
    said = "2 buckets with another number of records than its values add up to"
    return Tampered(in_order(with_lines(release, rows)), ledger, said)


@sabotage("stream", "custodian", "slot-records")
def a_record_moved_to_a_neighbouring_slot(release, ledger, chance):
    """With its value, where there is one more room for it, so that all looks well from outside."""
    rows = lines(release)
    homes = sorted({(line["slot"], line.get("bucket")) for line in rows})
    for n in chance.sample(range(len(rows)), min(20, len(rows))):
        slot = rows[n]["slot"]
        for target in chance.sample(homes, min(4, len(homes))):
            if target[0] != slot:
                moved = _moved(release, n, target, chance)
                if moved is not None and holds(moved):
                    said = "2 slots with another number of records than the ledger places"
                    return Tampered(moved, ledger, said)
    return None


def _moved(release: tv.Release, n: int, target: tuple[Any, Any], chance: random.Random) -> tv.Release | None:
    rows = lines(release)
    home = (rows[n]["slot"], rows[n].get("bucket"))
    rows[n] = {**rows[n], "slot": target[0], **({} if target[1] is None else {"bucket": target[1]})}
    moved = in_order(with_lines(release, rows))
    if target[1] is None:
        return moved
    entries = lines(release, "sensitive")
    from_entry = entries[chance.choice(_of(entries, home))]
    known = [m for m in _of(entries, target) if entries[m]["ill"] == from_entry["ill"]]
    if known:
        entries[known[0]]["count"] += 1
    else:
        entries.append({**from_entry, "slot": target[0], "bucket": target[1], "count": 1})
    from_entry["count"] -= 1
    entries = [line for line in entries if line["count"]]
    return in_order(with_lines(moved, entries, "sensitive"), "sensitive")


@sabotage("stream", "recipient", "row-count")
def a_dropped_row(release, ledger, chance):
    rows = lines(release)
    del rows[chance.randrange(len(rows))]
    said = f"the table has {len(rows)} rows; the manifest states {len(rows) + 1}"
    return Tampered(with_lines(release, rows), ledger, said)


@sabotage("stream", "recipient", "row-count")
def a_row_twice(release, ledger, chance):
    rows = lines(release)
    n = chance.randrange(len(rows))
    said = f"the table has {len(rows) + 1} rows; the manifest states {len(rows)}"
    return Tampered(with_lines(release, [*rows[: n + 1], *rows[n:]]), ledger, said)


@sabotage("stream buckets", "recipient", "tables-disagree")
def a_dropped_row_with_the_count_put_right(release, ledger, chance):
    rows = lines(release)
    del rows[chance.randrange(len(rows))]
    said = "1 bucket with another number of records than its values add up to"
    return Tampered(counts(with_lines(release, rows), rows=-1), ledger, said)


@sabotage("stream whole", "custodian", "conservation")
def a_dropped_row_with_the_count_put_right_(release, ledger, chance):
    for n in chance.sample(range(release.table.num_rows), 20):
        rows = lines(release)
        del rows[n]
        less = counts(with_lines(release, rows), rows=-1)
        if holds(less):
            said = "1 value whose published and withheld records are not the original ones"
            return Tampered(less, ledger, said)
    return None


def _count(step: int) -> Any:
    def change(release, ledger, chance):
        entries = lines(release, "sensitive")
        entries[chance.randrange(len(entries))]["count"] += step
        said = "1 bucket with another number of records than its values add up to"
        return Tampered(with_lines(release, entries, "sensitive"), ledger, said)

    change.__name__ = f"a_count_of_a_value_off_by_one_{'up' if step > 0 else 'down'}"
    return change


for _step in (-1, 1):
    sabotage("stream buckets", "recipient", "tables-disagree")(_count(_step))


@sabotage("stream buckets", "recipient", "value-counts")
def a_value_counted_for_nobody(release, ledger, chance):
    entries = lines(release, "sensitive")
    n = chance.randrange(len(entries))
    entries.insert(n + 1, {**entries[n], "ill": entries[n]["ill"] + "!", "count": 0})
    return Tampered(
        with_lines(release, entries, "sensitive"), ledger, "1 count below 1, 0 values listed more than once"
    )


@sabotage("stream buckets", "recipient", "value-counts")
def a_value_listed_twice(release, ledger, chance):
    entries = lines(release, "sensitive")
    n = chance.randrange(len(entries))
    entries.insert(n + 1, dict(entries[n]))
    return Tampered(
        with_lines(release, entries, "sensitive"), ledger, "0 counts below 1, 1 value listed more than once"
    )


@sabotage("stream buckets", "recipient", "tables-disagree")
def a_bucket_left_out_of_the_values(release, ledger, chance):
    entries = lines(release, "sensitive")
    key = chance.choice(sorted({(line["slot"], line["bucket"]) for line in entries}))
    left = [line for n, line in enumerate(entries) if n not in _of(entries, key)]
    return Tampered(with_lines(release, left, "sensitive"), ledger, "1 bucket in one table only")


@sabotage("stream buckets", "recipient", "bucket")
def a_hole_in_the_numbers_of_buckets(release, ledger, chance):
    slot, last = max(_sizes(release), key=lambda key: (key[1], repr(key[0])))
    holed = release
    for table in ("data", "sensitive"):
        rows = lines(release, table)
        for n in _of(rows, (slot, last)):
            rows[n]["bucket"] = last + 1
        holed = with_lines(holed, rows, table)
    return Tampered(holed, ledger, "1 bucket not numbered from 0 within its slot")


@sabotage("stream", "recipient", "row-order")
def two_rows_of_a_slot_that_changed_places(release, ledger, chance):
    rows = lines(release)
    places = [n for n, (a, b) in enumerate(pairwise(rows)) if a != b and a["slot"] == b["slot"]]
    n = chance.choice(places)
    rows[n], rows[n + 1] = rows[n + 1], rows[n]
    return Tampered(with_lines(release, rows), ledger, "not in the order that follows from the values")


@sabotage("stream", "recipient", "slot-order")
def two_slots_that_changed_names(release, ledger, chance):
    labels = sorted({line["slot"] for line in lines(release)})
    one, other = chance.choice(list(pairwise(labels)))
    turned = _relabelled(release, {one: other, other: one})
    return Tampered(turned, ledger, "the slots of table `data` are not in the order of time")


def _relabelled(release: tv.Release, names: dict[Any, Any]) -> tv.Release:
    for table in release.parts:
        rows = [{**line, "slot": names.get(line["slot"], line["slot"])} for line in lines(release, table)]
        release = with_lines(release, rows, table)
    return release


@sabotage("stream", "custodian", "row-values")
def two_slots_that_changed_names_and_places(release, ledger, chance):
    labels = sorted({line["slot"] for line in lines(release)})
    one, other = chance.choice(list(pairwise(labels)))
    turned = _relabelled(release, {one: other, other: one})
    for table in release.parts:
        turned = in_order(turned, table)
    return Tampered(turned, ledger, "not in the original, ")


@sabotage("stream", "recipient", "slot")
def a_slot_beyond_the_last_stated(release, ledger, chance):
    last = max(line["slot"] for line in lines(release))
    if release.manifest["time"]["slot"] == "hour":
        return None
    beyond = last + 99 if isinstance(last, int) else "2031-01-01"
    return Tampered(_relabelled(release, {last: beyond}), ledger, "1 slot of table `data` before the first")


@sabotage("stream days", "recipient", "slot")
def a_label_of_no_slot(release, ledger, chance):
    label = chance.choice(sorted({line["slot"] for line in lines(release)}))
    return Tampered(
        _relabelled(release, {label: "someday"}), ledger, "1 slot of table `data` not of the stated"
    )


entry(
    "l raised",
    "stream",
    "recipient",
    "value-too-frequent",
    lambda r: (
        promised(r, l=1 + max(Counter(line["slot"] for line in lines(r)).values())),
        "in which a value is held by more than 1 in",
    ),
)
entry(
    "l raised among the parameters alone",
    "stream",
    "recipient",
    "guarantee",
    lambda r: (section(r, "parameters", l=r.guarantee.l + 1), "is not the l of the promise"),
)
entry(
    "l raised in the manifest alone",
    "stream",
    "recipient",
    "guarantee",
    lambda r: (section(r, "guarantee", l=r.guarantee.l + 1), "another guarantee than the release"),
)
for _step in (-1, 1):
    _way = "up" if _step > 0 else "down"
    entry(
        f"the rows off by one {_way}",
        "stream",
        "recipient",
        "row-count",
        lambda r, s=_step: (counts(r, rows=s), f"rows; the manifest states {r.table.num_rows + s}"),
    )
    entry(
        f"the slots off by one {_way}",
        "stream",
        "recipient",
        "counts",
        lambda r, s=_step: (
            counts(r, slots=s),
            f"states {several(r.manifest['counts']['slots'] + s, 'slot')};",
        ),
    )
    entry(
        f"the buckets off by one {_way}",
        "stream buckets",
        "recipient",
        "counts",
        lambda r, s=_step: (counts(r, buckets=s), f"; the manifest states {len(_sizes(r)) + s}"),
    )
entry(
    "a first slot that does not exist",
    "stream",
    "recipient",
    "slot",
    lambda r: (section(r, "counts", first_slot=None), "the stated first or last slot is not of"),
)
entry(
    "a window said to be longer",
    "stream",
    "custodian",
    "parameters",
    lambda r: (
        section(r, "parameters", window=r.manifest["parameters"]["window"] + 1),
        "the run had other parameters: window",
    ),
)
entry(
    "records said to have come late",
    "stream whole",
    "custodian",
    "parameters",
    lambda r: (section(r, "parameters", late="move"), "the run had other parameters: late"),
)
entry(
    "another slot among the parameters",
    "stream days",
    "recipient",
    "slot",
    lambda r: (section(r, "parameters", slot="week"), "`parameters.slot` and `time.slot`"),
)
entry(
    "slots claimed coarser",
    "stream days",
    "recipient",
    "slot",
    lambda r: (_coarser(r), "not of the stated granularity"),
)
entry(
    "a quasi-identifier declared kept",
    "stream",
    "custodian",
    "columns",
    lambda r: (with_role(r, "zip", "keep"), "the quasi columns are not those of the original"),
)
entry(
    "a quasi-identifier declared a count",
    "stream",
    "recipient",
    "columns",
    lambda r: (with_role(r, "zip", "count"), "the roles of table `data` are not in the order"),
)
entry(
    "the sensitive column declared kept",
    "stream whole",
    "recipient",
    "columns",
    lambda r: (with_role(r, "ill", "keep"), "the roles of table `data` are not in the order"),
)
entry(
    "a table left out",
    "stream buckets",
    "recipient",
    "tables",
    lambda r: (replace(r, parts={"data": r.parts["data"]}), "the release has 1 table; "),
)
entry(
    "two tables exchanged",
    "stream buckets",
    "recipient",
    "columns",
    lambda r: (
        replace(r, parts={"data": r.parts["sensitive"], "sensitive": r.parts["data"]}),
        "table `data` lacks columns that the manifest lists: zip, ward",
    ),
)
entry(
    "columns in another order",
    "stream",
    "recipient",
    "columns",
    lambda r: (with_table(r, r.table.select(r.table.column_names[::-1])), "are not in the stated order"),
)
entry(
    "a column more than stated",
    "stream",
    "recipient",
    "columns",
    lambda r: (
        with_table(r, r.table.append_column("x", pa.nulls(r.table.num_rows, pa.int8()))),
        "table `data` has columns that the manifest does not list: x",
    ),
)
entry(
    "a key too many",
    "stream",
    "recipient",
    "manifest",
    lambda r: (section(r, "counts", withheld=3), "`counts` of the manifest has 1 unknown key"),
)


def _coarser(release: tv.Release) -> tv.Release:
    told = section(release, "time", slot="week", slot_definition=granularity("week").as_dict())
    return section(told, "parameters", slot="week")


@sabotage("stream", "recipient", "value-missing")
def a_value_missing(release, ledger, chance):
    table = "sensitive" if "sensitive" in release.parts else "data"
    rows = lines(release, table)
    n = chance.randrange(len(rows))
    number = rows[n].get("count", 1)
    rows[n]["ill"] = None
    said = f"{several(number, 'record')} without a sensitive value"
    return Tampered(with_lines(release, rows, table), ledger, said)


@sabotage("stream", "custodian", "row-values")
def a_quasi_identifier_changed(release, ledger, chance):
    if "group" in release.table.column_names:
        return None  # a recipient sees that the labels of a group differ
    changed = with_values(release.table, "zip", {chance.randrange(release.table.num_rows): _NEW})
    said = "1 published row not in the original, 1 original record not in the release"
    return Tampered(in_order(with_table(release, changed)), ledger, said)


@sabotage("stream buckets", "custodian", "bucket-values")
def a_value_of_a_bucket_changed(release, ledger, chance):
    table = release.tables["sensitive"]
    changed = with_values(table, "ill", {chance.randrange(table.num_rows): _NEW})
    spoilt = in_order(with_table(release, changed, "sensitive"), "sensitive")
    return Tampered(spoilt, ledger, "2 values of a bucket with another count than among its records")


@sabotage("stream buckets", "custodian", "conservation")
def a_value_that_there_was_not(release, ledger, chance):
    table = release.tables["sensitive"]
    changed = with_values(table, "ill", {chance.randrange(table.num_rows): _NEW})
    spoilt = in_order(with_table(release, changed, "sensitive"), "sensitive")
    return Tampered(spoilt, ledger, "2 values whose published and withheld records are not the original ones")


@sabotage("stream buckets", "custodian", "bucket-values")
def two_values_exchanged_between_buckets(release, ledger, chance):
    """No value is more or less often than it was, but they stand elsewhere."""
    entries = lines(release, "sensitive")
    for _ in range(50):
        n, m = chance.sample(range(len(entries)), 2)
        one, other = ((entries[k]["slot"], entries[k]["bucket"]) for k in (n, m))
        values = [{entries[k]["ill"] for k in _of(entries, key)} for key in (one, other)]
        if one == other or entries[n]["ill"] in values[1] or entries[m]["ill"] in values[0]:
            continue
        if entries[n]["count"] != entries[m]["count"]:
            continue
        entries[n]["ill"], entries[m]["ill"] = entries[m]["ill"], entries[n]["ill"]
        spoilt = in_order(with_lines(release, entries, "sensitive"), "sensitive")
        return Tampered(spoilt, ledger, "4 values of a bucket with another count than among its records")
    return None


def _published(ledger: tv.Ledger) -> list[int]:
    return [n for n, slot in enumerate(ledger.table["slot"].to_pylist()) if slot is not None]


@sabotage("stream", "custodian", "origin")
def a_record_noted_from_another_slot(release, ledger, chance):
    row = chance.choice(_published(ledger))
    labels = set(ledger.table["origin"].to_pylist()) - {ledger.table["origin"][row].as_py()}
    told = noted(ledger, origin={row: sorted(labels)[0]})
    return Tampered(release, told, "1 record with another origin listed")


@sabotage("stream", "custodian", "slot-records")
def a_record_noted_as_withheld(release, ledger, chance):
    row = chance.choice(_published(ledger))
    told = {"slot": {row: None}, **({"bucket": {row: None}} if "bucket" in ledger.table.column_names else {})}
    said = "1 slot with another number of records than the ledger places"
    return Tampered(release, noted(ledger, **told), said)


def _elsewhen(release: tv.Release, ledger: tv.Ledger, chance: random.Random, reach: int) -> tv.Ledger | None:
    """The ledger with a record whose true time lies so many slots before the one it is published in."""
    spent = ledger.table["slot"].to_pylist()
    times = ledger.original.table["at"].to_pylist()
    labels = dict(zip(ledger.table["origin"].to_pylist(), times, strict=True))
    if not isinstance(times[0], int):
        days = sorted(labels.values())
        labels = {str(day): day for day in days}
    rows = [n for n in _published(ledger) if spent[n] in labels]
    moments = {n: _shifted(labels[spent[n]], -reach) for n in rows}
    rows = [n for n in rows if moments[n] in labels.values()]
    if not rows:
        return None
    row = chance.choice(rows)
    label = next(label for label, moment in labels.items() if moment == moments[row])
    return noted(original(ledger, at={row: moments[row]}), origin={row: label})


def _shifted(moment: Any, step: int) -> Any:
    return moment + (step if isinstance(moment, int) else dt.timedelta(days=step))


@sabotage("stream", "custodian", "moved-back")
def a_record_published_before_its_slot(release, ledger, chance):
    told = _elsewhen(release, ledger, chance, -1)
    return told and Tampered(release, told, "1 record published before its slot")


@sabotage("stream", "custodian", "moved-too-far")
def a_record_published_one_slot_too_late(release, ledger, chance):
    window = release.manifest["parameters"]["window"]
    told = _elsewhen(release, ledger, chance, window)
    return told and Tampered(release, told, f"1 record published {window} or more slots after its own")


@sabotage("stream", "custodian", "person-twice")
def a_person_twice_in_a_slot(release, ledger, chance):
    slots = ledger.table["slot"].to_pylist()
    here = defaultdict(list)
    for n in _published(ledger):
        here[slots[n]].append(n)
    one, other = chance.sample(here[chance.choice(sorted(here))], 2)
    same = original(ledger, who={one: ledger.original.table["who"][other].as_py()})
    return Tampered(release, same, "1 record of a person who is already in the same slot")


@sabotage("stream", "custodian", "not-eligible")
def a_slot_that_is_not_eligible_by_the_original(release, ledger, chance):
    """The values of the original told to be one too many of a kind; the tables stay."""
    slots, ill = ledger.table["slot"].to_pylist(), ledger.original.table["ill"].to_pylist()
    alone = set(_alone(release)) if release.guarantee.recurring == "invariant" else ()
    shared = [n for n in _published(ledger) if _place(ledger, n) not in alone]
    slot = chance.choice(sorted({slots[n] for n in shared}))
    here = [n for n in shared if slots[n] == slot]
    [(common, often)] = Counter(ill[n] for n in here).most_common(1)
    others = [n for n in here if ill[n] != common][: len(here) // release.guarantee.l + 1 - often]
    said = f"1 slot in which a value is held by more than 1 in {release.guarantee.l} records"
    return Tampered(release, original(ledger, ill=dict.fromkeys(others, common)), said)


@sabotage("stream", "custodian", "incomplete-rows")
def a_published_record_without_a_value(release, ledger, chance):
    row = chance.choice(_published(ledger))
    said = "1 record without slot, value or respondent not withheld"
    return Tampered(release, original(ledger, ill={row: None}), said)


@sabotage("stream", "custodian", "ledger-rows")
def a_row_missing_in_the_ledger(release, ledger, chance):
    rows = ledger.table.num_rows
    less = replace(ledger, entries=ledger.table.slice(1))
    return Tampered(release, less, f"lists {rows - 1} rows, not the {rows} of the original")


@sabotage("stream", "custodian", "ledger-rows")
def two_rows_of_the_ledger_that_changed_places(release, ledger, chance):
    said = "the ledger does not list the rows of its original in order"
    return Tampered(release, noted(ledger, row={0: 1, 1: 0}), said)


@sabotage("stream", "custodian", "ledger")
def a_ledger_of_another_model(release, ledger, chance):
    return Tampered(release, replace(ledger, model="time"), "the ledger is not that of this release")


def _packets(ledger: tv.Ledger) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for row, number in enumerate(ledger.table["packet"].to_pylist()):
        if number is not None:
            found[number].append(row)
    return found


def _least(ledger: tv.Ledger, promise: int) -> dict[Any, int]:
    """Per slot how large its packets must be."""
    often: dict[Any, Counter[str]] = defaultdict(Counter)
    for row in ledger.original.table.to_pylist():
        often[row["at"]][row["ill"]] += 1
    return {slot: min(promise, here.total() // max(here.values())) for slot, here in often.items()}


@sabotage("stream packets", "custodian", "packet-size")
def one_record_short_in_a_packet(release, ledger, chance):
    """One record of a packet of just the least size is told to be a packet of its own."""
    least, at = _least(ledger, release.guarantee.true_slot), ledger.original.table["at"].to_pylist()
    found = _packets(ledger)
    exact = [rows for rows in found.values() if 1 < len(rows) == least[at[rows[0]]]]
    rows = chance.choice(exact)
    told = noted(ledger, packet={rows[0]: max(found) + 1})
    return Tampered(
        release, told, "2 packets with fewer records than its slot allows and the promise requires"
    )


@sabotage("stream packets", "custodian", "packet-values")
def a_value_twice_in_a_packet(release, ledger, chance):
    rows = chance.choice([rows for rows in _packets(ledger).values() if len(rows) > 1])
    ill = ledger.original.table["ill"].to_pylist()
    return Tampered(
        release, original(ledger, ill={rows[0]: ill[rows[1]]}), "1 packet with a value more than once"
    )


def _exchanged(code: str, column: str) -> Any:
    """A record assigned to a packet that differs from its own in a column of the ledger."""

    def change(release, ledger, chance):
        table, found = ledger.table.to_pylist(), _packets(ledger)
        pairs = [
            (rows[0], other)
            for rows in found.values()
            for other, mates in found.items()
            if table[rows[0]][column] != table[mates[0]][column] and len(rows) > 1
        ]
        row, other = chance.choice(pairs)
        return Tampered(release, noted(ledger, packet={row: other}), "1 packet with records ")

    change.__name__ = f"a_record_assigned_to_a_packet_of_another_{column}"
    return sabotage("stream packets", "custodian", code)(change)


for _code, _column in (("packet-origin", "origin"), ("packet-fate", "slot"), ("packet-bucket", "bucket")):
    _exchanged(_code, _column)


@sabotage("stream packets", "custodian", "packet")
def a_record_in_no_packet(release, ledger, chance):
    row = chance.choice(_published(ledger))
    told = noted(ledger, packet={row: None})
    return Tampered(release, told, "1 record without a packet, or in one although incomplete")


@sabotage("stream packets", "custodian", "packet")
def a_ledger_without_packets(release, ledger, chance):
    less = replace(ledger, entries=ledger.table.drop_columns(["packet"]))
    return Tampered(release, less, "the ledger lacks the packets")


def _true_slot(release: tv.Release, number: int | None, **parameters: Any) -> tv.Release:
    promise = LDiversity(release.guarantee.l, number)
    said = section(release, "parameters", **parameters)
    said = replace(said, guarantee=promise)
    return replace(said, manifest={**said.manifest, "guarantee": promise.as_dict()})


entry(
    "true_slot raised",
    "stream packets",
    "custodian",
    "parameters",
    lambda r: (
        _true_slot(r, r.guarantee.true_slot + 1, protect_slot=r.guarantee.true_slot + 1),
        "the run had other parameters: protect_slot",
    ),
)
entry(
    "true_slot raised without its parameter",
    "stream packets",
    "recipient",
    "guarantee",
    lambda r: (
        section(r, "parameters", protect_slot=r.guarantee.true_slot + 1),
        "is not the promise's `true_slot`",
    ),
)
entry(
    "true_slot left out of the promise",
    "stream packets",
    "recipient",
    "guarantee",
    lambda r: (_true_slot(r, None), "not the promise that packets keep"),
)
entry(
    "true_slot promised where there are no packets",
    "stream buckets",
    "recipient",
    "parameters",
    lambda r: (
        None
        if r.guarantee.true_slot
        else (_true_slot(r, 2), "the parameters of packets are incomplete: protect_slot, spread, fillers")
    ),
)
entry(
    "packets said to go with another filler",
    "stream packets",
    "recipient",
    "parameters",
    lambda r: (section(r, "parameters", filler="always"), "parameters that packets exclude: filler"),
)
entry(
    "packets spread over the whole window",
    "stream packets",
    "recipient",
    "parameters",
    lambda r: (
        section(r, "parameters", spread=r.manifest["parameters"]["window"]),
        "not from 1 to below the window",
    ),
)


@sabotage("stream packets", "custodian", "packet-size")
def true_slot_raised_in_the_ledger_too(release, ledger, chance):
    """Where the packets themselves are all that tells."""
    more = release.guarantee.true_slot + 1
    bold = _true_slot(release, more, protect_slot=more)
    told = replace(ledger, facts={**ledger.facts, "parameters": bold.manifest["parameters"]})
    least, at = _least(ledger, more), ledger.original.table["at"].to_pylist()
    small = sum(len(rows) < least[at[rows[0]]] for rows in _packets(ledger).values())
    said = f"{several(small, 'packet')} with fewer records than its slot allows"
    return Tampered(bold, told, said) if small else None


@sabotage("stream packets", "nobody")
def packets_numbered_otherwise(release, ledger, chance):
    """The numbers of packets are names and nothing else."""
    numbers = ledger.table["packet"].to_pylist()
    told = {n: number * 7 + 1 for n, number in enumerate(numbers) if number is not None}
    return Tampered(release, noted(ledger, packet=told))


@sabotage("stream", "nobody")
def two_equal_records_exchanged_in_the_ledger(release, ledger, chance):
    """Of one slot, bucket and packet, and equal in all that is published: whose is whose is no matter."""
    keys: dict[Any, int] = {}
    table, data = ledger.table.to_pylist(), ledger.original.table.to_pylist()
    for n in _published(ledger):
        noted_here = {name: value for name, value in table[n].items() if name != "row"}
        key = repr((noted_here, data[n]["zip"], data[n]["ward"], data[n]["at"]))
        if key in keys and data[n]["ill"] == data[keys[key]]["ill"]:
            who = {n: data[keys[key]]["who"], keys[key]: data[n]["who"]}
            return Tampered(release, original(ledger, who=who))
        keys[key] = n
    return None


def _alone(release: tv.Release) -> list[tuple[Any, int]]:
    """Buckets with counterfeits."""
    listed = Counter((line["slot"], line["bucket"]) for line in lines(release, "sensitive"))
    sizes = _sizes(release)
    return sorted(key for key in listed if listed[key] > sizes[key])


@sabotage("stream invariant", "custodian", "signature")
def a_counterfeit_with_another_value(release, ledger, chance):
    """A person's signature changed by one value."""
    entries, ill = lines(release, "sensitive"), ledger.original.table["ill"].to_pylist()
    key = chance.choice(_alone(release))
    [row] = [n for n in _published(ledger) if (_place(ledger, n)) == key]
    shown = {entries[n]["ill"] for n in _of(entries, key)}
    others = [n for n in _of(entries, key) if entries[n]["ill"] != ill[row]]
    entries[chance.choice(others)]["ill"] = chance.choice(sorted(set(ill) - shown))
    spoilt = in_order(with_lines(release, entries, "sensitive"), "sensitive")
    return Tampered(spoilt, ledger, "in a bucket with other values than the person's bucket before")


@sabotage("stream invariant", "recipient", "counts")
def a_counterfeit_that_is_not_counted(release, ledger, chance):
    number = release.manifest["counts"]["counterfeits"]
    said = f"the buckets have {number} counterfeits; the manifest states {number - 1}"
    return Tampered(counts(release, counterfeits=-1), ledger, said)


@sabotage("stream invariant", "custodian", "signature")
def a_counterfeit_left_out(release, ledger, chance):
    """A signature of more than l values short of one, and counted so."""
    entries, ill = lines(release, "sensitive"), ledger.original.table["ill"].to_pylist()
    large = [key for key in _alone(release) if len(_of(entries, key)) > release.guarantee.l]
    if not large:
        return None
    key = chance.choice(large)
    [row] = [n for n in _published(ledger) if _place(ledger, n) == key]
    del entries[chance.choice([n for n in _of(entries, key) if entries[n]["ill"] != ill[row]])]
    spoilt = counts(with_lines(release, entries, "sensitive"), counterfeits=-1)
    return Tampered(spoilt, ledger, "in a bucket with other values than the person's bucket before")


@sabotage("stream invariant", "recipient", "bucket-size")
def a_signature_of_fewer_than_l_values(release, ledger, chance):
    entries, promise = lines(release, "sensitive"), release.guarantee.l
    exact = [key for key in _alone(release) if len(_of(entries, key)) == promise]
    del entries[chance.choice(_of(entries, chance.choice(exact)))]
    spoilt = counts(with_lines(release, entries, "sensitive"), counterfeits=-1)
    said = f"1 bucket with fewer than {promise} records; the smallest has {promise - 1}"
    return Tampered(spoilt, ledger, said)


@sabotage("stream invariant", "recipient", "signature")
def a_value_twice_in_a_bucket(release, ledger, chance):
    """A counterfeit with the value of another one."""
    entries = lines(release, "sensitive")
    one, other = chance.sample(_of(entries, chance.choice(_alone(release))), 2)
    entries[one]["count"] += 1
    del entries[other]
    return Tampered(with_lines(release, entries, "sensitive"), ledger, "1 value of a bucket with more than")


@sabotage("stream invariant", "recipient", "tables-disagree")
def two_records_that_share_counterfeits(release, ledger, chance):
    """Two people who come back, in one bucket of the table `data`."""
    rows, alone = lines(release), _alone(release)
    pairs = [(a, b) for a, b in pairwise(alone) if a[0] == b[0]]
    if not pairs:
        return None
    one, other = chance.choice(pairs)
    rows[_of(rows, one)[0]]["bucket"] = other[1]
    said = "1 bucket with another number of records than its values add up to"
    return Tampered(in_order(with_lines(release, rows)), ledger, said)


@sabotage("stream invariant", "custodian", "signature")
def counterfeits_next_to_a_person_who_is_new(release, ledger, chance):
    """The person of a record that returned told to be somebody else."""
    key = chance.choice(_alone(release))
    [row] = [n for n in _published(ledger) if _place(ledger, n) == key]
    later = [n for n in _published(ledger) if _place(ledger, n)[0] > key[0]]
    who = ledger.original.table["who"].to_pylist()
    if any(who[n] == who[row] for n in later):
        return None
    told = original(ledger, who={row: f"{_NEW} person"})
    return Tampered(release, told, "1 record with counterfeits of a person who was not published before")


@sabotage("stream invariant", "custodian", "signature")
def two_people_who_are_one(release, ledger, chance):
    """A person whose first bucket has other values than that of another, in an earlier slot."""
    who, alone, ill = ledger.original.table["who"].to_pylist(), set(_alone(release)), defaultdict(set)
    for line in lines(release, "sensitive"):
        ill[line["slot"], line["bucket"]].add(line["ill"])
    places = {n: _place(ledger, n) for n in _published(ledger)}
    last = {who[n]: n for n in sorted(places, key=places.__getitem__)}
    new = [n for n in places if places[n] not in alone and last[who[n]] == n]
    pairs = [(a, b) for a in last.values() for b in new if places[a][0] < places[b][0]]
    pairs = [(a, b) for a, b in pairs if ill[places[a]] != ill[places[b]]]
    if not pairs:
        return None
    one, other = chance.choice(pairs)
    told = original(ledger, who={other: who[one]})
    return Tampered(release, told, "1 record in a bucket with other values than the person's bucket before")


@sabotage("stream once", "custodian", "person-again")
def a_person_in_two_slots(release, ledger, chance):
    slots, who = ledger.table["slot"].to_pylist(), ledger.original.table["who"].to_pylist()
    one = chance.choice(_published(ledger))
    other = chance.choice([n for n in _published(ledger) if slots[n] != slots[one]])
    told = original(ledger, who={other: who[one]})
    return Tampered(release, told, "1 record of a person who was published before")


@sabotage("stream again", "recipient", "guarantee")
def people_who_come_back_are_promised_less_than_stated(release, ledger, chance):
    said = "`recurring` or `forget_after` are not the same in parameters and promise"
    return Tampered(section(release, "parameters", forget_after=8), ledger, said)


@sabotage("stream again", "recipient", "parameters")
def people_are_forgotten_before_all_is_final(release, ledger, chance):
    said = "the parameters exclude what is promised to people who come back"
    return Tampered(promised(release, forget_after=7), ledger, said)


@sabotage("stream again", "custodian", "respondent-missing")
def a_ledger_that_does_not_say_who_is_who(release, ledger, chance):
    roles = replace(ledger.original.roles, respondent=None)
    told = replace(ledger, original=replace(ledger.original, roles=roles))
    return Tampered(release, told, "the ledger does not say whose the records are")


def _place(ledger: tv.Ledger, row: int) -> tuple[Any, int]:
    unit = "group" if "group" in ledger.table.column_names else "bucket"
    return ledger.table["slot"][row].as_py(), ledger.table[unit][row].as_py()
