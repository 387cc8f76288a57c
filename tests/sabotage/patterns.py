"""What can be done to a release of `sanitize_patterns`: all frequent patterns, or the closed ones."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import pyarrow as pa

import timeveil as tv
from tests.sabotage.tampering import (
    Tampered,
    counts,
    entry,
    holds,
    lines,
    noted,
    promised,
    sabotage,
    section,
    several,
    with_lines,
    with_role,
    with_table,
    with_type,
    with_values,
)

_ADDING = ("additive", "tight", "clone", "least")


def _method(release: tv.Release) -> str:
    return str(release.manifest["parameters"]["method"])


def _family(release: tv.Release) -> dict[frozenset[str], int]:
    return {frozenset(line["pattern"]): n for n, line in enumerate(lines(release))}


def _maximal(release: tv.Release) -> list[int]:
    """Rows of patterns that no other holds."""
    family = _family(release)
    return [n for one, n in family.items() if one and not any(one < other for other in family)]


def _counted(release: tv.Release, by: dict[int, int]) -> tv.Release:
    """Supports raised, and the number of people with that of the empty pattern."""
    rows = lines(release)
    for n, step in by.items():
        rows[n]["support"] += step
    return section(with_lines(release, rows), "counts", transactions=rows[0]["support"])


def _less(release: tv.Release, gone: int) -> tv.Release:
    left = [line for n, line in enumerate(lines(release)) if n != gone]
    return counts(with_lines(release, left), patterns=-1)


# What anybody can compute


@sabotage("patterns frequent", "recipient", "channel")
def one_person_short_in_a_group_that_can_be_computed(release, ledger, chance):
    """Among those who have all items of a pattern but one, k become k - 1, or none becomes one."""
    k, rows, family = release.guarantee.k, lines(release), _family(release)
    for n in chance.sample(_maximal(release), len(_maximal(release))):
        pattern = frozenset(rows[n]["pattern"])
        apart = [rows[family[pattern - {item}]]["support"] - rows[n]["support"] for item in pattern]
        if 0 in apart and rows[n]["support"] > release.manifest["parameters"]["min_support"]:
            return Tampered(_counted(release, {n: -1}), ledger, f"of fewer than {k} people can be computed")
        if k in apart and min(apart) > 0:
            return Tampered(_counted(release, {n: 1}), ledger, f"of fewer than {k} people can be computed")
    return None


@sabotage("patterns frequent", "recipient", "support")
def more_people_than_a_part_of_a_pattern_has(release, ledger, chance):
    rows, family = lines(release), _family(release)
    n = chance.choice([n for n in _maximal(release) if len(rows[n]["pattern"]) > 1])
    pattern = frozenset(rows[n]["pattern"])
    least = min(rows[family[pattern - {item}]]["support"] for item in pattern)
    spoilt = _counted(release, {n: least + 1 - rows[n]["support"]})
    return Tampered(spoilt, ledger, "1 pattern with more people than a part of it")


@sabotage("patterns frequent", "recipient", "unlike-any-data")
def counts_that_no_data_have(release, ledger, chance):
    """So few have both of two items that more people are left with one of them than there are."""
    rows = lines(release)
    for n in _maximal(release):
        if len(rows[n]["pattern"]) == 2:
            singles = [rows[_family(release)[frozenset({item})]]["support"] for item in rows[n]["pattern"]]
            both = sum(singles) - rows[0]["support"]
            if both > release.manifest["parameters"]["min_support"]:
                return Tampered(
                    _counted(release, {n: both - 1 - rows[n]["support"]}),
                    ledger,
                    "would have fewer than 0 people: no data have these counts",
                )
    return None


def _unseen(step: int) -> Any:
    """A support changed by so many that no group below k opens; the smallest such."""

    def change(release, ledger, chance):
        for n in chance.sample(range(1, release.table.num_rows), min(8, release.table.num_rows - 1)):
            spoilt = _counted(release, {n: step})
            if holds(spoilt):
                closed = release.manifest["patterns"]["published"] == "closed"
                said = (
                    "with another support than stated"
                    if closed
                    else f"1 pattern of {release.table.num_rows - 1} with"
                )
                return Tampered(spoilt, ledger, said)
        return None

    change.__name__ = f"a_support_off_by_{abs(step)}_{'up' if step > 0 else 'down'}_that_opens_no_group"
    return sabotage("patterns", "custodian", "wrong-support")(change)


for _step in (-1, 1, -3, 3):
    _unseen(_step)


@sabotage("patterns", "custodian", "conservation")
def one_person_more_than_there_are(release, ledger, chance):
    """The number of people is that of the empty pattern, and both are changed."""
    stated = lines(release)[0]["support"]
    for step in (1, 2, 3, 4, 5):
        more = _counted(release, {0: step})
        if holds(more):
            said = f"the empty pattern counts {stated + step} people where there are {stated}"
            return Tampered(more, ledger, said)
    return None


@sabotage("patterns closed", "recipient", "support")
def fewer_people_than_have_a_pattern(release, ledger, chance):
    """Both places that tell the number of people are changed, to the smallest support."""
    rows = lines(release)
    least = min(row["support"] for row in rows)
    if max(row["support"] for row in rows[1:]) == least:
        return None
    return Tampered(
        _counted(release, {0: least - rows[0]["support"]}), ledger, "more people than the empty pattern"
    )


@sabotage("patterns closed", "recipient", "support")
def one_pattern_with_more_people_than_there_are(release, ledger, chance):
    rows = lines(release)
    n = chance.choice(_maximal(release))
    spoilt = _counted(release, {n: rows[0]["support"] + release.guarantee.k - rows[n]["support"]})
    return Tampered(spoilt, ledger, "more people than the empty pattern")


@sabotage("patterns", "recipient", "counts")
def a_number_of_people_that_the_empty_pattern_has_not(release, ledger, chance):
    stated = release.manifest["counts"]["transactions"]
    said = f"the empty pattern counts {stated} people where the manifest states {stated + 1}"
    return Tampered(counts(release, transactions=1), ledger, said)


# Patterns removed, added, swapped


@sabotage("patterns frequent", "recipient", "missing-part")
def a_pattern_removed_from_below_another(release, ledger, chance):
    family = _family(release)
    inner = [(one, n) for one, n in family.items() if one and n not in _maximal(release)]
    one, n = chance.choice(inner)
    above = sum(len(other) == len(one) + 1 and one < other for other in family)
    return Tampered(_less(release, n), ledger, f"{several(above, 'pattern')} of which a part is missing")


@sabotage("patterns frequent", "recipient", "missing-part")
def a_pattern_removed_that_no_other_begins_with(release, ledger, chance):
    """So that what is left is still a tree."""
    family, order = _family(release), _order(release)
    for one, n in family.items():
        above = [sorted(other, key=order) for other in family if len(other) == len(one) + 1 and one < other]
        if one and above and all(frozenset(other[:-1]) != one for other in above):
            said = f"{several(len(above), 'pattern')} of which a part is missing"
            return Tampered(_less(release, n), ledger, said)
    return None


@sabotage("patterns", "recipient", "missing-part")
def the_empty_pattern_removed(release, ledger, chance):
    return Tampered(_less(release, 0), ledger, "there is no empty pattern")


@sabotage("patterns", "recipient", "row-count")
def a_dropped_row(release, ledger, chance):
    rows = lines(release)
    n = _maximal(release)[-1]
    said = f"the table has {len(rows) - 1} patterns where the manifest states {len(rows)}"
    return Tampered(with_lines(release, rows[:n] + rows[n + 1 :]), ledger, said)


@sabotage("patterns", "custodian", "lost")
def a_pattern_removed_at_the_end(release, ledger, chance):
    """Of the methods that lose none."""
    if _method(release) == "itemset":
        return None
    for n in chance.sample(_maximal(release), len(_maximal(release))):
        less = _less(release, n)
        if holds(less):
            least = release.manifest["parameters"]["min_support"]
            return Tampered(less, ledger, f"that at least {least} people have not published")
    return None


@sabotage("patterns itemset", "nobody")
def a_pattern_removed_at_the_end_by_a_method_that_loses_some(release, ledger, chance):
    """It merges and leaves out on purpose; which patterns it lost is not promised."""
    for n in chance.sample(_maximal(release), len(_maximal(release))):
        less = _less(release, n)
        if holds(less) and not _shared(less, release):
            return Tampered(less, ledger)
    return None


def _shared(less: tv.Release, release: tv.Release) -> bool:
    """Whether a closed pattern gave others their support, which then is another."""
    return release.manifest["patterns"]["published"] == "closed" and less.table.num_rows < 2


for _cell, _code, _column, _value, _said in (
    ("a support left out", "support", "support", None, "1 pattern without a support"),
    ("a support below 0", "support", "support", -1, "1 support below 0 or beyond"),
    ("a support beyond all people", "support", "support", 2**40 + 1, "1 support below 0 or beyond"),
    ("a pattern left out", "item", "pattern", None, "1 pattern or items missing"),
    ("an item left out", "item", "pattern", [None], "1 pattern or items missing"),
    ("a pattern of another item", "item", "pattern", [" "], "not as the manifest states them"),
):
    entry(
        _cell,
        "patterns",
        "recipient",
        _code,
        lambda r, name=_column, value=_value, said=_said: (
            with_lines(r, [*lines(r)[:-1], {**lines(r)[-1], name: value}]),
            said,
        ),
    )


@sabotage("patterns", "recipient", "pattern-twice")
def a_pattern_twice(release, ledger, chance):
    rows = lines(release)
    n = chance.randrange(1, len(rows))
    twice = counts(with_lines(release, [*rows[: n + 1], *rows[n:]]), patterns=1)
    return Tampered(twice, ledger, "1 pattern repeated")


@sabotage("patterns", "recipient", "row-order")
def two_patterns_that_changed_places(release, ledger, chance):
    rows = lines(release)
    n = chance.choice(
        [n for n in range(1, len(rows) - 1) if len(rows[n]["pattern"]) == len(rows[n + 1]["pattern"])]
    )
    rows[n], rows[n + 1] = rows[n + 1], rows[n]
    return Tampered(with_lines(release, rows), ledger, "not in the order of items")


@sabotage("patterns", "recipient", "item")
def an_item_twice_in_a_pattern(release, ledger, chance):
    rows = lines(release)
    rows[-1]["pattern"] = [*rows[-1]["pattern"], rows[-1]["pattern"][-1]]
    return Tampered(with_lines(release, rows), ledger, "1 item twice in a pattern, or out of order")


@sabotage("patterns series", "recipient", "item")
def two_symbols_at_one_instant(release, ledger, chance):
    rows = lines(release)
    instant = release.manifest["patterns"]["instants"][0]
    rows.append({"pattern": [f"{instant}=a", f"{instant}=b", *rows[-1]["pattern"][2:]], "support": 4})
    return Tampered(with_lines(release, rows), ledger, "1 pattern with two symbols of one instant")


@sabotage("patterns series", "recipient", "item")
def a_letter_beyond_the_symbols(release, ledger, chance):
    rows = lines(release)
    rows[-1]["pattern"] = [*rows[-1]["pattern"][:-1], rows[-1]["pattern"][-1][:-1] + "q"]
    return Tampered(with_lines(release, rows), ledger, "1 item of ")


@sabotage("patterns", "custodian", "wrong-support")
def two_supports_exchanged(release, ledger, chance):
    """Between patterns of one length, where it opens no group."""
    rows = lines(release)
    pairs = [
        (n, m)
        for n in range(1, len(rows))
        for m in range(1, n)
        if rows[n]["support"] != rows[m]["support"] and len(rows[n]["pattern"]) == len(rows[m]["pattern"])
    ]
    chance.shuffle(pairs)
    for n, m in pairs[:8]:
        step = rows[m]["support"] - rows[n]["support"]
        spoilt = _counted(release, {n: step, m: -step})
        if holds(spoilt):
            return Tampered(spoilt, ledger, "with another support than stated")
    return None


@sabotage("patterns baskets", "custodian", "wrong-support")
def two_items_that_changed_names(release, ledger, chance):
    """Everywhere: another world, and as safe as this one."""
    rows = lines(release)
    items = sorted({item for line in rows for item in line["pattern"]})
    for _ in range(10):
        one, other = chance.sample(items, 2)
        names = {one: other, other: one}
        turned = [{**line, "pattern": sorted(names.get(i, i) for i in line["pattern"])} for line in rows]
        turned.sort(key=lambda line: (len(line["pattern"]), line["pattern"]))
        if turned != rows:
            return Tampered(with_lines(release, turned), ledger, "with another support than stated")
    return None


@sabotage("patterns closed", "recipient", "not-closed")
def a_pattern_that_is_not_closed(release, ledger, chance):
    """One item less than another, and no more people."""
    rows, family = lines(release), _family(release)
    for n in chance.sample(range(1, len(rows)), len(rows) - 1):
        for item in rows[n]["pattern"]:
            part = [i for i in rows[n]["pattern"] if i != item]
            most = max((line["support"] for line in rows if set(part) <= set(line["pattern"])), default=0)
            if part and frozenset(part) not in family:
                order = _order(release)
                more = [*rows, {"pattern": part, "support": most}]
                more.sort(key=lambda line: (len(line["pattern"]), [order(i) for i in line["pattern"]]))
                spoilt = counts(with_lines(release, more), patterns=1)
                return Tampered(spoilt, ledger, "1 pattern with no more people than one that contains it")
    return None


def _order(release: tv.Release) -> Any:
    if release.manifest["patterns"]["kind"] == "baskets":
        return lambda item: item
    instants = list(release.manifest["patterns"]["instants"])
    return lambda item: (instants.index(item.rpartition("=")[0]), item)


# The manifest

entry(
    "k raised",
    "patterns",
    "recipient",
    "min-support",
    lambda r: (
        promised(r, k=r.manifest["parameters"]["min_support"] + 1),
        f"are published where k is {r.manifest['parameters']['min_support'] + 1}",
    ),
)
entry(
    "k raised among the parameters alone",
    "patterns",
    "recipient",
    "guarantee",
    lambda r: (section(r, "parameters", k=r.guarantee.k + 1), "is not the k of the promise"),
)
entry(
    "k raised in the manifest alone",
    "patterns",
    "recipient",
    "guarantee",
    lambda r: (section(r, "guarantee", k=r.guarantee.k + 1), "another guarantee than the release"),
)
entry(
    "a least support that a pattern has not",
    "patterns",
    "recipient",
    "min-support",
    lambda r: (
        section(r, "parameters", min_support=1 + min(line["support"] for line in lines(r))),
        "with a support below",
    ),
)
entry(
    "a least support below k",
    "patterns",
    "recipient",
    "min-support",
    lambda r: (section(r, "parameters", min_support=r.guarantee.k - 1), f"where k is {r.guarantee.k}"),
)
for _step in (-1, 1):
    _way = "up" if _step > 0 else "down"
    entry(
        f"the patterns off by one {_way}",
        "patterns",
        "recipient",
        "row-count",
        lambda r, s=_step: (
            counts(r, patterns=s),
            f"patterns where the manifest states {r.table.num_rows + s}",
        ),
    )
entry(
    "one virtual person more",
    "patterns",
    "custodian",
    "virtual",
    lambda r: None if _method(r) not in _ADDING[1:] else (counts(r, virtual=1), "the ledger"),
)
entry(
    "virtual people of one kind more",
    "patterns additive",
    "custodian",
    "virtual",
    lambda r: (counts(r, virtual=r.guarantee.k), "the ledger"),
)
entry(
    "virtual people that are not k of each kind",
    "patterns additive",
    "recipient",
    "counts",
    lambda r: (counts(r, virtual=1), "not k of each kind"),
)
entry(
    "virtual people of a method that adds none",
    "patterns",
    "recipient",
    "statements",
    lambda r: (
        None
        if _method(r) in _ADDING
        else (counts(r, virtual=1), "virtual people, which its method does not add")
    ),
)
entry(
    "more virtual people than people",
    "patterns additive",
    "recipient",
    "counts",
    lambda r: (
        section(r, "counts", virtual=r.manifest["counts"]["transactions"] + 1),
        "more virtual people than people",
    ),
)
entry(
    "structural said in one place",
    "patterns series",
    "recipient",
    "statements",
    lambda r: (section(r, "patterns", structural=False), "states `structural` twice, and not the same"),
)
entry(
    "baskets said to be structural",
    "patterns baskets",
    "recipient",
    "statements",
    lambda r: (
        section(section(r, "patterns", structural=True), "parameters", structural=True),
        "of baskets what only series have",
    ),
)
entry(
    "closed patterns said to be all",
    "patterns closed",
    "recipient",
    "missing-part",
    lambda r: (_published(r, "frequent"), "of which a part is missing") if _has_gaps(r) else None,
)
entry(
    "patterns longer than stated",
    "patterns",
    "recipient",
    "statements",
    lambda r: (
        None
        if len(lines(r)[-1]["pattern"]) < 2
        else (
            section(r, "parameters", max_len=1),
            f"a pattern has {len(lines(r)[-1]['pattern'])} items where 1 is the most",
        )
    ),
)
entry(
    "fewer symbols than there are",
    "patterns series",
    "recipient",
    "item",
    lambda r: (
        section(section(r, "patterns", symbols=2), "parameters", symbols=2),
        "not as the manifest states them",
    ),
)
entry(
    "an instant twice",
    "patterns series",
    "recipient",
    "statements",
    lambda r: (section(r, "patterns", instants=["h1", "h1", "h3"]), "or one twice"),
)
entry(
    "letters said to be those of a series release",
    "patterns series",
    "custodian",
    "statements",
    lambda r: (section(r, "patterns", origin="series release"), "another origin of the letters"),
)
entry(
    "another kind of original",
    "patterns",
    "recipient",
    "statements",
    lambda r: (
        section(r, "patterns", kind="series" if r.manifest["patterns"]["kind"] == "baskets" else "baskets"),
        "unlike its kind",
    ),
)
entry(
    "a support declared a pattern",
    "patterns",
    "recipient",
    "columns",
    lambda r: (with_role(r, "support", "pattern"), "does not state the columns pattern and support alone"),
)
entry(
    "a support said to be of another type",
    "patterns",
    "recipient",
    "columns",
    lambda r: (with_type(r, "support", "int32"), "does not state lists of texts and 64-bit whole numbers"),
)
entry(
    "a column more than stated",
    "patterns",
    "recipient",
    "columns",
    lambda r: (
        with_table(r, r.table.append_column("x", pa.nulls(r.table.num_rows, pa.int8()))),
        "the table has 3 columns, not pattern and support alone",
    ),
)
entry(
    "a second table",
    "patterns",
    "recipient",
    "tables",
    lambda r: (with_table(r, r.table, "more"), "2 tables, not `data` alone"),
)
entry(
    "a key too many",
    "patterns",
    "recipient",
    "manifest",
    lambda r: (section(r, "patterns", people=["x"]), "`patterns` of the manifest has 1 unknown key"),
)


def _has_gaps(release: tv.Release) -> bool:
    """Whether not every pattern is closed, so that parts of some are not there."""
    family = _family(release)
    return any(one - {item} not in family for one in family for item in one)


def _published(release: tv.Release, what: str) -> tv.Release:
    return section(section(release, "patterns", published=what), "parameters", published=what)


@sabotage("patterns", "custodian", "lost")
def a_method_that_loses_patterns_said_to_lose_none(release, ledger, chance):
    if _method(release) != "itemset" or release.manifest["patterns"]["kind"] != "baskets":
        return None
    least, family = release.manifest["parameters"]["min_support"], _family(release)
    baskets = [set(has) for has in ledger.original.table["has"].to_pylist()]
    pairs = combinations(sorted(set.union(*baskets)), 2)
    if all(sum(set(pair) <= has for has in baskets) < least or frozenset(pair) in family for pair in pairs):
        return None
    told = section(release, "parameters", method="additive")
    return Tampered(told, ledger, f"that at least {least} people have not published")


@sabotage("patterns series", "recipient", "guarantee")
def a_weaker_promise_in_the_parameters_alone(release, ledger, chance):
    """The guarantee says more than the manifest says of what readers know."""
    return Tampered(_not_structural(release), ledger, "differ on what readers know")


@sabotage("patterns series", "custodian", "parameters")
def a_weaker_promise_that_also_holds(release, ledger, chance):
    """Whoever does not know that everybody has one symbol at every instant can compute less."""
    if "frequent" not in str(release.manifest["patterns"]["published"]):
        return None
    weaker = replace(release.guarantee, counts_alone=True)
    told = section(replace(_not_structural(release), guarantee=weaker), "guarantee", counts_alone=True)
    return Tampered(told, ledger, "the run had other parameters: structural")


def _not_structural(release: tv.Release) -> tv.Release:
    return section(section(release, "patterns", structural=False), "parameters", structural=False)


# The ledger


@sabotage("patterns", "custodian", "conservation")
def a_person_noted_as_withheld(release, ledger, chance):
    """Which only one method does; there it is one person less than are counted."""
    noted_ = ledger.table["transaction"].to_pylist()
    row = chance.choice([n for n, number in enumerate(noted_) if number is not None])
    gone = {n: None for n, number in enumerate(noted_) if number == noted_[row]}
    said = (
        "people where"
        if _method(release) == "suppressive"
        else "1 person withheld, which the method does not do"
    )
    return Tampered(release, noted(ledger, transaction=gone), said)


@sabotage("patterns", "custodian", "ledger-rows")
def two_people_noted_as_one(release, ledger, chance):
    numbers = sorted(set(ledger.table["transaction"].drop_null().to_pylist()))
    told = ledger.table["transaction"].to_pylist()
    one = {n: numbers[0] for n, number in enumerate(told) if number == numbers[1]}
    return Tampered(release, noted(ledger, transaction=one), "are not the people of the original")


@sabotage("patterns", "custodian", "ledger-rows")
def a_row_missing_in_the_ledger(release, ledger, chance):
    rows = ledger.table.num_rows
    less = replace(ledger, entries=ledger.table.slice(1))
    return Tampered(release, less, f"lists {rows - 1} rows, not the {rows} of the original")


@sabotage("patterns", "custodian", "virtual")
def a_copy_more_of_a_virtual_person(release, ledger, chance):
    virtual = ledger.mappings["virtual"]
    if not virtual.num_rows:
        return None
    more = with_values(virtual, "copies", {0: virtual["copies"][0].as_py() + 1})
    stated = release.manifest["counts"]["virtual"]
    said = f"the ledger does not note the {stated} virtual people that the manifest states"
    return Tampered(release, replace(ledger, mappings={"virtual": more}), said)


@sabotage("patterns", "custodian", "wrong-support")
def an_item_less_of_a_virtual_person(release, ledger, chance):
    virtual = ledger.mappings["virtual"]
    kept = {line["pattern"][0] for line in lines(release) if len(line["pattern"]) == 1}
    for n, items in enumerate(virtual["pattern"].to_pylist() if virtual.num_rows else []):
        known = [item for item in items if item in kept]
        if known:
            less = with_values(virtual, "pattern", {n: [item for item in items if item != known[0]]})
            return Tampered(
                release, replace(ledger, mappings={"virtual": less}), "with another support than stated"
            )
    return None


@sabotage("patterns baskets", "custodian", "wrong-support")
def an_original_item_less(release, ledger, chance):
    baskets = ledger.original.table["has"].to_pylist()
    noted_ = ledger.table["transaction"].to_pylist()
    kept = {item for line in lines(release) for item in line["pattern"]}
    rows = [n for n, has in enumerate(baskets) if noted_[n] is not None and kept & set(has)]
    n = chance.choice(rows)
    gone = sorted(kept & set(baskets[n]))[0]
    less = [item for item in baskets[n] if item != gone]
    return Tampered(release, _with_baskets(ledger, {n: less}), "with another support than stated")


def _with_baskets(ledger: tv.Ledger, changed: dict[int, Any]) -> tv.Ledger:
    table = with_values(ledger.original.table, "has", changed)
    return replace(ledger, original=replace(ledger.original, data=table))


@sabotage("patterns baskets", "custodian", "person-twice")
def an_original_item_twice(release, ledger, chance):
    baskets = ledger.original.table["has"].to_pylist()
    n = next(n for n, has in enumerate(baskets) if has)
    twice = _with_baskets(ledger, {n: [*baskets[n], baskets[n][0]]})
    return Tampered(release, twice, "1 row or items of a person who has them already")


@sabotage("patterns", "custodian", "ledger")
def a_ledger_of_another_model(release, ledger, chance):
    return Tampered(release, replace(ledger, model="series"), "the ledger does not belong to this release")


@sabotage("patterns", "custodian", "ledger")
def a_ledger_without_virtual_people(release, ledger, chance):
    return Tampered(release, replace(ledger, mappings={}), "the ledger lacks a column or a table")
