"""What `verify` counts of a release of events and its ledger, in memory; `in_place` counts where rows are."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Gaps
from timeveil.domain.arrays import Ints
from timeveil.errors import InputError
from timeveil.evidence.checks import Findings
from timeveil.evidence.codes import (
    Coded,
    Sides,
    align,
    differing,
    distinct,
    distinct_pairs,
    encode,
    fold_both,
    ranked,
)
from timeveil.evidence.published import RowOrder
from timeveil.models.events.evidence import Evidence
from timeveil.models.events.judges import protected, recount, repeated
from timeveil.models.events.judges.downcoding import check_decoys

Numbers: TypeAlias = dict[str, int]
Labels: TypeAlias = tuple[pa.Array, Ints, list[str | None]]
"""The values of a column; per pair of one of them and a label of it, the index of the value and the label."""


class Counts:
    """Rows, classes and people as they are counted in memory; a class is a published quasi and granule."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence

    def sizes(self) -> Numbers:
        """The published rows and classes, those of fewer than k rows, and the least rows of one."""
        sizes = np.asarray(self._evidence.classes["rows"])
        total, below = int(sizes.sum()), int((sizes < self._evidence.k).sum())
        smallest = int(sizes.min(initial=total))
        return {"total": total, "classes": len(sizes), "below": below, "smallest": smallest}

    def granules(self) -> Iterator[tuple[Mapping[str, Any], pa.Table]]:
        """Per step its distinct labels, each with start and end."""
        evidence = self._evidence
        quasi = len(evidence.columns("quasi"))
        names = evidence.classes.column_names[quasi : quasi + 3]
        for number, step in enumerate(evidence.steps):
            at_step = pa.array(np.flatnonzero(evidence.class_step == number))
            yield step, evidence.classes.take(at_step).group_by(names).aggregate([]).select(names)

    @property
    def order(self) -> RowOrder:
        """The order of the published rows."""
        return self._evidence.rows.order

    # With the ledger.

    def listed(self) -> Numbers:
        """The rows of the ledger, those that are withheld, and those not listed in their place."""
        evidence = self._evidence
        numbers = np.asarray(evidence.private.table.column("row"))
        misplaced, unlisted = int((numbers != np.arange(len(numbers))).sum()), int((~evidence.retained).sum())
        return {"listed": len(numbers), "unlisted": unlisted, "misplaced": misplaced}

    def placed(self) -> Numbers:
        """Of the rows that were not withheld, those without person or time, and others without a granule."""
        complete, retained = self._evidence.people.complete, self._evidence.retained
        outside = int((retained & complete).sum()) - len(self._rows)
        return {"incomplete": int((retained & ~complete).sum()), "outside": outside}

    @cached_property
    def _rows(self) -> Ints:
        """The rows that the ledger retains and a granule admits."""
        return np.flatnonzero(self._evidence.retained & (self._evidence.granule >= 0))

    @cached_property
    def _classes(self) -> Sides:
        """The classes of these and of the released rows."""
        evidence, rows = self._evidence, self._rows

        def columns() -> Iterator[Sides]:
            yield evidence.granule[rows], evidence.run_granule, len(evidence.granules.start)
            if evidence.stepped:
                step = np.asarray(evidence.rows.runs.columns[-2], np.int64)
                yield evidence.step[rows], step - 1, len(evidence.steps)
            for position, labels in enumerate(evidence.labels.values()):
                yield self._aligned(labels, encode(evidence.rows.runs.column(position)))

        original, of_runs, count = fold_both(columns())
        return original, np.repeat(of_runs, evidence.rows.runs.column(-1)), count

    def _aligned(self, original: Coded, released: Coded) -> Sides:
        left, right = align(original, released)
        return left.codes[self._rows], right.codes, left.size

    @cached_property
    def _crowds(self) -> Ints:
        """How many people are in each class."""
        people = self._evidence.people
        members, _, _ = distinct_pairs(self._classes[0], people.person[self._rows], people.people)
        return np.bincount(members, minlength=self._classes[2])

    def people(self) -> Numbers:
        """The classes that are published, those of fewer than k people, and the least people of one."""
        _, released, count = self._classes
        people = self._crowds[np.bincount(released, minlength=count) > 0]
        below, smallest = int((people < self._evidence.k).sum()), int(people.min(initial=len(self._rows)))
        return {"published": len(people), "below": below, "smallest": smallest}

    def check_further(self, findings: Findings) -> None:
        """Expect what is promised beyond k people in every class, which is judged in memory alone."""
        evidence = self._evidence
        if evidence.stepped and len(self._classes[1]):
            findings.check("the steps are those of the run, each with its smallest group")
            least = np.full(len(evidence.steps), np.iinfo(np.int64).max)
            np.minimum.at(least, evidence.step[self._rows], self._crowds[self._classes[0]])
            wrong = int((least != [step["smallest_group"] for step in evidence.steps]).sum())
            findings.expect("steps:people", not wrong, wrong=wrong, steps=len(least))
            findings.expect("steps:ledger", evidence.steps == evidence.private.facts.get("steps"))
        protected.check_people(evidence, self._rows, self._classes[0], findings)
        repeated.check_joint(evidence, findings)
        check_decoys(evidence, findings)

    def shown(self, name: str, step: int) -> Labels:
        """The labels of a column at a step."""
        evidence = self._evidence
        values, labels = evidence.quasi[name], evidence.labels[name]
        rows = evidence.retained & (evidence.step == step)
        value, label, _ = distinct_pairs(values.codes[rows], labels.codes[rows], labels.size)
        return values.values, value, labels.values.take(pa.array(label)).to_pylist()

    def rows_of_classes(self) -> Numbers:
        """Original rows whose class is not published, and classes with another number of rows."""
        original, released = (np.bincount(side, minlength=self._classes[2]) for side in self._classes[:2])
        differ = int((original != released).sum())
        return {"unpublished": int(original[released == 0].sum()), "differ": differ}

    def row_values(self) -> tuple[Numbers, list[str]]:
        """Published rows that are not in the original, and the other way; columns that cannot be compared."""
        columns, unfit, evidence = [self._classes], [], self._evidence
        for name in evidence.columns("keep", "sensitive"):
            try:
                published_cells = evidence.released_column(name)
                columns.append(self._aligned(evidence.original_column(name), published_cells))
            except InputError:
                unfit.append(name)
        surplus, missing = differing(columns)
        return {"surplus": surplus, "missing": missing}, unfit

    def groups(self) -> Numbers:
        """The groups that the ledger lists, the classes of their rows, and the pairs of the two."""
        listed = self._evidence.private.table.column("group").cast(pa.int64())
        groups, group = ranked(np.asarray(pc.fill_null(listed, 0))[self._rows])
        original, _, count = self._classes
        pairs = len(distinct(group * count + original))
        return {"groups": len(groups), "classes": len(distinct(original)), "pairs": pairs}

    def candidates(self, levels: Mapping[str, Granularity], gaps: Gaps) -> recount.Recount:
        """The times that occur, and the numbers that a manifest states of each granularity."""
        return recount.recounted(self._evidence, levels, gaps)
