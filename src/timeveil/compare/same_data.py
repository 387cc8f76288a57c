"""Whether releases are of the same data, as far as their ledgers show it.

Folders cannot show it. A ledger holds the original: that of one more release of the same table has as many
rows, and the same values in every column that both hold, in whatever order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from timeveil.domain.ledger import Ledger
from timeveil.domain.wording import counted
from timeveil.errors import InputError
from timeveil.evidence.codes import align, column_of, encode_values, plain_type


def same_data(names: Sequence[str], ledgers: Sequence[Ledger] | None) -> Literal["agrees", "assumed"]:
    """Refuse ledgers of one model that hold different originals; say whether all hold the same."""
    if ledgers is None:
        return "assumed"
    agreed = True
    for name, ledger in zip(names[1:], ledgers[1:], strict=True):
        agreed &= _agree(names[0], ledgers[0], name, ledger)
    return "agrees" if agreed else "assumed"


def _agree(first: str, one: Ledger, second: str, other: Ledger) -> bool:
    """Whether two hold the same; of two kinds of table nothing is sure."""
    shared = _shared(one, other)
    same_rows = one.original.rows == other.original.rows
    if not shared or one.model != other.model or _from_a_release(one) != _from_a_release(other):
        return bool(shared) and same_rows and all(_alike(one, other, name) for name in shared)
    if not same_rows:
        raise _differ(
            f"the original of `{first}` has {counted(one.original.rows, 'row')}, that of `{second}` "
            f"{other.original.rows:,}"
        )
    unlike = sum(not _alike(one, other, name) for name in shared)
    if unlike:
        raise _differ(
            f"the originals of `{first}` and `{second}` differ in {counted(unlike, 'column')} of "
            f"{len(shared):,} that both have"
        )
    return True


def _shared(one: Ledger, other: Ledger) -> list[str]:
    """Columns that both hold, with cells of one type."""
    ours, theirs = _types(one), _types(other)
    return [name for name, kind in ours.items() if theirs.get(name) == kind]


def _types(ledger: Ledger) -> dict[str, pa.DataType]:
    return {field.name: plain_type(field.type) for field in ledger.original.data.schema}


def _from_a_release(ledger: Ledger) -> bool:
    """Patterns of a release: what the ledger calls the original was published itself."""
    return ledger.facts.get("origin") == "release"


def _alike(one: Ledger, other: Ledger, name: str) -> bool:
    """Whether both have every value of a column as often."""
    columns = (encode_values(column_of(ledger.original.data, name)) for ledger in (one, other))
    ours, theirs = align(*columns)
    often = np.bincount(ours.codes, minlength=ours.size)
    return np.array_equal(often, np.bincount(theirs.codes, minlength=ours.size))


def _differ(said: str) -> InputError:
    return InputError(
        f"{said}: these are not releases of the same data",
        hint="compare releases that were made from one table",
        code="other-data",
    )
