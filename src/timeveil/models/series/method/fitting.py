"""PATTERN of `adaptive` and `representative`: the best pattern of each subgroup, one symbol per instant.

With unit centred shapes a subgroup under a pattern r preserves `V.r / |r - mean(r)|` of its shapes; V is the
sum of its members' shapes. That is a correlation in disguise, so the best pattern is the one nearest to a
line through V. The fit alternates between that line and the nearest symbols that may be published, then
changes one instant at a time while that helps. A pattern is flat where constant series prevail.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from timeveil.domain.arrays import Ints, Words
from timeveil.models.series.method.partition import Floats, Symbols
from timeveil.symbols import reconstructed

LINES, SWEEPS = 3, 3
ROUNDING = 1e-9
NUMBERS_AT_ONCE = 1 << 17
"""Subgroups times instants times choices in one step, which fits the processor's cache."""


@dataclass(frozen=True, slots=True)
class Alphabet:
    """The symbols that patterns may have, and the z-normalised value that each means.

    Without a `level` each instant takes any level up to the highest at which all members of its subgroup
    share a symbol; with one, any symbol of that level.
    """

    max_level: int
    level: int | None = None

    def choices(self, low: Floats, high: Floats) -> Floats:
        """What each choice of an instant means, by subgroup; infinite where it may not be published.

        Choice c is the level c + 1, or the symbol c of the one level. `low` and `high` are the lowest and
        highest position of a subgroup's members: where these two share a symbol, all members do.
        """
        if self.level is not None:
            every: Floats = reconstructed(np.arange(self.level), self.level).astype(low.dtype)
            return np.broadcast_to(every, (*low.shape, self.level))
        levels, begins = np.arange(1, self.max_level + 1), np.arange(0, self.max_level**2, self.max_level)
        meanings = reconstructed(np.arange(self.max_level), levels[:, None]).astype(low.dtype)
        lowest, highest = (
            (end[..., None] * levels.astype(low.dtype)).astype(np.int32) for end in (low, high)
        )
        choices: Floats = meanings.ravel()[lowest + begins.astype(np.int32)]
        choices[lowest != highest] = np.inf
        return choices

    def pattern(self, picked: Ints, low: Floats) -> tuple[Symbols, Symbols]:
        levels = picked + 1 if self.level is None else np.full_like(picked, self.level)
        symbols = (low * levels).astype(np.uint8) if self.level is None else picked.astype(np.uint8)
        return symbols, levels.astype(np.uint8)


def best_patterns(
    alphabet: Alphabet, low: Floats, high: Floats, sums: Floats, flats: Floats
) -> tuple[Symbols, Symbols, Floats]:
    """Symbols and levels of the best pattern of every subgroup, and how much shape it preserves.

    `sums` is V, `flats` the number of constant series in a subgroup.
    """
    symbols, levels = np.zeros(sums.shape, np.uint8), np.ones(sums.shape, np.uint8)
    preserved = flats.astype(np.float64)
    for rows in _portions(sums, sums.shape[1], alphabet):
        choices = alphabet.choices(low[rows], high[rows])
        picked, fit = _ascend(choices, sums[rows], _nearest_line(choices, sums[rows])[0])
        shaped = fit > flats[rows]
        symbols[rows][shaped], levels[rows][shaped] = alphabet.pattern(picked[shaped], low[rows][shaped])
        preserved[rows][shaped] = fit[shaped]
    return symbols, levels, preserved


class Fits:
    """How much shape subgroups preserve under their patterns, without the last changes instant by instant.

    Rounds ask for the same subgroups again and again: what was worked out once is looked up by its `members`,
    the sum of their `tags`, which are random numbers of 64 bits, one for each series.
    """

    def __init__(self, alphabet: Alphabet, count: int) -> None:
        self._alphabet = alphabet
        self.tags = np.random.default_rng(0).integers(1 << 64, size=count, dtype=np.uint64)
        # The last entry is above all sums of tags, so that every look-up ends at an entry.
        self._members, self._preserved = np.full(1, np.iinfo(np.uint64).max), np.zeros(1, np.float32)

    def preserved(self, members: Words, low: Floats, high: Floats, sums: Floats, flats: Floats) -> Floats:
        """Per subgroup the shape that it preserves; other arguments are those of `best_patterns`."""
        index = np.searchsorted(self._members, members)
        preserved = self._preserved[index]
        new = np.flatnonzero(self._members[index] != members)
        new = new[np.argsort(members[new])]
        for portion in _portions(new, sums.shape[1], self._alphabet):
            rows = new[portion]
            fit = _nearest_line(self._alphabet.choices(low[rows], high[rows]), sums[rows])[1]
            preserved[rows] = np.maximum(fit, flats[rows])
        self._members = np.insert(self._members, index[new], members[new])
        self._preserved = np.insert(self._preserved, index[new], preserved[new])
        return preserved


