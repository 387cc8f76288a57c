"""Options that several commands share. Every help text has an example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from timeveil.domain.roles import REST, Derived, Roles
from timeveil.errors import ParameterError, TimeveilError

Table = Annotated[
    str, typer.Argument(metavar="IN", help="Table to read: CSV, TSV or Parquet, such as visits.csv.")
]
Folder = Annotated[str, typer.Argument(metavar="DIR", help="Release folder, such as published.")]
Respondent = Annotated[
    str,
    typer.Option(
        metavar="C", help="Column of the person a row is about; never published: --respondent patient"
    ),
]
Time = Annotated[str, typer.Option(metavar="C", help="Column of when it happened: --time taken_at")]
Quasi = Annotated[
    list[str] | None,
    typer.Option(metavar="C", help="Column that an outsider may know; repeat it: --quasi zip --quasi sex"),
]
Sensitive = Annotated[
    list[str] | None,
    typer.Option(metavar="C", help="Column that nobody must learn of a person: --sensitive result"),
]
Keep = Annotated[
    list[str] | None, typer.Option(metavar="C", help="Further column to publish as it is: --keep exam")
]
Drop = Annotated[list[str] | None, typer.Option(metavar="C", help="Column to leave out: --drop name")]
DropRest = Annotated[
    bool, typer.Option("--drop-rest", help="Leave out every column that has no role: --drop-rest")
]
Cyclic = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Publish the weekday, hour-of-day or month-of-year, and count it as known: --cyclic weekday",
    ),
]
K = Annotated[
    int,
    typer.Option(
        "--k", "-k", metavar="N", help="How many different people must share every published value: --k 5"
    ),
]
Granularities = Annotated[
    list[str] | None,
    typer.Option(
        "--granularity",
        metavar="NAME",
        help="Granularity that may be chosen; repeat it: --granularity week --granularity month",
    ),
]
Calendar = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="TOML file that defines granularities of your own: --calendar clinic.toml"
    ),
]
Zone = Annotated[
    str | None,
    typer.Option(metavar="Z", help="Clocks on which times with an offset are read: --zone Europe/Berlin"),
]
Unit = Annotated[
    str | None,
    typer.Option(metavar="UNIT", help="What whole numbers in the time column count: --unit minute"),
]
Nulls = Annotated[
    str,
    typer.Option(
        metavar="error|withhold", help="Rows without a person or a time: refuse, or --nulls withhold them"
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON: --json")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print errors only: --quiet")]
LedgerIn = Annotated[
    str,
    typer.Option(
        "--ledger",
        metavar="PATH",
        help="The private ledger that was made with the release: --ledger NAME.ledger",
    ),
]


def roles_from(
    respondent: str | None,
    time: str | None,
    *,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    keep: Sequence[str] | None = None,
    cyclic: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    drop_rest: bool = False,
) -> Roles:
    """Roles from what the options, or a job file, name."""
    from timeveil.calendar.axis import CYCLIC

    for name in cyclic or ():
        if name not in CYCLIC:
            raise ParameterError(
                f"`{name}` cannot be derived from a time",
                hint=f"use one of {', '.join(CYCLIC)}",
                code="bad-parameter",
            )
    if drop and drop_rest:
        raise ParameterError(
            "both columns to drop and --drop-rest are given",
            hint="--drop-rest alone leaves out every column without a role",
            code="bad-parameter",
        )
    return Roles(
        respondent=respondent,
        time=time,
        quasi=(*(quasi or ()), *(Derived(name) for name in cyclic or ())),
        sensitive=tuple(sensitive or ()),
        keep=tuple(keep or ()),
        drop=REST if drop_rest else tuple(drop or ()),
    )


def lists_hint(error: TimeveilError, given: Mapping[str, Sequence[str] | None]) -> TimeveilError:
    """The error, with a better hint where an option was given a list that should have been repeated.

    >>> wrong = ParameterError("the table has no column `a,b`", hint="see", code="column-missing")
    >>> lists_hint(wrong, {"--quasi": ["a,b"]}).hint
    'an option takes one name; repeat it: --quasi a --quasi b'
    """
    if error.code not in ("column-missing", "unknown-granularity"):
        return error
    for option, values in given.items():
        for value in values or ():
            if "," in value and f"`{value}`" in error.message:
                repeated = " ".join(f"{option} {part.strip()}" for part in value.split(","))
                hint = f"an option takes one name; repeat it: {repeated}"
                return type(error)(error.message, hint=hint, code=error.code, facts=error.facts)
    return error
