"""The tables and pictures of the page on patterns, made from the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.experiments.chart import Words
from benchmarks.experiments.panels import Curve, Panel, panels
from benchmarks.experiments.patterns import METHODS, RATIOS
from benchmarks.experiments.series_pictures import FOLDER
from benchmarks.experiments.tables import MARKED, _table, percent

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "patterns-experiments.md"
ADDING = METHODS[:3]
STYLE = {"additive": 5, "tight": 3, "clone": 7, "suppressive": 1, "itemset": 2}
ORDER = ("Walk", "Motion", "mushroom", "chess")


def fill(results: dict[str, Any], page: Path = PAGE) -> None:
    """Write every table of the page anew."""
    found = tables(results)
    text = MARKED.sub(lambda mark: f"{mark[1]}\n{found[mark['name']]}\n{mark[3]}", page.read_text("utf-8"))
    page.write_text(text, encoding="utf-8")


def draw(results: dict[str, Any], folder: Path = FOLDER) -> None:
    """Write every picture."""
    for name, picture in pictures(results).items():
        (folder / f"{name}.svg").write_text(picture, encoding="utf-8")


def tables(results: dict[str, Any]) -> dict[str, str]:
    """Every table by name, in Markdown."""
    sets = {name: results["sets"][name] for name in ORDER if name in results["sets"]}
    return {
        "sets": described(sets),
        "errors": errors(sets, "k_fixed"),
        "errors-support": errors(sets, "support_fixed"),
        "worst": worst(sets),
        "lost": lost(sets),
        "virtual": virtual(sets),
        "excluding": excluding(sets),
        "table": beside_a_table(sets),
    }


def pictures(results: dict[str, Any]) -> dict[str, str]:
    """Every picture by the name of its file."""
    sets = {name: results["sets"][name] for name in ORDER if name in results["sets"]}
    return {"patterns-errors": error_picture(sets), "patterns-lost": lost_picture(sets)}


def described(sets: dict[str, Any]) -> str:
    rows = [
        [
            name,
            one["words"],
            f"{one['people']:,}",
            f"{one['min_support']:,} ({percent(one['share'])})",
            f"{one['support_fixed'][0]['patterns']:,}",
            "any" if one["max_len"] is None else str(one["max_len"]),
            f"{one['k_fixed'][-1]['patterns']:,} to {one['k_fixed'][0]['patterns']:,}",
        ]
        for name, one in sets.items()
    ]
    head = ["set", "what", "rows", "fixed support", "patterns", "most items at k = 10", "patterns at k = 10"]
    return _table(head, rows, text=2)


def errors(sets: dict[str, Any], kind: str) -> str:
    rows = [
        [
            name,
            f"{row['ratio']} k",
            f"{row['min_support']:,}",
            str(row["k"]),
            f"{row['patterns']:,}",
            *(_error(row[method]) for method in METHODS),
        ]
        for name, one in sets.items()
        for row in one[kind]
    ]
    return _table(["set", "min. support", "people", "k", "patterns", *METHODS], rows)


def _error(found: dict[str, Any] | None) -> str:
    return "none left" if found is None else percent(found["mean"])


def worst(sets: dict[str, Any]) -> str:
    rows = [
        [name, f"{row['ratio']} k", *(percent(row[method]["worst"]) for method in ADDING)]
        for name, one in sets.items()
        for row in one["k_fixed"]
    ]
    return _table(["set", "min. support", *ADDING], rows)


def lost(sets: dict[str, Any]) -> str:
    rows = []
    for name, one in sets.items():
        for row in one["k_fixed"]:
            people, kept = row["suppressive"], row["itemset"]
            rows.append(
                [
                    name,
                    f"{row['ratio']} k",
                    *(percent(row[method]["lost"] / row["patterns"]) for method in ADDING[:1]),
                    "100 %" if people is None else percent(people["lost"] / row["patterns"]),
                    "none left" if people is None else percent(people["withheld"] / one["people"]),
                    "100 %" if kept is None else percent(kept["lost"] / row["patterns"]),
                ]
            )
    head = ["set", "min. support", "adding methods", "suppressive", "rows left out for it", "itemset"]
    return _table(head, rows)


def virtual(sets: dict[str, Any]) -> str:
    rows = [
        [
            name,
            f"{row['ratio']} k",
            f"{row['additive']['channels']:,}",
            *(f"{row[method]['virtual']:,}" for method in ADDING),
            *(percent(row[method]["changed"] / row["patterns"]) for method in ADDING),
        ]
        for name, one in sets.items()
        for row in one["k_fixed"]
    ]
    head = ["set", "min. support", "channels", *ADDING, *(f"changed, {method}" for method in ADDING)]
    return _table(head, rows)


def excluding(sets: dict[str, Any]) -> str:
    rows = [
        [name, f"{row['ratio']} k", f"{row['before']:,}", f"{row['left']:,}"]
        for name, one in sets.items()
        for row in one.get("excluding", [])
    ]
    return _table(["set", "min. support", "channels over F*", "left when only F was looked at"], rows)


def beside_a_table(sets: dict[str, Any]) -> str:
    rows = [
        [name, f"{one['min_support']:,}", percent(one["table"]["patterns"]), percent(one["table"]["table"])]
        for name, one in sets.items()
        if "table" in one
    ]
    return _table(["set", "min. support", "pattern release, k = 10", "series release, k = 10, P = 5"], rows)


def error_picture(sets: dict[str, Any]) -> str:
    plots = []
    for name, one in sets.items():
        curves = [
            Curve(
                method,
                STYLE[method],
                [
                    (row["ratio"], 100 * row[method]["mean"])
                    for row in one["k_fixed"]
                    if row[method] and row[method]["mean"] > 0
                ],
            )
            for method in METHODS
        ]
        plots.append(Panel(name, "min. support / k", curves, log_x=True, log_y=True, ticks=RATIOS))
    words = Words(
        "How far counts are off",
        "Mean relative error in percent, k = 10; lost patterns are off by 100. No point: nothing changed.",
        "min. support / k",
        _told(plots),
    )
    return panels(words, plots, 2)


def lost_picture(sets: dict[str, Any]) -> str:
    plots = []
    for name, one in sets.items():
        curves = [
            Curve(
                method,
                STYLE[method],
                [
                    (row["ratio"], 100 * row[method]["lost"] / row["patterns"] if row[method] else 100.0)
                    for row in one["k_fixed"]
                ],
            )
            for method in ("additive", "suppressive", "itemset")
        ]
        plots.append(Panel(name, "min. support / k", curves, log_x=True, top=100.0, ticks=RATIOS))
    words = Words(
        "How many patterns are lost",
        "Percent of all frequent patterns, k = 10.",
        "min. support / k",
        _told(plots),
    )
    return panels(words, plots, 2)


def _told(plots: list[Panel]) -> str:
    """The numbers of a picture in words."""
    said = []
    for plot in plots:
        for curve in plot.curves:
            numbers = ", ".join(f"{y:.3g} at {x:g}" for x, y in curve.points) or "nothing"
            said.append(f"{plot.title}, {curve.name}: {numbers}.")
    return " ".join(said)
