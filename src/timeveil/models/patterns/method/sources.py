"""Where patterns come from: series, transactions, or the patterns of a series release.

Series become symbols as in the series model: each is brought to centre 0 and deviation 1 over all of its
instants, then cut into `symbols` equally likely cells. A row of a series release is a person: its letters
become the middles of their cells, which are cut anew, so that rows of any levels can be counted together.
Everybody who shares a published pattern shares the new one, so nothing is shown beyond that release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeveil.domain.relation import Relation
from timeveil.domain.release import Release
from timeveil.domain.roles import Roles
from timeveil.errors import InputError, ParameterError, RolesError
from timeveil.models.patterns.method.transactions import Ints, Sets, Transactions, of_symbols
from timeveil.reading.collection import Fill, collect, gather, read_baskets, read_series, refuse_rare
from timeveil.reading.columns import is_list
from timeveil.symbols import LETTERS, Center, from_letters, positions, reconstructed, symbols_at, z_normalised

Origin = Literal["series", "release", "baskets"]

LIST_MARKS = (";", "|", ",", "[")
"""Characters that separate or open a list written as text."""


@dataclass(frozen=True, slots=True)
class Source:
    """Rows of items, and where they were read.

    `instants` are those of series, in order. `row_of` gives for each input row its row of items, -1 if it was
    left out. `shared` is, of a series release, how many people share a pattern.
    """

    origin: Origin
    relation: Relation
    rows: Transactions
    row_of: Ints
    instants: tuple[str, ...] | None = None
    center: Center | None = None
    filled: int = 0
    left_out: int = 0
    shared: int | None = None

    @property
    def without_items(self) -> int | None:
        """Number of people with no item; None where people without items have no row either."""
        item = self.relation.roles.item
        if item is not None and not is_list(self.relation.data.schema.field(item).type):
            return None
        return int(np.count_nonzero(self.rows.sets.lengths == 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How series are read; every instant needs readings of `k` people."""

    symbols: int
    center: Center
    instants: tuple[str, ...] | None
    fill: Fill | None
    zone: str | None
    unit: str | None
    k: int = 1


def read_source(source: Any, roles: Roles | None, reading: Reading) -> Source:
    """Read a table of series or transactions, or the patterns of a series release."""
    if isinstance(source, Release):
        return _of_release(source, reading)
    if isinstance(source, Relation):
        roles = source.roles
    if roles is None:
        raise RolesError(
            "no column has a role",
            hint="give roles: {series} of columns, or {respondent} and {item}",
            code="role-missing",
        )
    if roles.item is not None:
        return _of_baskets(source, roles, reading)
    return _of_series(source, roles, reading)


def _of_baskets(source: Any, roles: Roles, reading: Reading) -> Source:
    _refuse_option("instants", reading.instants, "transactions have no instants")
    _refuse_option("fill", reading.fill, "transactions have no readings")
    relation = read_baskets(source, roles)
    baskets = gather(relation)
    rows = Transactions(baskets.names, 1, Sets(baskets.starts, baskets.items))
    _refuse_written_lists(rows, str(roles.item))
    return Source("baskets", relation, rows, baskets.basket_of_row)


def _refuse_option(name: str, value: Any, reason: str) -> None:
    """Refuse an option that would have no effect: who names instants expects no others to be published."""
    if value is not None:
        raise ParameterError(
            f"`{name}` applies to tables of series only; {reason}", hint=f"leave {{{name}}} out"
        )


def _refuse_written_lists(rows: Transactions, column: str) -> None:
    """CSV has no lists: a cell such as "a;b" would be one item, and no pattern would have two."""
    if rows.rows == 0 or int(rows.sets.lengths.max()) > 1:
        return
    lists = sum(any(mark in name for mark in LIST_MARKS) for name in rows.names)
    if 2 * lists >= len(rows.names) > 1:
        raise InputError(
            f"nobody has two items in `{column}`, and {lists:,} of {len(rows.names):,} different items look "
            "like lists written as text",
            hint="give one row per person and item, or a list column in Parquet",
        )


