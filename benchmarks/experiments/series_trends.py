"""What the paper says of its figures, each asked of every data set of the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Test = Callable[[dict[str, Any]], bool | None]
"""Whether something is so on a data set; None where the data set does not say."""
PSQ, FOUND = "psq_precision_one", "psq_recall_one"
SAME = 0.005
"""Losses that differ by half a percent are called the same."""
LEAST_TIMED = 10_000


@dataclass(frozen=True, slots=True)
class Trend:
    """A sentence of the paper, where it stands, and how to see whether it is so."""

    where: str
    said: str
    test: Test


def held(trend: Trend, sets: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The data sets on which it is so, and those on which it is not."""
    found = {
        name: trend.test(one) for name, one in sets.items() if "sweep" in one or trend.where == "Fig. 11"
    }
    return [name for name, so in found.items() if so], [name for name, so in found.items() if so is False]


def by(one: dict[str, Any], method: str, metric: str, varied: str) -> list[Any]:
    """A number of a method in the sweep over P at k = 10, over k at P = 5, or over both at once."""
    rows = sorted(one["sweep"], key=lambda row: (row["k"], row["p"]))
    chosen = {
        "p": [row for row in rows if row["k"] == 10],
        "k": [row for row in rows if row["p"] == 5],
        "both": [row for row in rows if row["k"] == row["p"]],
    }[varied]
    return [row["methods"].get(method, {}).get(metric) for row in chosen]


def rises(method: str, metric: str, varied: str) -> Test:
    return lambda one: all(b >= a * (1 - SAME) for a, b in pairwise(by(one, method, metric, varied)))


def falls(method: str, metric: str, varied: str) -> Test:
    return lambda one: all(b <= a * (1 + SAME) for a, b in pairwise(by(one, method, metric, varied)))


def stays(method: str, metric: str, varied: str) -> Test:
    return lambda one: rises(method, metric, varied)(one) and falls(method, metric, varied)(one)


def below(method: str, other: str, metric: str, varied: Sequence[str] = ("both",)) -> Test:
    """At every setting that has both."""

    def test(one: dict[str, Any]) -> bool | None:
        pairs = [
            pair
            for way in varied
            for pair in zip(by(one, method, metric, way), by(one, other, metric, way), strict=True)
            if None not in pair
        ]
        return all(mine < theirs for mine, theirs in pairs) if pairs else None

    return test


def above(method: str, other: str, metric: str) -> Test:
    return below(other, method, metric)


def near(method: str, other: str, metric: str) -> Test:
    """Neither is more than one and a half times the other."""

    def test(one: dict[str, Any]) -> bool:
        pairs = zip(by(one, method, metric, "both"), by(one, other, metric, "both"), strict=True)
        return all(max(pair) <= 1.5 * min(pair) for pair in pairs)

    return test


def few_suppressed(one: dict[str, Any]) -> bool:
    return bool(all(row["with"] < row["p"] for row in one["suppressed"]))


def mostly_none(one: dict[str, Any]) -> bool:
    return 2 * sum(int(row["with"] == 0) for row in one["suppressed"]) > len(one["suppressed"])


def recycled(one: dict[str, Any]) -> bool | None:
    lost = sum(row["without"] for row in one["suppressed"])
    return sum(row["with"] for row in one["suppressed"]) < lost if lost else None


def fastest(one: dict[str, Any]) -> bool | None:
    """At the sizes of the paper, from 10,000 series on."""
    rows = [row["seconds"] for row in one.get("timed", ()) if row["rows"] >= LEAST_TIMED]
    others = ("Naive, top-down", "TGA", "BFP2KA")
    if not rows:
        return None
    return all(row["KAPRA"] < min(row.get(name, float("inf")) for name in others) for row in rows)


def naive_like_tga(one: dict[str, Any]) -> bool | None:
    """With the groups of the paper, at the largest size that both were run at."""
    ways = ("Naive, top-down", "TGA")
    rows = [row["seconds"] for row in one.get("timed", ()) if set(ways) <= set(row["seconds"])]
    pair = [rows[-1][name] for name in ways] if rows else []
    return max(pair) <= 3 * min(pair) if pair else None


def slowest(one: dict[str, Any]) -> bool | None:
    rows = [row["seconds"] for row in one.get("timed", ()) if "BFP2KA" in row["seconds"]]
    return rows[-1]["BFP2KA"] == max(rows[-1].values()) if rows else None


def customized(metric: str, *, up: bool) -> Test:
    def test(one: dict[str, Any]) -> bool | None:
        rows = one.get("customized", {}).get("KAPRA")
        chosen = [row for row in rows or () if row["share"] < 1 or metric != "estimating_s"]
        found = [row[metric] for row in chosen if row.get(metric) is not None]
        ends = (found[0], found[-1]) if found else ()
        return None if not ends else ends[1] > ends[0] if up else ends[1] < ends[0]

    return test


def scales(one: dict[str, Any]) -> bool | None:
    """From the smallest number of series to the largest, time grows as they do, or by a fifth more."""
    rows = one.get("estimating", ())
    seconds = [row["ranges_s"] + row["symbols_s"] for row in rows]
    if len(rows) < 2:
        return None
    return bool(seconds[-1] / seconds[0] <= 1.2 * rows[-1]["rows"] / rows[0]["rows"])


def covered(one: dict[str, Any]) -> bool | None:
    rows = [row for some in one.get("customized", {}).values() for row in some]
    return all(row["covered"] in (None, 1.0) for row in rows) if rows else None


