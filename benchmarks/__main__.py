"""`make bench`: run the benchmarks and print their tables."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.speed import (
    end_to_end,
    endless,
    local,
    patterns,
    postgres,
    series,
    spark,
    stream,
    whole_catalogue,
)

NAMES = ("commands", "catalogue", "local", "stream", "endless", "series", "patterns", "postgres", "spark")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", choices=NAMES, help="one of the benchmarks instead of all")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--file-rows", type=int, default=3_000_000, help="rows of the file for commands")
    parser.add_argument("--longest", type=int, default=10_000_000, help="records of the longest stream")
    parser.add_argument("--slots", type=int, default=20_000, help="slots of the stream without end")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each; the fastest counts")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    if arguments.only in (None, "commands"):
        results["commands"] = end_to_end.run(arguments.file_rows, arguments.repeat)
        print(end_to_end.table(arguments.file_rows, results["commands"]))
    if arguments.only in (None, "catalogue"):
        results["catalogue"] = whole_catalogue.run(arguments.rows, arguments.repeat)
        print(whole_catalogue.table(results["catalogue"]))
    if arguments.only in (None, "local"):
        results["local"] = local.run(arguments.rows, arguments.repeat)
        print(local.table(results["local"]))
    if arguments.only in (None, "stream"):
        results["stream"] = stream.run(arguments.rows, arguments.repeat)
        results["stream_growth"] = stream.growth(lengths(arguments.longest))
        print(stream.table(results["stream"], results["stream_growth"]))
    if arguments.only in (None, "endless"):
        results["endless"] = {
            "pushed": endless.pushed(arguments.slots),
            "in service": endless.in_service(arguments.slots // 10),
        }
        print(endless.table(results["endless"]))
    if arguments.only in (None, "series"):
        results["series"] = series.run(series.SIZES, arguments.repeat)
        results["series_first_job"] = series.first_job()
        print(series.table(results["series"], results["series_first_job"]))
    if arguments.only in (None, "patterns"):
        results["patterns"] = patterns.run(100_000, arguments.repeat)
        print(patterns.table(results["patterns"]))
    if arguments.only in (None, "postgres"):
        results["postgres"] = postgres.run(arguments.rows[0], arguments.repeat)
        print(postgres.table(arguments.rows[0], results["postgres"]))
    if arguments.only == "spark":  # where Java and PySpark are
        results["spark"] = spark.run(arguments.rows[0], arguments.repeat)
        print(spark.table(arguments.rows[0], results["spark"]))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def lengths(longest: int) -> list[int]:
    """A hundredth, a tenth and all of the longest."""
    return [max(longest // part, 1000) for part in (100, 10, 1)]


if __name__ == "__main__":
    main()
