"""A stream on its way: what has arrived, what stands in the window, what has been published.

Slots arrive one at a time and in order. `arrive` lets one in and gives the slot that it makes final; `end`
gives those that are left. Nothing here reads tables of unknown kind or looks at a clock: see `publisher`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.models.stream.method.buckets import anatomy
from timeveil.models.stream.method.chance import BUCKETS, JITTER, Draws
from timeveil.models.stream.method.exact import solve_window
from timeveil.models.stream.method.placing import Placed, Snapshot, place
from timeveil.models.stream.method.reposition import least_suppression, reposition
from timeveil.models.stream.method.settings import Settings
from timeveil.models.stream.method.window import Window
from timeveil.reading.encoding import plain

Part = tuple[pa.Table, list[int], list[int]]
"""Rows, their values' codes, their true slots."""
Final = tuple[int, pa.Table, list[int], list[int]]
"""A slot, its rows, their values' codes, their buckets."""


class Stream:
    """The one mutable object of a run.

    `first` and `last` are the first slot and the latest that arrived, `emitted` the latest that is final.
    `snapshots` holds the records of two windows at most, `delayed` those that jitter holds back.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.first: int | None = None
        self.last: int | None = None
        self.emitted: int | None = None
        self.values: list[Any] = []
        self.codes: dict[Any, int] = {}
        self.snapshots: dict[int, Snapshot] = {}
        self.delayed: dict[int, list[Part]] = {}
        self.solved = settings.first_window == "grow"
        self.tally: Counter[str] = Counter()
        self.window = self._empty_window()

    def _empty_window(self) -> Window:
        return Window(self.settings.window, self.settings.costs.move, self.withhold_cost)

    def withhold_cost(self, code: int) -> int:
        """beta of a value by its code."""
        return self.settings.costs.of_value(self.values[code])

    def encode(self, column: pa.ChunkedArray) -> list[int]:
        """Codes of sensitive values, numbered as they first come."""
        return encode(column, self.values, self.codes)

    def arrive(self, slot: int, rows: pa.Table | None, codes: list[int], came_from: list[int]) -> list[Final]:
        """The next slot arrives; slots left out before it are empty."""
        out: list[Final] = []
        if self.first is None or self.last is None:
            self.first, self.last, self.emitted = slot, slot - 1, slot - 1
        while self.last + 1 < slot:
            out += self._step(self.last + 1)
        if rows is not None:
            self._delay(slot, rows, codes, came_from)
        return out + self._step(slot)

    def end(self) -> list[Final]:
        """No slot arrives any more: what jitter held back comes, and every slot is final."""
        if self.last is None or self.emitted is None:
            return []
        out = [final for _ in range(self.settings.jitter) for final in self._step(self.last + 1)]
        if not self.solved:
            self._solve()
        out += [self._emit(slot) for slot in range(self.emitted + 1, self.last + 1)]
        for slot in list(self.snapshots):
            self._leave(slot)
        return out

    def _delay(self, slot: int, rows: pa.Table, codes: list[int], came_from: list[int]) -> None:
        """Let every record wait a random number of slots, none without jitter."""
        if not self.settings.jitter:
            self.delayed[slot] = [(rows, codes, came_from)]
            return
        draws = Draws(self.settings.seed, slot, JITTER)
        waits = np.array([draws.below(self.settings.jitter + 1) for _ in codes])
        for wait in sorted(set(waits.tolist())):
            chosen = np.flatnonzero(waits == wait)
            part = rows.take(pa.array(chosen)), [codes[i] for i in chosen], [came_from[i] for i in chosen]
            self.delayed.setdefault(slot + wait, []).append(part)

    def _step(self, slot: int) -> list[Final]:
        """The arrival of one slot (§III), and the slot that it makes final."""
        settings, snapshot = self.settings, self._snapshot(slot)
        if snapshot is not None:
            self.snapshots[slot] = snapshot
        self.last = slot
        counts = Counter(snapshot.values if snapshot else ())
        keep = least_suppression(counts, settings.l)
        self.window.arrive(slot, keep, {value: counts[value] - keep[value] for value in counts})
        final = slot - settings.window + 1
        if not self.solved:
            if final == self.first:
                self._solve()
        elif counts or settings.fill_empty:
            reposition(self.window, settings.l, settings.filler)
        return [self._emit(final)] if self.first is not None and final >= self.first else []

    def _snapshot(self, slot: int) -> Snapshot | None:
        parts = self.delayed.pop(slot, [])
        if not parts:
            return None
        rows = pa.concat_tables([part[0] for part in parts])
        values = [code for part in parts for code in part[1]]
        return self.snapshot(slot, rows, values, [origin for part in parts for origin in part[2]])

    def snapshot(
        self, slot: int, rows: pa.Table, values: list[int], came_from: list[int], taken: Sequence[int] = ()
    ) -> Snapshot:
        """Records of one slot, without those that were taken already."""
        person = self.settings.roles.respondent
        people = None if person is None else rows.column(person).to_pylist()
        snapshot = Snapshot(slot, rows, values, came_from, people, self.settings.seed)
        snapshot.without(taken)
        return snapshot

    def _solve(self) -> None:
        """The first window as one integer program."""
        if self.first is None or self.last is None:
            return
        span = range(self.first, self.last + 1)
        counts = [dict(Counter(self.snapshots[s].values if s in self.snapshots else ())) for s in span]
        settings, self.window = self.settings, self._empty_window()
        published, withheld = solve_window(
            self.first, counts, settings.l, settings.costs.move, self.withhold_cost
        )
        for slot in span:
            self.window.place(slot, published[slot], withheld[slot])
        self.solved = True

    def _emit(self, slot: int) -> Final:
        """Choose the records of a final slot, and their buckets."""
        settings = self.settings
        placed = place(slot, self.window.published, self.snapshots, settings.l)
        codes = [one.value for one in placed]
        bucket: list[int] = []
        if settings.buckets == "anatomy":
            bucket = anatomy(codes, settings.l, Draws(settings.seed, slot, BUCKETS))
        self.tally["duplicates"] += self.window.sizes[slot] - len(placed)
        rows = self._gather(slot, placed)
        self.emitted = slot
        for old in [old for old in self.snapshots if old <= slot - settings.window + 1]:
            self._leave(old)
        return slot, rows, codes, bucket

    def _gather(self, slot: int, placed: Sequence[Placed]) -> pa.Table:
        """The rows of placed records, and their part in the tally."""
        records: dict[int, list[int]] = {}
        for one in placed:
            records.setdefault(one.arrived, []).append(one.record)
        parts = []
        for arrived, numbers in records.items():
            snapshot = self.snapshots[arrived]
            parts.append(snapshot.rows.take(pa.array(numbers)))
            for distance, count in Counter(slot - snapshot.came_from[n] for n in numbers).items():
                self.tally["moved"] += count if distance else 0
                self.tally["distance"] += distance * count
                self.tally["loss"] += self.settings.costs.of_distance(distance) * count
        self.tally["published"] += len(placed)
        self.tally["slots"] += 1
        return pa.concat_tables(parts) if parts else pa.table({})

    def _leave(self, slot: int) -> None:
        """A snapshot whose last record has had its last chance goes; what is left of it is withheld."""
        snapshot = self.snapshots.pop(slot)
        withheld = snapshot.unpublished
        self.tally["withheld"] += len(withheld)
        self.tally["loss"] += sum(self.withhold_cost(snapshot.values[record]) for record in withheld)


def encode(column: pa.ChunkedArray, values: list[Any], codes: dict[Any, int]) -> list[int]:
    """Codes of values; those that are new get the next numbers."""
    coded = plain(column).combine_chunks().dictionary_encode()
    for value in coded.dictionary.to_pylist():
        if value not in codes:
            codes[value] = len(values)
            values.append(value)
    known = [codes[value] for value in coded.dictionary.to_pylist()]
    return [known[place] for place in coded.indices.to_pylist()]
