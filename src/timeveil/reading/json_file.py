"""JSON lines: an object a line, its keys the columns.

As in CSV, every cell is text, numbers exactly as written; null and a missing key are null. A list of plain
values is a list of texts, such as the items of a transaction. The first lines name the columns, and say which
hold lists.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from timeveil.errors import InputError, raising, raising_each
from timeveil.reading.files import refuse_columns
from timeveil.reading.text_file import BLOCK_BYTES, FAILURES, TextFile

_HEAD_ROWS = 1000
_ROWS, _BYTES = 65_536, 1 << 24  # what is made into one table at a time, at most
_LITERALS = {True: "true", False: "false"}


class JsonLines:
    """A file of JSON lines."""

    decided: ClassVar[dict[str, str]] = {}
    decimal_commas = None

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self.name: str | None = path.name
        self._file = TextFile(path, "JSON lines", encoding)
        kinds: dict[str, set[bool]] = {}
        for number, row in self._rows():
            for key, value in row.items():
                kinds.setdefault(key, set()).add(isinstance(value, list))
            refuse_columns(self._file.name, len(kinds))
            if number == _HEAD_ROWS:
                break
        if not kinds:
            raise self._file.fault("empty")
        self.names = tuple(kinds)
        self._lists = {name for name, lists in kinds.items() if True in lists}

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The rows of some columns in tables of one schema; at least one table, which may be empty."""
        kinds = {name: pa.list_(pa.string()) if name in self._lists else pa.string() for name in columns}
        schema = pa.schema(list(kinds.items()))
        yield schema.empty_table()
        names, rows, size = set(self.names), list[dict[str, Any]](), 0
        for number, row in self._rows():
            if not row.keys() <= names:
                detail = f": data row {number:,} has a key that the first {_HEAD_ROWS:,} rows do not have"
                raise self._file.fault("malformed", detail)
            rows.append({name: self._cell(name, row.get(name), number) for name in columns})
            size += sum(map(len, filter(None, rows[-1].values())))
            if len(rows) == _ROWS or size > _BYTES:
                yield self._table(rows, schema)
                rows, size = [], 0
        yield self._table(rows, schema)

    def _table(self, rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
        with raising(self._file.fault("not text", "UTF-8"), on=UnicodeError):
            return pa.Table.from_pylist(rows, schema)

    def _cell(self, name: str, value: Any, number: int) -> Any:
        if value is None:
            return None
        if (name in self._lists) == isinstance(value, list) and not isinstance(value, dict):
            items = value if isinstance(value, list) else [value]
            texts = [_LITERALS[item] if isinstance(item, bool) else item for item in items]
            if all(item is None or isinstance(item, str) for item in texts):
                return texts if name in self._lists else texts[0]
        message = f"column `{name}` of `{self.name}` holds objects, or both lists and other values"
        hint = "write one plain value, or one list of them, for each key"
        raise InputError(f"{message}, the first in data row {number:,}", hint=hint)

    def _rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The objects, numbered from 1; numbers are the text they are written as."""
        decoder = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
        number = 0
        for line in raising_each(self._lines(), self._file.refusal, on=FAILURES):
            number += 1
            broken = self._file.fault("malformed", f": line {number:,} is not a JSON object")
            with raising(broken, on=(ValueError, RecursionError)):
                row = decoder.decode(line.decode())
                if isinstance(row, dict):
                    yield number, row
                    continue
            raise broken

    def _lines(self) -> Iterator[bytes]:
        count = 0
        with self._file.open() as stream, io.BufferedReader(stream) as lines:
            while line := lines.readline(BLOCK_BYTES + 1):
                if len(line) > BLOCK_BYTES:
                    raise self._file.fault("long row", most=BLOCK_BYTES)
                self._file.refuse_more(count := count + len(line))
                if stripped := line.removeprefix(b"\xef\xbb\xbf").strip():
                    yield stripped