def _portions(subgroups: Floats, instants: int, alphabet: Alphabet) -> Iterator[slice]:
    step = max(1, NUMBERS_AT_ONCE // (instants * (alphabet.level or alphabet.max_level)))
    for first in range(0, len(subgroups), step):
        yield slice(first, first + step)


def _nearest_line(choices: Floats, sums: Floats) -> tuple[Ints, Floats]:
    """The choices nearest to a line through V, and their fit; the line then goes through them, and again."""
    length = np.sqrt(np.einsum("ij,ij->i", sums, sums))
    line = sums * (np.sqrt(sums.shape[1]) / np.where(length > 0, length, 1)).astype(sums.dtype)[:, None]
    best, picked = np.full(len(sums), -1.0), np.zeros(sums.shape, np.int64)
    for _ in range(LINES):
        nearest = np.abs(choices - line[..., None]).argmin(axis=2)
        values = _values(choices, nearest)
        dot, total, square = _moments(sums, values)
        fit = _correlation(dot, total, square, sums.shape[1])
        better = fit > best
        picked[better], best[better] = nearest[better], fit[better]
        spread = square - total * total / sums.shape[1]
        # The regression of V on the values just picked, solved for the values.
        slope = (spread / np.where(fit > 0, dot, 1)).astype(sums.dtype)
        line = sums * slope[:, None] + values.mean(axis=1, keepdims=True)
    return picked, best


def _ascend(choices: Floats, sums: Floats, picked: Ints) -> tuple[Ints, Floats]:
    """Change one instant at a time while the fit grows; returns the choices and their fit."""
    values = _values(choices, picked)
    # Three sums per subgroup decide its fit; a change of one instant shifts each by a known amount.
    dot, total, square = _moments(sums, values)
    instants = sums.shape[1]
    best = _correlation(dot, total, square, instants)
    rows = np.arange(len(sums))
    for _ in range(SWEEPS):
        changed = np.zeros(len(sums), np.bool_)
        for instant in range(instants):
            # A choice that may not be published is taken for no change
            options, before = choices[rows, instant], values[rows, instant, None]
            steps = np.where(np.isfinite(options), options - before, 0.0)
            fits = _correlation(
                dot[rows, None] + sums[rows, instant, None] * steps,
                total[rows, None] + steps,
                square[rows, None] + steps * (steps + 2 * before),
                instants,
            )
            choice = fits.argmax(axis=1)
            fit = fits[np.arange(len(rows)), choice]
            # A gain within rounding is none: else two choices could alternate for ever.
            better = fit > best[rows] * (1 + ROUNDING)
            improved, choice = rows[better], choice[better]
            picked[improved, instant] = choice
            values[improved, instant] = choices[improved, instant, choice]
            dot[improved], total[improved], square[improved] = _moments(sums[improved], values[improved])
            best[improved] = fit[better]
            changed[improved] = True
        # Only subgroups that a sweep changed can gain from another one.
        rows = np.flatnonzero(changed)
    return picked, best


def _values(choices: Floats, picked: Ints) -> Floats:
    return np.take_along_axis(choices, picked[..., None], axis=2)[..., 0]


def _moments(sums: Floats, values: Floats) -> tuple[Floats, Floats, Floats]:
    return np.einsum("ij,ij->i", sums, values), values.sum(axis=1), np.einsum("ij,ij->i", values, values)


def _correlation(dot: Floats, total: Floats, square: Floats, instants: int) -> Floats:
    """V.r / |r - mean(r)|; 0 where the pattern is flat or turned the other way."""
    spread = square - total * total / instants
    defined = (dot > 0) & (spread > ROUNDING * square)
    return np.where(defined, dot / np.sqrt(np.where(defined, spread, 1)), 0)
