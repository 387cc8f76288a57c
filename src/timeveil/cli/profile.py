"""`timeveil profile`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from timeveil.cli import options
from timeveil.domain.roles import REST
from timeveil.errors import TimeveilError
from timeveil.models.events.parameters import EventParameters

if TYPE_CHECKING:
    from timeveil.models.events.judges.profile import Profile


def profile(**given: Any) -> int:
    """Show the risk of a table as it is; exit 0 if it is already k-anonymous, 1 if not.

    Per granularity: how many people would be alone or with fewer than k others, and what a count of rows
    would claim. Only the columns named matter; no other is read.

    Example: timeveil profile visits.csv --respondent patient --time taken_at --quasi zip --k 5
    """
    from timeveil.calendar.definitions import from_toml
    from timeveil.cli.output import Output
    from timeveil.jobs.columns import lists_hint, plain_roles
    from timeveil.jobs.publish import refuse_empty
    from timeveil.jobs.toml import calendar_file
    from timeveil.models.events.judges.profile import profile as look
    from timeveil.reading import read

    output = Output(as_json=given["as_json"], quiet=given["quiet"])
    chosen = {name: given[name] for name in _TAKEN if given[name] is not None}
    parameters = EventParameters(**chosen)
    definitions = parameters.definitions
    defined = None if definitions is None else from_toml(calendar_file(Path(definitions)))
    columns = {name: given[name] for name in ("respondent", "time", "quasi", "cyclic") if given[name]}
    roles = plain_roles({**columns, "drop": REST})
    try:
        with output.progress() as progress:
            progress("reading", 0.0)
            zone, unit, nulls = parameters.zone, parameters.unit, parameters.nulls
            relation = read(given["source"], roles, zone=zone, unit=unit, nulls=nulls)
            refuse_empty(relation)
            progress("counting people", 0.5)
            risk = look(relation, parameters.k, parameters.granularities, defined)
    except TimeveilError as error:
        raise lists_hint(error, given) from None
    columns_known = [*roles.quasi_columns, given["time"]]
    source = relation.source or given["source"]
    output.result("\n".join(described(risk, source, columns_known, output.width)), risk.as_dict())
    return 0 if risk.already_anonymous else 1


_TAKEN = ("k", "granularities", "definitions", "zone", "unit", "nulls")
options.takes(
    profile,
    [
        options.switch("source", options.Table, options.NO_DEFAULT),
        *options.columns(("respondent", "time", "quasi", "cyclic"), ("respondent", "time")),
        *(options.argument(EventParameters.table()[name]) for name in _TAKEN),
        *options.SPEECH,
    ],
)


def described(found: Profile, source: str, known: list[str], width: int) -> list[str]:
    """The profile as a page."""
    from timeveil.models.events.words.results import profile_lines
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
        *wrapped(f"{source} -> what {quoted(known)} reveal to an outsider", width),
        *wrapped(
            f"{counted(found.rows, 'row')} of {people(found.people)}: "
            f"a median of {counted(round(spread['median']), 'row')} per person, "
            f"{spread['max']:,.0f} at most.{incomplete}",
            width,
        ),
        "",
        *profile_lines(found),
        "",
        *wrapped(verdict, width),
    ]
