"""Random window counts, answered from the release and compared with the original.

A window is a stretch of time, its middle at a random row and its length anything between the resolution and
the whole extent of the data (short and long ones equally often, by magnitude). Every second window also
asks for a value of one quasi-identifier, taken from a random row, as it was published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from timeveil.model.ledger import Ledger
from timeveil.model.release import Release
from timeveil.query.codes import Coded, Integers, align, column_of, encode
from timeveil.query.linked import Linked, shown_as
from timeveil.query.published import axis_of, bounds_of, classes_of, columns_of
from timeveil.query.window import shares

Floats: TypeAlias = npt.NDArray[np.float64]
_LEAST_SHARE = 0.001


def window_errors(
    release: Release, ledger: Ledger, linked: Linked, windows: int, tick: int, rng: np.random.Generator
) -> Floats:
    """The relative error of each of `windows` random window counts."""
    whole = np.flatnonzero(linked.people.whole)
    if not len(whole) or not windows:
        return np.zeros(0)
    moments = linked.people.moment[whole]
    low, high = _draw(moments, windows, tick, rng)
    names = columns_of(release, "quasi")
    column = rng.integers(0, len(names), windows) if names else np.full(windows, -1)
    column[rng.random(windows) < 0.5] = -1
    example = rng.choice(len(whole), windows)
    truth, guess = np.zeros(windows), np.zeros(windows)
    for place in np.unique(column):
        asked = np.flatnonzero(column == place)
        side = _side(release, ledger, linked, names[place] if place >= 0 else None, whole)
        value = side.original[example[asked]]
        truth[asked] = _count(side.original, moments, value, low[asked], high[asked])
        guess[asked] = _estimate(linked, side, value, low[asked], high[asked])
    return np.abs(guess - truth) / np.maximum(truth, _LEAST_SHARE * len(whole))


def _draw(moments: Integers, windows: int, tick: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    extent = int(moments.max() - moments.min()) + tick
    width = np.exp(rng.uniform(np.log(tick), np.log(extent), windows)).astype(np.int64)
    low = moments[rng.integers(0, len(moments), windows)] - width // 2
    return low, low + np.maximum(width, 1)


@dataclass(frozen=True, slots=True)
class _Side:
    """One column on both sides: codes of the original rows, and rows published per (code, granule)."""

    original: Integers
    value: Integers
    place: Integers
    rows: Integers


def _side(release: Release, ledger: Ledger, linked: Linked, name: str | None, whole: Integers) -> _Side:
    keys = [*([] if name is None else [name]), *columns_of(release, "start", "end")]
    counts = classes_of(release, keys)
    rows = np.asarray(counts["rows"])
    start, _ = bounds_of(axis_of(release), counts.column(len(keys) - 2), counts.column(len(keys) - 1))
    place = np.searchsorted(linked.granules.start, start)
    if name is None:
        return _Side(np.zeros(len(whole), np.int64), np.zeros(len(rows), np.int64), place, rows)
    original = shown_as(ledger, name, encode(column_of(ledger.original.data, name)))
    ours, theirs = align(Coded(original.codes[whole], original.values), encode(counts.column(0)))
    return _Side(ours.codes, theirs.codes, place, rows)


def _count(codes: Integers, moments: Integers, value: Integers, low: Integers, high: Integers) -> Integers:
    """Rows of each value in each window, by two look-ups in the sorted rows of the value."""
    order = np.lexsort((moments, codes))
    sorted_codes, sorted_moments = codes[order], moments[order]
    begin = np.searchsorted(sorted_codes, value, side="left")
    close = np.searchsorted(sorted_codes, value, side="right")
    found = np.zeros(len(value), dtype=np.int64)
    for case, (a, b) in enumerate(zip(begin, close, strict=True)):
        part = sorted_moments[a:b]
        found[case] = np.searchsorted(part, high[case]) - np.searchsorted(part, low[case])
    return found


def _estimate(linked: Linked, side: _Side, value: Integers, low: Integers, high: Integers) -> Floats:
    order = np.argsort(side.value, kind="stable")
    codes, place, rows = side.value[order], side.place[order], side.rows[order]
    begin = np.searchsorted(codes, value, side="left")
    close = np.searchsorted(codes, value, side="right")
    found = np.zeros(len(value))
    for case, (a, b) in enumerate(zip(begin, close, strict=True)):
        expected, _, _ = shares(linked.granules, int(low[case]), int(high[case]))
        found[case] = expected[place[a:b]] @ rows[a:b]
    return found
