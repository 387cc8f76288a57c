"""A table of Apache Spark, whose rows stay in the cluster: a DataFrame, the name of a table, or a path.

Only the DataFrame and SQL interface is used, so that a session of Spark Connect will do. Columns go by their
position, because Spark does not tell names apart that differ in case alone. Executors copy those that are
needed once, into Parquet files of a private folder that all machines share, so that every statement sees the
same rows; times become whole numbers, which no time zone changes. Its messages quote data and are replaced.
"""

import re
import secrets
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from os import environ
from pathlib import Path
from typing import Any

import pyarrow as pa

from timeveil.domain.stored import PLAIN_PARQUET, Part, PrivateFolder
from timeveil.errors import EngineError, InputError, TimeveilError, raising
from timeveil.reading import part_file
from timeveil.reading.session import Session
from timeveil.reading.times import bounds_of

FOLDER = "spark.timeveil.folder"
"""The setting of a session that names a folder which all machines share."""
_KINDS = {
    "boolean": "bool",
    "tinyint": "int2",
    "smallint": "int2",
    "int": "int4",
    "bigint": "int8",
    "float": "float4",
    "double": "float8",
    "decimal": "decimal",
    **dict.fromkeys(("string", "char", "varchar"), "text"),
    "binary": "bytea",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}
_AGAIN = "and run it again: nothing was published"
_FAILURES: dict[str, Callable[[], TimeveilError]] = {
    r"No space left|ENOSPC|Disk quota|\[Errno 28\]": lambda: EngineError(
        "a disk that Spark writes to is full",
        hint=f"free space there, or set {FOLDER} to another folder, {_AGAIN}",
        code="disk-full",
    ),
    r"Permission denied|AccessControlException|INSUFFICIENT_PERM|\[Errno 13\]": lambda: EngineError(
        "Spark may not read the table, or its executors may not write to the shared folder",
        hint=f"ask for the right to read, and set {FOLDER} to a folder that executors may write to",
        code="no-permission",
    ),
    r"TABLE_OR_VIEW_NOT_FOUND|PATH_NOT_FOUND|SCHEMA_NOT_FOUND": lambda: InputError(
        "Spark has no table or path of that name",
        hint="check its spelling, its catalog and its schema",
        code="file-missing",
    ),
    r"Py4JNetworkError|UNAVAILABLE|Connection refused|SESSION_CLOSED|stopped SparkContext": (
        lambda: EngineError("the connection to Spark was lost", hint=f"check the session, {_AGAIN}")
    ),
}
"""What Spark's own texts about a failure contain, and what is said instead."""


def is_frame(table: object) -> bool:
    """Whether a table is a DataFrame of Spark."""
    return type(table).__module__.startswith("pyspark.") and hasattr(table, "sparkSession")


