"""What a pattern release lost against the original, and what other ways to publish would have lost.

Leaving people or patterns out is worked out from the original rows alone, simply and slowly. Leaving people
out: all who are in a small group go, counts are taken again, patterns that became rare go, until no small
group is left. Leaving patterns out: those at the far end of each small group go, with all that contain them,
until none is left; a pattern that is not published but follows goes with a published one next to it. Reading
patterns off a release of series: a letter at one level covers a part of the normal curve, a symbol of a
pattern another; of the series with the letter, the share that the symbol covers is expected to have it,
independently at each instant.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, product
from typing import Any

import numpy as np

from timeveil.domain.arrays import Flags, Floats, Ints
from timeveil.domain.judgement import Shown
from timeveil.domain.release import Release
from timeveil.domain.wording import Progress, silent
from timeveil.errors import ParameterError
from timeveil.models.patterns.evidence import Evidence, Patterns
from timeveil.models.patterns.evidence.boxes import Channels, channels_of
from timeveil.models.patterns.evidence.counting import Baskets, supports
from timeveil.models.patterns.evidence.family import Family, Knowledge
from timeveil.models.series.evidence import Evidence as SeriesEvidence

READ_PATTERNS = 2_000  # patterns, drawn at random, that are read off a table of series
MOST_PATTERNS, MOST_ROWS, MOST_CHANNELS, MOST_ROUNDS = 20_000, 300_000, 30_000, 200


@dataclass(frozen=True, slots=True)
class PatternError:
    """What one way to publish patterns costs.

    `changed` patterns have another count than in the original, `lost` ones are missing. `mean_error` and
    `worst_error` are the relative errors of counts over `patterns`; a lost one has an error of 1.
    """

    way: str
    patterns: int
    changed: int
    lost: int
    mean_error: float
    worst_error: float
    withheld: int = 0


@dataclass(frozen=True, slots=True)
class PatternLoss(Shown):
    """What a pattern release lost, in plain numbers; the empty pattern is not counted among patterns.

    `patterns` were frequent in the original: `changed` of them are published with another count, `lost` ones
    not at all. `mean_error` and `worst_error` are the relative errors of counts; a lost pattern has an error
    of 1. `virtual` people were added and `withheld` ones left out of `people`. `alternatives` has the
    same numbers for leaving people out, leaving patterns out and, if one was given, reading counts off a
    release of series; those that would take too long are not among them.
    """

    patterns: int
    changed: int
    lost: int
    mean_error: float
    worst_error: float
    people: int
    virtual: int
    withheld: int
    alternatives: tuple[PatternError, ...] = ()

    def alternative(self, way: str) -> PatternError | None:
        """One of them by its name: `without people`, `without patterns`, `series table`."""
        return next((error for error in self.alternatives if error.way == way), None)


def measure(
    evidence: Evidence, *, against: Release | None = None, seed: int = 0, progress: Progress = silent
) -> PatternLoss:
    """Compare a release of patterns with the original in its ledger."""
    patterns, k, rows = evidence.patterns, evidence.k, evidence.original.rows
    withheld = int((~evidence.counted).sum())
    progress("counting", 0.0)
    before = evidence.before if patterns.structural else evidence.before.unlinked
    this = _compared("this release", before, evidence.published)
    progress("comparing", 0.5)
    alternatives = []
    fewer_people = without_people(before, rows, patterns.least, k)
    if fewer_people is not None:
        alternatives.append(_compared("without people", before, *fewer_people))
    if (fewer := without_patterns(before, k)) is not None:
        alternatives.append(_compared("without patterns", before, fewer))
    if against is not None:
        alternatives.append(_read_off(before, patterns, against, np.random.default_rng(seed)))
    progress("done", 1.0)
    errors = (this.patterns, this.changed, this.lost, this.mean_error, this.worst_error)
    return PatternLoss(*errors, rows.rows, patterns.virtual, withheld, tuple(alternatives))


def _compared(way: str, before: Family, after: Family, withheld: int = 0) -> PatternError:
    """Counts of the original's patterns next to published ones."""
    number = np.concatenate([np.zeros(0, np.int64), *(after.find(level) for level in before.levels[1:])])
    published = np.where(number >= 0, after.support[number], 0)
    return _error(way, before.support[1:], published, number >= 0, withheld)


def _error(way: str, truth: Ints, published: Any, is_published: Flags, withheld: int = 0) -> PatternError:
    error = np.abs(published - truth) / np.maximum(truth, 1)
    changed, lost = int((is_published & (published != truth)).sum()), int((~is_published).sum())
    mean = float(error.mean()) if len(error) else 0.0
    return PatternError(way, len(truth), changed, lost, mean, float(error.max(initial=0.0)), withheld)


