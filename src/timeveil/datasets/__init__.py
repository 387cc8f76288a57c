"""Seeded generators of believable data about people who do not exist.

For the demo, the documentation, tests and benchmarks. Each returns an Arrow table that follows from its
arguments alone: the same seed gives the same table, and no global random state is read or changed.
`docs/reference/datasets.md` lists the columns and how they are made.
"""

from timeveil.datasets.series import load_curves, strings, uniform, walk
from timeveil.datasets.tables import baskets, clinic_visits, daily_cases, events, hospital_stays

__all__ = [
    "baskets",
    "clinic_visits",
    "daily_cases",
    "events",
    "hospital_stays",
    "load_curves",
    "strings",
    "uniform",
    "walk",
]
