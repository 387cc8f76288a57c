"""What a column looks like: the words of its name, the kind of its values, how they could be coarsened."""

import math
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.lines import Decimal
from timeveil.reading.columns import is_text
from timeveil.reading.risks import reads_as_time


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


WHO = _words(
    """patient person respondent customer client household subject student user member people pupil
    employee passenger participant resident citizen driver card idcode tid basket"""
)
NUMBERED = _words("id no nr number code record uuid")
BORN = _words("born birth dob birthday birthdate")
KNOWN = BORN | _words(
    """zip postcode postal plz city town district region county country state ward clinic hospital school sex
    gender age race ethnicity education occupation marital nationality language neighbourhood neighborhood fsa
    disability band street place location"""
)
SECRET = _words(
    """result diagnosis disease outcome status score value wage salary income tariff died death finding
    treatment drug infection illness condition balance amount grade"""
)
ITEM = _words("item items product article code symptom drug")
"""Words in names of columns: who it is, what outsiders know, what they must not learn, what people have."""
_WHOLE, _NUMBER = r"^\s*[+-]?\d{1,15}\s*$", r"^\s*[+-]?(?:\d+(?:[.,]\d+)?|[.,]\d+)(?:[eE][+-]?\d+)?\s*$"
_POINTS = _NUMBER.replace("[.,]", r"\.")
_CODE = r"^\s*0\d"
_FEW = 12  # a quasi-identifier with no more values than this needs no hierarchy


def words_of(column: str) -> set[str]:
    """The words of a column's name: `age` and `band` of `ageBand_2`."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", column)}


def kind_of(values: pa.Array, decimal: Decimal | None = None) -> str:
    """What different values are: a date, a time, a whole number, a number, yes or no, or text.

    If the decimal separator was stated, numbers are those with points.
    """
    kind = values.type
    if pa.types.is_boolean(kind):
        return "yes or no"
    if reads_as_time(values):
        by_day = is_text(kind) and bool(np.all(np.asarray(pc.utf8_length(values)) <= len("2024-01-31")))
        return "date" if by_day or pa.types.is_date(kind) or pa.types.is_integer(kind) else "time"
    if pa.types.is_integer(kind):
        return "whole number"
    if pa.types.is_floating(kind):
        return "whole number" if bool(np.all(np.mod(np.asarray(values), 1) == 0)) else "number"
    if is_text(kind) and len(values) and not pc.any(pc.match_substring_regex(values, _CODE)).as_py():
        for pattern, word in ((_WHOLE, "whole number"), (_POINTS if decimal else _NUMBER, "number")):
            if pc.all(pc.match_substring_regex(values, pattern)).as_py():
                return word
    return "number" if pa.types.is_decimal(kind) else "text"


def hierarchy_of(values: pa.Array, kind: str) -> str | None:
    """How a quasi-identifier with many values could be coarsened: intervals of numbers, prefixes of codes."""
    texts = pc.utf8_trim_whitespace(values.cast(pa.string()))
    if kind == "text":
        lengths = pc.unique(pc.utf8_length(texts)).to_pylist()
        digits = pc.all(pc.match_substring_regex(texts, r"^\d+$")).as_py()
        return f"prefixes:{lengths[0] - 2}" if digits and len(lengths) == 1 and lengths[0] > 3 else None
    if kind not in ("whole number", "number") or len(values) <= _FEW:
        return None
    ends = pc.min_max(pc.replace_substring(texts, ",", ".").cast(pa.float64())).as_py()
    step = 10.0 ** math.floor(math.log10(max(ends["max"] - ends["min"], 1.0) / 20))
    return f"intervals:{','.join(f'{step * width:g}' for width in (5, 10, 20))}"
