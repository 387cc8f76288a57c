"""Releases counted again: read by pyarrow alone, by the definitions in words, one row at a time.

None of timeveil's code is used. A release is compared with the rows it was made from; what the ledger says
of them is a claim that is counted too.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from tests.oracles import calendar, channels
from tests.oracles.judges_series import LETTERS, symbol, z_of
from tests.redteam.trial import must

Row = dict[str, Any]
Label = Callable[[Any], Any]


def manifest_of(folder: Path) -> Row:
    found: Row = json.loads((folder / "release.json").read_bytes())
    return found


def rows_of(folder: Path, table: str = "data") -> list[Row]:
    """The rows of a table, with dates and numbers as such in CSV too."""
    if (folder / f"{table}.parquet").exists():
        return list(pq.read_table(folder / f"{table}.parquet").to_pylist())
    path = folder / f"{table}.csv"
    names = pyarrow.csv.read_csv(path).column_names
    texts = dict.fromkeys(set(names) - {"bucket", "count", "ward", "at_start", "at_end"}, pa.string())
    kinds = {name: pa.date32() for name in ("at_start", "at_end") if name in names}
    options = pyarrow.csv.ConvertOptions(column_types={**texts, **kinds}, strings_can_be_null=True)
    return list(pyarrow.csv.read_csv(path, convert_options=options).to_pylist())


def events(folder: Path, rows: Sequence[Row], k: int, labels: dict[str, Label], others: list[str]) -> None:
    """Everybody's rows are made coarse here, and those published are just those that k people share."""
    name = manifest_of(folder)["granularity"]
    people: dict[Any, set[Any]] = defaultdict(set)
    coarse = []
    for row in rows:
        at = row["at"]
        if row["who"] is None or at is None:
            continue
        span: Any = (None, None, "all")
        if name != "all":
            span = calendar.granule(name, dt.datetime.combine(at, dt.time()))
        if span is None:
            continue
        start, end, label = (part.date() if isinstance(part, dt.datetime) else part for part in span)
        shared = (*(make(row[column]) for column, make in labels.items()), label, start, end)
        people[shared].add(row["who"])
        coarse.append((shared, tuple(row[column] for column in others)))
    times = ["at", "at_start", "at_end"]
    published = Counter(
        (tuple(row.get(n) for n in (*labels, *times)), tuple(row[n] for n in others))
        for row in rows_of(folder)
    )
    expected = Counter(line for line in coarse if len(people[line[0]]) >= k)
    small = {shared for shared, _ in published if len(people.get(shared, ())) < k}
    must(not small, f"{len(small)} published groups are shared by fewer than {k} people")
    must(published == expected, "the published rows are not those that k people share")


def stream(folder: Path, rows: Sequence[Row], ledger: Sequence[Row], l: int, window: int) -> None:
    """Every bucket, or slot without buckets, is l-diverse, and has the records that the ledger says."""
    data, groups, shown = rows_of(folder), defaultdict(list), Counter[Any]()
    for row in data:
        groups[str(row["slot"]), row.get("bucket")].append(row)
        shown[str(row["slot"]), row.get("bucket"), row["zip"], row["ward"]] += 1
    values: dict[Any, Counter[Any]] = defaultdict(Counter)
    if any((folder / f"sensitive.{form}").exists() for form in ("parquet", "csv")):
        for row in rows_of(folder, "sensitive"):
            values[str(row["slot"]), row["bucket"]][row["ill"]] += row["count"]
    else:
        for row in data:
            values[str(row["slot"]), row.get("bucket")][row["ill"]] += 1
    for place in groups.keys() | values.keys():
        most, total = max(values[place].values(), default=0), values[place].total()
        must(total == len(groups[place]), "a bucket has another number of values than of records")
        must(most * l <= total, f"a value has {most} of {total} records, more than 1 in {l}")
    meant, ills, seen = Counter[Any](), defaultdict(Counter), set()
    for row, entry in zip(rows, ledger, strict=True):
        if entry["slot"] is None:
            continue
        slot = str(entry["slot"])
        moved = _number(entry["slot"]) - _number(row["at"])
        must(0 <= moved < window, f"a record was moved by {moved} slots in a window of {window}")
        must((slot, row["who"]) not in seen, "a person is in a slot twice")
        seen.add((slot, row["who"]))
        meant[slot, entry["bucket"], row["zip"], row["ward"]] += 1
        ills[slot, entry["bucket"]][row["ill"]] += 1
    must(meant == shown, "the records published are not those of the people")
    must(dict(ills) == {place: count for place, count in values.items() if count}, "values are not people's")


