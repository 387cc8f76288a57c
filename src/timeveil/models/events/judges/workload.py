"""Random window counts, answered from the release and compared with the original.

A window is a stretch of time around a random row, as long as anything between the resolution of the times
and the whole extent of the data (short and long ones equally often, by magnitude), in whole steps of the
resolution. About every second window also asks for a value of one quasi-identifier, taken from a
random row, as it was published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.evidence.codes import Integers, align, column_of, encode
from timeveil.evidence.published import axis_of, bounds_of, classes_of, columns_of
from timeveil.models.events.judges.linked import Linked, shown_as
from timeveil.models.events.judges.window import shares

Floats: TypeAlias = npt.NDArray[np.float64]
_LEAST_SHARE = 0.001


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows [low, high); `column` is a quasi-identifier by place or -1, `example` a row with its value."""

    low: Integers
    high: Integers
    column: Integers
    example: Integers


def window_errors(
    release: Release, ledger: Ledger, linked: Linked, windows: int, tick: int, rng: np.random.Generator
) -> Floats:
    """The relative error of each of `windows` random window counts."""
    whole = np.flatnonzero(linked.people.whole)
    if not len(whole) or not windows:
        return np.zeros(0)
    drawn = draw_windows(linked, len(columns_of(release, "quasi")), windows, tick, rng)
    truth, guess = count_and_estimate(release, ledger, linked, drawn)
    return np.abs(guess - truth) / np.maximum(truth, _LEAST_SHARE * len(whole))


def draw_windows(linked: Linked, columns: int, windows: int, tick: int, rng: np.random.Generator) -> Windows:
    """Windows at random; the table must have a row with person and time."""
    whole = np.flatnonzero(linked.people.whole)
    moments = linked.people.moment[whole]
    extent = int(moments.max() - moments.min()) // tick + 1
    steps = np.exp(rng.uniform(0.0, np.log(extent), windows)).astype(np.int64)
    low = moments[rng.integers(0, len(moments), windows)] - steps // 2 * tick
    column = rng.integers(0, columns, windows) if columns else np.full(windows, -1)
    column[rng.random(windows) < 0.5] = -1
    return Windows(low, low + steps * tick, column, whole[rng.integers(0, len(whole), windows)])


def count_and_estimate(
    release: Release, ledger: Ledger, linked: Linked, windows: Windows
) -> tuple[Floats, Floats]:
    """Per window the rows of the original, and what `answer` would say from the release."""
    whole, names = np.flatnonzero(linked.people.whole), columns_of(release, "quasi")
    truth, guess = np.zeros(len(windows.low)), np.zeros(len(windows.low))
    for place in np.unique(windows.column):
        asked = np.flatnonzero(windows.column == place)
        side = _side(release, ledger, linked, names[place] if place >= 0 else None)
        value = side.original[windows.example[asked]]
        low, high = windows.low[asked], windows.high[asked]
        truth[asked] = _count(side.original[whole], linked.people.moment[whole], value, low, high)
        guess[asked] = _estimate(linked, side, value, low, high)
    return truth, guess


@dataclass(frozen=True, slots=True)
class _Side:
    """One column on both sides: codes of the original rows, and rows published per (code, granule)."""

    original: Integers
    value: Integers
    place: Integers
    rows: Integers


def _side(release: Release, ledger: Ledger, linked: Linked, name: str | None) -> _Side:
    keys = [*([] if name is None else [name]), *columns_of(release, "start", "end")]
    counts = classes_of(release, keys)
    rows = np.asarray(counts["rows"])
    start, _ = bounds_of(axis_of(release), counts.column(len(keys) - 2), counts.column(len(keys) - 1))
    place = np.searchsorted(linked.granules.start, start)
    if name is None:
        return _Side(np.zeros(len(linked.kept), np.int64), np.zeros(len(rows), np.int64), place, rows)
    original = shown_as(ledger, name, encode(column_of(ledger.original.data, name)))
    ours, theirs = align(original, encode(counts.column(0)))
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
