"""What patterns are mined from: rows of items, of series, transactions or a series release.

Every row has items, at most one of each instant. In series an item is a symbol at an instant. In baskets
every item is an instant of its own, so one rule serves both: nobody has two items of one instant.

Series become symbols as in the series model: each is brought to centre 0 and deviation 1 over all of its
instants, then cut into `symbols` equally likely cells. A row of a series release is a person: its letters
become the middles of their cells, which are cut anew, so that rows of any levels can be counted together.
Everybody who shares a published pattern shares the new one, so nothing is shown beyond that release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeveil.domain.arrays import Flags, Floats, Ints, Words
from timeveil.domain.lines import READING
from timeveil.domain.relation import Relation
from timeveil.domain.release import Release
from timeveil.domain.roles import Roles, require_roles
from timeveil.errors import InputError, ParameterError, RolesError
from timeveil.reading.collection import collect, gather, read_baskets, read_series, refuse_rare
from timeveil.reading.columns import is_list
from timeveil.symbols import LETTERS, Center, from_letters, positions, reconstructed, symbols_at, z_normalised

if TYPE_CHECKING:
    from timeveil.models.patterns.method.in_spark import RowsInSpark

Origin = Literal["series", "release", "baskets"]
LIST_MARKS = (";", "|", ",", "[")  # characters that separate or open a list written as text
UNFIT: dict[Origin, dict[str, str]] = {
    "baskets": {
        "instants": "series only; transactions have no instants",
        "fill": "series only; transactions have no readings",
    },
    "series": {
        "nulls": "transactions only; `fill` is about missing readings",
        "repeats": "transactions only; series have no items",
    },
}
UNFIT["release"] = {**UNFIT["series"], "fill": "series only; a release has no missing readings"}
"""Options that have no effect, by the kind of tables that they are for: who names one expects an effect."""


class Sets(NamedTuple):
    """Many sets of items: set `s` holds `items[bounds[s]:bounds[s + 1]]`, ascending."""

    bounds: Ints
    items: Ints

    @classmethod
    def of_lengths(cls, lengths: Ints, items: Ints) -> Sets:
        return cls(np.concatenate([[0], np.cumsum(lengths)]), items)

    @classmethod
    def of_flags(cls, flags: Flags) -> Sets:
        return cls.of_lengths(flags.sum(axis=1), np.nonzero(flags)[1])

    @classmethod
    def joined(cls, parts: Sequence[Sets]) -> Sets:
        nothing = np.zeros(0, np.int64)
        lengths = np.concatenate([nothing, *(part.lengths for part in parts)])
        return cls.of_lengths(lengths, np.concatenate([nothing, *(part.items for part in parts)]))

    @property
    def lengths(self) -> Ints:
        return np.diff(self.bounds)

    @property
    def owners(self) -> Ints:
        return np.repeat(np.arange(len(self.bounds) - 1), self.lengths)

    def take(self, which: Ints) -> Sets:
        lengths = self.lengths[which]
        return Sets.of_lengths(lengths, self.items[ranges(self.bounds[:-1][which], lengths)])

    def where(self, flags: Flags) -> Sets:
        """All sets, each with its flagged items only."""
        return Sets(np.concatenate([[0], np.cumsum(flags)])[self.bounds], self.items[flags])

    def each(self) -> Iterator[list[int]]:
        items = self.items.tolist()
        return (items[start:stop] for start, stop in pairwise(self.bounds.tolist()))

    def flags(self, kinds: int) -> Flags:
        """A row for each set, with a flag for each of `kinds` items."""
        flags = np.zeros((len(self.bounds) - 1, kinds), np.bool_)
        flags[self.owners, self.items] = True
        return flags

    def keys(self, kinds: int) -> list[NDArray[np.unsignedinteger]]:
        """Columns to sort sets by their items, the first one first; a set comes before its own beginning."""
        # Where a set has no further item, `kinds` is above all of them; short integers sort fast.
        width = max(1, int(self.lengths.max(initial=0)))
        columns = np.full((width, len(self.bounds) - 1), kinds, np.min_scalar_type(kinds))
        position = np.arange(len(self.items)) - np.repeat(self.bounds[:-1], self.lengths)
        columns[position, self.owners] = self.items
        return list(columns)

    def as_lists(self, names: tuple[str, ...]) -> pa.Array:
        texts = pa.array(names, pa.string()).take(pa.array(self.items, pa.int64()))
        return pa.ListArray.from_arrays(pa.array(self.bounds, pa.int32()), texts)


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """Consecutive numbers from each start on, one range after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - ends + lengths, lengths) + np.arange(total)


