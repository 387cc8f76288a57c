"""What can be done to a release of `generalize_time`."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import pyarrow as pa

import timeveil as tv
from tests.sabotage.tampering import (
    Line,
    Tampered,
    counts,
    entry,
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

_KEY = ("zip", "sex", "at")
_PLACE = (*_KEY, "at_start", "at_end")


def _groups(release: tv.Release) -> dict[tuple[Any, ...], list[int]]:
    found: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for n, line in enumerate(lines(release)):
        found[tuple(line[name] for name in _KEY)].append(n)
    return found


def _without(release: tv.Release, rows: list[int]) -> tv.Release:
    """Rows left out and told to be withheld."""
    left = with_lines(release, [line for n, line in enumerate(lines(release)) if n not in rows])
    return counts(left, rows=-len(rows), withheld=len(rows))


@sabotage("time", "recipient", "rows-below-k")
def one_row_short_in_a_group(release, ledger, chance):
    k = release.guarantee.k
    rows = chance.choice(list(_groups(release).values()))
    cut = _without(release, rows[k - 1 :])
    return Tampered(
        cut,
        ledger,
        f"1 group with fewer than {k} rows, hence fewer than {k} people; the smallest has {k - 1} rows",
    )


@sabotage("time", "custodian", "people-below-k")
def one_person_short_in_a_group(release, ledger, chance):
    """Some rows are of the same person, so that k - 1 people are left; the rows stay."""
    k, table = release.guarantee.k, ledger.original.table.to_pylist()
    group = ledger.table["group"].to_pylist()
    members = defaultdict(set)
    for row, number in zip(table, group, strict=True):
        members[number].add(row["who"])
    members.pop(None, None)
    people = sorted(members[chance.choice(sorted(members))])
    alias = dict.fromkeys(people[k - 1 :], people[0])
    sizes = [len({alias.get(who, who) for who in some}) for some in members.values()]
    below = sum(size < k for size in sizes)
    one = original(ledger, who={n: alias.get(row["who"], row["who"]) for n, row in enumerate(table)})
    held = f"{several(below, 'group')} with fewer than {k} people; the smallest"
    return Tampered(release, one, f"{held} has {min(sizes)}")


@sabotage("time", "custodian", "class-rows")
def a_row_moved_to_a_neighbouring_group(release, ledger, chance):
    rows, groups = lines(release), _groups(release)
    least = min(len(some) for some in groups.values())
    large = [some for some in groups.values() if len(some) > least]
    if not large:
        return None
    row = chance.choice(chance.choice(large))
    home = tuple(rows[row][name] for name in _KEY)
    target = rows[chance.choice([some[0] for key, some in groups.items() if key != home])]
    rows[row] = {**rows[row], **{name: target[name] for name in _PLACE}}
    moved = in_order(with_lines(release, rows))
    return Tampered(moved, ledger, "2 groups with another number of rows than in the original")


@sabotage("time", "recipient", "row-count")
def a_dropped_row(release, ledger, chance):
    row, number = chance.randrange(release.table.num_rows), release.table.num_rows
    left = [line for n, line in enumerate(lines(release)) if n != row]
    said = f"the table has {number - 1} rows; the manifest states {number}"
    return Tampered(with_lines(release, left), ledger, said)


@sabotage("time", "custodian", "row-values")
def a_dropped_row_with_counts_put_right(release, ledger, chance):
    """The candidates, too: the row is told to have been below k."""
    k = release.guarantee.k
    large = [
        rows for rows in _groups(release).values() if len(rows) > release.manifest["counts"]["smallest_group"]
    ]
    if not large:
        return None
    cut = _without(release, [chance.choice(chance.choice(large))])
    return Tampered(
        _chosen(cut, rows_below_k=1, groups=1, groups_below_k=1, smallest_group=k - 1, suppress=0.9),
        ledger,
        "0 published rows not in the original, 1 original row not in the release",
    )


def _chosen(release: tv.Release, smallest_group: int = 0, suppress: float = 0.0, **by: int) -> tv.Release:
    """The numbers of the chosen candidate raised, and every candidate as feasible as it then is."""
    name, told = release.manifest["granularity"], dict(release.manifest["candidates"])
    told[name] = {**told[name], **{key: told[name][key] + step for key, step in by.items()}}
    if smallest_group:
        told[name]["smallest_group"] = min(smallest_group, told[name]["smallest_group"])
    said = replace(release, manifest={**release.manifest, "candidates": told})
    if suppress:
        said = section(said, "parameters", suppress=suppress)
        for key, one in told.items():
            if one["allowed"]:
                told[key] = {**one, "feasible": one["groups"] > one["groups_below_k"] and _within(said, one)}
    return said


def _within(release: tv.Release, one: dict[str, Any]) -> bool:
    chosen = release.manifest["candidates"][release.manifest["granularity"]]
    rows = release.manifest["counts"]["rows"] + chosen["rows_below_k"]
    if release.manifest["parameters"]["gaps"] == "suppress":
        rows += chosen["rows_in_gaps"]
    return one["rows_below_k"] <= release.manifest["parameters"]["suppress"] * rows + 1e-9


@sabotage("time", "recipient", "row-count")
def a_row_twice(release, ledger, chance):
    rows, number = lines(release), release.table.num_rows
    row = chance.randrange(number)
    twice = with_lines(release, [*rows[: row + 1], *rows[row:]])
    said = f"the table has {number + 1} rows; the manifest states {number}"
    return Tampered(twice, ledger, said)


@sabotage("time", "recipient", "row-order")
def two_rows_that_changed_places(release, ledger, chance):
    rows = lines(release)
    n = chance.choice([n for n in range(len(rows) - 1) if rows[n] != rows[n + 1]])
    rows[n], rows[n + 1] = rows[n + 1], rows[n]
    return Tampered(with_lines(release, rows), ledger, "not in the order that follows from the values")


def _with_time(release: tv.Release, chance: random.Random, change: Any) -> Tampered | None:
    """The times of one group changed."""
    rows, groups = lines(release), _groups(release)
    for n in groups[chance.choice(sorted(groups, key=repr))]:
        rows[n] = {**rows[n], **change(rows[n])}
    return with_lines(release, rows)


@sabotage("time", "recipient", "granule")
def a_label_of_another_granule(release, ledger, chance):
    return Tampered(_with_time(release, chance, lambda line: {"at": f"{line['at']}9"}), ledger, "1 label of ")


def _as_another(release: tv.Release, *names: str) -> tv.Release | None:
    """One granule told to have some of what another has."""
    rows = lines(release)
    labels = sorted({line["at"] for line in rows})
    if len(labels) < 2:
        return None
    model = next(line for line in rows if line["at"] == labels[1])
    told = {name: model[name] for name in names}
    return with_lines(release, [{**line, **told} if line["at"] == labels[0] else line for line in rows])


@sabotage("time", "recipient", "label")
def two_granules_with_one_label(release, ledger, chance):
    spoilt = _as_another(release, "at")
    return spoilt and Tampered(spoilt, ledger, "granules do not each have a label and a start of their own")


@sabotage("time", "recipient", "label")
def two_granules_with_one_start(release, ledger, chance):
    spoilt = _as_another(release, "at_start")
    return spoilt and Tampered(spoilt, ledger, "granules do not each have a label and a start of their own")


@sabotage("time", "recipient", "label")
def a_label_left_out(release, ledger, chance):
    return Tampered(
        _with_time(release, chance, lambda line: {"at": None}), ledger, "1 granule without a label"
    )


@sabotage("time", "recipient", "granule")
def an_interval_a_day_too_early(release, ledger, chance):
    def earlier(line: Line) -> Line:
        day = 1 if isinstance(line["at_start"], int) else dt.timedelta(days=1)
        return {"at_start": line["at_start"] - day, "at_end": line["at_end"] - day}

    return Tampered(_with_time(release, chance, earlier), ledger, "1 label of ")


@sabotage("time", "recipient", "granule")
def an_interval_that_ends_a_day_sooner(release, ledger, chance):
    def sooner(line: Line) -> Line:
        return {"at_end": line["at_end"] - (1 if isinstance(line["at_end"], int) else dt.timedelta(days=1))}

    return Tampered(_with_time(release, chance, sooner), ledger, "1 label of ")


@sabotage("time", "recipient", "granule")
def a_granularity_claimed_finer(release, ledger, chance):
    if release.manifest["time"]["kind"] == "relative":
        return None
    told = {"granularity": "day", "granularity_definition": granularity("day").as_dict()}
    number = len({line["at"] for line in lines(release)})
    said = f"{several(number, 'label')} of {number} not a granule"
    return Tampered(replace(release, manifest={**release.manifest, **told}), ledger, said)


entry(
    "k raised",
    "time",
    "recipient",
    "rows-below-k",
    lambda r: (promised(r, k=1 + max(map(len, _groups(r).values()))), "hence fewer than"),
)
entry(
    "k raised among the parameters alone",
    "time",
    "recipient",
    "guarantee",
    lambda r: (section(r, "parameters", k=r.guarantee.k + 1), "is not the k of the promise"),
)
entry(
    "k raised in the manifest alone",
    "time",
    "recipient",
    "guarantee",
    lambda r: (section(r, "guarantee", k=r.guarantee.k + 1), "another guarantee than the release"),
)
for _step in (-1, 1):
    _way = "up" if _step > 0 else "down"
    entry(
        f"the rows off by one {_way}",
        "time",
        "recipient",
        "row-count",
        lambda r, s=_step: (counts(r, rows=s), f"rows; the manifest states {r.table.num_rows + s}"),
    )
    entry(
        f"the groups off by one {_way}",
        "time",
        "recipient",
        "counts",
        lambda r, s=_step: (counts(r, groups=s), f"groups; the manifest states {len(_groups(r)) + s}"),
    )
    entry(
        f"the rows read off by one {_way}",
        "time",
        "recipient",
        "counts",
        lambda r, s=_step: (counts(r, rows_read=s), "rows read"),
    )
entry(
    "one row more read and withheld",
    "time",
    "recipient",
    "candidates",
    lambda r: (counts(r, rows_read=1, withheld=1), f"{r.manifest['counts']['withheld'] + 1} withheld"),
)
entry(
    "a smallest group below k",
    "time",
    "recipient",
    "smallest-group",
    lambda r: (section(r, "counts", smallest_group=r.guarantee.k - 1), f", and k is {r.guarantee.k}"),
)
entry(
    "a smallest group of more people than rows",
    "time",
    "recipient",
    "smallest-group",
    lambda r: (
        section(r, "counts", smallest_group=1 + min(map(len, _groups(r).values()))),
        f"but one has {several(min(map(len, _groups(r).values())), 'row')}",
    ),
)
entry(
    "a chosen granularity that is not feasible",
    "time",
    "recipient",
    "candidates",
    lambda r: (_candidate(r, feasible=False), "to be infeasible"),
)
entry(
    "a chosen granularity that was not allowed",
    "time",
    "recipient",
    "candidates",
    lambda r: (_candidate(r, allowed=False), "not allowed"),
)
entry(
    "one group more than the chosen granularity kept",
    "time",
    "recipient",
    "candidates",
    lambda r: (
        _chosen(r, groups=1),
        f"stated with {len(_groups(r)) + 1} groups, the release with {len(_groups(r))}",
    ),
)
entry(
    "one row more below k",
    "time",
    "recipient",
    "candidates",
    lambda r: (_chosen(r, rows_below_k=1), " stated to be below k or in gaps"),
)
entry(
    "a granularity that was not chosen said to be feasible",
    "time",
    "recipient",
    "candidates",
    lambda r: (_another(r), f"1 of {len(r.manifest['candidates'])} candidates are not as feasible"),
)
entry(
    "an unknown granularity on the frontier",
    "time",
    "recipient",
    "candidates",
    lambda r: (
        replace(r, manifest={**r.manifest, "frontier": [*r.manifest["frontier"], "eon"]}),
        "that does not work",
    ),
)
entry(
    "a frontier left empty",
    "time",
    "recipient",
    "candidates",
    lambda r: (replace(r, manifest={**r.manifest, "frontier": []}), "the frontier is"),
)
entry(
    "a granularity described in other words",
    "time",
    "recipient",
    "granule",
    lambda r: (
        section(r, "granularity_definition", title="canary was here"),
        "another title than in the catalogue",
    ),
)
entry(
    "a choice that is neither a rule nor the granularity",
    "time",
    "recipient",
    "candidates",
    lambda r: (section(r, "parameters", choose="canary"), "neither a rule nor the chosen granularity"),
)
entry(
    "a section too many",
    "time",
    "recipient",
    "manifest",
    lambda r: (replace(r, manifest={**r.manifest, "people": 3}), "the manifest has 1 unknown key"),
)
entry(
    "a quasi-identifier declared kept",
    "time",
    "recipient",
    "counts",
    lambda r: None if "durations" in r.manifest else (with_role(r, "sex", "keep"), "groups; the manifest"),
)
entry(
    "the sensitive column declared kept",
    "time",
    "custodian",
    "columns",
    lambda r: (with_role(r, "result", "keep"), "the keep columns are not those of the original"),
)
entry(
    "the sensitive column declared a quasi-identifier",
    "time",
    "recipient",
    "columns",
    lambda r: (with_role(r, "result", "quasi"), "the roles are not in the order quasi"),
)
entry(
    "a role that there is not",
    "time",
    "recipient",
    "manifest",
    lambda r: (with_role(r, "sex", "respondent"), "is not one of quasi"),
)
entry(
    "a column more than stated",
    "time",
    "recipient",
    "columns",
    lambda r: (
        with_table(r, r.table.append_column("x", pa.nulls(r.table.num_rows, pa.int8()))),
        "columns that the manifest does not list: x",
    ),
)
entry(
    "a column less than stated",
    "time",
    "recipient",
    "columns",
    lambda r: (with_table(r, r.table.drop_columns(["ward"])), "lacks columns that the manifest lists: ward"),
)
entry(
    "columns in another order",
    "time",
    "recipient",
    "columns",
    lambda r: (with_table(r, r.table.select(r.table.column_names[::-1])), "are not in the stated order"),
)
entry(
    "a second table",
    "time",
    "recipient",
    "tables",
    lambda r: (with_table(r, r.table, "more"), "2 tables, not `data` alone"),
)


def _another(release: tv.Release) -> tv.Release:
    """The first of the candidates that were not chosen, said to be what it is not."""
    candidates = release.manifest["candidates"]
    name = next(name for name in candidates if name != release.manifest["granularity"])
    one = {**candidates[name], "feasible": not candidates[name]["feasible"]}
    told = {
        **release.manifest,
        "candidates": {**candidates, name: one},
        "frontier": [release.manifest["granularity"]],
    }
    return replace(release, manifest=told)


def _candidate(release: tv.Release, **changed: Any) -> tv.Release:
    name = release.manifest["granularity"]
    told = {**release.manifest["candidates"], name: {**release.manifest["candidates"][name], **changed}}
    return replace(release, manifest={**release.manifest, "candidates": told})


@sabotage("time", "custodian", "columns")
def a_dropped_column_published_and_stated(release, ledger, chance):
    """The table and the manifest agree, but nobody asked for the column."""
    names = [c["name"] for c in release.manifest["columns"]]
    at = names.index("ward") + 1
    table = release.table.add_column(at, "note", pa.array(["x"] * release.table.num_rows))
    told = list(release.manifest["columns"])
    told.insert(at, {"name": "note", "role": "keep", "type": "string"})
    more = replace(with_table(release, table), manifest={**release.manifest, "columns": told})
    return Tampered(more, ledger, "the keep columns are not those of the original")


@sabotage("time", "custodian", "columns")
def a_quasi_identifier_declared_kept_with_counts_put_right(release, ledger, chance):
    """Fewer, larger groups from outside."""
    if "durations" in release.manifest:  # which are the last quasi-identifier, and kept columns come next
        return None
    told = with_role(release, "sex", "keep")
    sizes = Counter((line["zip"], line["at"]) for line in lines(release))
    told = section(told, "counts", groups=len(sizes))
    told = in_order(_candidate(told, groups=len(sizes) + _below(release)))
    return Tampered(told, ledger, "the quasi columns are not those of the original")


def _below(release: tv.Release) -> int:
    return int(release.manifest["candidates"][release.manifest["granularity"]]["groups_below_k"])


@sabotage("time", "custodian", "smallest-group")
def a_smallest_group_one_person_smaller(release, ledger, chance):
    """Told so in both places that tell it."""
    stated = release.manifest["counts"]["smallest_group"]
    if stated == release.guarantee.k or _below(release):
        return None
    told = _candidate(counts(release, smallest_group=-1), smallest_group=stated - 1)
    said = f"the smallest group has {stated} people; the manifest states {stated - 1}"
    return Tampered(told, ledger, said)


@sabotage("time", "custodian", "row-values")
def a_sensitive_value_changed(release, ledger, chance):
    row = chance.randrange(release.table.num_rows)
    changed = with_table(release, with_values(release.table, "result", {row: "canary never"}))
    said = "1 published row not in the original, 1 original row not in the release"
    return Tampered(in_order(changed), ledger, said)


@sabotage("time", "custodian", "row-values")
def two_sensitive_values_exchanged_between_groups(release, ledger, chance):
    rows = lines(release)
    pairs = [
        (n, m)
        for n in range(len(rows))
        for m in range(n)
        if rows[n]["result"] != rows[m]["result"] and [rows[n][c] for c in _KEY] != [rows[m][c] for c in _KEY]
    ]
    n, m = chance.choice(pairs)
    changed = with_values(release.table, "result", {n: rows[m]["result"], m: rows[n]["result"]})
    return Tampered(in_order(with_table(release, changed)), ledger, "not in the original, ")


def _kept(ledger: tv.Ledger, chance: random.Random) -> tuple[int, int]:
    group = ledger.table["group"].to_pylist()
    row = chance.choice([n for n, number in enumerate(group) if number is not None])
    return row, group[row]


@sabotage("time", "custodian", "ledger-groups")
def a_row_noted_in_another_group(release, ledger, chance):
    row, group = _kept(ledger, chance)
    other = chance.choice([n for n in set(ledger.table["group"].drop_null().to_pylist()) if n != group])
    return Tampered(release, noted(ledger, group={row: other}), "of them overlap")


@sabotage("time", "custodian", "withheld")
def a_row_noted_as_withheld(release, ledger, chance):
    row, _ = _kept(ledger, chance)
    number, stated = ledger.table["group"].null_count + 1, release.manifest["counts"]["withheld"]
    said = f"{several(number, 'row')} withheld; the manifest states {stated}"
    return Tampered(release, noted(ledger, group={row: None}), said)


@sabotage("time", "custodian", "ledger-rows")
def a_row_missing_in_the_ledger(release, ledger, chance):
    row, rows = _kept(ledger, chance)[0], ledger.table.num_rows
    left = pa.concat_tables([ledger.table.slice(0, row), ledger.table.slice(row + 1)])
    return Tampered(
        release, replace(ledger, entries=left), f"lists {rows - 1} rows, not the {rows} of the original"
    )


@sabotage("time", "custodian", "ledger-rows")
def two_rows_of_the_ledger_that_changed_places(release, ledger, chance):
    rows = ledger.table.num_rows
    return Tampered(release, noted(ledger, row={0: 1, 1: 0}), f"lists {rows} rows, not the {rows} of the")


@sabotage("time", "custodian", "incomplete-rows")
def a_published_row_without_a_person(release, ledger, chance):
    row, _ = _kept(ledger, chance)
    return Tampered(release, original(ledger, who={row: None}), "1 row without person or time not withheld")


@sabotage("time", "custodian", "class-rows")
def an_original_row_of_another_place(release, ledger, chance):
    row, _ = _kept(ledger, chance)
    other = {f"canary {n}" for n in range(2)} - {ledger.original.table["sex"][row].as_py()}
    return Tampered(release, original(ledger, sex={row: other.pop()}), "with another number of rows than")


@sabotage("time", "custodian", "no-class")
def an_original_row_of_another_time(release, ledger, chance):
    """Of a time that no published granule holds."""
    row, _ = _kept(ledger, chance)
    long = 10**5 if release.manifest["time"]["kind"] == "relative" else dt.timedelta(days=4000)
    moment = ledger.original.table["at"][row].as_py()
    return Tampered(release, original(ledger, at={row: moment + long}), "1 row not withheld, but in no")


@sabotage("time hierarchy", "custodian", "class-rows")
def a_value_generalised_to_another(release, ledger, chance):
    if "zip" not in ledger.mappings:
        return None
    table = ledger.mappings["zip"]
    shown = sorted(set(table["published"].to_pylist()))
    if len(shown) < 2:
        return None
    turned = with_values(table, "published", {0: shown[shown.index(table["published"][0].as_py()) - 1]})
    other = replace(ledger, mappings={**ledger.mappings, "zip": turned})
    return Tampered(release, other, "with another number of rows than in the original")


@sabotage("time origin", "custodian", "origin")
def a_row_whose_time_since_the_origin_is_another(release, ledger, chance):
    row, _ = _kept(ledger, chance)
    name = "at (calendar)"
    moved = ledger.original.table[name][row].as_py() + dt.timedelta(days=2)
    return Tampered(release, original(ledger, **{name: {row: moved}}), "another time since the origin than")


@sabotage("time origin", "custodian", "origin")
def an_origin_that_is_not_stated(release, ledger, chance):
    silent = section(release, "parameters", origin=...)
    other = replace(ledger, facts={**ledger.facts, "parameters": silent.manifest["parameters"]})
    return Tampered(silent, other, "is not that of the original")


@sabotage("time durations", "custodian", "durations")
def a_row_that_ended_a_day_later(release, ledger, chance):
    row, _ = _kept(ledger, chance)
    later = ledger.original.table["left"][row].as_py() + dt.timedelta(days=1)
    return Tampered(release, original(ledger, left={row: later}), "1 row with another duration in")


@sabotage("time durations", "custodian", "durations")
def a_duration_of_another_length(release, ledger, chance):
    (name,) = release.manifest["durations"]
    row, _ = _kept(ledger, chance)
    longer = ledger.original.table[name][row].as_py() + 1
    return Tampered(release, original(ledger, **{name: {row: longer}}), "1 row with another duration in")


@sabotage("time durations", "custodian", "durations")
def durations_in_another_unit(release, ledger, chance):
    (name,) = release.manifest["durations"]
    return Tampered(section(release, "durations", **{name: "hour"}), ledger, "or their units, are not those")


@sabotage("time", "custodian", "ledger")
def a_ledger_of_another_model(release, ledger, chance):
    return Tampered(release, replace(ledger, model="stream"), "the ledger is not that of this release")


@sabotage("time", "nobody")
def people_renamed_throughout_the_ledger(release, ledger, chance):
    """Who people are does not matter, only that they differ."""
    who = ledger.original.table["who"].to_pylist()
    return Tampered(release, original(ledger, who={n: f"{name}!" for n, name in enumerate(who)}))


def _other_candidate(release: tv.Release, **numbers: Any) -> tv.Release | None:
    """Another candidate than the chosen one, stated with other numbers."""
    name = next((n for n in release.manifest["candidates"] if n != release.manifest["granularity"]), None)
    return None if name is None else _stated(release, name, **numbers)


def _stated(release: tv.Release, name: str, **numbers: Any) -> tv.Release:
    told = {**release.manifest["candidates"], name: {**release.manifest["candidates"][name], **numbers}}
    return replace(release, manifest={**release.manifest, "candidates": told})


@sabotage("time", "custodian", "candidates")
def another_number_of_a_candidate_that_was_not_chosen(release, ledger, chance):
    """Only the ledger has the people who would be counted at another granularity."""
    for name, one in release.manifest["candidates"].items():
        if (
            name != release.manifest["granularity"]
            and one["group_total"] < release.manifest["counts"]["rows_read"]
        ):
            said = f"1 of {len(release.manifest['candidates'])} candidates with other numbers"
            return Tampered(_stated(release, name, group_total=one["group_total"] + 1), ledger, said)
    return None


@sabotage("time", "recipient", "candidates")
def a_secret_in_the_numbers_of_a_candidate(release, ledger, chance):
    """No table of so few rows has it."""
    for number in (
        "groups",
        "group_total",
        "smallest_group",
        "groups_below_k",
        "rows_below_k",
        "rows_in_gaps",
    ):
        spoilt = _other_candidate(release, **{number: 20_240_229_073_911})
        assert spoilt is None or not tv.verify(spoilt)
    said = "candidates with impossible numbers"
    return None if spoilt is None else Tampered(spoilt, ledger, said)


@sabotage("time", "custodian", "candidates")
def a_finer_candidate_said_to_work(release, ledger, chance):
    """With large groups, and alone on the frontier; a recipient cannot count them."""
    rows, k = release.manifest["counts"]["rows_read"], release.guarantee.k
    for name, one in release.manifest["candidates"].items():
        if one["allowed"] and not one["feasible"]:
            numbers = {"smallest_group": k + 1, "groups": 2, "group_total": rows, "groups_below_k": 0}
            told = _stated(release, name, **numbers, rows_below_k=0, feasible=True)
            if "nodes" in release.manifest:
                return None
            told = replace(told, manifest={**told.manifest, "frontier": [name]})
            return Tampered(told, ledger, "candidates with other numbers than in the original")
    return None


@sabotage("time", "custodian", "candidates")
def another_frontier(release, ledger, chance):
    """A coarser granularity that works as well, said to be among the least general."""
    feasible = [
        name for name, one in release.manifest["candidates"].items() if one["feasible"] and one["allowed"]
    ]
    coarser = [name for name in feasible if name not in release.manifest["frontier"]]
    coarser = [
        n for n in coarser if not any(n in release.manifest["candidates"][f]["aliases"] for f in feasible)
    ]
    if not coarser or "nodes" in release.manifest:
        return None
    frontier = [*release.manifest["frontier"], coarser[-1]]
    told = replace(release, manifest={**release.manifest, "frontier": frontier})
    return Tampered(told, ledger, "the frontier is not that of the original")


@sabotage("time", "custodian", "candidates")
def granularities_said_to_group_alike(release, ledger, chance):
    candidates = release.manifest["candidates"]
    free = [n for n, one in candidates.items() if one["allowed"] and not one["aliases"]]
    free = [n for n in free if not any(n in one["aliases"] for one in candidates.values())]
    if len(free) < 2:
        return None
    return Tampered(_stated(release, free[0], aliases=[free[1]]), ledger, "group the data alike")


@sabotage("time hierarchy", "custodian", "candidates")
def another_level_said_to_be_published(release, ledger, chance):
    """Only the ledger shows which level of the hierarchy the values are of."""
    levels = {name: {**level, "level": 739} for name, level in release.manifest["levels"].items()}
    nodes = [{**node, "levels": levels} for node in release.manifest["nodes"]]
    told = replace(release, manifest={**release.manifest, "levels": levels, "nodes": nodes})
    frontier = [node["granularity"] for node in nodes]
    told = replace(told, manifest={**told.manifest, "frontier": frontier})
    return Tampered(told, ledger, "are not those of the run") if levels else None


@sabotage("time hierarchy", "custodian", "candidates")
def another_number_of_a_combination(release, ledger, chance):
    first, *others = release.manifest["nodes"]
    nodes = [{**first, "group_total": first["group_total"] - 1}, *others]
    if first["group_total"] == first["groups"] * first["smallest_group"]:
        return None
    told = replace(release, manifest={**release.manifest, "nodes": nodes})
    return Tampered(told, ledger, "are not those of the run")


@sabotage("time", "custodian", "parameters")
def another_share_said_to_be_allowed(release, ledger, chance):
    """So small a share more that every candidate stays as feasible as it was."""
    suppress = release.manifest["parameters"]["suppress"] + 1e-7
    return Tampered(
        section(release, "parameters", suppress=suppress), ledger, "the run had other parameters: suppress"
    )


@sabotage("time", "custodian", "parameters")
def another_rule_said_to_have_chosen(release, ledger, chance):
    """Every granularity that keeps the promise may be published, whatever it was chosen for."""
    rule = "groups" if release.manifest["parameters"]["choose"] == "generality" else "generality"
    said = "the run had other parameters: choose"
    return Tampered(section(release, "parameters", choose=rule), ledger, said)
