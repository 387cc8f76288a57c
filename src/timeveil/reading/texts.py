"""Text that stands for a time, parsed a column at a time.

Read: `2024-03-31`, `2024-03-31 14:05`, seconds and a fraction behind it, `T` or a blank in between, an
offset (`Z`, `+02`, `+0200`, `+02:00`) at the end, and whole numbers. Nothing else: `03/31/24` has two
readings.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Kind = Literal["date", "naive", "aware", "number", "bad"]

FIRST_MS = -62_135_596_800_000  # 0001-01-01
LIMIT_MS = 253_402_300_800_000  # 10000-01-01

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


def is_text(kind: pa.DataType) -> bool:
    """Whether the type is text, plain or dictionary-encoded.

    >>> is_text(pa.dictionary(pa.int8(), pa.string())), is_text(pa.date32())
    (True, False)
    """
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def parse(texts: pa.Array) -> tuple[pa.Array, dict[Kind, Any]]:
    """Milliseconds since 1970 (or the whole number itself) per text, and per kind where it stands.

    Offsets are taken into account. Bad texts come back as null; so do empty ones, which are no kind.

    >>> values, kinds = parse(pa.array(["1970-01-02", "1970-01-01T01:00:00+01:00", "soon"]))
    >>> values.to_pylist()
    [86400000, 0, None]
    >>> [kind for kind, mask in kinds.items() if mask.any()]
    ['date', 'aware', 'bad']
    """
    if not pa.types.is_dictionary(texts.type):
        if _mostly_distinct(texts):
            values, valid, kinds = _parse(texts)
            return pa.array(values, mask=~valid), kinds
        texts = texts.dictionary_encode()
    values, valid, kinds = _parse(texts.dictionary)
    places = pc.fill_null(texts.indices.cast(pa.int64()), len(values)).to_numpy(zero_copy_only=False)
    spread = {kind: np.append(mask, False)[places] for kind, mask in kinds.items()}
    return pa.array(np.append(values, 0)[places], mask=~np.append(valid, False)[places]), spread


def _mostly_distinct(texts: pa.Array) -> bool:
    sample = texts.slice(0, _SAMPLE)
    return 2 * len(pc.unique(sample)) > len(sample)


def _parse(texts: pa.Array) -> tuple[Any, Any, dict[Kind, Any]]:
    """Values, where they are valid, and where each kind stands; shapes are tried in turn on what is left."""
    texts = pc.ascii_trim_whitespace(texts.cast(pa.large_string()))
    values, valid = np.zeros(len(texts), dtype=np.int64), np.zeros(len(texts), dtype=bool)
    kinds: dict[Kind, Any] = {}
    left = _places(pc.not_equal(texts, ""))
    bad = np.zeros(len(texts), dtype=bool)
    for kind, shape in _SHAPES:
        if len(left) == 0:
            break
        some = texts if len(left) == len(texts) else texts.take(pa.array(left))
        fits = pc.match_substring_regex(some, shape).to_numpy(zero_copy_only=False)
        if not fits.any():
            continue
        places, left = left[fits], left[~fits]
        values[places], valid[places] = _READERS[kind](some.filter(pa.array(fits)))
        kinds[kind] = np.zeros(len(texts), dtype=bool)
        kinds[kind][places] = valid[places]
        bad[places] = ~valid[places]
    bad[left] = True
    return values, valid, kinds | {"bad": bad}


def _places(mask: pa.Array) -> Any:
    return np.flatnonzero(_flags(mask))


def _flags(mask: pa.Array) -> Any:
    return pc.fill_null(mask, False).to_numpy(zero_copy_only=False)


def _letters(texts: pa.Array, width: int) -> Any:
    """Letter by letter, the codes of the first letters of all texts, blanks behind the end."""
    padded = pc.ascii_rpad(pc.utf8_slice_codeunits(texts, 0, width), width)
    flat = np.frombuffer(padded.buffers()[2], dtype=np.uint8)[: width * len(texts)]
    return np.ascontiguousarray(flat.reshape(-1, width).T)


def _two(letters: Any, place: int) -> Any:
    """The number that two digits make."""
    tens = letters[place].astype(np.int32) - ord("0")
    return tens * 10 + (letters[place + 1].astype(np.int32) - ord("0"))


def _date(texts: pa.Array) -> tuple[Any, Any]:
    days, right = _days(_letters(texts, 10))
    return days * 86_400_000, right


def _days(letters: Any) -> tuple[Any, Any]:
    """Days since 1970 and whether there is such a day."""
    year, month, day = _two(letters, 0) * 100 + _two(letters, 2), _two(letters, 5), _two(letters, 8)
    right = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    months = ((year - 1970) * 12 + np.where(right, month, 1) - 1).astype("M8[M]")
    first = months.astype("M8[D]").astype(np.int64)
    right &= day <= (months + 1).astype("M8[D]").astype(np.int64) - first
    return first + day - 1, right


def _clock(texts: pa.Array) -> tuple[Any, Any]:
    """Milliseconds of clock readings, offset aside, and whether there is such a time."""
    letters = _letters(texts, 23)
    days, right = _days(letters)
    hour, minute = _two(letters, 11), _two(letters, 14)
    second = np.where(letters[16] == ord(":"), _two(letters, 17), 0)
    right &= (hour < 24) & (minute < 60) & (second < 60)
    return ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + _fraction(letters), right


def _fraction(letters: Any) -> Any:
    """Milliseconds behind the point; what is not a digit ends them."""
    total = np.zeros(letters.shape[1], dtype=np.int32)
    inside = (letters[16] == ord(":")) & ((letters[19] == ord(".")) | (letters[19] == ord(",")))
    for place, worth in ((20, 100), (21, 10), (22, 1)):
        digit = letters[place].astype(np.int32) - ord("0")
        inside &= (digit >= 0) & (digit <= 9)
        total += np.where(inside, digit * worth, 0)
    return total


def _aware(texts: pa.Array) -> tuple[Any, Any]:
    values, right = _clock(texts)
    parts = pc.extract_regex(texts, _OFFSET)
    hours, minutes = (_whole(pc.struct_field(parts, name)) for name in ("hours", "minutes"))
    sign = np.where(_flags(pc.equal(pc.struct_field(parts, "sign"), "-")), -1, 1)
    return values - sign * (hours * 60 + minutes) * 60_000, right & (hours < 24) & (minutes < 60)


def _whole(texts: pa.Array) -> Any:
    known = pc.if_else(pc.fill_null(pc.not_equal(texts, ""), False), texts, "0")
    return known.cast(pa.int64()).to_numpy(zero_copy_only=False)


def _number(texts: pa.Array) -> tuple[Any, Any]:
    values = pc.replace_substring_regex(texts, r"^\+", "").cast(pa.int64())
    return values.to_numpy(zero_copy_only=False), np.ones(len(texts), dtype=bool)


_READERS = {"date": _date, "naive": _clock, "aware": _aware, "number": _number}