def _of_series(source: Any, roles: Roles, reading: Reading) -> Source:
    relation = read_series(source, roles, zone=reading.zone, unit=reading.unit)
    extra = [*relation.roles.sensitive, *relation.roles.keep]
    if extra:
        raise RolesError(
            f"only patterns of series are published, not {', '.join(f'`{name}`' for name in extra[:8])}",
            hint="leave other columns out with {drop}",
        )
    collection = collect(relation, reading.fill)
    refuse_rare(collection, reading.k)
    columns = _columns(reading.instants, collection.instants)
    # Normalised over all instants first: what is left out still shapes the symbols of what is published.
    z = z_normalised(collection.matrix, reading.center)[:, columns]
    names = tuple(collection.instants[column] for column in columns)
    return Source(
        "series",
        relation,
        _symbols(z, names, reading.symbols),
        collection.series_of_row,
        names,
        reading.center,
        collection.filled,
        collection.dropped,
    )


def _of_release(release: Release, reading: Reading) -> Source:
    if release.manifest.get("model") != "series":
        raise InputError(
            f"patterns can be mined from a series release; this is a {release.manifest['model']} release",
            hint="give a release that anonymize_series made, or a table",
        )
    _refuse_option("fill", reading.fill, "a release has no missing readings")
    described, table = release.manifest["series"], release.table
    letters = np.array([from_letters(text) for text in table["pattern"].to_pylist()])
    levels = np.array(table["level"].to_pylist())
    z = reconstructed(letters, levels if described["levels"] == "each" else levels[:, None])
    columns = _columns(reading.instants, described["pattern"])
    names, z = tuple(described["pattern"][column] for column in columns), z[:, columns]
    data = pa.table({name: z[:, column] for column, name in enumerate(names)})
    relation = Relation(Roles(series=names), data, source="a series release")
    rows = np.arange(len(z), dtype=np.int64)
    items = _symbols(z, names, reading.symbols)
    shared = release.manifest["parameters"]["p"]
    return Source("release", relation, items, rows, names, described["center"], shared=shared)


def _symbols(z: NDArray[np.float64], instants: Sequence[str], kinds: int) -> Transactions:
    columns = np.ascontiguousarray(symbols_at(positions(z), kinds).T)
    names = tuple(f"{instant}={LETTERS[symbol]}" for instant in instants for symbol in range(kinds))
    return of_symbols(columns, kinds, names)


def _columns(chosen: tuple[str, ...] | None, instants: Sequence[str]) -> list[int]:
    """The columns of the chosen instants, all if none are chosen."""
    if chosen is None:
        return list(range(len(instants)))
    unknown = [instant for instant in chosen if instant not in instants]
    if unknown:
        raise ParameterError(
            f"the series have no instant {', '.join(f'`{instant}`' for instant in unknown[:8])}",
            hint="name columns of a wide table, or times of a long one as they are written there",
            code="column-missing",
        )
    return [column for column, instant in enumerate(instants) if instant in set(chosen)]


def refuse_same_people(source: Any, beside: Any) -> None:
    """Refuse patterns of the same people as a series release, unless they are mined from that release.

    Each release keeps its promise, but together they may not.
    """
    if not isinstance(beside, Release):
        raise ParameterError("`beside` must be a release", hint="open its folder first: open_release(folder)")
    if isinstance(source, Release):
        if _same(source, beside):
            return
        raise ParameterError(
            "the patterns are mined from another release than the one already published; anyone with both "
            "knows more than either shows",
            hint="mine the patterns from the published release, or publish anyway with {force=True}",
            code="same-people",
        )
    raise ParameterError(
        f"a {beside.manifest.get('model')} release of the same people is already published; the table shows "
        "who is alike and the counts show how many, so both together may point at fewer than k people",
        hint="mine the patterns from that release instead, or publish anyway with {force=True}",
        code="same-people",
    )


def _same(source: Release, beside: Release) -> bool:
    """Whether both are one release, in whatever form it was written."""
    models = {release.manifest.get("model") for release in (source, beside)}
    return (
        models == {"series"}
        and source.guarantee == beside.guarantee
        and source.manifest["series"] == beside.manifest["series"]
        and bool(source.table.equals(beside.table))
    )
