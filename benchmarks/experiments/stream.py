"""`python -m benchmarks.experiments.stream`: what publishing a stream costs, and what it still tells.

Writes `results/stream.json`, the tables of `docs/explanation/stream-experiments.md` and its pictures. The two
public data sets are given by path and are not part of the project; without them their results stay.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from pathlib import Path
from typing import Any

import timeveil as tv
from benchmarks.experiments.runs import against_optimum, eligibility, study
from benchmarks.experiments.streams import Source, chop, ebola, generated

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "stream.json"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiments.stream", description=__doc__)
    parser.add_argument("--chop", type=Path, help="Parquet file of the CHOP COVID-19 tests")
    parser.add_argument("--ebola", type=Path, help="Parquet file of the Ebola cases of Sierra Leone")
    parser.add_argument("--slots", type=int, default=2000, help="slots of each generated stream")
    parser.add_argument("--questions", type=int, default=1000, help="windows asked for, per length")
    parser.add_argument(
        "--draw-only", action="store_true", help="tables and pictures from the results there are"
    )
    arguments = parser.parse_args()
    if not arguments.draw_only:
        found = run(
            generated(arguments.slots, seed=1) + real(arguments), arguments.slots, arguments.questions
        )
        RESULTS.write_text(written(merged(found)), encoding="utf-8")
    show()


def run(
    sources: list[Source], slots: int, questions: int, streams: int = 8, short: int = 40
) -> dict[str, Any]:
    """All experiments; `streams` short ones, of `short` slots each, are also solved exactly."""
    begin = time.perf_counter()
    found: dict[str, Any] = {
        "tool": tv.__version__,
        "generated_slots": slots,
        "questions": questions,
        "eligibility": eligibility(slots),
        "optimum": {"streams": streams, "slots": short, "windows": against_optimum(streams, short)},
        "streams": {},
    }
    for source in sources:
        found["streams"][source.name] = study(source, questions)
        print(f"{time.perf_counter() - begin:6.1f} s  {source.name}")
    return found


def real(arguments: argparse.Namespace) -> list[Source]:
    found: list[Source] = []
    for path, sources in ((arguments.chop, chop), (arguments.ebola, ebola)):
        if path is not None and path.exists():
            found += sources(path)
        elif path is not None:
            print(f"{path} is not there: skipped")
    return found


def merged(found: dict[str, Any]) -> dict[str, Any]:
    """New results over those there are, so that public data that was not given keeps its own."""
    before = json.loads(RESULTS.read_text("utf-8"))["streams"] if RESULTS.exists() else {}
    return {**found, "streams": {**before, **found["streams"]}}


def written(results: dict[str, Any]) -> str:
    """JSON with one line for each innermost object."""
    text = json.dumps(results, indent=1)
    return re.sub(r"[{\[][^{}\[\]]*[}\]]", lambda part: " ".join(part[0].split()), text) + "\n"


def show() -> None:
    from benchmarks.experiments.pictures import draw
    from benchmarks.experiments.tables import fill

    results = json.loads(RESULTS.read_text("utf-8"))
    fill(results)
    draw(results)


if __name__ == "__main__":
    main()
