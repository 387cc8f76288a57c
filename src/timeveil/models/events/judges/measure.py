"""What a release of events lost against the original, and what remains visible within its groups.

Part of the loss is a workload: random window counts, answered from the release, compared with the original.
A window is around a random row, between one step of the resolution of the times and the extent of the data
long; lengths of every magnitude are equally likely. Half of the windows ask for a quasi-identifier as well.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.catalogue import fit
from timeveil.calendar.granularity import Granularity
from timeveil.domain.arrays import Floats, Ints
from timeveil.domain.judgement import Losses
from timeveil.evidence.codes import align, distinct, distinct_pairs, encode, ranked
from timeveil.evidence.conditions import Conditions
from timeveil.evidence.risk import withheld_by
from timeveil.models.events.evidence import HIGHEST, LOWEST, Evidence, People, bounds_of, observed
from timeveil.models.events.judges.protected import most_of
from timeveil.models.events.judges.query import shares

_LEAST_SHARE = 0.001
_TIMES_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True)
class Loss(Losses):
    """What the release lost, in plain numbers.

    `rows` were published in `groups`; `suppressed` rows were withheld, and `suppressed_people` have no row
    left. `withheld_by` has per published column the largest share withheld of the rows with one value, where
    20 rows or more have it. `width_before` is the precision of the original times, which are read to the
    millisecond, and `width_after` the mean width of a published row's granule, in `width_unit` (`second`, or
    `month` on an axis of months); a granule without a start or an end counts as wide as the data;
    `width_effective` is their geometric mean. `bits` is what a published row loses on average per generalised
    quasi-identifier, -log2 P(value | label), and of the time, log2(width / narrowest width), the narrowest
    being that of all granules that rows could have been published in. `window_error_median` and
    `window_error_mean` are relative errors of `windows` random window counts against all original rows; a
    true count below 0.1 % of the rows is taken as 0.1 %.
    """

    ALSO: ClassVar = ("suppressed_share", "bits_per_row")

    rows: int
    groups: int
    suppressed: int
    people: int
    suppressed_people: int
    withheld_by: Mapping[str, float]
    rows_per_group: float
    people_per_group: float
    width_before: float
    width_after: float
    width_effective: float
    width_unit: str
    bits: Mapping[str, float]
    windows: int
    window_error_median: float
    window_error_mean: float


def measure(evidence: Evidence, *, windows: int, seed: int) -> Loss:
    """Compare a release of events with the original rows in its ledger."""
    evidence.progress("counting people", 0.1)
    people, published, (group, groups) = evidence.people, evidence.published, evidence.group
    members, _, _ = distinct_pairs(group, people.person[published], people.people)
    everyone = len(distinct(people.person[people.complete]))
    rows, errors, granules = int(people.complete.sum()), np.zeros(0), evidence.granules
    widths = _widths(people, granules.start, granules.end)[evidence.granule[published]]
    if rows and windows:
        evidence.progress("counting in windows", 0.5)
        drawn = draw_windows(evidence, windows, np.random.default_rng(seed))
        truth, guess = count_and_estimate(evidence, drawn)
        errors = np.abs(guess - truth) / np.maximum(truth, _LEAST_SHARE * rows)
    return Loss(
        rows=len(group),
        groups=groups,
        suppressed=int((~evidence.retained).sum()),
        people=everyone,
        suppressed_people=everyone - len(distinct(people.person[published])),
        withheld_by=withheld_by(evidence, ~published),
        rows_per_group=len(group) / groups if groups else 0.0,
        people_per_group=len(members) / groups if groups else 0.0,
        width_before=float(people.precision),
        width_after=float(widths.mean()) if len(widths) else 0.0,
        width_effective=float(np.exp(np.log(widths).mean())) if len(widths) else 0.0,
        bits=_bits(evidence, widths),
        width_unit="month" if people.axis.unit in ("month", "year") else "second",
        windows=len(errors),
        window_error_median=float(np.median(errors)) if len(errors) else 0.0,
        window_error_mean=float(errors.mean()) if len(errors) else 0.0,
    )


def _widths(people: People, start: Ints, end: Ints) -> Floats:
    """The widths of granules; an endless one is cut to the extent of the data."""
    start = np.where(start == LOWEST, people.extent[0], start)
    end = np.where(end == HIGHEST, people.extent[1], end)
    widths: Floats = np.maximum(end - start, 1).astype(float)
    return widths


def _narrowest(evidence: Evidence) -> float:
    """The width of the narrowest granule that a row could have been published in."""
    people, candidates = evidence.people, evidence.release.manifest["candidates"]
    calendar = evidence.private.facts.get("calendar", {})
    allowed = [
        calendar[name] for name, stated in candidates.items() if stated["allowed"] and name in calendar
    ]
    levels = [fit(Granularity.from_dict(definition), people.axis) for definition in allowed]
    timeline, _ = observed(people, levels, "skip")
    narrowest = np.inf
    for low in range(0, len(timeline.granules), _TIMES_AT_ONCE):
        part = replace(timeline, granules=timeline.granules[low : low + _TIMES_AT_ONCE])
        for granules in map(part.granules_of, levels):
            sides = (pa.chunked_array([side]) for side in (granules.start, granules.end))
            widths = _widths(people, *bounds_of(people.axis, *sides))
            narrowest = float(widths.min(initial=narrowest))
            if narrowest <= people.resolution:  # none is known more precisely
                return people.resolution
    return max(narrowest if levels else 1, people.resolution)


def _bits(evidence: Evidence, widths: Floats) -> dict[str, float]:
    """What a published row loses on average, in bits, by column."""
    if not len(widths):
        return {}
    people, published, lost = evidence.people, evidence.published, {}
    for name, values in evidence.quasi.items():
        levels = [(level, steps) for level, steps in evidence.levels_of(name) if level]
        rows_with_value, bits = np.bincount(values.codes[people.complete], minlength=values.size), 0.0
        for level, steps in levels:
            at_level, label = published & steps[evidence.step], evidence.labels_at(name, level)
            rows_with_label = np.bincount(label.codes[people.complete], minlength=label.size)
            often = rows_with_label[label.codes[at_level]] / rows_with_value[values.codes[at_level]]
            bits += float(np.log2(often).sum())
        if levels:
            lost[name] = bits / len(widths)
    times = np.log2(np.maximum(widths / _narrowest(evidence), 1))
    return lost | {evidence.release.manifest["time"]["column"]: float(times.mean())}


class Windows(NamedTuple):
    """Windows [low, high); `column` is a quasi-identifier's index or -1, `example` a row with its value."""

    low: Ints
    high: Ints
    column: Ints
    example: Ints


