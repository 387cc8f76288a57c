"""One spelling for every person, sensitive value and item.

One person spelt in two ways would count as two people, and k of them would be fewer than k. Two texts are
spellings of one if they have the same normal form: NFKC, single blanks, none at the ends, and no character
that nobody sees. Letters of another case and leading zeros may well belong to someone else.

Spellings that collide are refused, or with `fold_spellings` written in their normal form. Most columns have
plain letters only, which their bytes show at once; of the others, only distinct values are looked at.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.wording import counted
from timeveil.errors import ErrorCode
from timeveil.reading.columns import column_error, decoded, emptied, is_list, is_text, text_bytes

NOUNS: dict[str, tuple[str, str, ErrorCode]] = {
    "respondent": ("people", "a person", "person-twice"),
    "sensitive": ("values", "a value", "value-clash"),
    "item": ("items", "an item", "item-clash"),
}
"""What the texts of a role are called, and the code of the error if they collide."""

# Controls other than white space, all default-ignorable code points of Unicode, and the blank of Braille.
_UNSEEN = (
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_WITHOUT_UNSEEN = partial(re.compile(f"[{_UNSEEN}]").sub, "")
_NAMELESS = f"^[{_UNSEEN}\t-\r\x1c- \x85\\pZ]*$"
_MEANT = ("<super>", "<sub>", "<fraction>", "<circle>", "<square>")
"""How Unicode marks signs that mean something else in plain letters."""

# Letters that NFKC leaves as they are, whatever is next to them: Latin, Cyrillic, Han, Hangul.
LETTERS = (
    r"[!-~\x{C0}-\x{131}\x{134}-\x{13E}\x{141}-\x{148}\x{14A}-\x{17E}\x{400}-\x{481}"
    r"\x{4E00}-\x{9FFF}\x{AC00}-\x{D7A3}]"
)
PLAIN_TEXT = f"^{LETTERS}+( {LETTERS}+)*$"
_BLANK, _LAST_ASCII = ord(" "), ord("~")


def normal_form(text: str) -> str:
    """What all spellings of one text have in common.

    >>> [normal_form(text) for text in ("\\u00a0Anna \\t B\\u200b", "Jose\\u0301", "Ａ1", "10²")]
    ['Anna B', 'José', 'A1', '102']
    """
    return " ".join(unicodedata.normalize("NFKC", _WITHOUT_UNSEEN(text)).split())


def folded_text(text: str) -> str:
    """The normal form, apart from signs whose form carries their meaning."""
    letters = list(_WITHOUT_UNSEEN(text))
    for position, letter in enumerate(letters):
        if not unicodedata.decomposition(letter).startswith(_MEANT):
            letters[position] = unicodedata.normalize("NFKC", letter)
    return " ".join(unicodedata.normalize("NFC", "".join(letters)).split())


class Spellings:
    """Takes the cells of a column with `push`; `refuse` then refuses two spellings of one text.

    With `fold`, `push` returns the cells in their normal form, and `folded` counts those that it changed.
    """

    def __init__(self, name: str, role: str, *, fold: bool = False) -> None:
        self._name, self._role, self._fold = name, role, fold
        self._forms: dict[str, str] = {}  # of every text that is not in its normal form
        self.folded = 0

    @property
    def all_normal(self) -> bool:
        """Whether every text so far was in its normal form, so that no two can be spellings of one."""
        return not self._forms

    def push(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """The cells, folded if that is asked for; what is not in its normal form then is noted."""
        if self._fold and not all(map(is_plain, _texts(column))):
            column = pa.chunked_array([self._folded(chunk) for chunk in decoded(column).chunks])
        self.note(column)
        return column

    def note(self, column: pa.ChunkedArray) -> None:
        for texts in _texts(column):
            if not is_plain(texts):
                odd = texts.filter(pc.invert(pc.match_substring_regex(texts, PLAIN_TEXT))).unique()
                forms = {text: normal_form(text) for text in odd.to_pylist()}
                self._forms |= {text: form for text, form in forms.items() if form != text}

    def refuse(self, columns: Iterable[pa.ChunkedArray]) -> None:
        """Refuse the column, whose cells are passed once more, if two of its texts are spellings of one."""
        if self.all_normal:
            return
        forms = pa.array(sorted(set(self._forms.values())), pa.large_string())
        cells = (texts.cast(forms.type) for column in columns for texts in _texts(column))
        matches = [texts.filter(pc.is_in(texts, value_set=forms)).unique() for texts in cells]
        plainly_spelt = pa.concat_arrays(matches).unique() if matches else forms[:0]
        # Each form is one text; every spelling beyond one per form is one too many.
        extra = len(self._forms) + len(plainly_spelt) - len(forms)
        if extra:
            several, single, code = NOUNS[self._role]
            ways = f"spells {several} in more than one way, {counted(extra, 'time')}"
            differ = "blanks, invisible characters or composed letters"
            hint = f"write every {single.split()[1]} in one way before reading"
            if self._fold:
                differ = "raised, lowered or circled signs, or were read before spellings were folded"
            else:
                hint += ", or in its normal form with {fold_spellings=True}"
            fault = f"{ways}: spellings differ only in {differ}, and each would count as {single}"
            raise column_error(self._name, fault, hint, code, count=extra)

    def _folded(self, chunk: pa.Array) -> pa.Array:
        if is_list(chunk.type):
            lists = chunk.cast(pa.large_list(chunk.type.value_type))
            lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
            ends = pa.array(np.append(0, np.cumsum(lengths)), pa.int64())
            items = self._folded(decoded(pa.chunked_array([lists.flatten()])).combine_chunks())
            return pa.LargeListArray.from_arrays(ends, items, mask=lists.is_null())
        coded = chunk.dictionary_encode()
        texts = coded.dictionary.to_pylist()
        forms = [folded_text(text) for text in texts]
        changed = pa.array([text != form for text, form in zip(texts, forms, strict=True)], pa.bool_())
        self.folded += pc.sum(changed.take(coded.indices)).as_py() or 0
        return pa.array(forms, chunk.type).take(coded.indices)


def without_nameless(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text in which nothing is seen becomes null: a missing name must not count as a person."""
    kind = column.type
    if not is_text(kind):
        return column
    if pa.types.is_dictionary(kind):
        entries = [pa.chunked_array([chunk.dictionary]) for chunk in column.chunks]
        nameless = any(without_nameless(texts).null_count for texts in entries)
        return without_nameless(decoded(column)) if nameless else column
    nameless = pc.match_substring_regex(column, _NAMELESS)
    return emptied(column, nameless) if pc.any(nameless).as_py() else column


def _texts(column: pa.ChunkedArray) -> Iterator[pa.Array]:
    """The values of each chunk, or the items of its lists, if they are text; those of a dictionary once."""
    for chunk in column.chunks:
        values: Any = chunk
        if is_list(chunk.type):
            values = decoded(chunk.flatten())
        if is_text(values.type):
            yield values.dictionary if pa.types.is_dictionary(values.type) else values


def is_plain(texts: pa.Array) -> bool:
    """Whether the bytes are ASCII letters, digits and signs, with single blanks between them only."""
    marks, ends = text_bytes(texts)
    lowest, highest = marks.min(initial=_LAST_ASCII), marks.max(initial=_LAST_ASCII)
    if lowest != _BLANK or highest > _LAST_ASCII:
        return bool(lowest > _BLANK and highest <= _LAST_ASCII)
    # Two blanks that touch belong to one cell, or the first ends and the second begins a cell: both are odd.
    blank, filled, first, last = marks == _BLANK, ends[1:] > ends[:-1], ends[:-1], ends[1:] - 1
    if not filled.all():
        first, last = first[filled], last[filled]
    return not (blank[first].any() or blank[last].any() or (blank[1:] & blank[:-1]).any())
