"""The tables of the page on closed packets, written from the results between their marks in the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.experiments.tables import FATES, MARKED, percent

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "packets-experiments.md"
LENGTHS = ("1 slot", "5 slots", "20 slots")


def fill(results: dict[str, Any], page: Path = PAGE) -> None:
    """Write every table of the page anew."""
    found = tables(results)
    text = MARKED.sub(lambda mark: f"{mark[1]}\n{found[mark['name']]}\n{mark[3]}", page.read_text("utf-8"))
    page.write_text(text, encoding="utf-8")


def tables(results: dict[str, Any]) -> dict[str, str]:
    """Every table by name, in Markdown."""
    return {
        "streams": streams(results),
        "costs": costs(results),
        "floor": floor(results),
        "posteriors": posteriors(results),
        "errors": errors(results),
    }


def streams(results: dict[str, Any]) -> str:
    head = ["stream", "what", "records", "slots", "l", "w", "commonest value", "slots not l-eligible"]
    rows = (
        [
            name,
            one["words"],
            f"{one['records']:,}",
            f"{one['slots']:,}",
            str(one["l"]),
            str(one["window"]),
            percent(one["largest_share"]),
            percent(one["not_eligible"]),
        ]
        for name, one in results["streams"].items()
    )
    return _table(head, rows, text=2)


def costs(results: dict[str, Any]) -> str:
    head = ["stream", "published by", "withheld", "moved", "mean delay", "bound", "above it"]
    rows = (
        [
            stream,
            way,
            percent(found["withheld"]),
            percent(found["moved"]),
            f"{found['delay']:.2f}",
            f"1/{found['size']}" if found["packets"] else "none",
            percent(found["everyone"]["above_size"]),
        ]
        for stream, way, found in _all(results)
    )
    return _table(head, rows, text=2)


def floor(results: dict[str, Any]) -> str:
    head = ["stream", "published by", "left their slot", "must leave", "ratio", "in smaller packets"]
    rows = (
        [
            stream,
            way,
            percent(found["packets"]["left"]),
            percent(found["packets"]["least"]),
            f"{found['packets']['left'] / max(found['packets']['least'], 1e-9):.2f}",
            percent(found["packets"]["below"]),
        ]
        for stream, way, found in _all(results)
        if found["packets"]
    )
    return _table(head, rows, text=2)


def posteriors(results: dict[str, Any]) -> str:
    head = ["stream", "published by", *(f"{fate}: mean, worst, above" for fate in FATES)]
    rows = (
        [stream, way, *(_chances(found["parts"][fate]) for fate in FATES)]
        for stream, way, found in _all(results)
    )
    return _table(head, rows, text=2)


def errors(results: dict[str, Any]) -> str:
    rows = []
    for stream, one in results["streams"].items():
        rows += [[stream, way, *map(percent, found["errors"])] for way, found in one["ways"].items()]
        merge = ["none" if error is None else percent(error) for error in one["merge"]]
        width = "" if one["merge_width"] is None else f", {one['merge_width']:.1f} slots on average"
        rows.append([stream, f"merging{width}", *merge])
    return _table(["stream", "published by", *LENGTHS], rows, text=2)


def _all(results: dict[str, Any]) -> Iterable[tuple[str, str, dict[str, Any]]]:
    for stream, one in results["streams"].items():
        for way, found in one["ways"].items():
            yield stream, way, found


def _chances(part: dict[str, Any]) -> str:
    if part["mean"] is None:
        return "nobody"
    return f"{part['mean']:.2f}, {part['worst']:.2f}, {percent(part['above_size'])}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], text: int) -> str:
    """A Markdown table; the first `text` columns are words, the rest numbers."""
    ruler = ["---"] * text + ["--:"] * (len(head) - text)
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ruler, *rows))