def packed(flags: Flags) -> Words:
    """Rows of flags as rows of 64-bit words."""
    padded = np.zeros((len(flags), max(1, -(-flags.shape[1] // 64)) * 64), np.bool_)
    padded[:, : flags.shape[1]] = flags
    return np.packbits(padded, axis=1).view(np.uint64)


@dataclass(frozen=True, slots=True)
class Transactions:
    """One row of items per person. Item `x` is called `names[x]` and belongs to instant `x // kinds`."""

    names: tuple[str, ...]
    kinds: int
    sets: Sets

    @property
    def rows(self) -> int:
        return len(self.sets.bounds) - 1

    @property
    def largest(self) -> int:
        """How many rows have the most common item."""
        return int(np.bincount(self.sets.items).max(initial=0))

    @property
    def instants(self) -> int:
        """The most items that a row can have."""
        return len(self.names) // self.kinds

    def frequent(self, least: int) -> Transactions:
        """The rows without items that fewer than `least` have; series keep all symbols."""
        counts = np.bincount(self.sets.items, minlength=len(self.names))
        common = np.flatnonzero(counts >= least)
        if self.kinds > 1 or len(common) in (0, len(counts)):
            return self
        # Items are numbered anew, without holes and in the same order.
        number = np.full(len(counts), -1, np.int64)
        number[common] = np.arange(len(common))
        bounds, items = self.sets.where(number[self.sets.items] >= 0)
        return Transactions(tuple(self.names[x] for x in common), 1, Sets(bounds, number[items]))

    def take(self, which: Ints) -> Transactions:
        return Transactions(self.names, self.kinds, self.sets.take(which))


Rows: TypeAlias = "Transactions | RowsInSpark"
Values = Mapping[str, Any]  # parameters or facts by name
NOTHING: dict[str, Any] = {"filled": 0, "left_out": 0, "without_items": 0, "source_p": None}


@dataclass(frozen=True, slots=True)
class Source:
    """Rows of items, and where they were read.

    `instants` are those of series, in order. `row_of` gives for each input row its row of items, -1 if it was
    left out. `of_rows` is whether nobody said whose the rows are. `facts` are for the ledger: what was
    `filled` or `left_out`; of transactions also `incomplete` rows and `repeated` items, and people
    `without_items`, None where they have no row; of a series release how many people share a pattern.
    """

    origin: Origin
    relation: Relation
    rows: Rows
    row_of: Ints
    facts: Values
    of_rows: bool
    instants: tuple[str, ...] | None = None
    center: Center | None = None

    def entries(self, withheld: Flags | None) -> pa.Table:
        """One row per input row: the number of its transaction, null where that is not counted."""
        uncounted = self.row_of < 0
        if withheld is not None:
            uncounted |= withheld[self.row_of]
        transaction = pa.array(self.row_of, pa.int64(), mask=uncounted)
        return pa.table({"row": np.arange(len(transaction)), "transaction": transaction})


def read_source(source: Any, roles: Roles | None, values: Values) -> Source:
    """Read a table of series or transactions, or the patterns of a series release."""
    used: Any = source.roles if isinstance(source, Relation) else roles
    origin: Origin = "release"
    if not isinstance(source, Release):
        if used is None:
            hint = "give roles: {series} of columns, or {respondent} and {item}"
            raise RolesError("no column has a role", hint=hint, code="role-missing")
        require_roles(used)
        origin = "series" if used.item is None else "baskets"
    for name, reason in UNFIT[origin].items():
        if values[name] not in (None, "error"):
            message = f"`{name}` applies to tables of {reason}"
            raise ParameterError(message, hint=f"leave {{{name}}} out")
    if origin == "release":
        return _of_release(source, values)
    reading = {name: values[name] for name in (*READING, "fold_spellings")}
    if origin == "baskets":
        return _of_baskets(read_baskets(source, used, **reading), values)
    return _of_series(read_series(source, used, **reading), values)


def _of_baskets(relation: Relation, values: Values) -> Source:
    column = str(relation.roles.item)
    baskets = gather(relation, values["nulls"], values["repeats"])
    rows = Transactions(baskets.names, 1, Sets(baskets.starts, baskets.items))
    if rows.rows and int(rows.sets.lengths.max()) <= 1:
        # CSV has no lists: a cell such as "a;b" would be one item, and no pattern would have two.
        lists = sum(any(mark in name for mark in LIST_MARKS) for name in rows.names)
        if 2 * lists >= len(rows.names) > 1:
            looks = f"{lists:,} of {len(rows.names):,} different items look like lists written as text"
            hint = "give one row per person and item, or a list column in Parquet"
            raise InputError(f"nobody has two items in `{column}`, and {looks}", hint=hint)
    has_lists = is_list(relation.data.schema.field(column).type)
    without_items = int(np.count_nonzero(rows.sets.lengths == 0)) if has_lists else None
    incomplete = int(np.count_nonzero(baskets.basket_of_row < 0))
    exceptions = {"incomplete": incomplete, "repeated": baskets.repeated}
    facts = {name: number for name, number in exceptions.items() if number}
    facts = NOTHING | facts | {"without_items": without_items}
    return Source("baskets", relation, rows, baskets.basket_of_row, facts, relation.roles.respondent is None)


def _of_series(relation: Relation, values: Values) -> Source:
    extra = [*relation.roles.sensitive, *relation.roles.keep]
    if extra:
        listed = ", ".join(f"`{name}`" for name in extra[:8])
        message = f"only patterns of series are published, not {listed}"
        raise RolesError(message, hint="leave other columns out with {drop}")
    collection = collect(relation, values["fill"])
    refuse_rare(collection, values.get("k", 1))
    columns = instant_columns(values["instants"], collection.instants)
    # Normalised over all instants first: what is left out still shapes the symbols of what is published.
    z = z_normalised(collection.matrix, values["center"])[:, columns]
    names = tuple(collection.instants[column] for column in columns)
    rows, of_rows = symbols_of(z, names, values["symbols"]), relation.roles.respondent is None
    facts = NOTHING | {"filled": collection.filled, "left_out": collection.dropped}
    read = (collection.series_of_row, facts, of_rows, names, values["center"])
    return Source("series", relation, rows, *read)


def _of_release(release: Release, values: Values) -> Source:
    if release.manifest.get("model") != "series":
        model = release.manifest["model"]
        message = f"patterns can be mined from a series release; this is a {model} release"
        raise InputError(message, hint="give a release that anonymize_series made, or a table")
    described, table = release.manifest["series"], release.table
    if not described["pattern"]:
        hint = "give a release with a p above 1, or a table"
        raise InputError("this series release has no patterns to mine", hint=hint)
    letters = np.array([from_letters(text) for text in table["pattern"].to_pylist()])
    levels = np.array(table["level"].to_pylist())
    z = reconstructed(letters, levels if described["levels"] == "each" else levels[:, None])
    columns = instant_columns(values["instants"], described["pattern"])
    names, z = tuple(described["pattern"][column] for column in columns), z[:, columns]
    data = pa.table({name: z[:, column] for column, name in enumerate(names)})
    relation = Relation(Roles(series=names), data, source="a series release")
    rows, items = np.arange(len(z), dtype=np.int64), symbols_of(z, names, values["symbols"])
    facts = NOTHING | {"source_p": release.manifest["parameters"]["p"]}
    of_rows = "rows" in release.manifest["guarantee"]
    return Source("release", relation, items, rows, facts, of_rows, names, described["center"])


def symbols_of(z: Floats, instants: Sequence[str], kinds: int) -> Transactions:
    """The symbols of series at some instants as items."""
    names = tuple(f"{instant}={LETTERS[symbol]}" for instant in instants for symbol in range(kinds))
    items = symbols_at(positions(z), kinds) + kinds * np.arange(len(instants))
    return Transactions(names, kinds, Sets(np.arange(len(z) + 1) * len(instants), items.ravel()))


def instant_columns(chosen: tuple[str, ...] | None, instants: Sequence[str]) -> list[int]:
    """The columns of the chosen instants, all if none are chosen."""
    if chosen is None:
        return list(range(len(instants)))
    unknown = [instant for instant in chosen if instant not in instants]
    if unknown:
        message = f"the series have no instant {', '.join(f'`{instant}`' for instant in unknown[:8])}"
        hint = "name columns of a wide table, or times of a long one as they are written there"
        raise ParameterError(message, hint=hint, code="column-missing")
    return [column for column, instant in enumerate(instants) if instant in set(chosen)]


def refuse_same_people(source: Any, beside: Any) -> None:
    """Refuse patterns of the same people as a series release, unless they are mined from that release.

    Each release keeps its promise, but together they may not.
    """
    if not isinstance(beside, Release):
        raise ParameterError("`beside` must be a release", hint="open its folder first: open_release(folder)")
    which = "that release instead"
    problem = (
        f"a {beside.manifest.get('model')} release of the same people is already published; the table shows "
        "who is alike and the counts show how many, so both together may point at fewer than k people"
    )
    if isinstance(source, Release):
        # One release, in whatever form it was written; `source` is known to be one of series.
        described = source.manifest["series"] == beside.manifest.get("series")
        if described and source.guarantee == beside.guarantee and source.table.equals(beside.table):
            return
        which, another = "the published release", "from another release than the one already published"
        problem = f"the patterns are mined {another}; anyone with both knows more than either shows"
    hint = f"mine the patterns from {which}, or publish anyway with {{force=True}}"
    raise ParameterError(problem, hint=hint, code="same-people")
