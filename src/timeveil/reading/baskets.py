"""Tables of transactions: what each person has.

Long, `Roles(respondent=, item=)`: a row is one item of one person, and all items of a person are one
transaction. With lists, `Roles(item=)` and perhaps a respondent: a row is one transaction, its cell the list
of its items. People are counted, so nobody has an item twice, and nobody has two transactions.
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
from timeveil.domain.wording import counted, listed
from timeveil.errors import InputError, RolesError
from timeveil.reading.collection import encoded, refuse_nulls, refuse_repeated
from timeveil.reading.columns import is_list, plain
from timeveil.reading.table import read

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Baskets:
    """Transactions: b has the items `items[starts[b]:starts[b + 1]]`, ascending, named by `names`.

    Items are numbered in the order of their names. `basket_of_row` gives the transaction of each input row.
    """

    names: tuple[str, ...]
    starts: Ints
    items: Ints
    basket_of_row: Ints


def read_baskets(table: Any, roles: Roles) -> Relation:
    """Read a table of transactions; a relation that was read already is returned as it is."""
    used = table.roles if isinstance(table, Relation) else roles
    extra = [role for role in ("time", "value") if getattr(used, role) is not None]
    extra += [role for role in ("series", "quasi", "sensitive", "keep") if getattr(used, role)]
    if extra:
        raise RolesError(
            f"only the items of transactions are counted; the role {listed(extra)} does not fit",
            hint='name {respondent} and {item} only, and leave the other columns out with {drop="rest"}',
        )
    if isinstance(table, Relation):
        return table
    return read(table, roles, nulls="withhold", needs=("item",))  # nulls are refused by `gather`


def gather(relation: Relation) -> Baskets:
    """The transactions of a table.

    >>> table = pa.table({"who": [7, 8, 7], "what": ["tea", "tea", "milk"]})
    >>> baskets = gather(read_baskets(table, Roles(respondent="who", item="what")))
    >>> baskets.names, baskets.starts.tolist(), baskets.items.tolist()
    (('milk', 'tea'), [0, 2, 3], [0, 1, 1])
    """
    table, roles = relation.table, relation.roles
    item = relation.needed(roles.item, "item")
    kind = table.schema.field(item).type
    if not is_list(kind):
        person = relation.respondent
        refuse_nulls(person, table[person])
        refuse_nulls(item, table[item])
        who, people = encoded(table[person])
        return _baskets(item, who, table[item], len(people), who)
    if roles.respondent is not None:
        respondents = table[roles.respondent].combine_chunks()
        refuse_nulls(roles.respondent, respondents)
        refuse_repeated(roles.respondent, respondents, "transaction")
    lists = table[item].cast(pa.large_list(kind.value_type)).combine_chunks()
    refuse_nulls(item, lists)
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    rows = np.arange(len(lists), dtype=np.int64)
    return _baskets(item, np.repeat(rows, lengths), pa.chunked_array([lists.flatten()]), len(lists), rows)


def _baskets(item: str, owner: Ints, column: pa.ChunkedArray, count: int, rows: Ints) -> Baskets:
    """Transactions from pairs of an owner and an item, in any order."""
    if column.null_count:
        raise _nameless(item, column.null_count)
    code, values = encoded(plain(column))
    names = [str(name) for name in values.cast(pa.string()).to_pylist()]
    _refuse_similar(item, names)
    by_name = sorted(range(len(names)), key=names.__getitem__)
    rank = np.argsort(np.array(by_name, np.int64))
    width = max(len(names), 1)
    pairs = np.sort(owner * width + rank[code])
    repeated = int(np.count_nonzero(pairs[1:] == pairs[:-1]))
    if repeated:
        raise InputError(
            f"column `{item}` repeats an item within a transaction, {counted(repeated, 'time')} in "
            f"{counted(count, 'transaction')}",
            hint="keep each item once per person; how often a person has it is not counted",
            code="item-twice",
            facts={"column": item, "count": repeated},
        )
    lengths = np.bincount(pairs // width, minlength=count)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Baskets(tuple(names[position] for position in by_name), starts, pairs % width, rows)


def _refuse_similar(item: str, names: list[str]) -> None:
    """Refuse names that a reader cannot tell apart, or cannot see at all."""
    looks = [unicodedata.normalize("NFC", name).strip() for name in names]
    blank = sum(not look for look in looks)
    if blank:
        raise _nameless(item, blank)
    similar = len(looks) - len(set(looks))
    if similar:
        raise InputError(
            f"column `{item}` has {counted(similar, 'item')} whose name looks like another's: they differ "
            "only in surrounding blanks or in composed letters",
            hint="write every item in one way before reading",
            code="item-clash",
            facts={"column": item, "count": similar},
        )


def _nameless(item: str, count: int) -> InputError:
    return InputError(
        f"column `{item}` has {counted(count, 'item')} without a name",
        hint="name them, or remove them before reading",
        code="nulls",
        facts={"column": item, "count": count},
    )