def _suppressed(
    before: Family, k: int, suppress: Callable[[Family, Knowledge, Channels], Family]
) -> Family | None:
    """The patterns left when no small group is; None where that takes too long."""
    family = before
    for _ in range(MOST_ROUNDS if before.number <= MOST_PATTERNS else 0):
        knowledge = Knowledge(family)
        channels = channels_of(knowledge.family, k)
        if not len(channels):
            return family
        if len(channels) > MOST_CHANNELS:
            break
        family = suppress(family, knowledge, channels)
    return None


def without_people(before: Family, rows: Baskets, least: int, k: int) -> tuple[Family, int] | None:
    """The patterns left and the number of people left out; None where that takes too long."""
    counted = rows

    def leave_out(family: Family, knowledge: Knowledge, channels: Channels) -> Family:
        nonlocal counted
        # items of the release only: others are in no pattern, so they decide no group
        holders = counted.bits(knowledge.family.size)
        grouped = np.zeros(holders.shape[1], dtype=np.uint64)
        for _, members in channels.members(holders):
            grouped |= np.bitwise_or.reduce(members, axis=0)
        left = np.unpackbits(~grouped.view(np.uint8), bitorder="little", count=counted.rows)
        counted = counted.take(left.astype(bool))
        counts = supports(family, counted)
        frequent = counts >= least
        frequent[0] = True
        return replace(family, support=counts).only(frequent)

    family = _suppressed(before, k, leave_out) if rows.rows <= MOST_ROWS else None
    return None if family is None else (family, rows.rows - counted.rows)


def without_patterns(before: Family, k: int) -> Family | None:
    """The patterns left; None where that takes too long."""

    def leave_out(family: Family, knowledge: Knowledge, channels: Channels) -> Family:
        doomed: Flags = np.zeros(family.number, dtype=bool)
        # the far end of a group: its present items and one absent item of each instant
        for present, absent in channels.groups():
            by_instant = groupby(sorted(absent), key=lambda item: item // family.kinds)
            for items in product(*(list(symbols) for _, symbols in by_instant)):
                number = knowledge.family.find_set([*present, *items])
                if number:
                    doomed[_nearest_published(knowledge, number)] = True
        for length, drop in enumerate(family.drops):
            doomed[family.numbers(length)] |= doomed[drop].any(axis=1)
        return family.only(~doomed)

    return _suppressed(before, k, leave_out)


def _nearest_published(knowledge: Knowledge, number: int) -> int:
    """A published set that fewest changes of one symbol lead to; the rarest of them."""
    family, seen, near = knowledge.family, {number}, [number]
    while not (published := [candidate for candidate in near if knowledge.published[candidate] >= 0]):
        wider: set[int | None] = set()
        for items in map(family.items_of, near):
            for item in items:
                remaining, first = [other for other in items if other != item], item - item % family.kinds
                symbols = range(first, first + family.kinds)
                wider |= {family.find_set([*remaining, symbol]) for symbol in symbols}
        near = sorted(neighbour for neighbour in wider if neighbour is not None and neighbour not in seen)
        seen.update(near)
    return int(knowledge.published[min(published, key=lambda candidate: family.support[candidate])])


def _read_off(before: Family, patterns: Patterns, against: Release, rng: np.random.Generator) -> PatternError:
    if against.manifest.get("model") != "series" or not patterns.instants:
        message = "patterns of series can only be compared with a release of series"
        raise ParameterError(message, hint="give a release that anonymize_series made of the same series")
    numbers = np.sort(rng.permutation(before.number - 1)[:READ_PATTERNS]) + 1
    expected = table_counts([before.items_of(int(number)) for number in numbers], patterns, against)
    return _error("series table", before.support[numbers], expected, np.ones(len(numbers), dtype=bool))


def table_counts(sets: Sequence[Sequence[int]], patterns: Patterns, table: Release) -> Floats:
    """The number of series of a table that are expected to have each set of symbols."""
    series = SeriesEvidence(table).published
    if not series.representation.of_instants or not set(patterns.instants) <= set(series.instants):
        message = "the release of series does not have the instants of the patterns"
        raise ParameterError(message, hint="give one that was made of the same series")
    # the chance that a series of each row of the table has each symbol
    kinds = patterns.kinds
    chances = np.full((len(patterns.names), len(series.rows)), 1.0 / kinds)
    column_of = {series.instants[instant]: column for column, instant in enumerate(series.pattern.tolist())}
    for index, instant in enumerate(patterns.instants):
        if instant in column_of:
            letter = series.symbols[:, column_of[instant]].astype(np.float64)
            level = series.levels[:, column_of[instant]].astype(np.float64)
            for symbol in range(kinds):
                low = np.maximum(letter / level, symbol / kinds)
                high = np.minimum((letter + 1) / level, (symbol + 1) / kinds)
                chances[index * kinds + symbol] = np.maximum(high - low, 0.0) * level
    rows = series.rows.astype(np.float64)
    return np.array([chances[list(items)].prod(axis=0) @ rows for items in sets])
