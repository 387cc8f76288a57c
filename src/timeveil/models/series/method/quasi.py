"""Quasi-identifiers beside series, such as age and district: all series of a group show the same labels.

Series are first divided by their quasi-identifiers into regions of several times k, so that labels stay fine
while groups in a region can be near in value; the method forms groups in each region alone. A group then
shows, column by column, the finest label that contains the values of all its members. Groups hold k series as
ever, so anyone who knows values, shape and quasi-identifiers finds at least p rows. Cells of categories need
the whole table, so that with those there is one region.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.models.series.method.partition import Labels, runs_of
from timeveil.recoding.groups import (
    Ladder,
    deepest,
    hierarchies_for,
    listed_levels,
    partition,
    usual_hierarchy,
)

REGION = 8  # series of a region at least, in multiples of k


class Quasi:
    """The quasi-identifiers of some series, with their labels at every level."""

    def __init__(
        self, attributes: pa.Table, names: tuple[str, ...], sources: Mapping[str, Any] | None
    ) -> None:
        hierarchies = hierarchies_for(names, sources)
        self.ladders, self._paths = list[Ladder](), list[Labels]()
        for name in names:
            usual = usual_hierarchy(attributes.schema.field(name).type)
            ladder = Ladder(name, hierarchies.get(name) or usual)
            ladder.learn(attributes[name])
            self.ladders.append(ladder)
            self._paths.append(ladder.paths(attributes[name]))

    def regions(self, rows: Labels, k: int) -> Labels:
        """The region of each of these series, from 0."""
        region = np.zeros(len(rows), np.int64)
        paths = [path[:, rows] for path in self._paths]
        parts = partition(paths, region, REGION * k, 1, range(len(paths))) if paths else ()
        for number, (members, _) in enumerate(parts):
            region[members] = number
        return region

    def labelled(self, attributes: pa.Table, group: Labels) -> tuple[pa.Table, dict[str, Any]]:
        """The attributes with the labels of groups in place of values; the labels by column and level."""
        levels, (rows, bounds) = {}, runs_of(group)
        for ladder, path in zip(self.ladders, self._paths, strict=True):
            labels, texts = [], np.full(len(group), None, object)
            for members in np.split(rows, bounds[1:-1]):
                depth = deepest(path[:, members], 0)
                labels.append(ladder.label(depth, path[depth, members[0]]))
                texts[members] = labels[-1].text
            index = attributes.column_names.index(ladder.name)
            attributes = attributes.set_column(index, ladder.name, pa.array(texts, pa.string()))
            levels[ladder.name] = listed_levels(ladder, labels)
        return attributes, levels

    @property
    def mappings(self) -> dict[str, pa.Table]:
        """For the ledger: per column its values with their labels."""
        return {ladder.name: ladder.mapping for ladder in self.ladders}
