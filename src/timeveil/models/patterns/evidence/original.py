"""The original as rows of items, read anew: the judges' own gathering, z-normalisation and symbols.

Nothing is shared with the methods. A symbol is decided by the borders of the cells, taken from the standard
library's normal curve. A value that is almost on a border may be on either side; such rows are in doubt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.relation import Relation
from timeveil.domain.release import Ledger
from timeveil.evidence.codes import Integers, column_of, encode, plain_type
from timeveil.evidence.published import mismatch
from timeveil.models.patterns.evidence.counting import Baskets
from timeveil.models.series.evidence import series_of
from timeveil.reading.columns import is_list

Floats = npt.NDArray[np.float64]
ON_BORDER, NEAR_BORDER = 1e-11, 1e-9
BLOCK_ROWS = 1 << 16
_ZEROS = re.compile(r"(?<=:\d\d)\.0+")
"""The end of a time of whole seconds, which an instant's name may leave out."""


@dataclass(frozen=True, slots=True)
class Original:
    """Rows of items, one per person; `names` has those of the release first, then those it does not have.

    `row_of` gives for each input row its row of items, -1 where it is in none. `doubtful` rows may have
    another symbol. `repeated` items occur in a row again, or rows belong to a person who has one already.
    """

    names: tuple[str, ...]
    rows: Baskets
    row_of: Integers
    doubtful: int = 0
    repeated: int = 0


def read_original(ledger: Ledger, manifest: Mapping[str, Any], names: tuple[str, ...]) -> Original:
    """Read what everybody of the original has; `names` are the items of the release."""
    original = ledger.original
    if manifest["patterns"]["kind"] == "series":
        return _of_series(original, manifest, names, normalised=ledger.facts.get("origin") == "release")
    if not original.roles.item:
        raise mismatch("the original has no items")
    column = column_of(original.data, original.roles.item)
    if is_list(column.type):
        lengths = np.asarray(pc.fill_null(pc.list_value_length(column), 0)).astype(np.int64)
        owner, row_of = np.repeat(np.arange(len(lengths)), lengths), np.arange(len(lengths))
        return _of_items(owner, pc.list_flatten(column), row_of, len(lengths), names, _second_rows(original))
    person = encode(column_of(original.data, str(original.roles.respondent)))
    return _of_items(person.codes, column, person.codes, person.size, names)


def _of_items(
    owner: Integers,
    column: pa.ChunkedArray,
    row_of: Integers,
    people: int,
    names: tuple[str, ...],
    repeated: int = 0,
) -> Original:
    coded = encode(column)
    texts = coded.values.cast(plain_type(coded.values.type)).cast(pa.string()).to_pylist()
    names = (*names, *dict.fromkeys(str(text) for text in texts if str(text) not in set(names)))
    number = {name: index for index, name in enumerate(names)}
    numbers = np.array([number[str(text)] for text in texts], dtype=np.int64)
    item = numbers[coded.codes] if len(coded.codes) else coded.codes
    size = max(len(names), 1)
    # Sorted by owner, then item: an item that occurs twice in a row is next to itself.
    pairs = np.sort(owner * size + item)
    repeated += int((np.diff(pairs) == 0).sum())
    starts = np.searchsorted(pairs, np.arange(people + 1) * size)
    return Original(names, Baskets(starts, pairs % size), row_of, repeated=repeated)


def _second_rows(original: Relation) -> int:
    """Number of rows of people who have a row already."""
    if original.roles.respondent is None:
        return 0
    people = encode(column_of(original.data, original.roles.respondent))
    return len(people.codes) - people.size


def _of_series(
    original: Relation, manifest: Mapping[str, Any], names: tuple[str, ...], *, normalised: bool
) -> Original:
    described = manifest["patterns"]
    kinds = described["symbols"]
    series = series_of(original, manifest["parameters"]["fill"])
    columns = _columns(series.instants, described["instants"])
    if not columns:
        raise mismatch("the instants of the release are not those of the ledger's original")
    symbols = np.empty((len(series.matrix), len(columns)), dtype=np.int64)
    borders = np.array([NormalDist().inv_cdf(n / kinds) for n in range(1, kinds)])
    doubtful = 0
    for start in range(0, len(series.matrix), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        matrix = series.matrix[block]
        z = (matrix if normalised else _normalised(matrix, described["center"]))[:, columns]
        symbols[block] = np.searchsorted(borders, z + ON_BORDER, side="right")
        # On a border, by convention above it; near one, rounding could have put the value on either side.
        distance = np.abs(z[:, :, None] - borders)
        doubtful += int(((distance > ON_BORDER) & (distance < NEAR_BORDER)).any(axis=(1, 2)).sum())
    items = (symbols + kinds * np.arange(len(columns))).ravel()
    rows = Baskets(np.arange(len(symbols) + 1) * len(columns), items)
    repeated = _second_rows(original) if original.roles.series else 0
    return Original(names, rows, series.of_row, doubtful, repeated)


def _columns(instants: tuple[str, ...], stated: list[str]) -> list[int]:
    """The columns of the stated instants, none unless all are there in order; a time may lack its zeros."""
    number = {name: index for index, name in enumerate(instants)}
    columns = [number.get(name, number.get(_ZEROS.sub("", name), -1)) for name in stated]
    return columns if columns == sorted(set(columns)) and -1 not in columns else []


def _normalised(matrix: Floats, center: str) -> Floats:
    """Each row less its centre in population deviations, 0 where it is constant.

    Halves, because the difference of two large numbers may be beyond all numbers.
    """
    halves = matrix / 2
    rise = halves - halves.min(axis=1, keepdims=True)
    reach = rise.max(axis=1, keepdims=True)
    constant = reach == 0
    rise = rise / np.where(constant, 1.0, reach)
    middle = (np.median if center == "median" else np.mean)(rise, axis=1, keepdims=True)
    deviation = np.where(constant, 1.0, rise.std(axis=1, keepdims=True))
    return np.where(constant, 0.0, (rise - middle) / deviation)


def counted_people(ledger: Ledger, manifest: Mapping[str, Any], original: Original) -> npt.NDArray[np.bool_]:
    """Which rows of the original are counted; refused unless they and the virtual ones are those stated."""
    if "transaction" not in ledger.entries.schema.names:
        raise mismatch("the ledger belongs to a release of another model")
    if len(original.row_of) != ledger.entries.num_rows:
        raise mismatch("the ledger does not note every row of its original")
    counted = np.zeros(original.rows.rows, dtype=bool)
    noted = (original.row_of >= 0) & np.asarray(pc.is_valid(ledger.table["transaction"]))
    counted[original.row_of[noted]] = True
    added, real = ledger.virtual, int(counted.sum())
    virtual = 0 if added is None or not added.num_rows else pc.sum(added["copies"]).as_py() or 0
    stated = manifest["counts"]
    if (virtual, real + virtual) != (stated["virtual"], stated["transactions"]):
        raise mismatch(
            f"the ledger has {real:,} real and {virtual:,} virtual people, and the release counts "
            f"{stated['transactions']:,}, of whom {stated['virtual']:,} are virtual"
        )
    return counted
