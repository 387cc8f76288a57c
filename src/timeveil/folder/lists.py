"""Lists in a cell of text: whole numbers with blanks between them, texts as a JSON array."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def list_cells(lists: pa.Array) -> pa.Array:
    """Lists as text; an empty list of numbers is an empty text.

    >>> list_cells(pa.array([[3, 4, 2], [], None])).to_pylist()
    ['3 4 2', '', None]
    >>> list_cells(pa.array([["a=1", "b"], []])).to_pylist()
    ['["a=1","b"]', '[]']
    """
    if pa.types.is_string(lists.type.value_type):
        texts = [None if found is None else _as_json(found) for found in lists.to_pylist()]
        return pa.array(texts, pa.string())
    return pc.binary_join(lists.cast(pa.list_(pa.string())), " ")


def lists_of(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """What `list_cells` was given.

    >>> lists_of(pa.array(["3 4 2", "", None]), pa.list_(pa.int16())).to_pylist()
    [[3, 4, 2], [], None]
    """
    if pa.types.is_string(kind.value_type):
        return pa.array([None if text is None else _from_json(text) for text in texts.to_pylist()], kind)
    known = pc.fill_null(texts, "")
    empty = pc.equal(known, "").to_numpy(zero_copy_only=False)
    items = pc.list_flatten(pc.split_pattern(known.filter(pa.array(~empty)), " ")).cast(kind.value_type)
    counts = np.where(empty, 0, pc.count_substring(known, " ").to_numpy(zero_copy_only=False) + 1)
    ends = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    return pa.ListArray.from_arrays(ends, items, mask=pc.is_null(texts)).cast(kind)


def _as_json(found: list[str | None]) -> str:
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def _from_json(text: str) -> list[str | None]:
    try:
        found = json.loads(text)
    except RecursionError:
        found = None
    if not isinstance(found, list):
        raise pa.ArrowInvalid("a cell does not hold a list")
    return found
