"""`timeveil profile`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from timeveil.cli import options as given
from timeveil.errors import TimeveilError

if TYPE_CHECKING:
    from timeveil.models.events.judges.profile import Profile


def profile(
    table: given.Table,
    respondent: given.Respondent,
    time: given.Time,
    k: given.K,
    quasi: given.Quasi = None,
    cyclic: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Count the weekday, hour-of-day or month-of-year as known too: --cyclic weekday",
        ),
    ] = None,
    granularity: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Look at this granularity only; repeat it: --granularity week"),
    ] = None,
    calendar: given.Calendar = None,
    zone: given.Zone = None,
    unit: given.Unit = None,
    nulls: given.Nulls = "error",
    as_json: given.Json = False,
    quiet: given.Quiet = False,
) -> int:
    """Show the risk of a table as it is; exit 0 if it is already k-anonymous, 1 if not.

    Per granularity: how many people would be alone or with fewer than k, and what a count of rows would
    claim. Only the columns named matter; no other is read.

    Example: timeveil profile visits.csv --respondent patient --time taken_at --quasi zip --k 5
    """
    from timeveil.calendar.definitions import from_toml
    from timeveil.cli.output import Output
    from timeveil.domain.guarantee import KAnonymity
    from timeveil.jobs.perform import refuse_empty
    from timeveil.jobs.toml import calendar_file
    from timeveil.models.events.judges.profile import profile as look
    from timeveil.reading import read

    output = Output(as_json=as_json, quiet=quiet)
    KAnonymity(k)
    own = None if calendar is None else from_toml(calendar_file(Path(calendar)))
    roles = given.roles_from(respondent, time, quasi=quasi, cyclic=cyclic, drop_rest=True)
    try:
        with output.progress() as progress:
            progress("reading", 0.0)
            relation = read(table, roles, zone=zone, unit=unit, nulls=nulls)  # type: ignore[arg-type]
            refuse_empty(relation)
            progress("counting people", 0.5)
            found = look(relation, k, granularity, own)
    except TimeveilError as error:
        raise given.lists_hint(error, {"--quasi": quasi, "--granularity": granularity}) from None
    known = [*roles.quasi_columns, time]
    output.result("\n".join(described(found, relation.source or table, known, output.width)), found.as_dict())
    return 0 if found.already_anonymous else 1


def described(found: Profile, source: str, known: list[str], width: int) -> list[str]:
    """The profile as a page."""
    from timeveil.models.events.words.risks import table
    from timeveil.page.wording import counted, people, quoted, wrapped

    k, spread, stands = found.k, found.rows_per_person, found.as_it_stands
    incomplete = (
        f" {counted(found.rows_incomplete, 'row')} without a person or a time left out."
        if found.rows_incomplete
        else ""
    )
    verdict = (
        f"holds: the table is {k}-anonymous as it stands."
        if found.already_anonymous
        else f"violated: the table is not {k}-anonymous as it stands: {stands.people_below_k:,} of "
        f"{people(found.people)} are in a group of fewer than {k}."
    )
    return [
        *wrapped(f"{source} -> what {quoted(known)} tell an outsider", width),
        *wrapped(
            f"{counted(found.rows, 'row')} of {people(found.people)}: "
            f"{counted(round(spread['median']), 'row')} to a person in the median, "
            f"{spread['max']:,.0f} at most.{incomplete}",
            width,
        ),
        "",
        *table(found),
        "",
        *wrapped(verdict, width),
    ]
