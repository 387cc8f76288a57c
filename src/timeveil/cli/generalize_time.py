"""`timeveil generalize-time`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from timeveil.cli import options as given
from timeveil.errors import ParameterError, TimeveilError


def generalize_time(
    table: given.Table,
    out: Annotated[
        str, typer.Option(metavar="DIR", help="New folder to write the release to: --out published")
    ],
    respondent: given.Respondent,
    time: given.Time,
    k: given.K,
    quasi: given.Quasi = None,
    sensitive: given.Sensitive = None,
    keep: given.Keep = None,
    cyclic: given.Cyclic = None,
    drop: given.Drop = None,
    drop_rest: given.DropRest = False,
    granularity: given.Granularities = None,
    choose: Annotated[
        str,
        typer.Option(
            metavar="groups|generality|NAME",
            help="Which of those that will do: the most groups, the paper's measure, or one: --choose month",
        ),
    ] = "groups",
    suppress: Annotated[
        float,
        typer.Option(metavar="FRACTION", help="Share of rows that may be withheld: --suppress 0.01"),
    ] = 0.0,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="C=HOW",
            help="How a quasi-identifier may be made coarser: a file, intervals, prefixes or suppression: "
            "--hierarchy age=intervals:5,10 --hierarchy zip=prefixes:3,2 --hierarchy job=jobs.csv",
        ),
    ] = None,
    level: Annotated[
        list[str] | None,
        typer.Option(
            metavar="C=N", help="Pin a column with a hierarchy to one level, 0 being the value: --level age=1"
        ),
    ] = None,
    gaps: Annotated[
        str,
        typer.Option(
            metavar="error|skip|suppress|next",
            help="Times in no granule: refuse, skip that granularity, withhold, or move on: --gaps skip",
        ),
    ] = "error",
    nulls: given.Nulls = "error",
    zone: given.Zone = None,
    unit: given.Unit = None,
    calendar: given.Calendar = None,
    engine: Annotated[
        str, typer.Option(metavar="memory|duckdb", help="For files larger than memory: --engine duckdb")
    ] = "memory",
    memory_limit: Annotated[
        str | None, typer.Option(metavar="SIZE", help="What DuckDB may use: --memory-limit 2GB")
    ] = None,
    file_format: Annotated[
        str, typer.Option("--format", metavar="parquet|csv", help="Files of the release: --format csv")
    ] = "parquet",
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Write the private ledger to a file only you can read: --ledger visits.ledger",
        ),
    ] = None,
    as_json: given.Json = False,
    quiet: given.Quiet = False,
) -> int:
    """Publish events so that every (quasi-identifiers, time) value is shared by k different people.

    Finds the least general granularity of time that will do, leaves the person out, has the result checked,
    and writes a folder that appears whole or not at all.

    Example: timeveil generalize-time visits.csv --out published --respondent patient --time taken_at
    --quasi zip --sensitive result --drop-rest --k 5
    """
    from timeveil.cli.output import Output
    from timeveil.jobs.perform import perform
    from timeveil.jobs.toml import calendar_file
    from timeveil.models.events.words.run import Run

    if calendar is not None:
        calendar_file(Path(calendar))
    roles = given.roles_from(
        respondent,
        time,
        quasi=quasi,
        sensitive=sensitive,
        keep=keep,
        cyclic=cyclic,
        drop=drop,
        drop_rest=drop_rest,
    )
    run = Run(
        source=table,
        roles=roles,
        k=k,
        out=out,
        granularities=tuple(granularity) if granularity else None,
        choose=choose,
        zone=zone,
        unit=unit,
        suppress=suppress,
        hierarchies=hierarchies_from(hierarchy or []),
        levels=levels_from(level or []),
        gaps=gaps,
        nulls=nulls,
        engine=engine,
        memory_limit=memory_limit,
        calendar=calendar,
        format=file_format,
        ledger=ledger,
    )
    lists = {"--quasi": quasi, "--sensitive": sensitive, "--keep": keep, "--drop": drop}
    try:
        return perform(run, Output(as_json=as_json, quiet=quiet))
    except TimeveilError as error:
        raise given.lists_hint(error, {**lists, "--granularity": granularity}) from None


def hierarchies_from(texts: list[str]) -> dict[str, str]:
    """`COLUMN=how` texts as a mapping.

    >>> hierarchies_from(["age=intervals:5,10", "zip=zip.csv"])
    {'age': 'intervals:5,10', 'zip': 'zip.csv'}
    """
    found = {}
    for text in texts:
        column, mark, how = text.partition("=")
        if not (column and mark and how):
            raise ParameterError(
                "a hierarchy is given without a column or without how",
                hint="write --hierarchy COLUMN=HOW, such as age=intervals:5,10 or zip=zip.csv",
                code="bad-hierarchy",
            )
        found[column] = how
    return found


def levels_from(texts: list[str]) -> dict[str, int]:
    """`COLUMN=level` texts as a mapping.

    >>> levels_from(["age=1", "zip=0"])
    {'age': 1, 'zip': 0}
    """
    found = {}
    for text in texts:
        column, _, level = text.rpartition("=")
        if not (column and level.isdecimal()):
            raise ParameterError(
                "a level is given without a column or without a whole number",
                hint="write --level COLUMN=N, such as age=1; 0 is the value itself",
                code="bad-hierarchy",
            )
        found[column] = int(level)
    return found
