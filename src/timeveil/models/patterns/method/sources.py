"""Where patterns come from: series, transactions, or the patterns of a series release.

Series become symbols as in the series model: each brought to centre 0 and deviation 1 over all of its
instants, then cut into `symbols` equally likely cells. Of a series release a row is a person's: its letters
stand for the middle of their cells, which are cut anew, so that rows of any levels can be counted together.
Everybody who shares a published pattern shares the new one, so nothing is told beyond the release.
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
from timeveil.models.patterns.method.settings import Search
from timeveil.models.patterns.method.transactions import Ints, Sets, Transactions, of_symbols
from timeveil.reading.baskets import gather, read_baskets
from timeveil.reading.collection import collect, read_series, refuse_rare
from timeveil.reading.columns import is_list
from timeveil.symbols.sax import (
    LETTERS,
    Center,
    from_letters,
    positions,
    reconstructed,
    symbols_at,
    z_normalised,
)

Origin = Literal["series", "release", "baskets"]

_MARKS = (";", "|", ",", "[")
"""What stands in a list that is written as text."""


@dataclass(frozen=True, slots=True)
class Source:
    """Rows of items, and where they were found.

    `instants` are those of series, in order. `row_of` says for each input row which of the rows of items it
    belongs to, -1 if it was left out. `shared` is, of a series release, by how many a pattern is.
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
        """How many have nothing; None where whoever has nothing has no row, either."""
        item = self.relation.roles.item
        if item is not None and not is_list(self.relation.data.schema.field(item).type):
            return None
        return int(np.count_nonzero(self.rows.sets.lengths == 0))


def read_source(
    source: Any,
    roles: Roles | None,
    search: Search,
    *,
    k: int = 1,
    zone: str | None = None,
    unit: str | None = None,
) -> Source:
    """Bring in whatever the caller gave."""
    if isinstance(source, Release):
        return _of_release(source, search)
    known = source.roles if isinstance(source, Relation) else roles
    if known is None:
        raise RolesError(
            "no column has a role",
            hint="give roles: Roles(series=[...]), or Roles(respondent=..., item=...)",
            code="role-missing",
        )
    if known.item is not None:
        return _of_baskets(source, known, search)
    return _of_series(source, known, search, k, zone, unit)


def _of_baskets(source: Any, roles: Roles, search: Search) -> Source:
    _refuse_of_series(search, ("instants", "fill"), "transactions")
    relation = read_baskets(source, roles)
    found = gather(relation)
    rows = Transactions(found.names, 1, Sets(found.starts, found.items))
    _refuse_written_lists(rows, str(roles.item))
    return Source("baskets", relation, rows, found.basket_of_row)


def _refuse_of_series(search: Search, names: Sequence[str], found: str) -> None:
    """What would be asked for in vain: whoever names instants expects no others to be published."""
    for name in names:
        if getattr(search, name) is not None:
            raise ParameterError(
                f"`{name}` is about a table of series, and here are {found}",
                hint=f"leave {name} out",
                code="bad-parameter",
            )


def _refuse_written_lists(rows: Transactions, column: str) -> None:
    """CSV has no lists: a cell such as "a;b" is one item there, and no pattern has two."""
    if rows.rows == 0 or int(rows.sets.lengths.max()) > 1:
        return
    written = sum(any(mark in name for mark in _MARKS) for name in rows.names)
    if 2 * written >= len(rows.names) > 1:
        raise InputError(
            f"nobody has two items in `{column}`, and {written:,} of {len(rows.names):,} different ones look "
            "like lists written as text",
            hint="give one row per person and item, or a list column in Parquet",
            code="unsupported-input",
        )


def _of_series(
    source: Any, roles: Roles, search: Search, k: int, zone: str | None, unit: str | None
) -> Source:
    relation = read_series(source, roles, zone=zone, unit=unit)
    _refuse_beside(relation.roles)
    collection = collect(relation, search.fill)
    refuse_rare(collection, k)
    places = _places(search.instants, collection.instants)
    z = z_normalised(collection.matrix, search.center)[:, places]
    names = tuple(collection.instants[place] for place in places)
    return Source(
        "series",
        relation,
        _symbols(z, names, search.symbols),
        collection.series_of_row,
        names,
        search.center,
        collection.filled,
        collection.dropped,
    )


def _of_release(release: Release, search: Search) -> Source:
    if release.manifest.get("model") != "series":
        raise InputError(
            f"patterns are found in a series release, and this one is a {release.manifest['model']} release",
            hint="give a release that anonymize_series made, or a table",
            code="unsupported-input",
        )
    _refuse_of_series(search, ("fill",), "those of a release, with nothing missing")
    described, table = release.manifest["series"], release.table
    letters = np.array([from_letters(text) for text in table["pattern"].to_pylist()])
    levels: Any = table["level"].to_pylist()
    z = reconstructed(
        letters, np.array(levels) if described["levels"] == "each" else np.array(levels)[:, None]
    )
    places = _places(search.instants, described["pattern"])
    names = tuple(described["pattern"][place] for place in places)
    z = z[:, places]
    data = pa.table({name: z[:, place] for place, name in enumerate(names)})
    relation = Relation(Roles(series=names), data, source="a series release")
    rows = np.arange(len(z), dtype=np.int64)
    items = _symbols(z, names, search.symbols)
    shared = release.manifest["parameters"]["p"]
    return Source("release", relation, items, rows, names, described["center"], shared=shared)


def _symbols(z: NDArray[np.float64], instants: Sequence[str], kinds: int) -> Transactions:
    columns = np.ascontiguousarray(symbols_at(positions(z), kinds).T)
    names = tuple(f"{instant}={LETTERS[symbol]}" for instant in instants for symbol in range(kinds))
    return of_symbols(columns, kinds, names)


def _refuse_beside(roles: Roles) -> None:
    beside = [*roles.sensitive, *roles.keep]
    if beside:
        raise RolesError(
            f"of series only the patterns are counted; {', '.join(f'`{name}`' for name in beside[:8])} has "
            "no place there",
            hint="leave other columns out with drop=[...] (--drop, --drop-rest)",
            code="bad-parameter",
        )


def _places(asked: tuple[str, ...] | None, instants: Sequence[str]) -> list[int]:
    if asked is None:
        return list(range(len(instants)))
    unknown = [instant for instant in asked if instant not in instants]
    if unknown:
        raise ParameterError(
            f"`instants` names {', '.join(f'`{instant}`' for instant in unknown[:8])}, which is no instant",
            hint="name columns of a wide table, or times of a long one as they are written there",
            code="column-missing",
        )
    return [place for place, instant in enumerate(instants) if instant in set(asked)]
