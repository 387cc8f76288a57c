"""Records of a broker: how one is read from a message, how several become a table, and which are to blame."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from timeveil.calendar.granularity import GAP
from timeveil.domain.arrays import Ints
from timeveil.domain.roles import REST, Roles
from timeveil.domain.wording import counted
from timeveil.errors import InputError, ParameterError, RolesError, TimeveilError, spell
from timeveil.evidence.codes import encode

REFUSED = (InputError, RolesError, ParameterError)
"""What is wrong with a record, and not with the service."""
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_PLAIN = frozenset((str, type(None)))
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


@dataclass(slots=True)
class Record:
    """A record by the message that it came in, as it was written, and its cells as text.

    Once its time was read, `at` is that as Arrow holds it, `slot` its slot, and `mark` the first slot that is
    not complete by then.
    """

    name: str
    raw: bytes
    cells: dict[str, str | None]
    at: int = 0
    slot: int = GAP
    mark: int = GAP


class Columns:
    """The columns that a record must have: those with a role, and the one that separates streams."""

    def __init__(self, roles: Roles, stream_by: str | None) -> None:
        self._published = tuple(roles.columns)
        self.columns = tuple(dict.fromkeys((*self._published, *([stream_by] if stream_by else []))))
        self.time = str(roles.time)
        self._complete = ({*self.columns}, {self.time})  # a record, and a heartbeat
        self._ignored = None if roles.drop == REST else {*roles.drop}

    def parsed(self, name: str, line: bytes) -> Record:
        """A record of plain cells, with exactly the columns that have a role."""
        try:
            text = line.decode().strip(" \t\r\n")
            cells, end = _DECODER.raw_decode(text)
            if b"\\u" in line:  # half of a pair of surrogates is no text
                json.dumps(cells, ensure_ascii=False).encode()
            cells = cells if end == len(text) else None
        except (ValueError, RecursionError):
            cells = None
        if (
            type(cells) is dict
            and _PLAIN.issuperset(map(type, cells.values()))
            and cells.keys() in self._complete
        ):
            return Record(name, line, cells)  # as nearly all are
        if not isinstance(cells, dict) or any(isinstance(cell, dict | list) for cell in cells.values()):
            hint = "send one JSON object for each record, with a plain value for each column"
            message = "the record is not a JSON object of plain values"
            raise InputError(message, hint=hint, code="bad-record")
        for key, cell in cells.items():
            if isinstance(cell, bool):
                cells[key] = "true" if cell else "false"
        if cells.keys() in self._complete:
            return Record(name, line, cells)
        if missing := [column for column in self.columns if column not in cells]:
            message = f"the record has no column {', '.join(f'`{column}`' for column in missing)}"
            raise RolesError(message, hint="send every column that has a role", code="column-missing")
        if self._ignored is not None and (more := cells.keys() - {*self.columns} - self._ignored):
            message = f"the record has {counted(len(more), 'column')} without a role"
            raise RolesError(message, hint="name them in {drop}", code="column-without-role")
        return Record(name, line, {column: cells[column] for column in self.columns})

    def table(self, records: Sequence[Record], kind: pa.DataType) -> pa.Table:
        """Records as a table with times of this type; columns to leave out are there, and empty."""
        columns: dict[str, Any] = {}
        for name in self._published:
            if name == self.time:
                moments = pa.array([record.at for record in records], pa.int64())
                is_date = pa.types.is_date32(kind)
                columns[name] = (moments.cast(pa.int32()) if is_date else moments).cast(kind)
            else:
                columns[name] = pa.array([record.cells[name] for record in records], pa.string())
        ignored = dict.fromkeys(self._ignored or (), pa.nulls(len(records), pa.string()))
        return pa.table({**columns, **ignored})


def sifted(
    items: list[Any],
    check: Callable[[Sequence[Any]], None],
    reject: Callable[[list[Any], TimeveilError], None],
    *,
    alone: bool = False,
) -> list[Any]:
    """The items that pass a check together; those to blame are found by halves, and rejected.

    With `alone`, items pass or fail by themselves, and none is checked again with others.

    >>> def check(numbers):
    ...     if 3 in numbers:
    ...         raise InputError("three", hint="")
    >>> sifted([1, 2, 3, 4], check, lambda items, error: print(items, error.message))
    [3] three
    [1, 2, 4]
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
            accepted += part
    return accepted


def forms_of(times: Sequence[str | None]) -> Ints:
    """A number for how each time is written: those of one form are read alike, however many are together.

    >>> forms_of(["2024-03-31", "7", None, "2024-04-01"]).tolist()
    [0, 1, 2, 0]
    """
    valid, ends, letters = pa.array(times, pa.string()).buffers()
    # In one step for all of them: a digit is a byte of its own.
    forms = pa.py_buffer(letters.to_pybytes().translate(_DIGITS) if letters else b"")
    return encode(pa.StringArray.from_buffers(len(times), ends, forms, valid)).codes


def reason_of(error: TimeveilError) -> str:
    """Why a record or a file was put aside, for the quarantine."""
    return f"{error.message}\n\nhint: {spell(error.template, 'command')}\n\ncode: {error.code}\n"
