"""The tables of the page on series, written from the results between their marks in the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.experiments.series_trends import BEYOND, TRENDS, Trend, held
from benchmarks.experiments.tables import MARKED, _table, percent

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "series-experiments.md"
METHODS = (
    *("Naive", "KAPRA", "adaptive 2", "adaptive 10", "adaptive 50", "adaptive 200"),
    "representative 10",
)
FEW = ("Naive", "KAPRA", "adaptive 50")
ASKED = ("Walk", "String", "Motion as String", "Motion by channel, moving", "ICU", "CDNOW")
MOVING = "Motion by channel, moving"
TARGETS = (
    ("Walk, seed 7", "adaptive 10", 0.0105, 0.19),
    ("Walk, given", "adaptive 10", 0.0105, 0.19),
    (MOVING, "adaptive 10", 0.076, 0.077),
    ("CDNOW", "adaptive 10", 16.5, 0.046),
    ("ICU", "adaptive 2", 24.0, 0.30),
    ("Walk, seed 7", "representative 10", 0.0095, 0.155),
    ("Walk, given", "representative 10", 0.0095, 0.155),
)
AIMED = (
    ("Naive", 0.0108, 0.983),
    ("KAPRA", 0.215, 0.247),
    ("adaptive 2", 0.0082, 0.224),
    ("adaptive 10", 0.0101, 0.183),
    ("adaptive 50", 0.0170, 0.147),
    ("adaptive 200", 0.0387, 0.120),
    ("representative 10", 0.0091, 0.149),
)
"""Value and pattern loss on the walk that targets were set on."""
QUESTIONS = {
    "PL": "PL",
    "psq_precision": "PSQ precision, own tolerance",
    "psq_precision_one": "at one",
    "psq_recall_one": "recall at one",
    "prq_precision": "PRQ precision",
    "prq_error": "PRQ error",
    "range_error": "range error",
    "complex_error": "complex error",
}


def fill(results: dict[str, Any], page: Path = PAGE) -> None:
    """Write every table of the page anew."""
    found = tables(results)
    text = MARKED.sub(lambda mark: f"{mark[1]}\n{found[mark['name']]}\n{mark[3]}", page.read_text("utf-8"))
    page.write_text(text, encoding="utf-8")


def tables(results: dict[str, Any]) -> dict[str, str]:
    """Every table by name, in Markdown."""
    sets = results["sets"]
    return {
        "sets": described(sets),
        "trends": trends(sets, TRENDS, ("where", "the paper says")),
        "beyond": trends(sets, BEYOND, ("method", "expected")),
        "targets": targets(sets),
        "losses": losses(sets),
        "rounding": rounding(sets),
        "front": front(sets),
        "efforts": efforts(sets),
        "walks": walks(sets),
        "collusion": collusion(sets),
        "tuning-p": tuning(sets, "p"),
        "tuning-k": tuning(sets, "k"),
        "suppressed": suppressed(sets),
        "questions": questions(sets),
        "time": times(sets),
        "customized": customized(sets),
        "estimating": estimating(sets),
    }


def described(sets: dict[str, Any]) -> str:
    rows = [
        [
            name,
            one["words"],
            f"{one['series']:,}",
            str(one["instants"]),
            percent(one["constant"] / one["series"]),
            f"{one['asked']:,}" if "asked" in one else "–",
            f"{one['questions']:,}" if "questions" in one else "–",
        ]
        for name, one in sets.items()
    ]
    head = ["set", "what", "series", "instants", "constant series", "series published and asked", "questions"]
    return _table(head, rows, text=2)


def trends(sets: dict[str, Any], asked: Sequence[Trend], head: tuple[str, str]) -> str:
    rows = []
    for trend in asked:
        yes, no = held(trend, sets)
        said = "yes" if not no else "no" if not yes else f"on {len(yes)} of {len(yes) + len(no)}"
        against = "; ".join(no) if yes else "all" if no else ""
        rows.append([trend.where, trend.said, said, against])
    return _table([*head, "holds here", "not on"], rows, text=4)


def targets(sets: dict[str, Any]) -> str:
    rows = []
    for name, method, value, pattern in TARGETS:
        if name in sets:
            found = sets[name]["losses"][method]
            met = ["yes" if found[loss] <= most else "no" for loss, most in (("VL", value), ("PL", pattern))]
            rows.append(
                [
                    name,
                    method,
                    number(value),
                    number(found["VL"]),
                    met[0],
                    number(pattern),
                    number(found["PL"]),
                    met[1],
                ]
            )
    head = ["set", "method", "VL at most", "VL", "met", "PL at most", "PL", "met"]
    return _table(head, rows, text=2)


def losses(sets: dict[str, Any]) -> str:
    rows = []
    for name, one in sets.items():
        if "losses" not in one:
            continue
        found = [one["losses"][method] for method in METHODS]
        rows.append([name, *(f"{number(loss['VL'])} / {number(loss['PL'])}" for loss in found)])
    return _table(["set", *METHODS], rows)


def rounding(sets: dict[str, Any]) -> str:
    rows = []
    for name, one in sets.items():
        if "losses" not in one:
            continue
        found = [one["losses"][method] for method in ("KAPRA", "adaptive 50")]
        cells = [number(loss[key]) for loss in found for key in ("VL", "VL_rounded")]
        rows.append([name, *cells])
    ways = [f"{method}, {what}" for method in ("KAPRA", "adaptive 50") for what in ("raw", "rounded")]
    return _table(["set", *ways], rows)


def front(sets: dict[str, Any]) -> str:
    there = {name: one["front"] for name, one in sets.items() if "front" in one}
    found = [
        {row["weight"]: f"{number(row['VL'])} / {number(row['PL'])}" for row in rows}
        for rows in there.values()
    ]
    rows = [
        [f"{weight:g}", *(one.get(weight, "–") for one in found)] for weight in sorted(set().union(*found))
    ]
    return _table(["shape weight", *there], rows)


def efforts(sets: dict[str, Any]) -> str:
    there = {name: one["efforts"] for name, one in sets.items() if "efforts" in one}
    tried = list(dict.fromkeys((row["weight"], row["effort"]) for rows in there.values() for row in rows))
    found = {
        name: {
            (
                row["weight"],
                row["effort"],
            ): f"{number(row['VL'])} / {number(row['PL'])} ({row['seconds']:.0f} s)"
            for row in rows
        }
        for name, rows in there.items()
    }
    rows = [
        [f"{weight:g}", str(effort), *(one.get((weight, effort), "–") for one in found.values())]
        for weight, effort in tried
    ]
    return _table(["shape weight", "effort", *there], rows)


def walks(sets: dict[str, Any]) -> str:
    """What had been measured when the targets were set, beside the same on two walks."""
    there = [name for name in ("Walk, seed 7", "Walk, given") if name in sets]
    rows = [
        [
            method,
            f"{number(value)} / {number(pattern)}",
            *(
                " / ".join(number(sets[name]["losses"][method][loss]) for loss in ("VL", "PL"))
                for name in there
            ),
        ]
        for method, value, pattern in AIMED
    ]
    facts = [sets[name]["walk"] for name in there]
    both = (f"{number(one['top_down_VL'])} / {number(one['top_down_PL'])}" for one in facts)
    rows.append(["Naive, top-down", "–", *both])
    rows.append(["step", "–", *(number(one["step"]) for one in facts)])
    rows.append(["annealed, values alone", "–", *(number(one["annealed_VL"]) for one in facts)])
    rows.append(["no VL below", "–", *(number(one["bound"]) for one in facts)])
    return _table(["method", "when targets were set", *there], rows)


def collusion(sets: dict[str, Any]) -> str:
    rows = [
        [name, method, f"{row['subgroups']:,}", number(row["pattern_alone"]), number(row["with_the_others"])]
        for name, one in sets.items()
        for method, row in one.get("collusion", {}).items()
    ]
    head = ["set", "method", "subgroups", "error of the pattern", "error of the P - 1 others"]
    return _table(head, rows, text=2)


def tuning(sets: dict[str, Any], varied: str) -> str:
    fixed = {"p": ("k", 10), "k": ("p", 5)}[varied]
    rows: list[list[str]] = []
    places: list[int] = []
    for name, one in sets.items():
        found = sorted(
            (r for r in one.get("sweep", ()) if r[fixed[0]] == fixed[1]), key=lambda row: row[varied]
        )
        places = [row[varied] for row in found] or places
        for method in FEW if found else ():
            losses = [row["methods"].get(method, {}) for row in found]
            cells = [number(one.get(loss)) for loss in ("VL", "PL") for one in losses]
            rows.append([name, method, *cells])
    letter = "P" if varied == "p" else "k"
    head = [f"{loss}, {letter} = {place}" for loss in ("VL", "PL") for place in places]
    return _table(["set", "method", *head], rows, text=2)


def suppressed(sets: dict[str, Any]) -> str:
    there = {name: one["suppressed"] for name, one in sets.items() if "suppressed" in one}
    rows = []
    for name, found in there.items():
        rows.append([name, "with", *(f"{row['with']:,}" for row in found)])
        rows.append([name, "without", *(f"{row['without']:,}" for row in found)])
    head = [f"P = {row['p']}" for row in next(iter(there.values()))]
    return _table(["set", "recycling", *head], rows, text=2)


def questions(sets: dict[str, Any], size: int = 10) -> str:
    rows = []
    for name in (name for name in ASKED if name in sets):
        found = next(row for row in sets[name]["sweep"] if row["k"] == row["p"] == size)["methods"]
        for method, one in found.items():
            rows.append([name, method, *(number(one[metric]) for metric in QUESTIONS)])
    return _table(["set", "method", *QUESTIONS.values()], rows, text=2)


def times(sets: dict[str, Any]) -> str:
    rows, head = [], ["set", "series"]
    for name, one in sets.items():
        methods = list(one["timed"][0]["seconds"]) if "timed" in one else []
        head = ["set", "series", *methods] if methods else head
        rows += [
            [name, f"{row['rows']:,}", *(seconds(row["seconds"].get(method)) for method in methods)]
            for row in one.get("timed", ())
        ]
    return _table(head, rows)


def customized(sets: dict[str, Any]) -> str:
    rows = []
    for name, one in sets.items():
        for method, found in one.get("customized", {}).items():
            part = {round(100 * row["share"]): row for row in found}
            least = min(row["covered"] for row in found if row["covered"] is not None)
            rows.append(
                [
                    f"{name}, {one['customized_at']['series']:,} series",
                    method,
                    percent(least),
                    *(number(part[share]["width"]) for share in (20, 40, 60, 80)),
                    number(part[80]["width_published"]),
                    *(percent(part[share]["symbols_right"]) for share in (20, 80)),
                    *(number(part[share]["prq_precision"]) for share in (20, 80, 100)),
                    *(number(part[share]["psq_precision_one"]) for share in (20, 80, 100)),
                    *(number(part[share]["range_error"]) for share in (20, 80, 100)),
                ]
            )
    head = [
        *("set", "method", "covered"),
        *(f"width, {share} %" for share in (20, 40, 60, 80)),
        "width if published",
        *(f"symbols right, {share} %" for share in (20, 80)),
        *(f"PRQ precision, {share} %" for share in (20, 80, 100)),
        *(f"PSQ at one tolerance, {share} %" for share in (20, 80, 100)),
        *(f"range error, {share} %" for share in (20, 80, 100)),
    ]
    return _table(head, rows, text=2)


def estimating(sets: dict[str, Any]) -> str:
    rows = [
        [name, f"{row['rows']:,}", percent(0.6), seconds(row["ranges_s"]), seconds(row["symbols_s"])]
        for name, one in sets.items()
        for row in one.get("estimating", ())
    ]
    shares = sets["Walk"]["customized"]["KAPRA"] if "Walk" in sets else []
    rows += [
        [
            "Walk",
            f"{sets['Walk']['series']:,}",
            percent(row["share"]),
            seconds(row["ranges_s"]),
            seconds(row["symbols_s"]),
        ]
        for row in shares
        if row["covered"] is not None
    ]
    return _table(["set", "series", "instants with both", "value ranges", "symbols"], rows)


def number(found: float | None) -> str:
    """Three significant digits.

    >>> [number(found) for found in (None, 0.010123, 0.98312, 16.387, 1234.0, 0)]
    ['–', '0.0101', '0.983', '16.4', '1234', '0']
    """
    if found is None:
        return "–"
    digits = (
        0
        if found == 0 or found >= 100
        else 1
        if found >= 10
        else 2
        if found >= 1
        else 3
        if found >= 0.1
        else 4
    )
    return f"{found:.{digits}f}"


def seconds(found: float | None) -> str:
    """Seconds, or a dash where it was not run."""
    return "–" if found is None else f"{found:.3f} s" if found < 0.1 else f"{found:.2f} s"
