"""The parameters of `generalize_time` (Mascetti et al. 2006), one line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from timeveil.domain.parameter import Parameters, Problem, fold_spellings, parameter, rule


class EventParameters(Parameters):
    """Publish events so that every (quasi-identifiers, time) value is shared by k people.

    Finds the finest time granularity that keeps the promise, leaves out who the rows are about, checks the
    result, and writes a complete folder or none.

    Example: timeveil generalize-time visits.csv --out published --respondent patient --time taken_at
    --quasi zip --sensitive result --drop-rest --k 5
    """

    model = "time"
    command = "generalize-time"
    needs = ("respondent", "time")
    roles = ("quasi", "cyclic", "sensitive", "keep", "drop")
    contents = "timestamped rows"
    scopes = {  # noqa: RUF012 a class variable of its base
        "recipient": "as far as a recipient can see (people were not counted)",
        "with ledger": "by counting the people of every group, with the ledger",
    }
    explored = ("k", "suppress")

    k: int = parameter(
        "Number of different people who must share every combination of quasi-identifiers and time.",
        at_least=2, example=5
    )
    granularities: list[Any] | None = parameter(
        "Granularities that may be chosen; all that fit the data if none is named.",
        default=None, example=["week", "month"], option="--granularity", metavar="NAME"
    )
    choose: str = parameter(
        "How to choose among the granularities that work: by most groups, least generality, or name.",
        default="groups", example="month", metavar="groups|generality|NAME"
    )
    suppress: float = parameter(
        "Share of the rows that may be withheld.", default=0.0, at_least=0, below=1, example=0.01
    )
    hierarchies: Mapping[str, Any] | None = parameter(
        "How a quasi-identifier may be made coarser: a file, intervals, prefixes or suppression.",
        default=None, example={"age": "intervals:5,10"}, option="--hierarchy", metavar="C=HOW"
    )
    levels: Mapping[str, int] | None = parameter(
        "Fixed level of a column with a hierarchy; 0 is the value itself.",
        default=None, example={"age": 1}, option="--level", metavar="C=N", read=int
    )
    gaps: Literal["error", "skip", "suppress", "next"] = parameter(
        "Times in a gap of a granularity: refuse, skip it, withhold the rows, or use the next granule.",
        default="error", example="skip"
    )
    nulls: Literal["error", "withhold"] = parameter(
        "Rows without a person or a time: refuse or withhold.", default="error", example="withhold"
    )
    zone: str | None = parameter(
        "Time zone in which times with an offset are read.",
        default=None, example="Europe/Berlin", metavar="Z"
    )
    unit: str | None = parameter(
        "Unit of whole numbers in the time column.", default=None, example="minute", metavar="UNIT"
    )
    fold_spellings: bool = fold_spellings()
    definitions: Any = parameter(
        "TOML file that defines further granularities.",
        default=None, example="clinic.toml", option="--calendar", metavar="FILE",
        opened='tomllib.loads(Path({}).read_text())["granularity"]'
    )
    engine: Literal["memory", "duckdb"] = parameter(
        "Where people are counted; duckdb reads files larger than memory.", default="memory", example="duckdb"
    )
    memory_limit: str | None = parameter(
        "Memory that DuckDB may use.", default=None, example="2GB", metavar="SIZE"
    )

    @rule("memory_limit", "engine")
    def only_duckdb_keeps_a_limit(self) -> Problem:
        """A limit that nothing keeps would be a false comfort."""
        if self.memory_limit is None or self.engine == "duckdb":
            return None
        return (
            "`memory_limit` applies to the engine duckdb only",
            'add {engine="duckdb"}, or leave {memory_limit} out',
        )


PARAMETERS = EventParameters
