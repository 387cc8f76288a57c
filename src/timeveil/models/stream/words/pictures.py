"""Pictures of a stream release: attacks, buckets, counts over time, and errors of window counts."""

from collections.abc import Callable

import numpy as np
import pyarrow.compute as pc

from timeveil.evidence.risk import Posterior
from timeveil.models.stream.evidence import Evidence
from timeveil.models.stream.judges.attack import StreamBreach
from timeveil.models.stream.judges.measure import StreamLoss
from timeveil.models.stream.parameters import KNOWLEDGE
from timeveil.page.charts import Bar, bar_chart, column_chart, grouped_bars, pair_chart, size_chart
from timeveil.page.svg import OTHER, OTHER_TOO, RELEASE, Picture
from timeveil.page.wording import counted, percent, share

_BINS = 10


def attack_picture(breach: StreamBreach) -> Picture:
    """The share of people whose true value gets a chance between the edges of columns, with 1/l marked.

    Columns to the right of 1/l are people whom the promise does not protect from this outsider.
    """
    edges = chance_edges(breach.l, breach.true_slot)
    means = ", ".join(f"{fate} {percent(part.mean)}" for fate, part in breach.parts.items() if part.people)
    note = f"On average: {means}." if means else ""
    above = percent(breach.share_above(1 / breach.l))
    before, after = percent(breach.before.certain), percent(breach.certain)
    return pair_chart(
        "How certain an outsider can be of a person's value",
        f"Share of {breach.people:,} people. Known about each: quasi-identifiers and "
        f"{KNOWLEDGE[breach.adversary.knows]}.",
        f"Of {breach.people:,} people attacked, {before} have a value that is certain from the original and "
        f"{after} from the release. The release gives a true value a chance of at most "
        f"{percent(breach.worst)}, and {percent(breach.mean)} on average; {above} of the people are above "
        f"1 in {breach.l}. {note}".strip(),
        _shares(breach.before, edges),
        _shares(breach.after, edges),
        (f"original: {before} certain", f"release: {after} certain, {above} above 1/{breach.l}"),
        marks={label: int(np.abs(np.array(edges) - at).argmin()) for label, at in _promises(breach).items()},
        ticks=[f"{chance:.0%}" for chance in edges],
        axis="chance given to the person's true value",
        note=note,
    )


def chance_edges(l: int, true_slot: int | None = None) -> list[float]:
    """Chances between columns, about ten; 1/l and 1/true_slot are among them."""
    if l > 2 * _BINS:
        edges = [0.0, 1 / l, *(part / _BINS for part in range(1, _BINS + 1))]
    else:
        parts = l * max(1, round(_BINS / l))
        edges = [part / parts for part in range(parts + 1)]
    if true_slot is not None and all(abs(chance - 1 / true_slot) > 1e-9 for chance in edges):
        edges = sorted([*edges, 1 / true_slot])
    return edges


def method_picture(breach: StreamBreach, plain: StreamBreach) -> Picture:
    """Two ways to publish the same records, attacked with the true slot, by fate of the record."""
    size = breach.true_slot or breach.l
    measures: dict[str, Callable[[Posterior], float]] = {
        "Mean chance": lambda part: part.mean,
        "Highest chance": lambda part: part.worst,
        f"People above 1/{size}": lambda part: part.share_above(1 / size),
    }
    groups = {}
    for name, measure in measures.items():
        bars = []
        for fate in ("stayed", "moved", "missing"):
            pair = (plain.parts[fate], breach.parts[fate])
            people = " and ".join(f"{round(part.people):,}" for part in pair)
            labels = tuple(percent(measure(part)) if part.people else "nobody" for part in pair)
            name_of_bar, lengths = f"{fate} ({people} people)", tuple(map(measure, pair))
            bars.append(Bar(name_of_bar, lengths, labels, colours=(OTHER, RELEASE)))
        groups[name] = bars
    promises = " and ".join(f"at most {label}" for label in _promises(breach))
    return grouped_bars(
        "What an outsider learns who knows when it happened",
        f"The chance given to the true value of {breach.people:,} people; promised: {promises}.",
        groups,
        {"the paper's method": OTHER, "closed packets": RELEASE},
    )


def bucket_picture(evidence: Evidence) -> Picture | None:
    """Buckets, or slots where there are none, by their number of records."""
    what, keys = (evidence.unit, ["slot", evidence.unit]) if evidence.grouped else ("slot", ["slot"])
    counts = evidence.release.table.group_by(keys).aggregate([([], "count_all")])
    sizes = np.asarray(counts["count_all"]).astype(np.int64)
    promise = f"No value is held by more than 1 in {evidence.l} records."
    subtitle = f"Number of {what}s by their number of records. {promise}"
    return size_chart(f"{what.capitalize()}s by size", subtitle, sizes, evidence.l, "record")


def time_picture(evidence: Evidence) -> Picture | None:
    """Published records over time."""
    counts = pc.value_counts(evidence.release.table["slot"].combine_chunks())
    if not len(counts):
        return None
    labels, numbers = counts.field("values"), np.asarray(counts.field("counts")).astype(np.int64)
    total, title = evidence.release.manifest["counts"]["slots"], "Published records over time"
    subtitle = f"Records per slot; {len(numbers):,} of {counted(total, 'slot')} have records."
    ends = f"{labels[0]}", f"{labels[-1]}"
    return column_chart(title, subtitle, evidence.line.numbers(labels), numbers, ends, "slot")


def error_picture(loss: StreamLoss) -> Picture:
    """The errors of window counts, by length of the window."""
    kinds = {"this release": RELEASE, "withholding only": OTHER, "merging slots": OTHER_TOO}
    if any(error.merge is None for error in loss.window_errors):
        del kinds["merging slots"]
    errors = {
        counted(error.length, "slot"): [error.release, error.suppress_only, error.merge or 0.0][: len(kinds)]
        for error in loss.window_errors
    }
    subtitle = "Mean error of random counts over windows of this length, relative to the true count."
    return bar_chart("How far off window counts are", subtitle, errors, kinds, label=share)


def _shares(chances: Posterior, edges: list[float]) -> list[float]:
    """Share of people between two edges; a chance on an edge is to its left."""
    index = np.searchsorted(np.array(edges[1:-1]) + 1e-9, chances.chance, side="left")
    counts = np.bincount(index, weights=chances.weight, minlength=len(edges) - 1)
    return [float(count) / chances.people if chances.people else 0.0 for count in counts]


def _promises(breach: StreamBreach) -> dict[str, float]:
    sizes = {"l": breach.l, "l'": breach.true_slot}
    return {f"1/{name} = 1/{size}": 1 / size for name, size in sizes.items() if size is not None}
