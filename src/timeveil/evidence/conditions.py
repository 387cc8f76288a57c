"""Which rows have the values that a question asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.release import Release
from timeveil.errors import ParameterError, RolesError, raising
from timeveil.evidence.codes import plain_type


def refuse_unknown(release: Release, where: Mapping[str, Any], published: Sequence[str]) -> None:
    """Only published columns can be asked about, and generalised ones only by their labels."""
    for column, wanted in where.items():
        if column not in published:
            raise RolesError(
                f"the release has no column `{column}` to ask about",
                hint=f"it has {', '.join(published) or 'none beside the time'}",
                code="column-missing",
            )
        if isinstance(wanted, tuple | list) and column in release.manifest.get("levels", {}):
            raise ParameterError(
                f"column `{column}` is generalised, so it takes no range",
                hint="ask for one of its published labels",
                code="bad-parameter",
            )


def mask_of(batch: pa.RecordBatch, where: Mapping[str, Any]) -> pa.Array | None:
    """True for the rows with the values asked for; None if every row is meant."""
    found = None
    for name, wanted in where.items():
        one = matches(name, batch.column(name), wanted)
        found = one if found is None else pc.and_(found, one)
    return found


def matches(name: str, column: pa.Array | pa.ChunkedArray, wanted: object) -> pa.Array | pa.ChunkedArray:
    """Where a column holds a value, `None` for missing, or lies in a range (lo, hi) with both ends in.

    >>> matches("age", pa.array([29, 30, None]), (30, None)).to_pylist()
    [False, True, False]
    """
    kind = plain_type(column.type)
    column = column.cast(kind)
    if wanted is None:
        return column.is_null()
    if not isinstance(wanted, tuple | list):
        return pc.fill_null(pc.equal(column, _scalar(name, kind, wanted)), False)
    if len(wanted) != 2:
        raise ParameterError(
            f"a range on column `{name}` has {len(wanted)} ends", hint="give (lo, hi)", code="bad-parameter"
        )
    inside = column.is_valid()
    for compare, bound in ((pc.greater_equal, wanted[0]), (pc.less_equal, wanted[1])):
        if bound is not None:
            inside = pc.and_(inside, pc.fill_null(compare(column, _scalar(name, kind, bound)), False))
    return inside


def _scalar(name: str, kind: pa.DataType, wanted: object) -> pa.Scalar:
    error = ParameterError(
        f"column `{name}` holds {kind}, which cannot be compared with a {type(wanted).__name__}",
        hint=f"ask for a value that reads as {kind}",
        code="bad-parameter",
    )
    causes = (pa.ArrowException, TypeError, ValueError, OverflowError)
    with raising(error, on=causes):
        return _as_kind(kind, pa.scalar(wanted))


def _as_kind(kind: pa.DataType, scalar: pa.Scalar) -> pa.Scalar:
    whole_or_not = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return scalar if whole_or_not and pa.types.is_floating(scalar.type) else scalar.cast(kind)
