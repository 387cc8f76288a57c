"""Pictures of a release of events: an attack, group sizes, and granularities."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from timeveil.domain.release import Release
from timeveil.evidence.published import classes_of, columns_of
from timeveil.models.events.judges.attack import Breach
from timeveil.page.charts import bar_chart, candidate_chart, size_chart
from timeveil.page.svg import OTHER, Picture


def attack_picture(breach: Breach, unit: str = "second") -> Picture:
    """How many people fit what an outsider knows; `unit` is what the adversary's tolerance counts."""
    visits = "one visit" if breach.adversary.visits == 1 else f"{breach.adversary.visits} visits"
    knows = f"quasi-identifiers and {visits}{breach.adversary.within(unit)}"
    return candidate_chart(breach, breach.k, "k", "people", "person", knows)


def size_picture(release: Release, k: int) -> Picture | None:
    """Groups by their number of rows, which anyone can count."""
    keys = columns_of(release, "quasi", "time", "step")
    sizes = np.asarray(classes_of(release, keys)["rows"]).astype(np.int64)
    subtitle = f"Number of groups by their number of rows. Each group has at least {k} people."
    return size_chart("Groups by size", subtitle, sizes, k, "row")


def granularity_picture(candidates: Mapping[str, Mapping[str, Any]], chosen: str) -> Picture | None:
    """The groups that each granularity would give."""
    if not candidates:
        return None
    subtitle = (
        "Groups of the same quasi-identifiers and time: more groups are finer. In bold: the chosen one."
    )
    groups = {name: counts["groups"] for name, counts in candidates.items()}
    colours = {name: OTHER for name in groups if name != chosen}
    return bar_chart("How precise times could be", subtitle, groups, colours=colours, strong=chosen)
