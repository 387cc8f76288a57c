"""One Spark session for all tests of a run: two executors in processes of their own, where Java is found.

Mark a test with `@needs_spark` and call `session()` in it. Such tests run first and in one process, so that
one session serves them all. `TIMEVEIL_SPARK` has another master (`local[2]`), or the address of a server
(`sc://localhost:50051`; that of Sail ends in `/;user_id=sail`). With `TIMEVEIL_NO_SKIPS` none may be left
out.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
from functools import cache
from importlib.util import find_spec
from typing import Any

import pyarrow as pa
import pytest

WHERE = os.environ.get("TIMEVEIL_SPARK", "local-cluster[2,1,1024]")
IS_REMOTE = WHERE.startswith("sc://")
_NEEDED = {"java": IS_REMOTE or shutil.which("java"), "pyspark": find_spec("pyspark")}
LEFT_OUT = " and ".join(name for name, is_there in _NEEDED.items() if not is_there)
REASON = f"LEFT OUT: Spark is not tested without {LEFT_OUT}"
ALL = bool(os.environ.get("TIMEVEIL_NO_SKIPS"))
if LEFT_OUT and ALL:
    raise RuntimeError(REASON)

MARKS = (pytest.mark.spark, pytest.mark.skipif(bool(LEFT_OUT), reason=REASON))
"""The marks of a test that asks for a session, as `pytest.param` takes them."""

# Small tables: compiling a statement and starting a task take longer than running it.
_SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.log.level": "OFF",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": _SMALL,
    "spark.executor.extraJavaOptions": _SMALL,
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}


def needs_spark(test: Any) -> Any:
    for mark in MARKS:
        test = mark(test)
    return test


@cache
def session() -> Any:
    """The session of this test run, started when first asked for."""
    from pyspark.sql import SparkSession

    if IS_REMOTE:
        spark = SparkSession.builder.remote(WHERE).getOrCreate()
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        if "sail" in WHERE:
            _write_one_part()
        return spark
    os.environ["PYSPARK_PYTHON"] = sys.executable  # executors would take the first python of the system
    builder = SparkSession.builder.master(WHERE).appName("tests of timeveil")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    atexit.register(spark.stop)
    return spark


def _write_one_part() -> None:
    """Sail forgets a sort ahead of a function, and does not number its tasks: one task gets rows in order."""
    from timeveil.reading.spark import Cluster

    real = Cluster.write

    def write(self: Cluster, rows: Any, name: str, schema: pa.Schema | None = None) -> Any:
        frame = self.frame(rows) if isinstance(rows, str) else rows
        ordered = self.spark.createDataFrame(frame.toArrow()).coalesce(1)
        return real(self, ordered, name, schema)

    Cluster.write = write  # type: ignore[method-assign]


def frame(table: pa.Table) -> Any:
    """A DataFrame with the rows and types of a table; times without a zone stay without one."""
    made = {True: "timestamp_micros({})", False: "CAST(timestamp_micros({}) AS TIMESTAMP_NTZ)"}
    columns, expressions = list[Any](), list[str]()
    for number, column in enumerate(table.columns):
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        columns.append(column.cast(kind))
        expressions.append(f"c{number}")
        if pa.types.is_timestamp(kind):
            columns[-1] = columns[-1].cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
            expressions[-1] = made[kind.tz is not None].format(f"c{number}")
    plain = pa.table(columns, [f"c{number}" for number in range(len(columns))])
    return session().createDataFrame(plain).selectExpr(*expressions).toDF(*table.column_names)
