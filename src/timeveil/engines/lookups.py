"""Statements in SQL, and the lookup tables that they join."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from timeveil.calendar.timeline import Timeline
from timeveil.domain.arrays import Codes
from timeveil.engines import Step
from timeveil.reading.encoding import publish_values

OCCURRENCES = """
    SELECT CAST(coalesce(sum(rows), 0) AS BIGINT),
        CAST(coalesce(sum(CASE WHEN first = last THEN rows END), 0) AS BIGINT)
    FROM (
        SELECT count(*) AS rows, min(person) AS first, max(person) AS last
        FROM source WHERE {column} IS NOT NULL GROUP BY {column}
    ) AS counted
"""
# Cells and people by number, for a method that sorts them in memory.
CELLS = """
    SELECT quasi, person, granule, CAST(count(*) AS {sums}) AS rows
    FROM coded GROUP BY quasi, person, granule
"""
FIRST_EVER = -(1 << 62)  # ahead of every granule
NUMBERED_CELLS = """
    SELECT quasi, granule, CAST(sum(rows) AS BIGINT) AS rows,
        row_number() OVER (ORDER BY quasi, granule) - 1 AS cell
    FROM cells GROUP BY quasi, granule
"""
PERSONS = """
    SELECT person, row_number() OVER (ORDER BY person) - 1 AS number
    FROM (SELECT DISTINCT person FROM cells) AS p
"""
VISITS = """
    SELECT cell, number, rows, row_number() OVER (ORDER BY cell, number) - 1 AS visit
    FROM (
        SELECT cell, person, CAST(cells.rows AS BIGINT) AS rows
        FROM cells JOIN numbered USING (quasi, granule)
    ) AS c
    JOIN persons USING (person)
"""
HELD_VALUES = """
    SELECT value, row_number() OVER (ORDER BY value) - 1 AS code
    FROM (SELECT DISTINCT {column} AS value FROM coded) AS v
"""
HELD = """
    SELECT DISTINCT visit, code FROM coded JOIN numbered USING (quasi, granule) JOIN persons USING (person)
    JOIN visits USING (cell, number) JOIN held_values ON {same}
"""
SIZES = "SELECT count(*) AS n, CAST(coalesce(min(people), 0) AS BIGINT) AS m FROM kept"


def sums(k: int) -> str:
    """The numbers of a tally, but for rows in gaps, of groups with their `rows` and `people`."""
    small = f"CASE WHEN people < {k} THEN {{}} ELSE 0 END"
    large = f"CASE WHEN people >= {k} THEN people END"
    numbers = ["min(people)", "count(*)", "sum(people)", f"sum({small.format(1)})"]
    numbers += [f"sum({small.format('rows')})", f"min({large})", f"sum({large})"]
    return ", ".join(f"CAST(coalesce({n}, 0) AS BIGINT) AS n{i}" for i, n in enumerate(numbers))


def befores(firsts: Sequence[Codes]) -> list[int]:
    """Per granularity the first one with the same positions in gaps: they share the visit before."""
    shared = dict[bytes, int]()
    return [shared.setdefault((first >= 0).tobytes(), number) for number, first in enumerate(firsts)]


def labels_by_step(timeline: Timeline, steps: Sequence[Step]) -> pa.Table:
    """Per step and base granule the label, start and end that are published."""
    tables = []
    for number, (granularity, _) in enumerate(steps):
        granules = timeline.granules_of(granularity)
        inside = granules.code >= 0  # what is in a gap is published at no step
        code = pa.array(granules.code[inside])
        columns = {
            "label": pa.array(granules.label, pa.string()).take(code),
            "start": granules.start.take(code),
        }
        columns |= {"end_": granules.end.take(code), "granule": timeline.granules[inside]}
        tables.append(pa.table({**columns, "step": np.full(len(code), number, np.int32)}))
    return pa.concat_tables(tables)


def values_by_step(values: pa.Array, name: str, steps: Sequence[Step]) -> pa.Table:
    """Per step what each value of a quasi-identifier is published as, text also where it is itself."""
    tables = []
    for number, (_, levels) in enumerate(steps):
        published = publish_values(values, levels[name]) if name in levels else values.cast(pa.string())
        step = np.full(len(values), number, np.int32)
        tables.append(pa.table({"step": step, "value": values, "published": published}))
    return pa.concat_tables(tables)


def fineness(firsts: Codes, number: int) -> tuple[int, int]:
    """What granularities are sorted by: how many granules there are, none where there are gaps."""
    return (len(np.unique(firsts)) if (firsts >= 0).all() else 0), number


def finer(firsts: Sequence[Codes]) -> list[int | None]:
    """Per granularity the coarsest other one whose granules each are inside of one of its own."""
    sizes = [fineness(first, number) for number, first in enumerate(firsts)]
    under: list[int | None] = []
    for size, first in zip(sizes, firsts, strict=True):
        smaller = [more for more in sizes if more > size and more[0]]
        inside = [more for more in smaller if np.array_equal(first[firsts[more[1]]], first)]
        under.append(min(inside)[1] if inside else None)
    return under
