"""The tables of the page on streams, written from the results between their marks in the page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "stream-experiments.md"
MARKED = re.compile(r"(<!-- table: (?P<name>[a-z-]+) -->\n)[^<]*(<!-- end -->)")
SHOWN = (1, 2, 3, 5, 7, 10)
FATES = ("stayed", "moved", "missing")


def fill(results: dict[str, Any], page: Path = PAGE) -> None:
    """Write every table of the page anew."""
    found = tables(results)
    text = MARKED.sub(lambda mark: f"{mark[1]}\n{found[mark['name']]}\n{mark[3]}", page.read_text("utf-8"))
    page.write_text(text, encoding="utf-8")


def tables(results: dict[str, Any]) -> dict[str, str]:
    """Every table by name, in Markdown."""
    return {
        "eligibility": eligibility(results),
        "streams": streams(results),
        "windows": windows(results),
        "long-windows": long_windows(results),
        "optimum": optimum(results),
        "distances": distances(results),
        "errors": errors(results),
        "options": options(results),
        "posteriors": posteriors(results),
        "posteriors-options": posteriors_by_option(results),
        "again": again(results),
    }


def eligibility(results: dict[str, Any]) -> str:
    rows = results["eligibility"]
    levels = list(rows[0]["not_eligible"])
    return _table(
        ["records a slot", *(f"l = {l}" for l in levels)],
        ([str(row["records"]), *(percent(row["not_eligible"][l]) for l in levels)] for row in rows),
    )


def streams(results: dict[str, Any]) -> str:
    head = ["stream", "what", "records", "slots", "l", "commonest value", "slots not l-eligible", "merge"]
    return _table(
        head,
        (
            [
                name,
                one["words"],
                f"{one['records']:,}",
                f"{one['slots']:,}",
                str(one["l"]),
                percent(one["largest_share"]),
                percent(one["not_eligible"]),
                "none" if one["merge_width"] is None else f"{one['merge_width']:.1f}",
            ]
            for name, one in results["streams"].items()
        ),
        text=2,
    )


def long_windows(results: dict[str, Any]) -> str:
    def cell(one: dict[str, Any]) -> str:
        return f"{percent(one['withheld'])} · {percent(one['moved'])} · {one['mean_distance']:.1f}"

    names = ("w = 7", "w = 30", "w = 100", "no limit")
    rows = ([name, *map(cell, one["long_windows"])] for name, one in results["streams"].items())
    return _table(["stream", *names], rows)


def windows(results: dict[str, Any]) -> str:
    def row(name: str, one: dict[str, Any]) -> list[str]:
        found = {row["window"]: row for row in one["windows"]}
        return [
            name,
            *(percent(found[window]["never"]["withheld"]) for window in SHOWN),
            percent(found[7]["never"]["moved"]),
        ]

    head = ["stream", *(f"w = {window}" for window in SHOWN), "moved at w = 7"]
    return _table(head, (row(*item) for item in results["streams"].items()))


def optimum(results: dict[str, Any]) -> str:
    def row(one: dict[str, Any]) -> list[str]:
        best = one["optimum"]["loss"]
        ways = ("never", "last_chance", "always", "optimum")
        return [
            str(one["window"]),
            *(percent(one[way]["withheld"]) for way in ways),
            *(f"{one[way]['loss'] / best:.2f}" for way in ways[:3]),
        ]

    fillers = ("never", "last_chance", "always")
    head = [
        "w",
        *(f"withheld, filler {filler}" for filler in fillers),
        "withheld, optimum",
        *(f"cost, filler {filler}" for filler in fillers),
    ]
    return _table(head, (row(one) for one in results["optimum"]["windows"]))


def distances(results: dict[str, Any]) -> str:
    def row(name: str, one: dict[str, Any]) -> list[str]:
        found = {int(step): share for step, share in one["distances"].items()}
        far = sum(share for step, share in found.items() if step >= 4)
        plain = one["options"]["plain"]
        return [
            name,
            percent(plain["moved"]),
            *(percent(found.get(step, 0)) for step in (1, 2, 3)),
            percent(far),
            f"{plain['mean_distance']:.2f}",
        ]

    moved = {name: one for name, one in results["streams"].items() if one["distances"]}
    head = ["stream", "moved", "by 1", "by 2", "by 3", "by 4 to 6", "mean"]
    return _table(head, (row(*item) for item in moved.items()))


def errors(results: dict[str, Any]) -> str:
    def row(name: str, one: dict[str, Any]) -> list[str]:
        cells = [name]
        for error in one["errors"]:
            ways = (error[way] for way in ("release", "withholding", "merge"))
            cells.append(" · ".join("none" if share is None else percent(share) for share in ways))
        return cells

    head = ["stream", "1 slot", "5 slots", "20 slots"]
    return _table(head, (row(*item) for item in results["streams"].items()))


def options(results: dict[str, Any]) -> str:
    rows = [
        [
            name,
            option,
            percent(found["withheld"]),
            percent(found["moved"]),
            f"{found['mean_distance']:.2f}",
            *(percent(share) for share in found["errors"]),
        ]
        for name in ("small", "outbreaks", "case reports", "Ebola, district")
        if name in results["streams"]
        for option, found in results["streams"][name]["options"].items()
    ]
    head = ["stream", "option", "withheld", "moved", "mean distance"]
    return _table([*head, *(f"error, {slots}" for slots in ("1 slot", "5 slots", "20 slots"))], rows, text=2)


def posteriors(results: dict[str, Any]) -> str:
    rows = []
    for name, one in results["streams"].items():
        plain = one["options"]["plain"]
        told = plain["true_slot"]
        rows.append(
            [
                name,
                f"{1 / one['l']:.2f}",
                f"{plain['published_slot_worst']:.2f}",
                *(_chance(told[fate]) for fate in FATES),
                percent(told["moved"]["people"] + told["missing"]["people"]),
            ]
        )
    head = ["stream", "1/l", "knows the published slot, worst", *FATES, "people moved or missing"]
    return _table(head, rows)


def posteriors_by_option(results: dict[str, Any]) -> str:
    rows = [
        [name, option, f"{1 / one['l']:.2f}", *(_chance(found["true_slot"][fate]) for fate in FATES)]
        for name, one in results["streams"].items()
        if name in ("small", "case reports", "Ebola, district")
        for option, found in one["options"].items()
    ]
    return _table(["stream", "option", "1/l", *FATES], rows, text=2)


def again(results: dict[str, Any]) -> str:
    found = {name: one["again"] for name, one in results["streams"].items() if one["again"]}
    head = ["stream", "people seen in several slots, always with one value", "pinned down", "mean chance"]
    return _table(
        head,
        (
            [name, f"{one['people']:,}", percent(one["pinned"]), f"{one['mean']:.2f}"]
            for name, one in found.items()
        ),
    )


def _chance(part: dict[str, Any]) -> str:
    return "none" if part["mean"] is None else f"{part['mean']:.2f} ({percent(part['above'])} above)"


def percent(share: float) -> str:
    """A share with as many digits as it deserves.

    >>> [percent(share) for share in (0, 0.00004, 0.0034, 0.037, 0.288, 0.99971, 1.3)]
    ['0 %', 'below 0.01 %', '0.34 %', '3.7 %', '28.8 %', 'above 99.9 %', '130.0 %']
    """
    if share in (0, 1):
        return f"{100 * share:.0f} %"
    if share < 0.00005 or 0.9995 < share < 1:
        return "below 0.01 %" if share < 0.5 else "above 99.9 %"
    return f"{100 * share:.{2 if share < 0.00995 else 1}f} %"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], text: int = 1) -> str:
    """A Markdown table; the first `text` columns are words, the rest numbers."""
    ruler = ["---"] * text + ["--:"] * (len(head) - text)
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ruler, *rows))
