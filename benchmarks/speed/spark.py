"""Counting inside Spark against one `count(distinct)` by day there, in one session of two threads.

Claims: counting people under fifteen granularities takes at most 1.5 times as long as counting them under
one, and moves at most 1.2 times as many bytes between tasks. Both read the same copied columns. Runs
alternate, and the fastest of each counts. Bytes are what Spark itself states for the shuffles of a run.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any
from urllib.request import urlopen

from benchmarks.speed.whole_catalogue import DUCKDB_GRANULES, ROLES, K, make
from timeveil.calendar.catalogue import resolve
from timeveil.calendar.timeline import Timeline, base_for
from timeveil.engines.spark import SparkEvents
from timeveil.reading.in_place import ClusterRows, read_in_place

ONE = """SELECT count(*) AS n, min(people) AS m FROM (
    SELECT q0, q1, instant div 86400 AS day, count(DISTINCT person) AS people FROM source GROUP BY 1, 2, 3)"""


def run(rows: int, repeat: int) -> dict[str, float]:
    """Seconds and shuffled bytes of both."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g")
    builder = builder.config("spark.sql.shuffle.partitions", "8").config("spark.log.level", "OFF")
    spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    relation = read_in_place(spark.createDataFrame(make(rows)), ROLES, "spark")
    assert isinstance(relation.data, ClusterRows)
    cluster, events = relation.data.cluster, SparkEvents(relation)
    granularities = resolve(list(DUCKDB_GRANULES), relation.clock)
    ticks = base_for(relation.clock, granularities, *events.extent())

    def count() -> None:
        events.observe(ticks)
        events.tally(Timeline(relation.clock, ticks, events._granules), granularities, {}, K)
        for frame in cluster._cached:
            frame.unpersist()

    results: dict[str, float] = {}
    for _ in range(repeat + 1):  # the first one compiles
        for name, work in {"one": lambda: cluster.row(ONE), "all": count}.items():
            before, start = _shuffled(spark), time.perf_counter()
            work()
            seconds, moved = time.perf_counter() - start, _shuffled(spark) - before
            results[name] = min(seconds, results.get(name, seconds))
            results[f"{name} bytes"] = moved
    results |= {"granularities": len(granularities), "rows": rows}
    spark.stop()
    return results


def _shuffled(spark: Any) -> int:
    """Bytes that all stages so far have written for others to read."""
    context = spark.sparkContext
    stages = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"
    with urlopen(stages) as answer:  # noqa: S310 a page of the driver
        return sum(stage["shuffleWriteBytes"] for stage in json.load(answer))


def table(rows: int, results: dict[str, float]) -> str:
    """What `python -m benchmarks` prints."""
    wall, moved = results["all"] / results["one"], results["all bytes"] / results["one bytes"]
    return (
        f"Spark, {rows:,} rows, {results['granularities']:.0f} granularities: {results['all']:.1f} s and "
        f"{results['all bytes'] / 1e6:.1f} MB shuffled; one count(distinct) by day "
        f"{results['one']:.1f} s and "
        f"{results['one bytes'] / 1e6:.1f} MB: {wall:.2f} times as long, {moved:.2f} times the bytes"
    )