def draw_windows(evidence: Evidence, windows: int, rng: np.random.Generator) -> Windows:
    """Random windows; the table must have a row with person and time."""
    people, tick, columns = evidence.people, evidence.people.resolution, len(evidence.columns("quasi"))
    complete = np.flatnonzero(people.complete)
    moments = people.moment[complete]
    extent = int(moments.max() - moments.min()) // tick + 1
    # Lengths are even on a logarithmic scale: hours are asked for as often as months.
    steps = np.exp(rng.uniform(0.0, np.log(extent), windows)).astype(np.int64)
    low = moments[rng.integers(0, len(moments), windows)] - steps // 2 * tick
    column = rng.integers(0, columns, windows) if columns else np.full(windows, -1)
    # Half of the windows ask for no quasi-identifier.
    column[rng.random(windows) < 0.5] = -1
    return Windows(low, low + steps * tick, column, complete[rng.integers(0, len(complete), windows)])


def count_and_estimate(evidence: Evidence, windows: Windows) -> tuple[Floats, Floats]:
    """Per window the rows of the original, and what `answer` would estimate from the release."""
    people, names = evidence.people, evidence.columns("quasi")
    complete, granule = np.flatnonzero(people.complete), evidence.class_granule
    rows = np.asarray(evidence.classes["rows"], float)
    truth, guess = np.zeros(len(windows.low)), np.zeros(len(windows.low))
    times, position = ranked(people.moment[complete])
    low, high = (np.searchsorted(times, edge) for edge in (windows.low, windows.high))
    room = len(times) + 1
    for column in np.unique(windows.column):
        cases = np.flatnonzero(windows.column == column)
        asked = evidence.quasi[names[column]].codes if column >= 0 else np.zeros(len(people.person), np.int64)
        value = asked[windows.example[cases]]
        # Value and time in one number: the rows of a value in a window follow each other.
        keys = np.sort(asked[complete] * room + position)
        first, last = (np.searchsorted(keys, value * room + edge[cases]) for edge in (low, high))
        truth[cases] = last - first
        shares_with = _shares_with(evidence, int(column)) if column >= 0 else lambda _: np.ones(len(rows))
        for each in np.unique(value):
            windows_of_value = cases[value == each]
            met = shares_with(int(windows.example[windows_of_value[0]])) * rows
            in_granule = np.bincount(granule, met, len(evidence.granules.start))
            for case in windows_of_value:
                window = int(windows.low[case]), int(windows.high[case])
                guess[case] = shares(evidence.granules, *window)[0] @ in_granule
    return truth, guess


