"""Tables that are read one after another: the snapshots of a stream.

Most have the columns and types of the one before, plain letters and nothing that reading would change. That
shows at a glance, for a fraction of what reading takes; any doubt is left to `read`.
"""

from dataclasses import replace
from typing import Any

import pyarrow as pa

from timeveil.domain.relation import Relation
from timeveil.domain.roles import Roles
from timeveil.reading.columns import refuse_invalid_text, text_bytes
from timeveil.reading.dates import DAY_MS, FIRST_COMPACT
from timeveil.reading.encoding import Coded, encode
from timeveil.reading.spellings import is_plain
from timeveil.reading.table import read
from timeveil.reading.times import FIRST_MS, LIMIT_MS

_TIMES: dict[pa.DataType, tuple[pa.DataType, int, int]] = {
    # Whole numbers from here on may be dates, written YYYYMMDD.
    pa.int64(): (pa.int64(), -FIRST_COMPACT, FIRST_COMPACT),
    pa.date32(): (pa.int32(), FIRST_MS // DAY_MS, LIMIT_MS // DAY_MS),
    pa.timestamp("ms"): (pa.int64(), FIRST_MS, LIMIT_MS),
}
"""Types of times that stay as they are, with the bounds inside which they do."""


class Reader:
    """Reads tables with one sensitive column as `read` does with these arguments."""

    def __init__(self, roles: Roles, **arguments: Any) -> None:
        self._roles, self._arguments = roles, arguments
        self._before: tuple[pa.Schema, Relation] | None = None
        self._plain: set[Any] = set()  # sensitive values that stay as they are

    def read(self, table: Any) -> tuple[Relation, Coded | None]:
        """The table, and where they are known without reading, its sensitive values."""
        if self._before is not None and isinstance(table, pa.Table) and table.schema.equals(self._before[0]):
            before = self._before[1]
            names = before.data.schema.names
            columns = [table.column(name) for name in names]
            coded = encode(columns[names.index(self._roles.sensitive[0])])
            if self._all_stay(dict(zip(names, columns, strict=True)), coded):
                return replace(before, data=pa.table(columns, schema=before.data.schema)), coded
        relation = read(table, self._roles, **self._arguments)
        schema, form = relation.data.schema, self._arguments["time_format"]
        as_it_is = isinstance(table, pa.Table) and schema.equals(table.select(schema.names).schema)
        if as_it_is and form is None and not relation.exceptions:
            spelt = frozenset(filter(None, (self._roles.respondent, *self._roles.sensitive)))
            self._before = table.schema, replace(relation, data=schema.empty_table(), normal=spelt)
        return relation, None

    def _all_stay(self, columns: dict[str, pa.ChunkedArray], coded: Coded) -> bool:
        """Whether reading would change nothing."""
        if self._arguments["decimal"] == "comma":
            return False
        new = set[Any]()  # sensitive values
        for name, column in columns.items():
            refuse_invalid_text(name, column)
            if column.null_count or column.num_chunks != 1:
                return False
            if name == self._roles.sensitive[0]:
                new = set(coded.values.to_pylist()) - self._plain
                if not new:
                    continue
            if not self._stays(name, column):
                return False
        self._plain |= new
        return True

    def _stays(self, name: str, column: pa.ChunkedArray) -> bool:
        kind, is_time = column.type, name == self._roles.time
        if kind in _TIMES and (is_time or not pa.types.is_integer(kind)):
            raw, low, limit = _TIMES[kind]
            numbers = column.chunk(0).view(raw).to_numpy()
            return not len(numbers) or bool(low <= numbers.min() and numbers.max() < limit)
        if is_time or not pa.types.is_string(kind):
            return bool(pa.types.is_integer(kind) and not is_time)
        ends = text_bytes(column.chunk(0))[1]
        # A person without a name counts as missing.
        return is_plain(column.chunk(0)) and (
            name != self._roles.respondent or bool((ends[1:] > ends[:-1]).all())
        )
