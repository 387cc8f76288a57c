"""Text that stands for a time, parsed a column at a time.

Read: `2024-03-31`, `2024-03-31 14:05`, seconds and a fraction behind it, `T` or a blank in between, an
offset (`Z`, `+02`, `+0200`, `+02:00`) at the end, and whole numbers. Nothing else: `03/31/24` has two
readings. Repeated texts are parsed once.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Kind = Literal["date", "naive", "aware", "number", "bad"]

FIRST_MS = -62_135_596_800_000  # 0001-01-01
LIMIT_MS = 253_402_300_800_000  # 10000-01-01

_WIDTH = 23  # up to milliseconds
_CLOCK = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?"
_DATE = r"^\d{4}-\d{2}-\d{2}$"
_OFFSET = r"(?P<sign>[+-])(?P<hours>\d{2}):?(?P<minutes>\d{2})?$"
_SHAPES: tuple[tuple[Kind, str], ...] = (
    ("date", _DATE),
    ("naive", _CLOCK + "$"),
    ("aware", _CLOCK + r" ?(Z|[+-]\d{2}(:?\d{2})?)$"),
    ("number", r"^[+-]?\d{1,18}$"),
)


def is_text(kind: pa.DataType) -> bool:
    """Whether the type is text, plain or dictionary-encoded."""
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
    encoded = texts if pa.types.is_dictionary(texts.type) else texts.dictionary_encode()
    distinct = pc.ascii_trim_whitespace(encoded.dictionary.cast(pa.large_string()))
    values, valid, kinds = _parse_distinct(distinct)
    indices = pc.fill_null(encoded.indices.cast(pa.int64()), len(distinct)).to_numpy(zero_copy_only=False)
    known = np.append(valid, False)[indices]
    found = {kind: np.append(mask, False)[indices] for kind, mask in kinds.items()}
    return pa.array(np.append(values, 0)[indices], mask=~known), found


def _parse_distinct(texts: pa.Array) -> tuple[Any, Any, dict[Kind, Any]]:
    values = np.zeros(len(texts), dtype=np.int64)
    valid = np.zeros(len(texts), dtype=bool)
    kinds: dict[Kind, Any] = {}
    rest = np.flatnonzero(pc.fill_null(pc.not_equal(texts, ""), False).to_numpy(zero_copy_only=False))
    for kind, shape in _SHAPES:
        if len(rest) == 0:
            break
        matches = pc.match_substring_regex(texts.take(pa.array(rest)), shape).to_numpy(zero_copy_only=False)
        places = rest[matches]
        rest = rest[~matches]
        if len(places) == 0:
            continue
        read, right = _READERS[kind](texts.take(pa.array(places)))
        values[places], valid[places] = read, right
        kinds[kind] = np.zeros(len(texts), dtype=bool)
        kinds[kind][places[right]] = True
        if not right.all():
            kinds.setdefault("bad", np.zeros(len(texts), dtype=bool))[places[~right]] = True
    if len(rest):
        kinds.setdefault("bad", np.zeros(len(texts), dtype=bool))[rest] = True
    return values, valid, kinds


def _clock(texts: pa.Array) -> tuple[Any, Any]:
    """Milliseconds of texts in the shape of a date or clock reading, offset aside, and which are real."""
    letter = _letters(texts)
    digit = letter.astype(np.int64) - ord("0")
    is_digit = (digit >= 0) & (digit <= 9)
    digit[~is_digit] = 0
    year = digit[:, 0] * 1000 + digit[:, 1] * 100 + digit[:, 2] * 10 + digit[:, 3]
    month, day = digit[:, 5] * 10 + digit[:, 6], digit[:, 8] * 10 + digit[:, 9]
    hour, minute = digit[:, 11] * 10 + digit[:, 12], digit[:, 14] * 10 + digit[:, 15]
    seconds = is_digit[:, 17] & (letter[:, 16] == ord(":"))
    second = np.where(seconds, digit[:, 17] * 10 + digit[:, 18], 0)
    fraction = _fraction(letter, digit, is_digit)
    right = (year >= 1) & (month >= 1) & (month <= 12) & (hour < 24) & (minute < 60) & (second < 60)
    months = ((year - 1970) * 12 + np.where(right, month, 1) - 1).astype("M8[M]")
    first = months.astype("M8[D]").astype(np.int64)
    right &= (day >= 1) & (day <= (months + 1).astype("M8[D]").astype(np.int64) - first)
    total = (((first + day - 1) * 24 + hour) * 60 + minute) * 60 + second
    return total * 1000 + fraction, right


def _letters(texts: pa.Array) -> Any:
    """The first letters of each text as a matrix of bytes, blanks behind the end; all are ASCII here."""
    padded = pc.ascii_rpad(pc.utf8_slice_codeunits(texts, 0, _WIDTH), _WIDTH)
    return np.frombuffer(padded.buffers()[2], dtype=np.uint8)[: _WIDTH * len(texts)].reshape(-1, _WIDTH)


def _fraction(letter: Any, digit: Any, is_digit: Any) -> Any:
    point = np.isin(letter[:, 19], [ord("."), ord(",")]) & is_digit[:, 18]
    tenths = point & is_digit[:, 20]
    hundredths = tenths & is_digit[:, 21]
    thousandths = hundredths & is_digit[:, 22]
    return tenths * digit[:, 20] * 100 + hundredths * digit[:, 21] * 10 + thousandths * digit[:, 22]


def _aware(texts: pa.Array) -> tuple[Any, Any]:
    values, right = _clock(texts)
    parts = pc.extract_regex(texts, _OFFSET)
    hours, minutes = (_whole(pc.struct_field(parts, name)) for name in ("hours", "minutes"))
    sign = np.where(pc.fill_null(pc.equal(pc.struct_field(parts, "sign"), "-"), False).to_numpy(False), -1, 1)
    return values - sign * (hours * 60 + minutes) * 60_000, right & (hours < 24) & (minutes < 60)


def _whole(texts: pa.Array) -> Any:
    known = pc.if_else(pc.fill_null(pc.not_equal(texts, ""), False), texts, "0")
    return known.cast(pa.int64()).to_numpy(zero_copy_only=False)


def _number(texts: pa.Array) -> tuple[Any, Any]:
    values = pc.replace_substring_regex(texts, r"^\+", "").cast(pa.int64())
    return values.to_numpy(zero_copy_only=False), np.ones(len(texts), dtype=bool)


_READERS = {"date": _clock, "naive": _clock, "aware": _aware, "number": _number}
