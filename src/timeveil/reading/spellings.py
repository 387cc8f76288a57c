"""One person spelt in two ways counts as two people, and k of them are fewer than k.

Two texts name the same person if they differ only in blanks, in letters that do not show, or in how letters
are composed (NFKC). Letters of another case and leading zeros may well be somebody else's.

Most columns hold nothing but plain letters, which is seen from their bytes at once. Of the others only values
that could be written more plainly are kept, and looked for among all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.wording import counted
from timeveil.errors import InputError

_LETTERS = (
    r"[!-~\x{C0}-\x{131}\x{134}-\x{13E}\x{141}-\x{148}\x{14A}-\x{17E}\x{400}-\x{481}"
    r"\x{4E00}-\x{9FFF}\x{AC00}-\x{D7A3}]"
)
"""Letters that are composed, as NFKC has them, whatever stands beside: Latin, Cyrillic, Han, Hangul."""
_PLAIN = f"^{_LETTERS}+( {_LETTERS}+)*$"
_BLANK, _LAST = ord(" "), ord("~")


class Spellings:
    """Takes the cells of a column with `push`, then refuses with `refuse` those that name somebody twice."""

    def __init__(self) -> None:
        self._odd: list[pa.Array] = []

    def push(self, column: pa.ChunkedArray) -> None:
        """Note the values that could be written more plainly."""
        for texts in _texts(column):
            if _is_plain(texts):
                continue
            strange = texts.filter(pc.invert(pc.match_substring_regex(texts, _PLAIN)))
            odd = strange.filter(pc.not_equal(plainly(strange), strange)).unique()
            if len(odd):
                self._odd.append(odd)

    def refuse(self, name: str, columns: Iterable[pa.ChunkedArray]) -> None:
        """Refuse the column, whose cells come once more, if two values of it are spellings of one."""
        if not self._odd:
            return
        odd = pa.concat_arrays(self._odd).unique()
        keys = plainly(odd).unique()
        found = [
            texts.filter(pc.is_in(texts, value_set=keys)).unique()
            for column in columns
            for texts in _texts(column)
        ]
        plain = pa.concat_arrays(found).unique() if found else keys[:0]
        extra = len(odd) + len(plain) - len(keys)
        if extra:
            raise InputError(
                f"column `{name}` spells somebody in more than one way, {counted(extra, 'time')}: with other "
                "blanks, unseen letters or letters composed otherwise, and would count as two people",
                hint="write everybody's name in one way before reading",
                code="person-twice",
                facts={"column": name, "count": extra},
            )


def plainly(texts: pa.Array) -> pa.Array:
    """Texts with single blanks, none at the ends, without letters that do not show, and composed.

    >>> plainly(pa.array(["\\u00a0Anna \\t B\\u200b", "Jose\\u0301", "Ａ1"], pa.large_string())).to_pylist()
    ['Anna B', 'José', 'A1']
    """
    trimmed = pc.utf8_trim_whitespace(texts)
    odd = pc.invert(pc.match_substring_regex(trimmed, _PLAIN))
    return pc.replace_with_mask(trimmed, odd, _folded(trimmed.filter(odd)))


def _folded(texts: pa.Array) -> pa.Array:
    spaced = pc.replace_substring_regex(texts, r"[\pZ\t\n\v\f\r]+", " ")
    seen = pc.replace_substring_regex(spaced, r"[\p{Cc}\p{Cf}]", "")
    composed = pc.utf8_normalize(seen, form="NFKC")
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(composed, r"\pZ+", " "))


def _texts(column: pa.ChunkedArray) -> Iterator[pa.Array]:
    """The values of each chunk, if they are text; of a dictionary each once."""
    for chunk in column.chunks:
        values = chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            yield values.cast(pa.large_string())


def _is_plain(texts: pa.Array) -> bool:
    """Whether all are made of ASCII letters, digits, signs and single blanks between them, by their bytes."""
    _, offsets, letters = texts.buffers()
    if letters is None or not len(texts):
        return True
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    marks = np.frombuffer(letters, np.uint8)[ends[0] : ends[-1]]
    if not len(marks) or marks.min() > _BLANK:
        return not len(marks) or bool(marks.max() <= _LAST)
    if marks.min() < _BLANK or marks.max() > _LAST:
        return False
    blank, there = marks == _BLANK, ends[1:] > ends[:-1]
    first, last = (ends[:-1] - ends[0])[there], (ends[1:] - ends[0] - 1)[there]
    return not (blank[first].any() or blank[last].any() or (blank[1:] & blank[:-1]).any())