class Cluster(Session):
    """A session of Spark in which our tables have names of their own; they go with their last user."""

    # Times are whole numbers: milliseconds, or days.
    same = "({0} <=> {1})"
    seconds = "(({0} - pmod({0}, 1000)) div 1000)"
    full_second = "{0} % 1000 = 0"
    days = "CAST({0} AS BIGINT)"
    divided = "{0} div {1}"
    without_nan = "nullif({0}, double('NaN'))"
    record = "struct({})"

    def __init__(self, spark: Any) -> None:
        self.spark, self.source = spark, "staged"
        self._prefix, self._names, self._cached = f"timeveil_{secrets.token_hex(6)}_", set[str](), list[Any]()
        shared = spark.conf.get(FOLDER, None)
        hint = "name a folder that exists, that you may write to and that all machines share"
        error = EngineError(f"no folder can be made in that of {FOLDER}, or of temporary files", hint=hint)
        with raising(error, on=OSError):
            self.folder = PrivateFolder(Path(shared) if shared else None)

    @classmethod
    def of_this_process(cls) -> "Cluster | None":
        """The session that is in use here, if one is."""
        sql = sys.modules.get("pyspark.sql")
        spark = sql.SparkSession.getActiveSession() if sql else None
        return cls(spark) if spark else None

    @property
    def partitions(self) -> int:
        """How many parts the session makes where nothing else is said."""
        return int(self.spark.conf.get("spark.sql.shuffle.partitions", "200"))

    def frame(self, query: str) -> Any:
        """The rows of a query, not yet computed; our names in it become those of the session."""
        if self._names:
            names = "|".join(sorted(self._names, key=len, reverse=True))
            query = re.sub(rf"\b({names})\b(?!\()", rf"{self._prefix}\1", query)
        return self.spark.sql(query)

    def define(self, name: str, rows: Any, *, computed_once: bool = False) -> None:
        """Name the rows of a query or a DataFrame."""
        with self.explained():
            frame = self.frame(rows) if isinstance(rows, str) else rows
            if computed_once:
                frame = frame.persist()
                self._cached.append(frame)
            frame.createOrReplaceTempView(self._prefix + name)
        self._names.add(name)

    def keep(self, name: str, query: str) -> None:
        self.define(name, query, computed_once=True)

    def view(self, name: str, query: str) -> None:
        self.define(name, query)

    def name_stored(self, name: str, table: Any, columns: Mapping[str, str]) -> None:
        whole = {"timestamp": "bigint", "timestamp_ntz": "bigint", "date": "int"}
        files = [path.as_uri() for path in table.files]
        with self.explained():
            fields = self.spark.read.parquet(*files).schema.fields
            quoted = {field.name: f"`{field.name.replace('`', '``')}`" for field in fields}
            kinds = (field.dataType.simpleString() for field in fields)
            stored = zip(quoted.values(), (whole.get(kind, kind) for kind in kinds), strict=True)
            rows = self.spark.read.schema(", ".join(map(" ".join, stored))).parquet(*files)
            rows = rows.selectExpr(
                *(f"{quoted[column]} AS {alias}" for alias, column in columns.items()),
                # Of a file that is alone there is no number.
                "try_cast(regexp_extract(_metadata.file_name, 'part-([0-9]+)', 1) AS INT) AS file_number",
                "_metadata.row_index AS at_row",
            )
        self.define(name, rows)

    def batches(self, query: str) -> Iterator[pa.Table]:
        with self.explained():
            table = self.frame(query).toArrow()
        yield table

    def upload(self, name: str, table: pa.Table) -> None:
        """Name the rows of a lookup table, which every executor gets whole; times as whole numbers."""
        for position, field in enumerate(table.schema):
            if pa.types.is_timestamp(field.type) or pa.types.is_date32(field.type):
                number = pa.int64() if pa.types.is_timestamp(field.type) else pa.int32()
                table = table.set_column(position, field.name, table[position].cast(number))
        with self.explained():
            self.define(name, self.spark.createDataFrame(table).hint("broadcast"))

    def write(self, rows: Any, name: str, schema: pa.Schema | None = None) -> list[Part]:
        """Let the executors write rows as files of a new folder, in the order of partitions.

        Each task writes a file of its own and reports it; what a task that was lost has left is not listed.
        """
        folder = self.folder.path / name
        with self.explained(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            folder.mkdir(mode=0o700)
            frame = self.frame(rows) if isinstance(rows, str) else rows
            write, options = part_file.write_part, (str(folder), schema, PLAIN_PARQUET)
            import_module("pyspark.cloudpickle").register_pickle_by_value(part_file)
            written = frame.mapInArrow(lambda rows: write(rows, *options), part_file.REPORT).toArrow()
        lines = sorted(zip(*written.to_pydict().values(), strict=True))
        parts = [Part(folder / file, rows, sha256) for _, file, rows, sha256 in lines]
        if not all(part.path.is_file() for part in parts):
            message = "the executors of Spark write to disks that this machine does not see"
            hint = f"set {FOLDER} in the session to a folder that all machines share"
            raise EngineError(message, hint=hint)
        return parts

    def files(self, parts: Sequence[Part]) -> Any:
        with self.explained():
            return self.spark.read.parquet(*(part.path.as_uri() for part in parts))

    def forget(self) -> None:
        for frame in self._cached:
            with suppress(Exception):
                frame.unpersist()
        for name in self._names:
            with suppress(Exception):
                self.spark.catalog.dropTempView(self._prefix + name)
        self._cached, self._names = [], set()

    def explained(self) -> raising:
        """A block in which errors of Spark are replaced and leave no trace."""
        return raising(self._failure, on=Exception)

    def _failure(self, cause: Exception) -> Exception:
        if isinstance(cause, TimeveilError | MemoryError):
            return cause
        text = f"{type(cause).__name__} {cause}"
        for pattern, error in _FAILURES.items():
            if re.search(pattern, text):
                return error()
        return EngineError("Spark could not finish", hint="look for the reason in the log of Spark")


def numbered(frame: Any) -> Any:
    """The rows of a DataFrame, its columns named by their position: `c0`, `c1` …"""
    return frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))