TRENDS = (
    Trend("Fig. 4", "PL of Naive rises with P", rises("Naive", "PL", "p")),
    Trend("Fig. 4", "PL of KAPRA rises with P", rises("KAPRA", "PL", "p")),
    Trend("Fig. 4", "VL of Naive does not depend on P", stays("Naive", "VL", "p")),
    Trend("Fig. 4", "VL of KAPRA rises with P", rises("KAPRA", "VL", "p")),
    Trend("Fig. 5", "VL of Naive rises with k", rises("Naive", "VL", "k")),
    Trend("Fig. 5", "VL of KAPRA rises with k", rises("KAPRA", "VL", "k")),
    Trend("Fig. 5", "PL of KAPRA does not depend on k", stays("KAPRA", "PL", "k")),
    Trend("Fig. 5", "PL of Naive falls with k", falls("Naive", "PL", "k")),
    Trend("Figs 4, 5", "PL of KAPRA is below that of Naive", below("KAPRA", "Naive", "PL", ("p", "k"))),
    Trend("Figs 4, 5", "VL of Naive is below that of KAPRA", below("Naive", "KAPRA", "VL", ("p", "k"))),
    Trend("Table 4", "fewer than P are suppressed", few_suppressed),
    Trend("Table 4", "mostly none are", mostly_none),
    Trend("Table 4", "recycling saves series", recycled),
    Trend("Fig. 6", "PL of KAPRA is below that of TGA", below("KAPRA", "TGA", "PL")),
    Trend("Fig. 7", "PSQ: KAPRA more precise than TGA", above("KAPRA", "TGA", "psq_precision")),
    Trend("Fig. 7", "the same at one tolerance", above("KAPRA", "TGA", "psq_precision_one")),
    Trend("Fig. 7", "PSQ: KAPRA more precise than BFP2KA", above("KAPRA", "BFP2KA", "psq_precision")),
    Trend("Fig. 7", "the same at one tolerance (BFP2KA)", above("KAPRA", "BFP2KA", "psq_precision_one")),
    Trend("Fig. 8", "PRQ: KAPRA more precise than TGA", above("KAPRA", "TGA", "prq_precision")),
    Trend("Fig. 8", "PRQ: KAPRA more precise than BFP2KA", above("KAPRA", "BFP2KA", "prq_precision")),
    Trend("Fig. 9", "range: Naive better than KAPRA", below("Naive", "KAPRA", "range_error")),
    Trend("Fig. 9", "range: Naive better than TGA", below("Naive", "TGA", "range_error")),
    Trend("Fig. 9", "range: KAPRA and TGA comparable", near("KAPRA", "TGA", "range_error")),
    Trend("Fig. 9", "range: KAPRA better than BFP2KA", below("KAPRA", "BFP2KA", "range_error")),
    Trend("Fig. 10", "complex: KAPRA better than TGA", below("KAPRA", "TGA", "complex_error")),
    Trend("Fig. 10", "complex: KAPRA better than BFP2KA", below("KAPRA", "BFP2KA", "complex_error")),
    Trend("Fig. 11", "KAPRA is faster than Naive (top-down), TGA, BFP2KA", fastest),
    Trend("Fig. 11", "Naive (top-down) takes about as long as TGA", naive_like_tga),
    Trend("Fig. 11", "BFP2KA is much slower than all", slowest),
    Trend("Fig. 12a", "estimating costs more with more overlap", customized("estimating_s", up=True)),
    Trend("Fig. 12b", "estimating takes time in proportion to the series", scales),
    Trend("Fig. 13a", "PSQ precision rises with the overlap", customized("psq_precision", up=True)),
    Trend("Fig. 13a", "the same at one tolerance", customized("psq_precision_one", up=True)),
    Trend("Fig. 13a", "PRQ precision rises with the overlap", customized("prq_precision", up=True)),
    Trend("Fig. 13b", "range error falls with the overlap", customized("range_error", up=False)),
    Trend("§6", "estimated ranges hold the true value", covered),
)
BEYOND = (
    Trend("adaptive 2", "VL below Naive's", below("adaptive 2", "Naive", "VL", ("p", "k", "both"))),
    Trend("adaptive 50", "VL below KAPRA's", below("adaptive 50", "KAPRA", "VL", ("p", "k", "both"))),
    Trend("adaptive 50", "PL below KAPRA's", below("adaptive 50", "KAPRA", "PL", ("p", "k", "both"))),
    Trend("adaptive 50", "PL below TGA's", below("adaptive 50", "TGA", "PL")),
    Trend("adaptive 50", "PSQ at one tolerance: more precise than KAPRA", above("adaptive 50", "KAPRA", PSQ)),
    Trend("adaptive 50", "PSQ at one tolerance: finds more than KAPRA", above("adaptive 50", "KAPRA", FOUND)),
    Trend("adaptive 50", "PRQ error below KAPRA's", below("adaptive 50", "KAPRA", "prq_error")),
    Trend("adaptive 10", "range error below KAPRA's", below("adaptive 10", "KAPRA", "range_error")),
    Trend("adaptive 50", "complex error below KAPRA's", below("adaptive 50", "KAPRA", "complex_error")),
    Trend(
        "representative 10",
        "PL below adaptive 10",
        below("representative 10", "adaptive 10", "PL", ("p", "k", "both")),
    ),
)
"""The same of the methods beyond the paper."""
