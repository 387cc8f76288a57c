"""Everything that judges of events read, once: the release, its ledger, and the link between the two.

Where a row was published follows from the published intervals and values, not from the ledger's groups.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.axis import instants, ticks
from timeveil.calendar.catalogue import fit
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Gaps, Ticks, Timeline, base_for
from timeveil.domain.arrays import Flags, Ints
from timeveil.domain.relation import Relation, TimeAxis
from timeveil.domain.release import Release
from timeveil.errors import InputError
from timeveil.evidence.codes import (
    Coded,
    align,
    all_zero,
    column_of,
    distinct,
    encode,
    encode_people,
    example_of,
    fold,
    fold_both,
    mismatch,
    plain_type,
    ranked,
)
from timeveil.evidence.published import CountedRows, promised, schema_of
from timeveil.evidence.published import Evidence as ReleaseEvidence

# Bounds of a granule that extends beyond the calendar: far outside any instant, and their difference fits.
LOWEST, HIGHEST = -(2**61), 2**61
WIDTHS = (86_400, 3_600, 1_800, 900, 300, 60)
_BEYOND = 2**40  # wider than all times together


@dataclass(frozen=True, slots=True)
class Granules:
    """The granules of a release in order of time, as instants; `end` is exclusive.

    `reach` is the earliest instant that a row of the granule can have had: its start, or, where rows in a
    gap of the calendar were moved to the next granule, the end of the granule before.
    """

    start: Ints
    end: Ints
    reach: Ints

    @property
    def stretches(self) -> Ticks:
        """Stretches of one length, each of them in one granule or in none."""
        edges = np.concatenate([self.start, self.end, self.reach])
        edges = edges[(edges > LOWEST) & (edges < HIGHEST)]
        begin = int(edges.min()) if len(edges) else 0
        return Ticks(int(np.gcd.reduce(edges - begin)) or _BEYOND, -begin, "stretch")

    def containing(self, moments: Ints) -> Ints:
        """Index of the granule that a row of each instant is published in; -1 where there is none."""
        if not len(self.start):
            return np.full(len(moments), -1, dtype=np.int64)
        # Many rows are in few stretches, of which each is looked up once.
        stretches, stretch = ranked(self.stretches.granule(moments))
        begins = self.stretches.start(stretches)
        index = np.searchsorted(np.maximum.accumulate(self.end), begins, side="right")
        inside = np.minimum(index, len(self.end) - 1)
        return np.where((index < len(self.end)) & (self.reach[inside] <= begins), index, -1)[stretch]


@dataclass(frozen=True)
class People:
    """Person and time of each row. Only `complete` rows have both; the others hold 0 and must not be used.

    `moment` is the instant, and `tick` the time itself: `per_instant` of its steps make one instant.
    """

    axis: TimeAxis
    person: Ints
    people: int
    tick: Ints
    per_instant: int
    complete: Flags

    @cached_property
    def moment(self) -> Ints:
        return self.tick if self.per_instant == 1 else self.tick // self.per_instant

    @cached_property
    def extent(self) -> tuple[int, int]:
        """The first moment, and the end of the last as precisely as times are known."""
        moments = self.moment[self.complete]
        return (int(moments.min()), int(moments.max()) + self.resolution) if len(moments) else (0, 0)

    @property
    def resolution(self) -> int:
        """The widest of day, hour, 30, 15, 5 minutes, minute and second that divides every time."""
        if self.axis.kind == "relative":  # the unit itself
            return max(1, int(instants(self.axis, pa.array([1], pa.int64()))[0]))
        return next((width for width in WIDTHS if self._divided_by(width * self.per_instant)), 1)

    @property
    def precision(self) -> float:
        """The resolution, or the part of a second that divides every time."""
        parts = (part for part in (1, 10**3, 10**6, 10**9) if part <= self.per_instant)
        part = next(part for part in parts if self._divided_by(self.per_instant // part))
        return self.resolution if part == 1 else 1 / part

    def _divided_by(self, ticks: int) -> bool:
        # The first rows show most of the time that a number does not divide all.
        parts = slice(1_000), slice(None)
        return not any((self.tick[rows][self.complete[rows]] % ticks).any() for rows in parts)


class Evidence(ReleaseEvidence):
    """A release of events and its ledger, read once for all judges."""

    @property
    def k(self) -> int:
        return promised(self.release, "k")

    @cached_property
    def axis(self) -> TimeAxis:
        """The axis of the published starts and ends."""
        time = self.release.manifest["time"]
        kind = plain_type(schema_of(self.release).field(f"{time['column']}_start").type)
        return TimeAxis(time["kind"], kind, zone=time.get("zone"), unit=time.get("unit"))

    @cached_property
    def steps(self) -> list[Mapping[str, Any]]:
        """How rows were generalised: at one of several steps, from fine to coarse, or all at one."""
        manifest = self.release.manifest
        return list(manifest.get("steps") or [manifest])

    @property
    def stepped(self) -> bool:
        return "steps" in self.release.manifest

    def granularity_of(self, step: Mapping[str, Any]) -> Granularity:
        """The granularity of a step, from its definition in the manifest."""
        definitions = {d.get("name"): d for d in self.release.manifest.get("definitions", ())}
        definition = definitions[step["granularity"]] if self.stepped else step["granularity_definition"]
        return fit(Granularity.from_dict(dict(definition)), self.axis)

    @cached_property
    def rows(self) -> CountedRows:
        """Each published (quasi-identifiers, label, start, end, step), by position, with its `rows`."""
        keys = self.columns("quasi", "time", "start", "end", "step")
        return CountedRows(self, keys, by=[*self.columns("quasi", "start"), *self.columns("time")])

    @property
    def classes(self) -> pa.Table:
        return self.rows.classes

    @cached_property
    def class_step(self) -> Ints:
        """The index in `steps` of each class."""
        if not self.stepped:
            return np.zeros(len(self.classes), np.int64)
        return np.asarray(self.classes.columns[-2], np.int64) - 1

    @cached_property
    def bounds(self) -> tuple[Ints, Ints]:
        """Start and end of each class, as instants."""
        start, end = self.classes.columns[-4:-2] if self.stepped else self.classes.columns[-3:-1]
        return bounds_of(self.axis, start, end)

    @cached_property
    def _granules(self) -> tuple[Granules, Ints]:
        return granules_of(self.release, *self.bounds)

    @property
    def granules(self) -> Granules:
        """The granules of all steps, by start and end; those of several steps may overlap."""
        return self._granules[0]

    @property
    def class_granule(self) -> Ints:
        """Per class the index of its granule in `granules`."""
        return self._granules[1]

    @cached_property
    def run_granule(self) -> Ints:
        """Per run of published rows the index of its granule in `granules`."""
        start, end = (encode(self.rows.runs.column(len(self.quasi) + place)) for place in (1, 2))
        pairs, count = fold([(start.codes, start.size), (end.codes, end.size)], len(start.codes))
        example = example_of(pairs, count)  # few granules, many rows: look up one row of each
        bounds = (pa.chunked_array([side.values.take(side.codes[example])]) for side in (start, end))
        return granules_of(self.release, *bounds_of(self.axis, *bounds))[1][pairs]

    @cached_property
    def people(self) -> People:
        return people_of(self.private.original)

    @cached_property
    def retained(self) -> Flags:
        """The original rows that the ledger does not list as withheld."""
        return np.asarray(column_of(self.private.entries, "group").is_valid())

    @cached_property
    def granule(self) -> Ints:
        """Index of the granule that admits each original row; -1 without a time or such a granule."""
        if self.stepped:
            return self._readings[1]
        return np.where(self.people.complete, self.granules.containing(self.people.moment), -1)

    @cached_property
    def step(self) -> Ints:
        """Index of the step that each original row is read at; -1 at none."""
        return self._readings[0] if self.stepped else all_zero(len(self.people.person))

    @cached_property
    def cells(self) -> tuple[Ints, Ints]:
        """The cell of each original row, its quasi-identifiers at an instant, and a row of each cell."""
        quasi, (times, time) = self.folded(self.quasi), ranked(self.people.moment)
        cell, cells = fold([(quasi, int(quasi.max(initial=0)) + 1), (time, len(times))], len(quasi))
        return cell, example_of(cell, cells)

    @cached_property
    def _readings(self) -> tuple[Ints, Ints]:
        """Per original row the first step one of whose published classes admits it, and its granule there."""
        cell, example = self.cells  # rows of a cell are read alike
        step, granule = np.full((2, len(example)), -1, np.int64)
        for number in range(len(self.steps)):
            waiting = np.flatnonzero(step < 0)
            admitted = self.admitted(number, example[waiting])
            read = waiting[admitted >= 0]
            step[read], granule[read] = number, self.class_granule[admitted[admitted >= 0]]
        complete = self.people.complete
        return np.where(complete, step[cell], -1), np.where(complete, granule[cell], -1)

    def admitted(self, number: int, rows: Ints) -> Ints:
        """The class of a step whose label and granule some original rows fit; -1 where there is none."""
        classes = np.flatnonzero(self.class_step == number)
        if not (len(classes) and len(rows)):
            return np.full(len(rows), -1, np.int64)
        granules, at_class = granules_of(self.release, *(bound[classes] for bound in self.bounds))
        granule = granules.containing(self.people.moment[rows])
        # Before it is folded, a row in no granule takes the number of the first one.
        sides = [(np.maximum(granule, 0), at_class, len(granules.start))]
        for column, name in enumerate(self.quasi):
            published = encode(self.classes.column(column).take(pa.array(classes)))
            left, right = align(self.labels_at(name, self.steps[number]["levels"].get(name)), published)
            sides.append((left.codes[rows], right.codes, left.size))
        reading, published_at, count = fold_both(sides)
        class_of = np.full(count, -1, np.int64)
        class_of[published_at] = classes
        return np.where(granule >= 0, class_of[reading], -1)

    @cached_property
    def quasi(self) -> dict[str, Coded]:
        return {name: self.original_column(name) for name in self.columns("quasi")}

    @cached_property
    def stated_labels(self) -> dict[str, Coded]:
        """The quasi-identifiers at the levels that the manifest states for all rows."""
        levels = self.release.manifest["levels"]
        return {name: self.labels_at(name, levels.get(name)) for name in self.quasi}

    @cached_property
    def labels(self) -> dict[str, Coded]:
        """The quasi-identifiers that the original rows are published with, each at the step it is read at."""
        if not self.stepped:
            return self.stated_labels
        labels = dict(self.quasi)
        for name in labels:
            at_level = self.levels_of(name)
            if [level for level, _ in at_level] == [None]:
                continue
            codes, texts, size = np.zeros(len(self.step), np.int64), [pa.array([], pa.string())], 0
            for level, steps in at_level:
                coded, rows = self.labels_at(name, level), steps[self.step]
                codes[rows] = coded.codes[rows] + size
                texts.append(coded.values.cast(pa.string()))
                size += coded.size
            merged = encode(pa.chunked_array(texts))
            labels[name] = Coded(merged.codes[codes], merged.values)
        return labels

    def levels_of(self, name: str) -> list[tuple[Mapping[str, Any] | None, Flags]]:
        """The levels that a quasi-identifier is published at, None for its values, and the steps of each."""
        stated = [step["levels"].get(name) for step in self.steps]
        levels = [level for number, level in enumerate(stated) if level not in stated[:number]]
        return [(level, np.array([other == level for other in stated])) for level in levels]

    def labels_at(self, name: str, level: Any, of: tuple[Coded, Flags] | None = None) -> Coded:
        """What the values of a quasi-identifier, or `of` those kept, are published as; themselves at none."""
        mapping, (original, kept) = self.private.mappings.get(name), of or (self.quasi[name], self.retained)
        if mapping is None or (self.stepped and level is None):
            return original if mapping is None else Coded(original.codes, original.values.cast(pa.string()))
        label = f"level {level['level']}" if self.stepped and level else "published"
        if not {"value", label} <= set(mapping.column_names):
            raise mismatch(f"the ledger's mapping of column `{name}` lacks a level")
        value, published = (mapping[c].cast(plain_type(mapping[c].type)) for c in ("value", label))
        entry = pc.index_in(original.values.cast(value.type), value_set=value.combine_chunks())
        unmapped = np.asarray(pc.and_(entry.is_null(), original.values.is_valid()))
        # A value that only withheld rows have was never published, so no mapping is needed.
        if unmapped.any() and (missing := int(unmapped[distinct(original.codes[kept])].sum())):
            raise mismatch(f"the ledger's mapping of column `{name}` lacks {missing} of its values")
        mapped = encode(published.take(entry))
        return Coded(mapped.codes[original.codes], mapped.values)

    # Where each original row was published.

    @cached_property
    def published(self) -> Flags:
        """The original rows that are in the release; a ledger of another release is refused."""
        original, manifest = self.private.original, self.release.manifest
        for role, names in roles_of(original).items():
            if self.columns(role) != names:
                raise mismatch(f"the {role} columns of the ledger's original are not those of the release")
        counts, listed = manifest["counts"], self.private.entries.num_rows
        if not original.rows == counts["rows_read"] == listed:
            numbers = f"the ledger lists {listed:,} and its original has {original.rows:,}"
            raise mismatch(f"the release was made from {counts['rows_read']:,} rows; {numbers}")
        # A row without a person or a time has no granule, so it is not published either.
        published: Flags = self.retained & (self.granule >= 0)
        if (count := int(published.sum())) != counts["rows"]:
            raise mismatch(f"the ledger places {count:,} rows in the release, which has {counts['rows']:,}")
        return published

    @cached_property
    def label_code(self) -> Ints:
        """A number per combination of published quasi-identifiers, for each original row."""
        return self.folded(self.labels)

    def folded(self, columns: Mapping[str, Coded]) -> Ints:
        """A number per combination of values in some columns of the original rows."""
        return fold([(c.codes, c.size) for c in columns.values()], self.private.original.rows)[0]

    @cached_property
    def group(self) -> tuple[Ints, int]:
        """The number of each published row's class, and how many classes there are."""
        labels, granule, step = (part[self.published] for part in (self.label_code, self.granule, self.step))
        sizes = int(labels.max(initial=0)) + 1, len(self.granules.start), len(self.steps)
        return fold(list(zip((labels, granule, step), sizes, strict=True)), len(labels))


