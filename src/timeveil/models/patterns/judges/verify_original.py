"""The original as rows of items, read anew: the verifier's own gathering, z-normalisation and symbols.

Nothing here is shared with the methods. A symbol is told by the borders of the cells, taken from the standard
library's normal curve. A value that is almost on a border may be on either side; such rows are in doubt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.ledger import Ledger
from timeveil.domain.relation import Relation
from timeveil.errors import InputError
from timeveil.evidence.codes import Integers, column_of, encode, plain_type
from timeveil.models.patterns.judges.counting import Baskets
from timeveil.models.patterns.judges.verify_table import Known
from timeveil.models.series.judges.cells import Floats
from timeveil.models.series.judges.original import series_of

_ON, _NEAR = 1e-11, 1e-9
_AT_ONCE = 1 << 16
_ZEROS = re.compile(r"(?<=:\d\d)\.0+")


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of items; `of_row` says which of them an input row belongs to, -1 where it is in none.

    Items that the release does not have are numbered on from those that it has. `doubt` is how many rows
    may have another symbol, `twice` how many items stand in a row again, and how many people have two rows.
    """

    baskets: Baskets
    of_row: Integers
    doubt: int = 0
    twice: int = 0


def rows_of(ledger: Ledger, manifest: Mapping[str, Any], known: Known) -> Rows:
    """What everybody of the original has."""
    said, original = manifest["patterns"], ledger.original
    if said["kind"] == "series":
        return _of_series(original, manifest, known, raw=ledger.facts.get("origin") == "release")
    item = str(original.roles.item)
    if not original.roles.item:
        raise _unreadable("the original has no items")
    column = column_of(original.data, item)
    kind = column.type
    if any(getattr(pa.types, test)(kind) for test in ("is_list", "is_large_list", "is_fixed_size_list")):
        lengths = np.asarray(pc.fill_null(pc.list_value_length(column), 0)).astype(np.int64)
        owner, flat = np.repeat(np.arange(len(lengths)), lengths), pc.list_flatten(column)
        of_row, number, twice = np.arange(len(lengths)), len(lengths), _again(original)
    else:
        person = encode(column_of(original.data, str(original.roles.respondent)))
        owner = of_row = person.codes
        flat, number, twice = column, person.size, 0
    return _gathered(owner, flat, of_row, number, twice, known)


def _gathered(
    owner: Integers, flat: pa.ChunkedArray, of_row: Integers, number: int, twice: int, known: Known
) -> Rows:
    coded = encode(flat)
    texts = coded.values.cast(plain_type(coded.values.type)).cast(pa.string()).to_pylist()
    places, extra, numbers = known.places(), len(known.names), []
    for text in texts:
        numbers.append(places.get(str(text), extra))
        extra += str(text) not in places
    item = np.array(numbers, dtype=np.int64)[coded.codes] if len(coded.codes) else coded.codes
    pairs = np.sort(owner * max(extra, 1) + item)
    again = int((np.diff(pairs) == 0).sum())
    starts = np.searchsorted(pairs, np.arange(number + 1) * max(extra, 1))
    return Rows(Baskets(starts, pairs % max(extra, 1)), of_row, twice=twice + again)


def _again(original: Relation) -> int:
    """How many rows are of somebody who has one already."""
    if original.roles.respondent is None:
        return 0
    people = encode(column_of(original.data, original.roles.respondent))
    return len(people.codes) - people.size


def _of_series(original: Relation, manifest: Mapping[str, Any], known: Known, *, raw: bool) -> Rows:
    said = manifest["patterns"]
    series = series_of(original, manifest["parameters"]["fill"])
    places = _places(series.instants, said["instants"])
    if not places:
        raise _unreadable("the instants are not those of the original")
    symbols = np.empty((len(series.matrix), len(places)), dtype=np.int64)
    borders = np.array([NormalDist().inv_cdf(n / known.kinds) for n in range(1, known.kinds)])
    doubt = 0
    for start in range(0, len(series.matrix), _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        matrix = series.matrix[rows]
        z = (matrix if raw else _normalised(matrix, said["center"]))[:, places]
        symbols[rows] = np.searchsorted(borders, z + _ON, side="right")
        off = np.abs(z[:, :, None] - borders)
        doubt += int(((off > _ON) & (off < _NEAR)).any(axis=(1, 2)).sum())
    items = (symbols + known.kinds * np.arange(len(places))).ravel()
    starts = np.arange(len(symbols) + 1) * len(places)
    twice = _again(original) if original.roles.series else 0
    return Rows(Baskets(starts, items), series.of_row, doubt, twice)


def _places(instants: tuple[str, ...], stated: list[str]) -> list[int]:
    """Where the stated instants stand among those of the original; a time may lack its zeros."""
    known = {name: place for place, name in enumerate(instants)}
    found = [known.get(name, known.get(_ZEROS.sub("", name), -1)) for name in stated]
    return found if found == sorted(set(found)) and -1 not in found else []


def _normalised(matrix: Floats, center: str) -> Floats:
    """Each row less its centre in population deviations, 0 where it is constant; see `series_original`."""
    halves = matrix / 2
    rise = halves - halves.min(axis=1, keepdims=True)
    reach = rise.max(axis=1, keepdims=True)
    flat = reach == 0
    rise = rise / np.where(flat, 1.0, reach)
    middle = (
        np.median(rise, axis=1, keepdims=True) if center == "median" else rise.mean(axis=1, keepdims=True)
    )
    return np.where(flat, 0.0, (rise - middle) / np.where(flat, 1.0, rise.std(axis=1, keepdims=True)))


def _unreadable(message: str) -> InputError:
    return InputError(
        message, hint="give the ledger that was made together with this release", code="ledger-mismatch"
    )
