"""The tools of a saboteur, and how an entry of the catalogue is written down."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

import timeveil as tv
from timeveil.domain.guarantee import guarantee_from
from timeveil.domain.release import canonical
from timeveil.evidence.published import columns_of

Notices = Literal["recipient", "custodian", "nobody"]
Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tampered:
    """What became of a release or its ledger, and what the judge must say of it."""

    release: tv.Release
    ledger: tv.Ledger
    says: str = ""


@dataclass(frozen=True, slots=True)
class Sabotage:
    """One way to spoil a release of certain shapes: who must notice it, and by which name.

    A `recipient` has the folder alone. Only the `custodian` has the ledger: without it, all looks well. What
    `nobody` can notice passes both. `do` gives None where a release has no room for it.
    """

    what: str
    on: str
    notices: Notices
    code: str
    do: Callable[[tv.Release, tv.Ledger, random.Random], Tampered | None]
    why: str

    @property
    def model(self) -> str:
        """The model of the releases that it is about."""
        return self.on.split()[0]


CATALOGUE: list[Sabotage] = []


def sabotage(on: str, notices: Notices, code: str = "") -> Callable[[Any], Any]:
    """Put a function into the catalogue, under its own name."""

    def enter(do: Any) -> Any:
        what = do.__name__.removeprefix("_").replace("_", " ")
        CATALOGUE.append(Sabotage(what, on, notices, code, do, (do.__doc__ or "").strip()))
        return do

    return enter


def entry(what: str, on: str, notices: Notices, code: str, do: Any) -> None:
    """Put a short one into the catalogue: a change of the release alone, and what is said of it."""

    def tampered(release: tv.Release, ledger: tv.Ledger, chance: random.Random) -> Tampered | None:
        found = do(release)
        return None if found is None else Tampered(found[0], ledger, found[1])

    CATALOGUE.append(Sabotage(what, on, notices, code, tampered, ""))


def lines(release: tv.Release, table: str = "data") -> list[Line]:
    return release.tables[table].to_pylist()


def with_lines(release: tv.Release, rows: list[Line], table: str = "data") -> tv.Release:
    return with_table(release, pa.Table.from_pylist(rows, schema=release.tables[table].schema), table)


def with_table(release: tv.Release, table: pa.Table, name: str = "data") -> tv.Release:
    return replace(release, parts={**release.parts, name: table})


def section(release: tv.Release, name: str, **changed: Any) -> tv.Release:
    """The manifest with some keys of a section told otherwise; `...` leaves a key out."""
    told = {**release.manifest[name], **changed}
    told = {key: value for key, value in told.items() if value is not ...}
    return replace(release, manifest={**release.manifest, name: told})


def counts(release: tv.Release, **by: int) -> tv.Release:
    """Counts of the manifest raised by so many."""
    stated = release.manifest["counts"]
    return section(release, "counts", **{name: stated[name] + step for name, step in by.items()})


def promised(release: tv.Release, **changed: Any) -> tv.Release:
    """Another promise, wherever it is told."""
    said = section(section(release, "guarantee", **changed), "parameters", **changed)
    return replace(said, guarantee=guarantee_from(said.manifest["guarantee"]))


def with_role(release: tv.Release, name: str, role: str) -> tv.Release:
    """A column said to have another role."""
    return _said_of(release, name, role=role)


def with_type(release: tv.Release, name: str, kind: str) -> tv.Release:
    """A column said to have another type."""
    return _said_of(release, name, type=kind)


def _said_of(release: tv.Release, name: str, **changed: str) -> tv.Release:
    columns = [{**c, **changed} if c["name"] == name else c for c in release.manifest["columns"]]
    return replace(release, manifest={**release.manifest, "columns": columns})


def with_values(table: pa.Table, name: str, changed: Mapping[int, Any]) -> pa.Table:
    place = table.schema.get_field_index(name)
    told = [changed.get(row, old) for row, old in enumerate(table[name].to_pylist())]
    return table.set_column(place, table.schema.field(place), pa.array(told, table.schema.field(place).type))


def noted(ledger: tv.Ledger, **columns: Mapping[int, Any]) -> tv.Ledger:
    """The ledger with rows told otherwise: column={row: entry}."""
    table = ledger.table
    for name, changed in columns.items():
        table = with_values(table, name, changed)
    return replace(ledger, entries=table)


def original(ledger: tv.Ledger, **columns: Mapping[int, Any]) -> tv.Ledger:
    """The original with rows told otherwise: column={row: value}."""
    table = ledger.original.table
    for name, changed in columns.items():
        table = with_values(table, name, changed)
    return replace(ledger, original=replace(ledger.original, data=table))


def in_order(release: tv.Release, table: str = "data") -> tv.Release:
    """Rows put where their values say, so that their order gives nothing away."""
    rows, model = release.tables[table], release.manifest["model"]
    if model == "stream":
        labels = rows["slot"].to_pylist()
        known = sorted(set(labels))
        rank = pa.array([known.index(label) for label in labels], pa.int64())
        by = ["rank", *(name for name in ("bucket", "group") if name in rows.column_names)]
        ordered = canonical(rows.append_column("rank", rank), by=[*by]).drop_columns(["rank"])
        return with_table(release, ordered, table)
    by = ["group"]
    if model == "time":
        by = columns_of(release, "quasi", "start") + columns_of(release, "time")
    return with_table(release, canonical(rows, by=by), table)


def holds(release: tv.Release) -> bool:
    """Whether all looks well from outside."""
    return bool(tv.verify(release))


def ulp(value: float, towards: float) -> float:
    return float(np.nextafter(value, towards))


def several(number: int, noun: str, plural: str = "") -> str:
    """How a judge says a number of things."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