def _session() -> Any:
    """The session there is, or one by the settings of the system."""
    message, hint = "tables of Spark are read with PySpark, which is missing", "pip install timeveil[spark]"
    with raising(InputError(message, hint=f"install it with `{hint}`"), on=ImportError):
        sql = import_module("pyspark.sql")
    # Else executors here take the first Python of the system.
    environ.setdefault("PYSPARK_PYTHON", sys.executable)
    hint = "check the settings of Spark, and that Java is installed"
    with raising(EngineError("no session of Spark could be started", hint=hint), on=Exception):
        return sql.SparkSession.builder.getOrCreate()


class SparkTable:
    """A DataFrame, a table or a path; its columns are copied when `stage` is called."""

    site = "Spark"

    def __init__(self, table: Any) -> None:
        self.frame = table
        self.name: str | None = None
        if is_frame(table):
            self.server = Cluster(self.frame.sparkSession)
        else:
            self._open(str(table))
        with self.server.explained():
            kinds = {field.name: field.dataType.simpleString() for field in self.frame.schema.fields}
            self.names = tuple(field.name for field in self.frame.schema.fields)
        # Other kinds have an underscore, as lists do in PostgreSQL; the digits of a decimal do not matter.
        names = {name: re.sub(r"^(decimal|char|varchar)\b.*", r"\1", kind) for name, kind in kinds.items()}
        self.kinds = {name: _KINDS.get(kind, f"_{kinds[name]}") for name, kind in names.items()}
        self._stored: dict[str, str] = {}

    def _open(self, name: str) -> None:
        """Open a table by its name, or files by their path, which has a slash or an ending of files."""
        if name.lower().endswith((".csv", ".txt", ".tsv", ".xlsx", ".json")):
            message = "Spark guesses the types of a text file, and would read a postcode as a number"
            hint = "give a DataFrame that was read with a schema: spark.read.csv(path, schema=...)"
            raise InputError(message, hint=hint)
        self.name = Path(name).name
        self.server = Cluster(spark := _session())
        with self.server.explained():
            is_path = "/" in name or name.endswith((".parquet", ".orc")) or Path(name).exists()
            if is_path and "`" not in name:
                self.frame = spark.read.format("orc" if name.endswith(".orc") else "parquet").load(name)
            else:
                self.frame = spark.table(name)

    def stage(self, columns: Sequence[str]) -> None:
        """Copy some columns into the shared folder, without moving a row between executors."""
        for name in columns:
            if self.kinds[name].startswith("_"):
                message = f"column `{name}` has the type {self.kinds[name][1:]}, which cannot be counted"
                raise InputError(message, hint="give it no role, or make plain columns of it")
        with self.server.explained():
            self._stored = {name: f"c{self.names.index(name)}" for name in columns}
            needed = numbered(self.frame).select(*self._stored.values())
            self._empty = needed.limit(0).toArrow()
        self.parts = self.server.write(needed, "staged")
        if self.parts:
            self.server.define("staged", self.server.files(self.parts))
        else:
            self.server.upload("staged", self._empty)

    def empty(self, columns: Sequence[str]) -> pa.Table:
        kinds = (self._empty.schema.field(self._stored[name]).type for name in columns)
        plain = (pa.timestamp("us", "UTC") if getattr(kind, "tz", None) else kind for kind in kinds)
        return pa.schema(list(zip(columns, plain, strict=True))).empty_table()

    def expression(self, column: str) -> str:
        return self._stored[column]

    def is_text(self, column: str) -> bool:
        return self.kinds[column] == "text"

    def in_type(self, _: str, expression: str, kind: pa.DataType) -> str:
        """A time as whole numbers of the unit of its type: they were copied in microseconds."""
        size = {"ms": 1_000, "s": 1_000_000}.get(getattr(kind, "unit", ""), 1)
        return expression if size == 1 else f"(({expression} - pmod({expression}, {size})) div {size})"

    def is_unlike(self, expression: str, pattern: str) -> str:
        # In Java, $ is also true ahead of a line break that ends a text.
        return f"NOT ({expression} RLIKE {self.text(pattern.removesuffix('$') + chr(92) + 'z')})"

    def text(self, value: str) -> str:
        """A text as SQL writes it, whatever the session takes a backslash for."""
        return f"decode(unhex('{value.encode().hex()}'), 'UTF-8')"

    def outside(self, column: str, expression: str, zone: str | None) -> str:
        if self.kinds[column] == "date":
            return f"{expression} NOT BETWEEN -719162 AND 2932896"
        low, limit = bounds_of(zone if self.kinds[column] == "timestamptz" else None)
        return f"({expression} < {low * 1000} OR {expression} >= {limit * 1000})"
