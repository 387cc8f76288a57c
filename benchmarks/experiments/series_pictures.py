"""The pictures of the page on series, drawn from the results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.experiments.chart import Words
from benchmarks.experiments.panels import Curve, Panel, panels

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "pictures"
STYLE = {
    "Naive": 0,
    "KAPRA": 1,
    "adaptive 2": 3,
    "adaptive 10": 4,
    "adaptive 50": 5,
    "adaptive 200": 6,
    "representative 10": 7,
    "Naive, top-down": 8,
    "TGA": 9,
    "BFP2KA": 10,
    "adaptive 50, effort 0": 11,
}
TUNED = ("Walk", "Motion by channel, moving", "ICU", "CDNOW")
OTHERS = ("String", "Uniform", "Motion", "Motion as String")
MOTIONS = ("Motion", "Motion, moving", "Motion by channel")
METRICS = {
    "PL": "pattern loss",
    "psq_precision": "PSQ precision, own tol.",
    "psq_precision_one": "PSQ precision, one tol.",
    "prq_precision": "PRQ precision",
    "prq_error": "PRQ error",
    "range_error": "range error",
    "complex_error": "complex error",
}
SHORT = {"Motion by channel, moving": "Motion"}


def draw(results: dict[str, Any], folder: Path = FOLDER) -> None:
    """Write every picture whose numbers are there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures(results).items():
        (folder / f"{name}.svg").write_text(picture, encoding="utf-8")


def pictures(results: dict[str, Any]) -> dict[str, str]:
    """Every picture by the name of its file."""
    sets = results["sets"]
    return {
        "series-tuning-p": tuning(sets, "p", TUNED),
        "series-tuning-k": tuning(sets, "k", TUNED),
        "series-tuning-p-others": tuning(sets, "p", OTHERS),
        "series-tuning-k-others": tuning(sets, "k", OTHERS),
        "series-questions-paper": questions(sets, ("Walk", "String", "Uniform"), "the generated sets"),
        "series-questions-real": questions(sets, TUNED[1:], "real data, Motion by channel, moving"),
        "series-questions-motion": questions(sets, MOTIONS, "Motion, moving or not, scaled or not"),
        "series-front": front(sets),
        "series-time": times(sets),
        "series-customized": customized(sets),
    }


