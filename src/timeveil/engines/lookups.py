"""Steps in SQL: cells by number, and what each step publishes as tables to join."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from timeveil.calendar.timeline import Timeline
from timeveil.engines import Step
from timeveil.reading.encoding import publish_values

# Cells and people by number, for a method that sorts them in memory.
NUMBERED_CELLS = """
    SELECT quasi, granule, CAST(sum(rows) AS BIGINT) AS rows,
        row_number() OVER (ORDER BY quasi, granule) - 1 AS cell
    FROM cells GROUP BY quasi, granule
"""
VISITS = """
    SELECT cell, number AS person FROM cells JOIN numbered USING (quasi, granule)
    JOIN (SELECT person, row_number() OVER () - 1 AS number FROM (SELECT DISTINCT person FROM cells))
    USING (person) ORDER BY cell
"""
PLACED_AT_STEPS = """
    SELECT coded.*, step, number FROM coded JOIN numbered USING (quasi, granule) JOIN cell_steps USING (cell)
"""


def labels_by_step(timeline: Timeline, steps: Sequence[Step]) -> pa.Table:
    """Per step and base granule the label, start and end that are published."""
    tables = []
    for number, (granularity, _) in enumerate(steps):
        granules = timeline.granules_of(granularity)
        code = pa.array(granules.code)
        columns = {
            "label": pa.array(granules.label, pa.string()).take(code),
            "start": granules.start.take(code),
        }
        step = np.full(len(timeline), number, np.int32)
        tables.append(
            pa.table({"granule": timeline.granules, "step": step, **columns, "end_": granules.end.take(code)})
        )
    return pa.concat_tables(tables)


def values_by_step(values: pa.Array, name: str, steps: Sequence[Step]) -> pa.Table:
    """Per step what each value of a quasi-identifier is published as, text also where it is itself."""
    tables = []
    for number, (_, levels) in enumerate(steps):
        published = publish_values(values, levels[name]) if name in levels else values.cast(pa.string())
        step = np.full(len(values), number, np.int32)
        tables.append(pa.table({"step": step, "value": values, "published": published}))
    return pa.concat_tables(tables)
