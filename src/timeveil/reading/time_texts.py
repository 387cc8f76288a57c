"""Times written as text, parsed a column at a time.

Accepted: `2024-03-31`; `2024-03-31 14:05` with `T` or a blank in between, perhaps with seconds and a
fraction; the same with an offset (`Z`, `+02`, `+0200`, `+02:00`) at the end; and whole numbers. Nothing else:
`03/31/24` can be read in two ways.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Kind = Literal["date", "naive", "aware", "number", "bad"]

_SAMPLE = 4096
_DATE = r"^\d{4}-\d{2}-\d{2}"
_CLOCK = _DATE + r"[T ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?"
_OFFSET = r"(?P<sign>[+-])(?P<hours>\d{2}):?(?P<minutes>\d{2})?$"
_SHAPES: tuple[tuple[Kind, str], ...] = (
    ("date", _DATE + "$"),
    ("naive", _CLOCK + "$"),
    ("aware", _CLOCK + r" ?(Z|[+-]\d{2}(:?\d{2})?)$"),
    ("number", r"^[+-]?\d{1,18}$"),
)


def parse(texts: pa.Array) -> tuple[pa.Array, dict[Kind, Any]]:
    """Milliseconds since 1970 (or the whole number itself) per text, and a mask of the texts of each kind.

    Offsets are applied. Bad texts become null; so do empty ones, which are of no kind.

    >>> values, kinds = parse(pa.array(["1970-01-02", "1970-01-01T01:00:00+01:00", "soon"]))
    >>> values.to_pylist()
    [86400000, 0, None]
    >>> [kind for kind, mask in kinds.items() if mask.any()]
    ['date', 'aware', 'bad']
    """
    if not pa.types.is_dictionary(texts.type):
        sample = texts.slice(0, _SAMPLE)
        if 2 * len(pc.unique(sample)) > len(sample):  # mostly distinct: a dictionary would not help
            values, valid, kinds = _parse(texts)
            return pa.array(values, mask=~valid), kinds
        texts = texts.dictionary_encode()
    values, valid, kinds = _parse(texts.dictionary)
    codes = pc.fill_null(texts.indices.cast(pa.int64()), len(values)).to_numpy(zero_copy_only=False)
    spread = {kind: np.append(mask, False)[codes] for kind, mask in kinds.items()}
    return pa.array(np.append(values, 0)[codes], mask=~np.append(valid, False)[codes]), spread


def _parse(texts: pa.Array) -> tuple[Any, Any, dict[Kind, Any]]:
    """Values, which of them are valid, and the mask of each kind; shapes are tried in turn."""
    texts = pc.ascii_trim_whitespace(texts.cast(pa.large_string()))
    values, valid = np.zeros(len(texts), dtype=np.int64), np.zeros(len(texts), dtype=bool)
    bad = np.zeros(len(texts), dtype=bool)
    kinds: dict[Kind, Any] = {}
    left = np.flatnonzero(_flags(pc.not_equal(texts, "")))
    for kind, shape in _SHAPES:
        if len(left) == 0:
            break
        candidates = texts if len(left) == len(texts) else texts.take(pa.array(left))
        fits = pc.match_substring_regex(candidates, shape).to_numpy(zero_copy_only=False)
        if not fits.any():
            continue
        rows, left = left[fits], left[~fits]
        values[rows], valid[rows] = _PARSERS[kind](candidates.filter(pa.array(fits)))
        kinds[kind] = np.zeros(len(texts), dtype=bool)
        kinds[kind][rows] = valid[rows]
        bad[rows] = ~valid[rows]
    bad[left] = True
    return values, valid, kinds | {"bad": bad}


def _flags(mask: pa.Array) -> Any:
    return pc.fill_null(mask, False).to_numpy(zero_copy_only=False)


def _letters(texts: pa.Array, width: int) -> Any:
    """A row of byte codes for each of the first letters of all texts, with blanks after the end."""
    padded = pc.ascii_rpad(pc.utf8_slice_codeunits(texts, 0, width), width)
    flat = np.frombuffer(padded.buffers()[2], dtype=np.uint8)[: width * len(texts)]
    return np.ascontiguousarray(flat.reshape(-1, width).T)


def _two_digits(letters: Any, position: int) -> Any:
    tens = letters[position].astype(np.int32) - ord("0")
    return tens * 10 + (letters[position + 1].astype(np.int32) - ord("0"))


def _days(letters: Any) -> tuple[Any, Any]:
    """Days since 1970, and whether the day exists."""
    year = _two_digits(letters, 0) * 100 + _two_digits(letters, 2)
    month, day = _two_digits(letters, 5), _two_digits(letters, 8)
    exists = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    months = ((year - 1970) * 12 + np.where(exists, month, 1) - 1).astype("M8[M]")
    first = months.astype("M8[D]").astype(np.int64)
    exists &= day <= (months + 1).astype("M8[D]").astype(np.int64) - first
    return first + day - 1, exists


def _date(texts: pa.Array) -> tuple[Any, Any]:
    days, exists = _days(_letters(texts, 10))
    return days * 86_400_000, exists


def _clock(texts: pa.Array) -> tuple[Any, Any]:
    """Milliseconds of clock readings without their offset, and whether the time exists."""
    letters = _letters(texts, 23)
    days, exists = _days(letters)
    hour, minute = _two_digits(letters, 11), _two_digits(letters, 14)
    second = np.where(letters[16] == ord(":"), _two_digits(letters, 17), 0)
    exists &= (hour < 24) & (minute < 60) & (second < 60)
    return ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + _fraction(letters), exists


def _fraction(letters: Any) -> Any:
    """Milliseconds after the point, up to the first letter that is not a digit."""
    total = np.zeros(letters.shape[1], dtype=np.int32)
    inside = (letters[16] == ord(":")) & ((letters[19] == ord(".")) | (letters[19] == ord(",")))
    for position, worth in ((20, 100), (21, 10), (22, 1)):
        digit = letters[position].astype(np.int32) - ord("0")
        inside &= (digit >= 0) & (digit <= 9)
        total += np.where(inside, digit * worth, 0)
    return total


def _aware(texts: pa.Array) -> tuple[Any, Any]:
    values, exists = _clock(texts)
    parts = pc.extract_regex(texts, _OFFSET)
    hours, minutes = (_digits(pc.struct_field(parts, name)) for name in ("hours", "minutes"))
    sign = np.where(_flags(pc.equal(pc.struct_field(parts, "sign"), "-")), -1, 1)
    return values - sign * (hours * 60 + minutes) * 60_000, exists & (hours < 24) & (minutes < 60)


def _digits(texts: pa.Array) -> Any:
    """Whole numbers, 0 where there is no text."""
    digits = pc.if_else(pc.fill_null(pc.not_equal(texts, ""), False), texts, "0")
    return digits.cast(pa.int64()).to_numpy(zero_copy_only=False)


def _number(texts: pa.Array) -> tuple[Any, Any]:
    values = pc.replace_substring_regex(texts, r"^\+", "").cast(pa.int64())
    return values.to_numpy(zero_copy_only=False), np.ones(len(texts), dtype=bool)


_PARSERS = {"date": _date, "naive": _clock, "aware": _aware, "number": _number}
