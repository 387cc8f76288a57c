"""Publishing the same people again, where nothing can be promised about both releases together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.lines import Reading
from timeveil.domain.relation import Relation
from timeveil.domain.release import Ledger, decode_dictionaries
from timeveil.errors import ParameterError


def refuse_repetition(
    relation: Relation, parameters: Reading, is_apart: Callable[[Ledger], bool] = lambda _: False
) -> None:
    """Refuse a table with people whom one of the earlier releases shows, unless that is forced.

    `is_apart` says of an earlier ledger that the same people may be in it, because it shows other periods.
    """
    values, contents = parameters.as_arguments(), type(parameters).contents
    for number, ledger in enumerate(values["after"], start=1):
        require_ledger(ledger)
        common = people_in_common(relation, ledger.original)
        if common == 0 or is_apart(ledger) or values["force"]:
            continue
        shown = f"the release of ledger {number} of `after` shows {common or 0:,} people of this table"
        if common is None:
            shown = f"this table and that of ledger {number} of `after` do not both name their people"
        raise ParameterError(
            f"{shown}, and nothing is promised over several releases of {contents}",
            hint="publish other people, or go on with {force=True}: each release keeps its promise alone",
            code="same-people",
            facts={"ledger": number, "people": common},
        )


def require_ledger(ledger: Any) -> None:
    """Refuse anything else, such as a path."""
    if not isinstance(ledger, Ledger):
        message = f"`after` has a {type(ledger).__name__}, not a ledger"
        raise ParameterError(message, hint="open it first: open_ledger(path)")


def people_in_common(*relations: Relation) -> int | None:
    """How many people two tables have in common; None where one of them does not name its people."""
    names = []
    for relation in relations:
        if relation.roles.respondent not in relation.data.schema.names:
            return None
        people = decode_dictionaries(relation.table.select([relation.respondent]))
        names.append(people.column(0).unique().cast(pa.string()).drop_null())
    return int(pc.sum(pc.is_in(names[0], value_set=names[1])).as_py() or 0)