def _number(at: Any) -> int:
    return at if isinstance(at, int) else dt.date.fromisoformat(str(at)).toordinal()


def series(folder: Path, people: Sequence[Row], ledger: Sequence[Row], k: int, p: int, l: int | None) -> None:
    """Envelopes of k people that hold their values, patterns of p people that are their own."""
    manifest = manifest_of(folder)
    told, groups, cells = manifest["series"], defaultdict(list), defaultdict(list)
    for row in rows_of(folder):
        levels = row["level"] if isinstance(row.get("level"), list) else (row.get("level"),)
        groups[row["group"]].append(row)
        cells[row["group"], row.get("pattern"), tuple(levels)].append(row)
    members: dict[int, list[Row]] = defaultdict(list)
    for person, entry in zip(people, ledger, strict=True):
        if entry["group"] is not None:
            members[entry["group"]].append(person)
    bounds = [f"{name}_{end}" for name in told["values"] for end in ("lo", "hi")]
    envelopes = {tuple(row[name] for name in bounds) for rows in groups.values() for row in rows}
    for envelope in envelopes:
        held = sum(
            tuple(row[name] for name in bounds) == envelope for rows in groups.values() for row in rows
        )
        must(held >= k, f"an envelope is shared by {held} rows, fewer than {k}")
    must(groups.keys() == members.keys(), "groups of the release and of the ledger differ")
    for group, rows in groups.items():
        must(len(rows) == len(members[group]), "a group has another number of rows than of people")
        for person, name in itertools.product(members[group], told["values"]):
            low, high = rows[0][f"{name}_lo"], rows[0][f"{name}_hi"]
            must(low <= person[name] <= high, "a value is outside its envelope")
        must(
            Counter(row["ward"] for row in rows) == Counter(person["ward"] for person in members[group]),
            "kept values are not those of the group",
        )
    for (group, pattern, levels), rows in cells.items():
        must(len(rows) >= p, f"a pattern is shared by {len(rows)} rows of its group, fewer than {p}")
        if l is not None:
            most = max(Counter(row["income"] for row in rows).values())
            must(most * l <= len(rows), f"a value has {most} of {len(rows)} rows, more than 1 in {l}")
        if pattern is not None and told["own_patterns"]:
            own = [_letters(person, told, levels) for person in members[group]]
            must(own.count(pattern) >= len(rows), "a pattern is not that of its people")


def _letters(person: Row, told: Row, levels: Sequence[int]) -> str:
    z = z_of([person[name] for name in told["instants"]], told["center"])
    at = [told["instants"].index(name) for name in told["pattern"]]
    levels = list(levels) * len(at) if len(levels) == 1 else levels
    return "".join(LETTERS[symbol(z[place], level)] for place, level in zip(at, levels, strict=True))


def patterns(folder: Path, people: Sequence[frozenset[Any]], virtual: Sequence[Row], k: int) -> None:
    """No group of 1 to k - 1 follows from the counts, which are those of people and of what was added."""
    manifest = manifest_of(folder)
    told, added = manifest["patterns"], manifest["parameters"]["method"] in ("additive", "tight", "clone")
    shown = {frozenset(map(_item, row["pattern"])): row["support"] for row in rows_of(folder)}
    if added:
        extra = [(frozenset(map(_item, row["pattern"])), row["copies"]) for row in virtual]
        for items, support in shown.items():
            count = sum(items <= person for person in people)
            count += sum(copies for pattern, copies in extra if items <= pattern)
            must(support == count, "a published count is not that of people and of those added")
    known = dict(shown)
    if told["published"] == "closed":
        for items in {part for some in shown for part in channels.subsets(some)}:
            known[items] = max(count for some, count in shown.items() if items <= some)
    structural = told["structural"] and told["kind"] == "series"
    if structural:
        known = channels.completed(known, told["instants"], told["symbols"])
    groups = channels.exhaustive(known, structural=structural)
    small = sorted(count for count in groups.values() if 0 < count < k)
    must(not small, f"{len(small)} groups below {k} follow from the counts, the smallest of {small[:1]}")


def _item(text: str) -> Any:
    instant, sign, letter = text.partition("=")
    return (instant, LETTERS.index(letter)) if sign else text
