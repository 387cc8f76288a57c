"""Records of a broker: how they are read from messages, how they become a table, and which are to blame.

Many records are read at once by Arrow, which costs a tenth of reading one after another; where it cannot be
sure that each line is one record of plain cells, they are read one by one, with the same result.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pj

from timeveil.domain.arrays import Flags, Ints
from timeveil.domain.roles import REST, Roles
from timeveil.domain.wording import counted
from timeveil.errors import InputError, ParameterError, RolesError, TimeveilError, spell
from timeveil.evidence.codes import encode

REFUSED = (InputError, RolesError, ParameterError)
"""What is wrong with a record, and not with the service."""
FEW = 128  # lines that are read one by one: for fewer, Arrow takes as long to begin
_KINDS = {str: pa.string(), int: pa.int64(), bool: pa.bool_(), float: pa.float64()}
_MINUS_ZERO = re.compile(rb"-0\s*[,}]")  # a whole number that is written otherwise as text
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
Cells = dict[str, str | None]


def cell(column: str) -> str:
    """The column in a table of records that has the cells of a column, as text."""
    return f"cell {column}"


class Columns:
    """The columns that a record must have: those with a role, and the one that separates streams."""

    def __init__(self, roles: Roles, stream_by: str | None) -> None:
        self._published = tuple(roles.columns)
        self.columns = tuple(dict.fromkeys((*self._published, *([stream_by] if stream_by else []))))
        self.time = str(roles.time)
        self._complete = ({*self.columns}, {self.time})  # a record, and a heartbeat
        self._ignored = None if roles.drop == REST else {*roles.drop}

    def read(self, lines: list[bytes], reject: Callable[[int, TimeveilError], None]) -> pa.Table:
        """The records of lines: which `line`, whether it is a heartbeat (`beat`), and its cells as text."""
        tables, alone, waiting = list[pa.Table](), list[int](), [range(len(lines))]
        while waiting:
            part = waiting.pop()
            if len(part) <= FEW:
                alone += part
                continue
            table = self._together(lines[part.start : part.stop])
            if table is None:
                middle = len(part) // 2
                waiting += [part[:middle], part[middle:]]
                continue
            table = _numbered(table, np.arange(part.start, part.stop), np.zeros(len(part), np.bool_))
            # Whether a cell is null or left out shows when its line is read by itself.
            complete = table.drop_null()
            alone += np.setdiff1d(table["line"], complete["line"], assume_unique=True).tolist()
            tables.append(complete)
        if alone or not tables:
            tables.append(self._one_by_one(lines, sorted(alone), reject))
        return tables[0] if len(tables) == 1 else pa.concat_tables(tables).sort_by("line")

    def _together(self, lines: list[bytes]) -> pa.Table | None:
        """The cells of lines like the first; None unless each surely is one record, and needs no care."""
        block, count = b"\n".join(lines), len(lines)
        # Where each line is in braces, an object that began in one cannot end in another.
        if not (block.startswith(b"{") and block.endswith(b"}") and block.count(b"}\n{") == count - 1):
            return None
        try:
            block.decode()
            schema = self._schema_of(json.loads(lines[0]))
            if schema is None or (pa.int64() in schema.types and _MINUS_ZERO.search(block)):
                return None
            form = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
            whole = pj.ReadOptions(use_threads=False, block_size=len(block) + 1)
            table = pj.read_json(pa.BufferReader(block), whole, form)
        except (ValueError, RecursionError, pa.ArrowException):
            return None
        texts = {cell(name): table.column(name).cast(pa.string()) for name in self.columns}
        return pa.table(texts) if table.num_rows == count else None

    def _schema_of(self, first: Any) -> pa.Schema | None:
        """The types of the cells of a record; None where the text of its cells does not follow from them."""
        if type(first) is not dict or not first.keys() >= {*self.columns}:
            return None
        kinds = {name: _KINDS.get(type(value)) for name, value in first.items()}
        more = kinds.keys() - {*self.columns}
        is_exact = all(kinds[name] not in (None, pa.float64()) for name in self.columns)
        if not is_exact or (self._ignored is not None and more - self._ignored) or None in kinds.values():
            return None
        return pa.schema(list(kinds.items()))

    def _one_by_one(
        self, lines: list[bytes], numbers: Sequence[int], reject: Callable[[int, TimeveilError], None]
    ) -> pa.Table:
        records = dict[int, Cells]()
        for number in numbers:
            try:
                records[number] = self.parsed(lines[number])
            except REFUSED as error:
                reject(number, error)
        cells = {cell(name): [record.get(name) for record in records.values()] for name in self.columns}
        beats = [len(record) == 1 for record in records.values()]
        texts = pa.table({name: pa.array(column, pa.string()) for name, column in cells.items()})
        return _numbered(texts, np.array([*records], np.int64), np.array(beats, np.bool_))

    def parsed(self, line: bytes) -> Cells:
        """The cells of a record, all plain, with exactly the columns that have a role."""
        try:
            text = line.decode().strip(" \t\r\n")
            cells, end = _DECODER.raw_decode(text)
            if b"\\u" in line:  # half of a pair of surrogates is no text
                json.dumps(cells, ensure_ascii=False).encode()
            cells = cells if end == len(text) else None
        except (ValueError, RecursionError):
            cells = None
        if not isinstance(cells, dict) or any(isinstance(value, dict | list) for value in cells.values()):
            hint = "send one JSON object for each record, with a plain value for each column"
            message = "the record is not a JSON object of plain values"
            raise InputError(message, hint=hint, code="bad-record")
        for name, value in cells.items():
            if isinstance(value, bool):
                cells[name] = "true" if value else "false"
        if cells.keys() in self._complete:
            return cells
        if missing := [column for column in self.columns if column not in cells]:
            message = f"the record has no column {', '.join(f'`{column}`' for column in missing)}"
            raise RolesError(message, hint="send every column that has a role", code="column-missing")
        if self._ignored is not None and (more := cells.keys() - {*self.columns} - self._ignored):
            message = f"the record has {counted(len(more), 'column')} without a role"
            raise RolesError(message, hint="name them in {drop}", code="column-without-role")
        return {column: cells[column] for column in self.columns}

    def table(self, rows: pa.Table, kind: pa.DataType) -> pa.Table:
        """Records as a table with times of this type; columns to leave out are there, and empty."""
        columns = {name: rows.column(cell(name)) for name in self._published}
        moments = rows.column("at")
        columns[self.time] = (moments.cast(pa.int32()) if pa.types.is_date32(kind) else moments).cast(kind)
        ignored = dict.fromkeys(self._ignored or (), pa.nulls(rows.num_rows, pa.string()))
        return pa.table({**columns, **ignored})


def _numbered(texts: pa.Table, lines: Ints, beats: Flags) -> pa.Table:
    return texts.append_column("line", pa.array(lines)).append_column("beat", pa.array(beats))


def picked(rows: pa.Table, numbers: Ints) -> pa.Table:
    """Rows by number; those one after another are not copied."""
    if len(numbers) and (np.diff(numbers) == 1).all():
        return rows.slice(numbers[0], len(numbers))
    return rows.take(pa.array(numbers))


def sifted(
    items: Sequence[Any] | Ints,
    check: Callable[[Any], None],
    reject: Callable[[Any, TimeveilError], None],
    *,
    alone: bool = False,
) -> list[Any]:
    """The items that pass a check together; those to blame are found by halves, and rejected.

    With `alone`, items pass or fail by themselves, and none is checked again with others.
    """
    accepted: list[Any] = []
    waiting = [items]
    while waiting:
        part = waiting.pop()
        try:
            check(part if alone else [*accepted, *part])
        except REFUSED as error:
            if len(part) == 1:
                reject(part, error)
            else:
                middle = len(part) // 2
                waiting += [part[middle:], part[:middle]]
        else:
            accepted.extend(part)
    return accepted


def forms_of(times: pa.StringArray) -> Ints:
    """A number for how each time is written: those of one form are read alike, however many are together."""
    valid, ends, letters = times.buffers()
    # In one step for all of them: a digit is a byte of its own.
    forms = pa.py_buffer(letters.to_pybytes().translate(_DIGITS) if letters else b"")
    return encode(pa.StringArray.from_buffers(len(times), ends, forms, valid, -1, times.offset)).codes


def reason_of(error: TimeveilError) -> str:
    """Why a record or a file was put aside, for the quarantine."""
    return f"{error.message}\n\nhint: {spell(error.template, 'command')}\n\ncode: {error.code}\n"
