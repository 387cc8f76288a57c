"""`make bench`: run the benchmarks and print their tables."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.speed import whole_catalogue


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--repeat", type=int, default=3, help="runs of each; the fastest counts")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    arguments = parser.parse_args()
    results = whole_catalogue.run(arguments.rows, arguments.repeat)
    print(whole_catalogue.table(results))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
