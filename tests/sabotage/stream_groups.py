"""What can be done to a release of `publish_stream` in generalised groups."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import timeveil as tv
from tests.sabotage.tampering import (
    Tampered,
    counts,
    holds,
    in_order,
    lines,
    noted,
    original,
    promised,
    sabotage,
    with_lines,
)


def _sizes(release: tv.Release) -> Counter[tuple[Any, int]]:
    return Counter((line["slot"], line["group"]) for line in lines(release))


def _of(rows: list[dict[str, Any]], key: tuple[Any, int]) -> list[int]:
    return [n for n, line in enumerate(rows) if (line["slot"], line["group"]) == key]


@sabotage("stream groups", "recipient", "group-size")
def one_record_short_in_a_group(release, ledger, chance):
    """Left out of the table, and counted out of the manifest."""
    k, sizes, rows = release.guarantee.k, _sizes(release), lines(release)
    least = min(sizes.values())
    key = chance.choice([key for key, size in sorted(sizes.items()) if size == least])
    for n in sorted(chance.sample(_of(rows, key), least - k + 1), reverse=True):
        del rows[n]
    said = f"1 group with fewer than {k} records; the smallest has {k - 1}"
    return Tampered(counts(with_lines(release, rows), rows=k - 1 - least), ledger, said)


@sabotage("stream groups", "recipient", "value-too-frequent")
def one_value_too_many_in_a_group(release, ledger, chance):
    """As few records as can be are told to have the commonest value of their group."""
    rows, l = lines(release), release.guarantee.l
    here = _of(rows, chance.choice(sorted(_sizes(release))))
    [(common, often)] = Counter(rows[n]["ill"] for n in here).most_common(1)
    for n in [n for n in here if rows[n]["ill"] != common][: len(here) // l + 1 - often]:
        rows[n]["ill"] = common
    said = f"1 group in which a value is held by more than 1 in {l} records"
    return Tampered(in_order(with_lines(release, rows)), ledger, said)


@sabotage("stream groups", "recipient", "group-labels")
def a_label_narrowed_in_one_record(release, ledger, chance):
    rows = lines(release)
    wide = [n for n, line in enumerate(rows) if line["zip"] == "*"]
    rows[chance.choice(wide)]["zip"] = chance.choice(ledger.original.table["zip"].to_pylist())
    said = "1 group whose records do not have the same labels"
    return Tampered(in_order(with_lines(release, rows)), ledger, said)


@sabotage("stream groups", "custodian", "labels")
def a_label_narrowed_in_a_group(release, ledger, chance):
    """To the value that one of its records has, in all of them."""
    rows = lines(release)
    keys = sorted({(line["slot"], line["group"]) for line in rows if line["zip"] == "*"})
    key = chance.choice(keys)
    zips = ledger.original.table["zip"].to_pylist()
    entries = enumerate(ledger.table.select(["slot", "group"]).to_pylist())
    members = [zips[n] for n, entry in entries if (entry["slot"], entry["group"]) == key]
    if len(set(members)) < 2 or len(keys) < 2:
        return None
    for n in _of(rows, key):
        rows[n]["zip"] = members[0]
    return Tampered(with_lines(release, rows), ledger, "published under a label that does not contain it")


@sabotage("stream groups", "recipient", "group-size")
def a_promise_of_one_more_record(release, ledger, chance):
    k = min(_sizes(release).values()) + 1
    said = f"with fewer than {k} records; the smallest has {k - 1}"
    return Tampered(promised(release, k=k), ledger, said)


@sabotage("stream groups", "recipient", "guarantee")
def a_k_that_is_not_the_promise(release, ledger, chance):
    parameters = {**release.manifest["parameters"], "k": release.guarantee.k + 1}
    spoilt = replace(release, manifest={**release.manifest, "parameters": parameters})
    return Tampered(spoilt, ledger, "`parameters.k` of the manifest is not the k of the promise")


@sabotage("stream groups", "recipient", "manifest")
def labels_that_are_not_described(release, ledger, chance):
    manifest = {name: entry for name, entry in release.manifest.items() if name != "levels"}
    said = "the manifest describes groups that its parameters exclude, or the reverse"
    return Tampered(replace(release, manifest=manifest), ledger, said)


@sabotage("stream groups", "recipient", "levels")
def a_label_described_and_not_published(release, ledger, chance):
    levels = {"zip": {**release.manifest["levels"]["zip"], "prefix": ["nowhere"]}}
    said = "1 label of `zip` listed in the manifest and not published, or listed twice"
    return Tampered(replace(release, manifest={**release.manifest, "levels": levels}), ledger, said)


@sabotage("stream groups", "recipient", "group")
def a_group_number_left_out(release, ledger, chance):
    rows = lines(release)
    slot, last = chance.choice(sorted(_sizes(release)))
    last = max(number for at, number in _sizes(release) if at == slot)
    for n in _of(rows, (slot, last)):
        rows[n]["group"] = last + 1
    return Tampered(with_lines(release, rows), ledger, "1 group not numbered from 0 within its slot")


@sabotage("stream groups", "recipient", "counts")
def a_group_more_in_the_manifest(release, ledger, chance):
    number = len(_sizes(release))
    said = f"the table has {number} groups; the manifest states {number + 1}"
    return Tampered(counts(release, groups=1), ledger, said)


@sabotage("stream groups", "custodian", "row-values")
def a_record_noted_in_another_group(release, ledger, chance):
    groups, slots = ledger.table["group"].to_pylist(), ledger.table["slot"].to_pylist()
    divided = {slot for slot, number in _sizes(release) if number}
    rows = [n for n, slot in enumerate(slots) if slot in divided]
    if not rows:
        return None
    row = chance.choice(rows)
    other = 1 if groups[row] == 0 else 0
    return Tampered(release, noted(ledger, group={row: other}), "1 published row not in the original")


@sabotage("stream groups", "custodian", "labels")
def a_record_of_another_place(release, ledger, chance):
    """Its original value is not one that its group's label contains."""
    labels = {(line["slot"], line["group"]): line["zip"] for line in lines(release)}
    zips, places = ledger.original.table["zip"].to_pylist(), ledger.table.to_pylist()
    narrow = [n for n, e in enumerate(places) if labels.get((e["slot"], e["group"]), "*") in zips]
    if not narrow:
        return None
    row = chance.choice(narrow)
    other = next(text for text in zips if text != zips[row])
    said = "1 value of `zip` published under a label that does not contain it"
    return Tampered(release, original(ledger, zip={row: other}), said)


@sabotage("stream groups", "custodian", "row-values")
def a_ledger_without_mappings(release, ledger, chance):
    return Tampered(release, replace(ledger, mappings={}), "the ledger lacks the mapping of column `zip`")


@sabotage("stream groups", "custodian", "person-twice")
def one_person_counted_twice(release, ledger, chance):
    """Two records of a group said to be one person's: then its people are fewer than its records."""
    k, sizes = release.guarantee.k, _sizes(release)
    full = [key for key, size in sorted(sizes.items()) if size == k]
    if not full:
        return None
    key, places = chance.choice(full), ledger.table.to_pylist()
    first, second = [n for n, e in enumerate(places) if (e["slot"], e["group"]) == key][:2]
    who = ledger.original.table["who"].to_pylist()
    assert holds(release)
    return Tampered(release, original(ledger, who={second: who[first]}), "1 record of a person")
