"""Where counting runs. An engine speaks a handful of domain operators, not a dataframe language.

Each engine is imported only when asked for: `open_events`.
"""

from __future__ import annotations

from importlib import import_module

from timeveil.domain.relation import Relation
from timeveil.engines.protocol import Events, Extent, Levels, Published, Tally

__all__ = ["ENGINES", "Events", "Extent", "Levels", "Published", "Tally", "open_events"]

ENGINES = ("memory", "duckdb")
"""The modules of this package that hold one; `EventParameters.engine` takes these names."""


def open_events(engine: str, relation: Relation, memory_limit: str | None = None) -> Events:
    """Open a relation with the engine of that name; `memory_limit` binds engines that work from disk."""
    events: Events = import_module(f"timeveil.engines.{engine}").open_events(relation, memory_limit)
    return events
