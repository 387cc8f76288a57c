"""Different sensitive values for those who share envelope and pattern (Shou et al. 2013, §5.4).

Envelopes and patterns hide whom a row is about; a sensitive value that all rows of a cell have gives
everybody in it away all the same. In every cell no value may stand in more than one row in l; of a value that
stands in more, some rows, chosen at random, get another one nearby, which nobody has and nobody else gets.

Where we depart from the print
    A cell is a group and a pattern, with its level; the paper means the same by PS(r).
    The neighbourhood is a tenth of the column's deviation: what is very near can be rounded back.
    Categories have no neighbourhood, so they are refused.
"""

from __future__ import annotations

import secrets
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeveil.errors import InputError, InternalError, ParameterError
from timeveil.intake.numbers import numbers
from timeveil.model.wording import counted
from timeveil.series.partition import Labels

NEAR = 0.1
"""How far a value may be moved, in deviations of its column."""
_DECIMALS = 15
_TRIES = 200
_LEAST = 1e-300


def diversified(
    attributes: pa.Table,
    names: tuple[str, ...],
    cell: Labels,
    l: int,  # noqa: E741
    seed: int | None,
) -> tuple[pa.Table, dict[str, int]]:
    """The table with no value in more than one row in l of any cell, and how many changed in each column.

    `cell` numbers cells of at least l rows; rows in none, -1, stay as they are. Without a seed nobody can
    do the same draws again.
    """
    chance = np.random.default_rng(secrets.randbits(128) if seed is None else seed)
    changed = {}
    for name in names:
        values = _numbers(name, attributes[name])
        rows = _too_many(values, cell, l, chance)
        if len(rows):
            new = _moved(values, rows, chance)
            place = attributes.column_names.index(name)
            attributes = attributes.set_column(place, name, _column(attributes[name], values, rows, new))
            changed[name] = len(rows)
    return attributes, changed


def check_numbers(attributes: pa.Table, names: tuple[str, ...]) -> None:
    """Only numbers can be moved a little."""
    for name in names:
        _numbers(name, attributes[name])


def _numbers(name: str, column: pa.ChunkedArray) -> NDArray[np.float64]:
    found = None
    with suppress(InputError):
        found = numbers(name, column)
    if found is None:
        raise ParameterError(
            f"column `{name}` does not hold numbers, and l makes values differ by moving them a little",
            hint="leave l out for categories and give it the role `keep`, or give numbers instead",
            code="bad-parameter",
        )
    lacking = int(np.count_nonzero(found.missing)) + found.strange
    if lacking:
        raise InputError(
            f"column `{name}` has {counted(lacking, 'value')} missing or not finite, and l needs all",
            hint="fill them in, or leave l out",
            code="nulls",
            facts={"column": name, "count": lacking},
        )
    return found.values


def _too_many(values: NDArray[np.float64], cell: Labels, l: int, chance: np.random.Generator) -> Labels:  # noqa: E741
    """Rows to change: of a value in more than one in l rows of a cell, as many as are too many."""
    order = chance.permutation(len(values))
    order = order[cell[order] >= 0]
    order = order[np.lexsort((values[order], cell[order]))]
    if len(order) == 0:
        return order
    where, what = cell[order], values[order]
    first = np.concatenate([[True], (where[1:] != where[:-1]) | (what[1:] != what[:-1])])
    starts = np.flatnonzero(first)
    place = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    allowed = np.bincount(where)[where] // l
    return order[place >= allowed]


def _moved(values: NDArray[np.float64], rows: Labels, chance: np.random.Generator) -> NDArray[np.float64]:
    """A value near that of each row which no row has and no other row gets.

    It has as many decimals as the column, so that it does not stand out; more where those are all taken.
    """
    near = _reach(values)
    decimals = _decimals(values)
    taken, new = np.unique(values), np.full(len(rows), np.nan)
    open_rows = np.arange(len(rows))
    for attempt in range(_TRIES):
        if len(open_rows) == 0:
            return new
        step = decimals + attempt // 4
        drawn = values[rows[open_rows]] + chance.uniform(-near, near, len(open_rows))
        drawn = np.round(drawn, step) if step <= _DECIMALS else drawn
        _, first = np.unique(drawn, return_index=True)
        good = np.zeros(len(drawn), dtype=bool)
        good[first] = True
        good &= ~np.isin(drawn, taken) & np.isfinite(drawn)
        new[open_rows[good]] = drawn[good]
        taken = np.union1d(taken, drawn[good])
        open_rows = open_rows[~good]
        near = near if attempt < _TRIES // 4 else near * 2
    if len(open_rows) == 0:
        return new
    raise InternalError(
        f"no free value was found near {counted(len(open_rows), 'value')}",
        hint="report this with the number of rows and the type of the sensitive column",
        code="internal",
    )


def _reach(values: NDArray[np.float64]) -> float:
    scale = float(np.abs(values).max())
    spread = float((values / scale).std()) * scale if scale else 0.0
    return max(NEAR * (spread or scale or 1.0), _LEAST)


def _decimals(values: NDArray[np.float64]) -> int:
    """How many decimals the column has, by a sample of its values."""
    sample = values[:1000]
    for decimals in range(_DECIMALS):
        if (np.round(sample, decimals) == sample).all():
            return decimals
    return _DECIMALS


def _column(
    column: pa.ChunkedArray, values: NDArray[np.float64], rows: Labels, new: NDArray[np.float64]
) -> pa.ChunkedArray:
    """The column with its new values: text stays text, and what was not moved stays as it was."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        texts = column.cast(kind).to_numpy().astype(object)
        texts[rows] = [
            f"{value:.15g}" if float(f"{value:.15g}") == value else repr(value) for value in new.tolist()
        ]
        return pa.chunked_array([pa.array(texts, pa.string())])
    out = values.copy()
    out[rows] = new
    found = pa.array(out)
    whole = pa.types.is_integer(kind) and pc.all(pc.equal(pc.floor(found), found)).as_py()
    return pa.chunked_array([found.cast(pa.int64()) if whole else found])