def roles_of(relation: Relation) -> dict[str, list[str]]:
    """The columns of a relation that are published, by role."""
    roles = relation.roles
    names = {"quasi": roles.quasi_columns, "keep": roles.keep, "sensitive": roles.sensitive}
    return {role: list(columns) for role, columns in names.items()} | {"time": [str(roles.time)]}


def people_of(relation: Relation) -> People:
    """Person and time of each row of a relation."""
    roles, axis = relation.roles, relation.axis
    if axis is None or roles.time is None or roles.respondent is None:
        hint = "name both columns: {respondent} and {time}"
        raise InputError("the table has no respondent or no time", hint=hint, code="role-missing")
    respondent = encode_people(column_of(relation.data, roles.respondent))
    time = column_of(relation.data, roles.time)
    timed = np.asarray(time.is_valid())
    # A null respondent is a code like any other; its row is incomplete.
    named = np.asarray(respondent.values.is_valid())[respondent.codes] if len(time) else timed
    tick = np.zeros(len(time), dtype=np.int64)
    tick[timed], per_instant = ticks(axis, time.drop_null())
    return People(axis, respondent.codes, respondent.size, tick, per_instant, timed & named)


def observed(people: People, levels: Sequence[Granularity], gaps: Gaps) -> tuple[Timeline, Ints]:
    """The times that occur, as finely as the granularities need, and the position of each complete row."""
    moment = people.moment[people.complete]
    low, high = (int(moment.min()), int(moment.max())) if len(moment) else (0, 0)
    base = base_for(people.axis, levels, low, high, people.resolution)
    times, position = ranked(base.granule(moment))
    return Timeline(people.axis, base, times, gaps), position


