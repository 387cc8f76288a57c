"""The slots of a stream: labels, times and dates as whole numbers on one line.

A release shows a slot by its label. To see which slots follow each other, a judge needs the number of the
granule behind it. No label is trusted: its text only suggests where to look, and the stated calendar must
give exactly that label there.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.axis import clocks, instants
from timeveil.calendar.civil import UNITS
from timeveil.calendar.granularity import GAP, Granularity
from timeveil.domain.arrays import Ints
from timeveil.domain.relation import TimeAxis
from timeveil.domain.release import Release
from timeveil.evidence.codes import encode

NOWHERE: int = GAP  # the number of anything that is not a slot
_DAY = 86_400
_SPARE = 100_000
_DATED = re.compile(r"\d{4}(-\d\d(?!\d)(-\d\d(?!\d)( \d\d:\d\d(:\d\d)?)?)?)?")
_COUNTED = re.compile(rf"({'|'.join(UNITS)})s? (-?\d+)")


@dataclass(frozen=True, slots=True)
class SlotLine:
    """How slots are numbered: by a granularity, or, without one, by their own numbers."""

    granularity: Granularity | None
    axis: TimeAxis

    def numbers(self, slots: pa.ChunkedArray | pa.Array) -> Ints:
        """The number of each slot; `NOWHERE` for anything else."""
        coded = encode(slots)
        if self.granularity is None:
            numbers = pc.fill_null(coded.values.cast(pa.int64()), NOWHERE).to_numpy(zero_copy_only=False)
        else:
            numbers = _search(self.granularity, coded.values.cast(pa.string()))
        return np.asarray(numbers, dtype=np.int64)[coded.codes]

    def number(self, slot: object) -> int:
        """The number of one slot as a manifest states it; `NOWHERE` for anything else."""
        if self.granularity is None:
            return slot if isinstance(slot, int) and not isinstance(slot, bool) else NOWHERE
        return int(self.numbers(pa.array([slot], pa.string()))[0]) if isinstance(slot, str) else NOWHERE

    def labels(self, numbers: Iterable[int]) -> pa.Array:
        """Slots as a release shows them."""
        slots = np.fromiter(numbers, dtype=np.int64)
        if self.granularity is None:
            return pa.array(slots)
        return pa.array(self.granularity.label(slots), pa.string())

    def origins(self, times: pa.ChunkedArray) -> Ints:
        """The slot of each original time; `NOWHERE` where there is none."""
        valid = np.asarray(times.is_valid())
        slots, present = np.full(len(times), NOWHERE), times.drop_null()
        if self.granularity is None:
            slots[valid] = present.cast(pa.int64()).to_numpy()
        else:
            moments = instants(self.axis, present)
            slots[valid] = self.granularity.index(clocks(self.axis, moments).settled(moments))
        return slots

    def holding(self, moment: int) -> int:
        """The slot that an instant is in, or the next one where it is in a gap."""
        if self.granularity is None:
            return moment
        # The latest time that the clock has shown, so that a slot is one stretch where clocks go back.
        settled = clocks(self.axis, np.array([moment])).settled(np.array([moment]))
        return int(self.granularity.rule.following(settled)[0])


def line_of(release: Release, kind: pa.DataType | None = None) -> SlotLine:
    """The line of a release's slots; `kind` is the type of original times, where they are known.

    Raises the calendar's own error where the stated definition is not one.
    """
    time = release.manifest["time"]
    axis = TimeAxis(time["kind"], kind or pa.timestamp("ms"), zone=time.get("zone"), unit=time.get("unit"))
    definition = time.get("slot_definition")
    return SlotLine(None if definition is None else Granularity.from_dict(dict(definition)), axis)


def _search(granularity: Granularity, labels: pa.Array) -> Ints:
    """The granule with each label: granules near what the texts suggest are labelled and compared."""
    rule, texts = granularity.rule, labels.to_pylist()
    if granularity.clock == "any" or rule.extent is not None:
        low, high = rule.extent or (0, 1)
        first, last = rule.following(np.array([[low], [high - 1]]))
    else:
        read = _dated if granularity.clock == "civil" else _counted
        spans = [span for text in texts if text is not None and (span := read(text)) is not None]
        first, last = np.unique(rule.following(np.array(spans, np.int64).reshape(-1, 2)), axis=0).T
        # A text is only a hint: neighbours are tried, too, and one that fits very many granules is no label.
        order = (last - first).argsort()
        order = order[(last - first)[order].cumsum() <= 10 * len(texts) + _SPARE]
        first, last = first[order] - 1, last[order] + 1
    numbers = np.unique(np.concatenate([first[:0], *map(np.arange, first, last + 1)]))
    granules = dict(zip(granularity.label(numbers), numbers.tolist(), strict=True))
    return np.array([granules.get(text, NOWHERE) for text in texts], np.int64)


def _dated(label: str) -> tuple[int, int] | None:
    """The earliest and latest start of a granule labelled `2025-02`, `2025-W07`, `2025-02-14 17:30`, …"""
    stated, match = None, _DATED.match(label)
    with suppress(ValueError):
        stated = np.datetime64(match[0]) if match else None
    if stated is None:
        return None
    # ISO years, school years and weeks may begin before or end after the year in the label.
    spare = 10 * _DAY if len(str(stated)) == 4 else 0
    start, end = (int(moment.astype("M8[s]").astype(np.int64)) for moment in (stated, stated + 1))
    return start - spare, end + spare


def _counted(label: str) -> tuple[int, int] | None:
    """The start of a granule labelled `day 3`, `months 0 to 3`, …, on relative time."""
    match = _COUNTED.match(label)
    if match is None or len(match[2]) > 18:
        return None
    start = int(match[2]) * UNITS[match[1]][1]
    return (start, start) if abs(start) < 2**60 else None
