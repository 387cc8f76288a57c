"""What a pattern release lost against the original."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from timeveil.domain.ledger import Ledger
from timeveil.domain.progress import Progress, silent
from timeveil.domain.release import Release
from timeveil.errors import ParameterError
from timeveil.evidence.codes import Integers
from timeveil.evidence.published import promised
from timeveil.models.patterns.judges.alternatives import without_patterns, without_people
from timeveil.models.patterns.judges.family import Family
from timeveil.models.patterns.judges.measure_table import table_counts
from timeveil.models.patterns.judges.published import Patterns, published_patterns
from timeveil.models.patterns.judges.query_original import counted_before, original_of

READ = 2_000
"""So many patterns, drawn at random, are read off a table to compare with."""


@dataclass(frozen=True, slots=True)
class PatternError:
    """What one way to publish patterns costs.

    `changed` patterns have another count than in the original, `lost` ones are not there. `mean_error` and
    `worst_error` are of the relative error of counts over `patterns`; one that is lost counts as wholly off.
    """

    way: str
    patterns: int
    changed: int
    lost: int
    mean_error: float
    worst_error: float
    withheld: int = 0


@dataclass(frozen=True, slots=True)
class PatternLoss:
    """What a pattern release lost, in plain numbers; the empty pattern is not counted among patterns.

    `patterns` were frequent in the original: `changed` of them are published with another count, `lost` ones
    not at all. `mean_error` and `worst_error` are of the relative error of counts; a lost pattern counts as
    wholly off. `virtual` people were added and `withheld` ones left out of `people`. `alternatives` has the
    same numbers for leaving people out, leaving patterns out and, if one was given, reading counts off a
    release of series; what would take too long is not among them.
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
        return next((found for found in self.alternatives if found.way == way), None)

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        return {**asdict(self), "alternatives": [asdict(found) for found in self.alternatives]}


def measure_patterns(
    release: Release,
    ledger: Ledger,
    against: Release | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> PatternLoss:
    """Compare a pattern release with the original rows that its ledger holds."""
    known, k = published_patterns(release), promised(release, "k")
    original = original_of(release, ledger, known)
    progress("counting", 0.0)
    before = counted_before(original)
    own = _compared("this release", before, known.family())
    progress("comparing", 0.5)
    others, structural = [], known.structural
    people = without_people(before, original.rows, known.least, k, structural=structural)
    if people is not None:
        others.append(_compared("without people", before, people[0], people[1]))
    fewer = without_patterns(before, k, structural=structural)
    if fewer is not None:
        others.append(_compared("without patterns", before, fewer))
    if against is not None:
        others.append(_read(before, known, against, np.random.default_rng(seed)))
    progress("done", 1.0)
    return PatternLoss(
        own.patterns,
        own.changed,
        own.lost,
        own.mean_error,
        own.worst_error,
        original.rows.rows,
        known.virtual,
        int((~original.kept).sum()),
        tuple(others),
    )


def _compared(way: str, before: Family, after: Family, withheld: int = 0) -> PatternError:
    """Counts of the original's patterns side by side with published ones."""
    shown = [_found(level, after) for level in before.levels[1:]]
    there = np.concatenate([np.zeros(0, np.int64), *shown])
    truth = before.support[1:]
    told = np.where(there >= 0, after.support[there], 0)
    return _error(way, truth, told, there >= 0, withheld)


def _found(level: Integers, after: Family) -> Integers:
    """Where sets of one length stand in another family, -1 where they do not."""
    here = np.zeros(len(level), dtype=np.int64)
    for place in range(level.shape[1]):
        inside = level[:, place] < after.size
        here = np.where(inside, after.extended(here, np.minimum(level[:, place], after.size - 1)), -1)
    return here


def _error(way: str, truth: Any, told: Any, there: Any, withheld: int = 0) -> PatternError:
    off = np.abs(told - truth) / np.maximum(truth, 1)
    return PatternError(
        way,
        len(truth),
        int((there & (told != truth)).sum()),
        int((~there).sum()),
        float(off.mean()) if len(off) else 0.0,
        float(off.max(initial=0.0)),
        withheld,
    )


def _read(before: Family, known: Patterns, against: Release, rng: np.random.Generator) -> PatternError:
    """The same counts, read off a release of series."""
    if against.manifest.get("model") != "series" or not known.instants:
        raise ParameterError(
            "patterns of series can be compared with a release of series, and nothing else",
            hint="give a release that anonymize_series made of the same series",
            code="bad-parameter",
        )
    number = before.number - 1
    some = np.sort(rng.permutation(number)[:READ]) + 1
    told = table_counts([before.items_of(int(one)) for one in some], known, against)
    return _error("series table", before.support[some], told, np.ones(len(some), dtype=bool))
