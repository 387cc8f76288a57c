"""Where counting runs. An engine speaks a handful of domain operators, not a dataframe language.

Each engine is imported only when asked for: `open_events`.
"""

from __future__ import annotations

from importlib import import_module

from timeveil.domain.relation import Relation
from timeveil.engines.protocol import Events, Extent, Levels, Published, Tally
from timeveil.errors import ParameterError

__all__ = ["ENGINES", "Events", "Extent", "Levels", "Published", "Tally", "open_events"]

ENGINES = ("memory", "duckdb")


def open_events(engine: str, relation: Relation, memory_limit: str | None = None) -> Events:
    """Open a relation with the engine of that name; `memory_limit` binds engines that work from disk."""
    if engine not in ENGINES:
        raise ParameterError(
            f"there is no engine of that name; this version has {' and '.join(ENGINES)}",
            hint='use {engine="memory"}, or {engine="duckdb"} for files larger than memory',
            code="bad-parameter",
        )
    events: Events = import_module(f"timeveil.engines.{engine}").open_events(relation, memory_limit)
    return events
