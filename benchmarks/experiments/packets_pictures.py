"""The pictures of the page on closed packets, drawn from the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.experiments.chart import Series, Words, bars
from benchmarks.experiments.chart import short as in_short

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "pictures"
STREAM = "50 records"
SHORT = {"CHOP, clinic": "CHOP", "Ebola, district by week": "Ebola, weeks"}
SHOWN = ("50 records", "100 records", "20 records", "l = 3", "CHOP, clinic", "Ebola, district by week")


def draw(results: dict[str, Any], folder: Path = FOLDER) -> None:
    """Write every picture."""
    for name, picture in pictures(results).items():
        (folder / f"{name}.svg").write_text(picture, encoding="utf-8")


def pictures(results: dict[str, Any]) -> dict[str, str]:
    """Every picture by the name of its file."""
    return {
        "packets-posteriors": posteriors(results),
        "packets-left": left(results),
        "packets-errors": errors(results),
    }


def posteriors(results: dict[str, Any]) -> str:
    ways = results["streams"][STREAM]["ways"]
    series = [
        Series(fate, [found["parts"][fate]["mean"] for found in ways.values()])
        for fate in ("stayed", "moved", "missing")
    ]
    words = Words(
        "What somebody learns who knows when it happened",
        "Mean chance given to a true value, by what became of the record. 50 records a slot, l = 4.",
        "how it was published",
        _told(series, list(ways)) + " Promised with packets of 3: 33%.",
    )
    places = [way.replace("quiet, packets of", "quiet,") for way in ways]
    return bars(words, places, series, 1.0, mark=(1 / 3, "1/3"))


def left(results: dict[str, Any]) -> str:
    """Who leaves their slot: by the paper's method, in packets of l - 1, and at the least."""
    names = [name for name in SHOWN if name in results["streams"]]
    plain, packets, least = [], [], []
    for name in names:
        one = results["streams"][name]
        found = one["ways"][f"packets of {one['l'] - 1}"]
        plain.append(one["ways"]["plain"]["moved"] + one["ways"]["plain"]["withheld"])
        packets.append(found["packets"]["left"])
        least.append(found["packets"]["least"])
    series = [
        Series("the paper's method", plain),
        Series("packets of l - 1", packets),
        Series("at the least, for packets", least),
    ]
    words = Words(
        "How many records leave their slot",
        "Records moved or withheld, as a share of all.",
        "stream",
        _told(series, names),
    )
    return bars(words, [SHORT.get(name, name) for name in names], series, 0.5)


def errors(results: dict[str, Any]) -> str:
    one = results["streams"][STREAM]
    lengths = ["1 slot", "5 slots", "20 slots"]
    series = [Series(way, found["errors"]) for way, found in one["ways"].items()]
    series.append(Series("merging", one["merge"]))
    words = Words(
        "How far counts are off",
        "Mean relative error of random window counts. 50 records a slot, l = 4.",
        "slots in the window",
        _told(series, lengths),
    )
    return bars(words, lengths, series, 0.5)


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
