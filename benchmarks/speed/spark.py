"""Counting inside Spark against one `count(distinct)` by day there, in one session of two threads.

Claims: counting people under fifteen granularities takes at most 1.5 times as long as counting them under
one, and moves at most 1.2 times as many bytes between tasks. Both read the same copied columns.

Seconds are by the clock and, so that other work on the machine counts less, of the processor, as Spark states
them for its tasks. Bytes are those that tasks wrote for others to read. Runs alternate, and the least counts.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from typing import Any
from urllib.request import urlopen

import pyarrow.parquet as pq

from benchmarks.speed.whole_catalogue import DUCKDB_GRANULES, ROLES, K, make
from timeveil.calendar.catalogue import resolve
from timeveil.calendar.timeline import Timeline, base_for
from timeveil.engines.spark import SparkEvents
from timeveil.reading.in_place import ClusterRows, read_in_place

ONE = """SELECT count(*) AS n, min(people) AS m FROM (
    SELECT q0, q1, instant div 86400 AS day, count(DISTINCT person) AS people FROM source GROUP BY 1, 2, 3)"""
SETTINGS = {
    "spark.driver.memory": "4g",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "OFF",
    "spark.ui.showConsoleProgress": "false",
}


def run(rows: int, repeat: int) -> dict[str, float]:
    """Seconds and shuffled bytes of both."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(make(rows), f"{folder}/rows.parquet")
        relation = read_in_place(spark.read.parquet(f"{folder}/rows.parquet"), ROLES, "spark")
    assert isinstance(relation.data, ClusterRows)
    cluster, events = relation.data.server, SparkEvents(relation)
    granularities = resolve(list(DUCKDB_GRANULES), relation.clock)
    ticks = base_for(relation.clock, granularities, *events.extent())

    def count() -> None:
        timeline = Timeline(relation.clock, ticks, events.observe(ticks))
        events.tally(timeline, granularities, {}, K)
        for frame in cluster._cached:
            frame.unpersist()

    results: dict[str, float] = {"granularities": len(granularities)}
    works = {"one": lambda: cluster.row(ONE), "all": count}
    for attempt in range(repeat + 1):
        for name, work in works.items():
            before, start = _spent(spark), time.perf_counter()
            work()
            seconds, after = time.perf_counter() - start, _spent(spark)
            measured = {"clock": seconds} | {what: after[what] - before[what] for what in before}
            for what, number in measured.items() if attempt else ():  # the first one compiles
                results[f"{name} {what}"] = min(number, results.get(f"{name} {what}", number))
    spark.stop()
    return results


def _spent(spark: Any) -> dict[str, float]:
    """Seconds of the processor of all tasks so far, and bytes that they have written for others to read."""
    context = spark.sparkContext
    stages = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"
    with urlopen(stages) as answer:  # noqa: S310 (a page of the driver)
        listed = json.load(answer)
    seconds = sum(stage["executorCpuTime"] for stage in listed) / 1e9
    return {"seconds": seconds, "bytes": sum(stage["shuffleWriteBytes"] for stage in listed)}


def table(rows: int, results: dict[str, float]) -> str:
    """The numbers as text."""
    lines = [
        f"Spark, local[2], {rows:,} rows, {results['granularities']:.0f} granularities, 2 quasi-identifiers"
    ]
    for name, words in (("one", "one count(distinct)"), ("all", "all granularities")):
        clock, seconds, moved = (results[f"{name} {what}"] for what in ("clock", "seconds", "bytes"))
        lines.append(f"{words:>34} {clock:>8.2f}s {seconds:>8.2f}s of the processor {moved / 1e6:>8.1f} MB")
    ratios = (results[f"all {what}"] / results[f"one {what}"] for what in ("clock", "seconds", "bytes"))
    lines.append(
        "all / one = {:.2f} by the clock, {:.2f} of the processor, {:.2f} of the bytes".format(*ratios)
    )
    return "\n".join(lines)
