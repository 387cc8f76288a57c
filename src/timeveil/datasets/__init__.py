"""Seeded generators of believable data about people who do not exist.

For the demo, the documentation, tests and benchmarks. Each returns an Arrow table that follows from its
arguments alone: the same seed gives the same table, and no global random state is read or changed.
`docs/reference/datasets.md` lists the columns and how they are made.
"""

from timeveil.datasets.cases import daily_cases
from timeveil.datasets.clinic import clinic_visits
from timeveil.datasets.event_table import events
from timeveil.datasets.load import load_curves
from timeveil.datasets.shopping import baskets
from timeveil.datasets.walks import strings, uniform, walk

__all__ = [
    "baskets",
    "clinic_visits",
    "daily_cases",
    "events",
    "load_curves",
    "strings",
    "uniform",
    "walk",
]
