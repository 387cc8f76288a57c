"""Whether releases are of the same data, as far as their ledgers show it.

Folders cannot show it. A ledger holds the original: ledgers of releases of the same table have equally many
rows, and the same values in every column that they share, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from timeveil.domain.release import Ledger
from timeveil.domain.wording import counted
from timeveil.errors import InputError
from timeveil.evidence.codes import align, column_of, encode_values, plain_type


def same_data(names: Sequence[str], ledgers: Sequence[Ledger] | None) -> Literal["agrees", "assumed"]:
    """Refuse ledgers of one model that hold different originals; return whether all hold the same."""
    if ledgers is None:
        return "assumed"
    agreed = True
    for name, ledger in zip(names[1:], ledgers[1:], strict=True):
        agreed &= _agree(names[0], ledgers[0], name, ledger)
    return "agrees" if agreed else "assumed"


def _agree(first_name: str, first: Ledger, second_name: str, second: Ledger) -> bool:
    """Whether two ledgers hold the same; of two kinds of table it may be unknown."""
    columns = _shared_columns(first, second)
    same_rows = first.original.rows == second.original.rows
    if not columns or first.model != second.model or _from_a_release(first) != _from_a_release(second):
        return bool(columns) and same_rows and all(_same_values(first, second, name) for name in columns)
    if not same_rows:
        raise _differ(
            f"the original of `{first_name}` has {counted(first.original.rows, 'row')}, that of "
            f"`{second_name}` {second.original.rows:,}"
        )
    different = sum(not _same_values(first, second, name) for name in columns)
    if different:
        raise _differ(
            f"the originals of `{first_name}` and `{second_name}` differ in {different:,} of "
            f"{counted(len(columns), 'shared column')}"
        )
    return True


def _shared_columns(first: Ledger, second: Ledger) -> list[str]:
    """Columns that both hold, with the same type."""
    types = _types(second)
    return [name for name, kind in _types(first).items() if types.get(name) == kind]


def _types(ledger: Ledger) -> dict[str, pa.DataType]:
    return {field.name: plain_type(field.type) for field in ledger.original.data.schema}


def _from_a_release(ledger: Ledger) -> bool:
    """Whether patterns were made from a series release, so that their original was published itself."""
    return ledger.facts.get("origin") == "release"


def _same_values(first: Ledger, second: Ledger, name: str) -> bool:
    """Whether both have every value of a column equally often."""
    columns = (encode_values(column_of(ledger.original.data, name)) for ledger in (first, second))
    left, right = align(*columns)
    counts = np.bincount(left.codes, minlength=left.size)
    return np.array_equal(counts, np.bincount(right.codes, minlength=left.size))


def _differ(difference: str) -> InputError:
    return InputError(
        f"{difference}: these are not releases of the same data",
        hint="compare releases that were made from one table",
        code="other-data",
    )
