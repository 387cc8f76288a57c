"""Generalised groups: the other way to publish an l-eligible slot, besides buckets.

A bucket hides which value belongs to whom, but shows exact quasi-identifiers, so that anyone who knows an age
and a district sees that the person is there. Generalised groups make the quasi-identifiers of at least k
records equal, and list the values beside them. The partition is that of `timeveil.recoding.groups`.

Why it holds: an l-eligible slot of at least k records is a group as it is, and no step makes one that is not.
Every record is in one group. Parts without enough records or values stay together at the label above, if they
make a group; the fewest and smallest other parts that make it one stay with them.

Which column is divided is decided by the bits that the division shows about the records' quasi-identifiers;
sensitive values decide only whether a part may be a group. Equal bits are decided by the secret seed, equal
sizes by the text of labels: nothing depends on the order of records or on codes.
Cost: per group, and per column, one sort of its records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from timeveil.models.stream.method.placing import Chance, Final
from timeveil.models.stream.method.settings import Settings
from timeveil.recoding.groups import Ladder, listed_levels, partition, usual_hierarchy

COLUMNS = b"columns"  # what words are drawn for


class Grouping:
    """Divides final slots into groups."""

    def __init__(self, settings: Settings, schema: pa.Schema) -> None:
        self._settings, self._chance = settings, Chance(settings.seed)
        stated, names = settings.hierarchies, settings.roles.quasi_columns
        self.ladders = {n: Ladder(n, stated.get(n) or usual_hierarchy(schema.field(n).type)) for n in names}

    def learn(self, rows: pa.Table) -> None:
        """Label values that are new, before anything is taken in: a hierarchy may lack some."""
        for name, ladder in self.ladders.items():
            ladder.learn(rows.column(name))

    def form(self, finals: Sequence[Final], rows: pa.Table) -> Iterator[Final]:
        """Final slots with their groups; `rows` are those of their records, one after another."""
        self.learn(rows)  # after a restart nothing is known
        ladders = list(self.ladders.values())
        paths, begin = [ladder.paths(rows.column(ladder.name)) for ladder in ladders], 0
        options = self._settings.options
        for final in finals:
            end = begin + len(final.records)
            turns = self._chance.words(final.slot, COLUMNS, len(ladders)).argsort().tolist()
            local = [path[:, begin:end] for path in paths]
            groups = partition(local, final.codes, options.k or options.l, options.l, turns)
            labelled = []
            for members, depth in groups:
                nodes = [path[level, members[0]] for path, level in zip(local, depth, strict=True)]
                labelled.append((tuple(map(Ladder.label, ladders, depth, nodes)), members))
            # Numbered by their labels, so that numbers say nothing else.
            labelled.sort(key=lambda group: [(label.text is None, label.text) for label in group[0]])
            number = np.zeros(end - begin, np.int64)
            for index, (_, members) in enumerate(labelled):
                number[members] = index
            yield final._replace(buckets=number, labels=tuple(labels for labels, _ in labelled))
            begin = end

    def levels(self, finals: Sequence[Final]) -> dict[str, dict[str, list[str]]]:
        """For a manifest: the published labels of each column by level, from coarse to fine."""
        return {
            name: listed_levels(ladder, (labels[position] for final in finals for labels in final.labels))
            for position, (name, ladder) in enumerate(self.ladders.items())
        }