def bounds_of(axis: TimeAxis, start: pa.ChunkedArray, end: pa.ChunkedArray) -> tuple[Ints, Ints]:
    """Published starts and ends as instants; a missing one is beyond every instant."""
    bounds = np.full(len(start), LOWEST), np.full(len(end), HIGHEST)
    for moments, column in zip(bounds, (start, end), strict=True):
        moments[np.asarray(column.is_valid())] = instants(axis, column.drop_null())
    return bounds


def granules_of(release: Release, start: Ints, end: Ints) -> tuple[Granules, Ints]:
    """The distinct granules among these bounds, and the index of each among them."""
    (starts, at_start), (ends, at_end) = ranked(start), ranked(end)
    pairs, index = ranked(at_start * len(ends) + at_end)
    first, last = starts[pairs // max(len(ends), 1)], ends[pairs % max(len(ends), 1)]
    manifest = release.manifest
    chosen = manifest.get("candidates", {}).get(manifest.get("granularity"), {})
    moved = manifest.get("parameters", {}).get("gaps") == "next" and chosen.get("rows_in_gaps", 1) != 0
    # Rows in a gap of the calendar may be published in the granule after it.
    reach = np.concatenate([[LOWEST], last[:-1]]) if moved and len(first) else first
    return Granules(first, last, reach), index
