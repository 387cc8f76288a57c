"""Tables of transactions: what each person has.

Long, `Roles(respondent=, item=)`: a row is one item of one person, and all items of a person are one
transaction. With lists, `Roles(item=)` and perhaps a respondent: a row is one transaction, its cell the list
of its items. Nobody has an item twice, and nobody has two transactions: what is counted is people.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeveil.domain.relation import Relation
from timeveil.domain.roles import Roles
from timeveil.domain.wording import counted
from timeveil.errors import InputError, RolesError
from timeveil.reading.collection import encoded, refuse_nulls, refuse_repeated
from timeveil.reading.columns import is_list, plain
from timeveil.reading.door import read
from timeveil.reading.fitting import listed

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Baskets:
    """Transactions: b holds the items `items[starts[b]:starts[b + 1]]`, ascending, named by `names`.

    Items are numbered in the order of their names. `basket_of_row` says for each input row to which
    transaction it belongs.
    """

    names: tuple[str, ...]
    starts: Ints
    items: Ints
    basket_of_row: Ints


def read_baskets(table: Any, roles: Roles) -> Relation:
    """Bring a table of transactions in; a relation that was read already passes through."""
    known = table.roles if isinstance(table, Relation) else roles
    beside = [role for role in ("time", "value") if getattr(known, role) is not None]
    beside += [role for role in ("series", "quasi", "sensitive", "keep") if getattr(known, role)]
    if beside:
        raise RolesError(
            f"of transactions only the items are counted; {listed(beside)} has no place there",
            hint="name respondent and item only, and drop the other columns (--drop, --drop-rest)",
            code="bad-parameter",
        )
    if isinstance(table, Relation):
        return table
    return read(table, roles, nulls="withhold", needs=("item",))  # what is missing is refused when gathered


def gather(relation: Relation) -> Baskets:
    """The transactions of a table.

    >>> table = pa.table({"who": [7, 8, 7], "what": ["tea", "tea", "milk"]})
    >>> found = gather(read_baskets(table, Roles(respondent="who", item="what")))
    >>> found.names, found.starts.tolist(), found.items.tolist()
    (('milk', 'tea'), [0, 2, 3], [0, 1, 1])
    """
    table, roles = relation.table, relation.roles
    item = relation._needed(roles.item, "item")
    if is_list(table.schema.field(item).type):
        if roles.respondent is not None:
            people = table[roles.respondent].combine_chunks()
            refuse_nulls(roles.respondent, people)
            refuse_repeated(roles.respondent, people, "transaction")
        lists = table[item].cast(pa.large_list(table.schema.field(item).type.value_type)).combine_chunks()
        refuse_nulls(item, lists)
        lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
        rows = np.arange(len(lists), dtype=np.int64)
        return _sorted(item, np.repeat(rows, lengths), pa.chunked_array([lists.flatten()]), len(lists), rows)
    person = relation.respondent
    refuse_nulls(person, table[person])
    refuse_nulls(item, table[item])
    who, people = encoded(table[person])
    return _sorted(item, who, table[item], len(people), who)


def _sorted(item: str, owner: Ints, column: pa.ChunkedArray, count: int, rows: Ints) -> Baskets:
    """Transactions from who has what, in any order."""
    if column.null_count:
        raise _nameless(item, column.null_count)
    what, values = encoded(plain(column))
    texts = [str(name) for name in values.cast(pa.string()).to_pylist()]
    _refuse_alike(item, texts)
    by_name = sorted(range(len(texts)), key=texts.__getitem__)
    place = np.empty(len(texts), np.int64)
    place[by_name] = np.arange(len(texts))
    pairs = np.sort(owner * max(len(texts), 1) + place[what])
    extra = int(np.count_nonzero(pairs[1:] == pairs[:-1]))
    if extra:
        raise InputError(
            f"column `{item}` has an item again in the same transaction, {counted(extra, 'time')} in "
            f"{counted(count, 'transaction')}",
            hint="keep each item once for each person; how often somebody has it is not counted",
            code="item-twice",
            facts={"column": item, "count": extra},
        )
    lengths = np.bincount(pairs // max(len(texts), 1), minlength=count)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Baskets(tuple(texts[place] for place in by_name), starts, pairs % max(len(texts), 1), rows)


def _refuse_alike(item: str, names: list[str]) -> None:
    """Names that a reader cannot tell apart, or cannot see at all."""
    looks = [unicodedata.normalize("NFC", name).strip() for name in names]
    blank = sum(not look for look in looks)
    if blank:
        raise _nameless(item, blank)
    alike = len(looks) - len(set(looks))
    if alike:
        raise InputError(
            f"column `{item}` has {counted(alike, 'item')} with a name that looks like another's: they "
            "differ only in blanks around them or in how letters are composed",
            hint="write every item in one way before reading",
            code="item-clash",
            facts={"column": item, "count": alike},
        )


def _nameless(item: str, count: int) -> InputError:
    return InputError(
        f"column `{item}` has {counted(count, 'item')} without a name",
        hint="name them, or leave them out before reading",
        code="nulls",
        facts={"column": item, "count": count},
    )
