"""Engines by name. Each is imported only when asked for."""

from __future__ import annotations

from timeveil.domain.relation import Relation
from timeveil.engines.protocol import Events
from timeveil.errors import ParameterError

ENGINES = ("memory", "duckdb")


def open_events(engine: str, relation: Relation, memory_limit: str | None = None) -> Events:
    """Open a relation with the engine of that name."""
    if engine == "memory":
        from timeveil.engines.memory import MemoryEvents  # noqa: PLC0415

        return MemoryEvents(relation)
    if engine == "duckdb":
        from timeveil.engines.duckdb import DuckDBEvents  # noqa: PLC0415

        return DuckDBEvents(relation, memory_limit)
    raise ParameterError(
        f"there is no engine of that name; this version has {' and '.join(ENGINES)}",
        hint="use engine='memory', or engine='duckdb' for files larger than memory",
        code="bad-parameter",
    )