def tuning(sets: dict[str, Any], varied: str, names: Sequence[str]) -> str:
    fixed = {"p": ("k", 10), "k": ("p", 5)}[varied]
    plots = []
    for metric, word in (("VL", "value loss"), ("PL", "pattern loss")):
        for name in _there(sets, names):
            rows = sorted(
                (row for row in sets[name]["sweep"] if row[fixed[0]] == fixed[1]), key=lambda row: row[varied]
            )
            curves = _curves(rows, varied, metric, [method for method in STYLE if STYLE[method] < 8])
            ticks = [row[varied] for row in rows]
            title = f"{SHORT.get(name, name)}: {word}"
            plots.append(
                Panel(title, varied.upper() if varied == "p" else "k", curves, log_x=True, ticks=ticks)
            )
    letter, other = ("P", "k = 10") if varied == "p" else ("k", "P = 5")
    note = " Motion is by channel, moving." if "Motion by channel, moving" in names else ""
    words = Words(f"Losses by {letter}", f"{other}. Means per published series.{note}", letter, _told(plots))
    return panels(words, plots, len(plots) // 2)


def questions(sets: dict[str, Any], names: Sequence[str], where: str) -> str:
    plots = []
    there = _there(sets, names)
    for metric, word in METRICS.items():
        for name in there:
            rows = sorted(
                (row for row in sets[name]["sweep"] if row["k"] == row["p"]), key=lambda row: row["k"]
            )
            methods = [method for method in STYLE if method in rows[0]["methods"]]
            curves = _curves(rows, "k", metric, methods)
            ticks = [row["k"] for row in rows]
            title = f"{SHORT.get(name, name)}: {word}"
            plots.append(Panel(title, "k = P", curves, log_x=True, ticks=ticks))
    words = Words(
        f"Pattern loss and answers to questions on {where}",
        "k = P: all methods protect alike. High precision and low errors are good. Tol.: tolerance.",
        "k = P",
        _told(plots),
    )
    return panels(words, plots, len(there))


def front(sets: dict[str, Any]) -> str:
    plots = []
    for name in _there(sets, TUNED):
        one = sets[name]
        curves = [Curve("adaptive, weight 0 to 1,000", 5, [(row["VL"], row["PL"]) for row in one["front"]])]
        for method in ("Naive", "KAPRA", "representative 10"):
            found = one["losses"][method]
            curves.append(Curve(method, STYLE[method], [(found["VL"], found["PL"])]))
        plots.append(Panel(SHORT.get(name, name), "value loss", curves, log_x=True, log_y=True))
    words = Words(
        "What the shape weight trades",
        "Pattern loss (up) by value loss, k = 10, P = 5, logarithmic; down, left is better. Motion: moving.",
        "value loss",
        _told(plots),
    )
    return panels(words, plots, 2)


def times(sets: dict[str, Any]) -> str:
    plots = []
    for name in _there(sets, ("Uniform", "Motion, large")):
        rows = sets[name]["timed"]
        curves = [
            Curve(
                method,
                style,
                [(row["rows"], row["seconds"][method]) for row in rows if method in row["seconds"]],
            )
            for method, style in STYLE.items()
            if any(row["seconds"].get(method, 0) > 0 for row in rows)
        ]
        ticks = [row["rows"] for row in rows]
        plots.append(Panel(name, "series", curves, log_x=True, log_y=True, ticks=ticks))
    words = Words(
        "Time by the number of series",
        "Processor seconds at k = P = 10, both axes logarithmic.",
        "series",
        _told(plots),
    )
    return panels(words, plots, len(plots))


def customized(sets: dict[str, Any]) -> str:
    metrics = {
        "width": "width of estimated ranges",
        "symbols_right": "symbols estimated right",
        "psq_precision": "PSQ precision, own tolerance",
        "psq_precision_one": "PSQ precision, one tolerance",
        "prq_precision": "PRQ precision",
        "range_error": "range error",
    }
    name = "Walk"
    plots = []
    for metric, word in metrics.items():
        curves = [
            Curve(
                method,
                STYLE[method],
                [(100 * row["share"], row[metric]) for row in rows if row[metric] is not None],
            )
            for method, rows in sets[name]["customized"].items()
        ]
        plots.append(Panel(word, "% of instants with both", curves, ticks=(20, 40, 60, 80, 100)))
    words = Words(
        "Customised publishing of Walk",
        "By the share of instants with values and pattern; k = 10, P = 3. Width: share of the values' range.",
        "share",
        _told(plots),
    )
    return panels(words, plots, 3)


def _curves(rows: Sequence[dict[str, Any]], x: str, metric: str, methods: Sequence[str]) -> list[Curve]:
    found = []
    for method in methods:
        points = [
            (row[x], row["methods"][method][metric])
            for row in rows
            if row["methods"].get(method, {}).get(metric) is not None
        ]
        if points:
            found.append(Curve(method, STYLE[method], points))
    return found


def _there(sets: dict[str, Any], names: Sequence[str]) -> list[str]:
    return [name for name in names if name in sets]


def _told(plots: Sequence[Panel]) -> str:
    """The numbers of a picture in words."""
    return " ".join(_said(plot) for plot in plots)


def _said(plot: Panel) -> str:
    def parts() -> Iterator[str]:
        for curve in plot.curves:
            points = ", ".join(f"{y:.3g} at {x:g}" for x, y in curve.points)
            yield f"{curve.name}: {points}"

    return f"{plot.title}. {'; '.join(parts())}."