def _shares_with(evidence: Evidence, column: int) -> Callable[[int], Floats]:
    """A function of an original row: of each class the share that `answer` expects to have its value."""
    name, parts = evidence.columns("quasi")[column], []
    values = evidence.quasi[name]
    for level, steps in evidence.levels_of(name):
        classes = np.flatnonzero(steps[evidence.class_step])
        labels = encode(evidence.classes.column(column).take(pa.array(classes)))
        # Where values are shown, a class has the one asked for or not; a label may contain it.
        sides = align(evidence.labels_at(name, None), labels) if level is None else None
        parts.append((classes, labels, level["name"] if level else "", sides))

    def shares_with(row: int) -> Floats:
        met, sought = np.zeros(len(evidence.classes)), values.values[int(values.codes[row])].as_py()
        conditions = Conditions(evidence.release, {name: sought}, [name])
        for classes, labels, level, sides in parts:
            if sides is not None:
                met[classes] = sides[1].codes == sides[0].codes[row]
            elif len(classes):
                distinct_labels = pa.chunked_array([labels.values])
                met[classes] = conditions.shares(name, distinct_labels, level)[0][labels.codes]
        return met

    return shares_with


# What remains visible within groups, however many people share them.


def largest_share(evidence: Evidence) -> float:
    """The largest share of a group's rows that belongs to one person; 0 where nothing was published."""
    people = evidence.people
    return float(_largest(evidence, people.person[evidence.published], people.people).max(initial=0.0))


def commonest_sensitive(evidence: Evidence) -> dict[str, dict[str, float]]:
    """Per sensitive column the share of the most common value in a group, worst and mean over groups."""
    exposed = {}
    for name in evidence.columns("sensitive"):
        values = evidence.original_column(name)
        shares = _largest(evidence, values.codes[evidence.published], values.size)
        mean = float(shares.mean()) if len(shares) else 0.0
        exposed[name] = {"worst": float(shares.max(initial=0.0)), "mean": mean}
    return exposed


def _largest(evidence: Evidence, value: Ints, size: int) -> Floats:
    """Per group the share of its most frequent value."""
    group, groups = evidence.group
    owner, _, often = distinct_pairs(group, value, size)
    return most_of(often, owner, groups) / np.bincount(group, minlength=groups)


def tying_columns(evidence: Evidence) -> dict[str, float]:
    """Per kept and sensitive column the share of published rows that it ties to another row of their person.

    A value ties rows if only one person has it, in several rows. A kept case number does this for nearly all
    rows; an ordinary measurement for hardly any.
    """
    published, people = evidence.published, evidence.people
    person = people.person[published]
    ties = {}
    for name in (*evidence.columns("keep"), *evidence.columns("sensitive")):
        values = evidence.original_column(name)
        value, _, often = distinct_pairs(values.codes[published], person, people.people)
        owners = np.bincount(value, minlength=values.size)
        # One person has the value, in several rows, and it is not a missing value.
        tied = (owners[value] == 1) & (often > 1) & ~np.asarray(values.values.is_null())[value]
        ties[name] = float(often[tied].sum()) / max(len(person), 1)
    return ties


def similar_ids(evidence: Evidence) -> int:
    """How many ids differ from another one only in case or surrounding blanks.

    They count as different people. If they are the same person, groups hold fewer people than stated.
    """
    ids = evidence.original_column(evidence.private.original.respondent).values
    if not (pa.types.is_string(ids.type) or pa.types.is_large_string(ids.type)):
        return 0
    folded = pc.utf8_lower(pc.utf8_trim_whitespace(ids.drop_null()))
    return len(folded) - len(folded.unique())
