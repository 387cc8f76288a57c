"""The pictures of the page on streams, drawn from the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.experiments.chart import Series, Words, bars, lines
from benchmarks.experiments.chart import short as in_short

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "pictures"
PAYS = ("small", "many values", "CHOP, clinic", "case reports", "Ebola, district", "outbreaks", "too common")
OPTIONS = {
    "plain": "plain",
    "filler last_chance": "filler last_chance",
    "filler always": "filler always",
    "jitter 1": "jitter 1",
    "jitter 2": "jitter 2",
    "filler always, jitter 2": "both (2)",
}


def draw(results: dict[str, Any], folder: Path = FOLDER) -> None:
    """Write every picture whose numbers are there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures(results).items():
        (folder / f"{name}.svg").write_text(picture, encoding="utf-8")


def pictures(results: dict[str, Any]) -> dict[str, str]:
    """Every picture by the name of its file."""
    return {
        "stream-eligibility": eligibility(results),
        "stream-optimum": optimum(results),
        "stream-windows": windows(results),
        "stream-distances": distances(results),
        "stream-errors": errors(results),
        "stream-posteriors": posteriors(results),
    }


def eligibility(results: dict[str, Any]) -> str:
    rows = results["eligibility"]
    series = [Series(f"l = {l}", [row["not_eligible"][l] for row in rows]) for l in rows[0]["not_eligible"]]
    words = Words(
        "How many slots cannot be published as they are",
        "Share of slots that are not l-eligible. 10 values, the commonest 28% of all records.",
        "records in a slot, on average",
        _told(series, [f"{row['records']} records" for row in rows]),
    )
    return lines(words, [str(row["records"]) for row in rows], series, 1.0)


def optimum(results: dict[str, Any]) -> str:
    short = results["optimum"]
    rows = short["windows"]
    named = {"never": "publisher", "always": "publisher, filler", "optimum": "optimum in hindsight"}
    series = [Series("withholding alone", [rows[0]["never"]["withheld"]] * len(rows))]
    series += [Series(name, [row[way]["withheld"] for row in rows]) for way, name in named.items()]
    words = Words(
        "Records withheld, against the best in hindsight",
        f"{short['streams']} streams of {short['slots']} slots, 20 records a slot, l = 3.",
        "window w, in slots",
        _told(series, [f"w = {row['window']}" for row in rows]),
    )
    return lines(words, [str(row["window"]) for row in rows], series, 0.04)


def windows(results: dict[str, Any]) -> str:
    series = []
    for name in (name for name in PAYS if name in results["streams"]):
        found = [row["never"]["withheld"] for row in results["streams"][name]["windows"]]
        series.append(Series(name, [share / found[0] for share in found]))
    words = Words(
        "Where moving pays",
        "Records still withheld, as a share of those that withholding alone (w = 1) withholds.",
        "window w, in slots",
        _told(series, [f"w = {window}" for window in range(1, 11)]),
    )
    return lines(words, [str(window) for window in range(1, 11)], series, 1.0)


def distances(results: dict[str, Any]) -> str:
    names = [
        name
        for name in ("small", "case reports", "Ebola, district", "outbreaks")
        if name in results["streams"]
    ]
    steps = [str(step) for step in range(1, 5)]
    series = [
        Series(name, [results["streams"][name]["distances"].get(step, 0.0) for step in steps])
        for name in names
    ]
    words = Words(
        "How far records are moved",
        "Share of the records that were moved, by distance. Window 7, so at most 6 slots.",
        "slots later than it happened",
        _told(series, [f"by {step}" for step in steps]),
    )
    return bars(words, steps, series, 1.0)


def errors(results: dict[str, Any]) -> str:
    names = [name for name in ("small", "CHOP, clinic") if name in results["streams"]]
    rows = [(name, row) for name in names for row in results["streams"][name]["errors"]]
    groups = [f"{name}: {row['length']}" for name, row in rows]
    ways = {
        "release": "moving (w = 7)",
        "withholding": "withholding alone (w = 1)",
        "merge": "merging snapshots",
    }
    series = [Series(name, [row[way] for _, row in rows]) for way, name in ways.items()]
    words = Words(
        "How far counts are off",
        "Mean relative error of random window counts, by the number of slots in the window.",
        "stream: slots in the window",
        _told(series, groups),
    )
    return bars(words, groups, series, 0.3)


def posteriors(results: dict[str, Any]) -> str:
    options = results["streams"]["small"]["options"]
    series = [
        Series(fate, [options[name]["true_slot"][fate]["mean"] for name in OPTIONS])
        for fate in ("stayed", "moved", "missing")
    ]
    words = Words(
        "What somebody learns who knows when it happened",
        "Mean chance given to a person's true value, by what became of their record. Stream “small”, w = 7.",
        "how it was published",
        _told(series, list(OPTIONS.values())) + " The promise, 1/l, is 33%.",
    )
    return bars(words, list(OPTIONS.values()), series, 1.0, mark=(1 / 3, "1/l"))


def _told(series: list[Series], places: list[str]) -> str:
    """The numbers of a picture in words."""
    said = []
    for one in series:
        numbers = (
            f"{place} {'none' if n is None else in_short(n)}"
            for place, n in zip(places, one.numbers, strict=True)
        )
        said.append(f"{one.name}: {', '.join(numbers)}.")
    return " ".join(said)
