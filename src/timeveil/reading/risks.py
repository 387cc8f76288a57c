"""What gives people away whatever a method does: columns by themselves, and publishing people again.

A kept or sensitive column that reads as a time may tell when a row happened, however coarse the time column
is. If a kept column is nearly unique, by row or by person, anyone who knows a value finds the row, and a
pseudonym links the rows of a person. Both are refused unless the column is named in `accept_risk`; a nearly
unique sensitive column is warned about.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.arrays import Codes
from timeveil.domain.lines import Reading
from timeveil.domain.relation import Relation
from timeveil.domain.release import Ledger, decode_dictionaries, recur
from timeveil.domain.wording import listed
from timeveil.errors import InputError, ParameterError, RolesError
from timeveil.reading.columns import is_text
from timeveil.reading.encoding import encode

MOST = 0.5  # A column reads as a time, or is nearly unique, if more than this share of its values or rows is
FEWEST_ROWS = 100  # of fewer values nobody can say whether they are unique by nature or by chance

_MONTHS = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DAY, _MONTH, _YEAR = "(?:0?[1-9]|[12][0-9]|3[01])", "(?:0[1-9]|1[0-2])", "(?:[0-9]{4}|[0-9]{2})"
_COMPACT = rf"(?:19|20)[0-9]{{2}}{_MONTH}(?:0[1-9]|[12][0-9]|3[01])"
_DATES = (
    rf"[0-9]{{4}}-{_MONTH}",
    rf"[0-9]{{4}}[-/.](?:0?[1-9]|1[0-2])[-/.]{_DAY}",
    rf"{_DAY}[-/.]{_DAY}[-/.]{_YEAR}",
    rf"{_DAY}[-. ]*{_MONTHS}[-., ]*{_YEAR}",
    rf"{_MONTHS} {_DAY},? {_YEAR}",
    _COMPACT,
)
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]+)?)?(?: ?[ap]m)?"
_ZONE = " ?(?:z|utc|gmt|[+-][0-9]{2}:?(?:[0-9]{2})?)?"
_DATED = rf"(?:{'|'.join(_DATES)})(?:[t ,]+{_CLOCK}{_ZONE})?"
_TIME = re.compile(rf"(?i)^\s*(?:{_DATED}|{_CLOCK}{_ZONE}|{_COMPACT}[0-9]{{4,6}})\s*$", re.ASCII)
_MATCHED_IN_PYTHON = 200
"""Compiling the pattern takes Arrow longer than matching this many values takes Python."""
_FIRST_COMPACT, _LAST_COMPACT = 19_000_101, 20_991_231


class Occurrences(NamedTuple):
    """Distinct values of a column, all or a part that follows from content; rows with a value; `sole` ones.

    A row is sole if only one person has its value; where people are unknown, if no other row has it.
    """

    values: pa.Array
    rows: int
    sole: int


def occurrences(column: pa.ChunkedArray, person: Codes | None) -> Occurrences:
    """The values of a column in memory; `person` has a code per row."""
    owner = np.arange(len(column)) if person is None else person
    if column.null_count:
        owner, column = owner[np.asarray(column.is_valid())], column.drop_null()
    rows = len(column)
    if pa.types.is_float64(column.type) and not recur(bits := np.asarray(column).view(np.int64)):
        # Where most values occur once, to sort them all is several times faster than to hash them.
        ordered = np.sort(bits)
        recurring = pc.is_in(pa.array(bits), pa.array(ordered[1:][ordered[1:] == ordered[:-1]]))
        owner, column = owner[np.asarray(recurring)], column.filter(recurring)
    coded = encode(column)
    codes, single = coded.codes, rows - len(column)
    # Somebody who has the value, and whether anybody else does.
    somebody = np.zeros(len(coded.values), owner.dtype)
    somebody[codes] = owner
    shared = np.zeros(len(coded.values), np.bool_)
    shared[codes[somebody[codes] != owner]] = True
    return Occurrences(coded.values, rows, single + int(np.count_nonzero(~shared[codes])))


def reads_as_time(values: pa.Array) -> bool:
    """Whether distinct values are times by their type, or most of them by how they are written."""
    kind = values.type
    if pa.types.is_temporal(kind):
        return True
    if pa.types.is_integer(kind):
        ends = pc.min_max(values).as_py()
        if ends["min"] is None or ends["min"] < _FIRST_COMPACT or ends["max"] > _LAST_COMPACT:
            return False
    elif not is_text(kind):
        return False
    if len(values) <= _MATCHED_IN_PYTHON:
        times = sum(_is_time(str(value)) for value in values.to_pylist() if value is not None)
    else:
        times = pc.sum(pc.match_substring_regex(values.cast(pa.string()), _TIME.pattern)).as_py() or 0
    return bool(times > MOST * (len(values) - values.null_count))


@lru_cache(maxsize=1_000)  # snapshots of a stream have the same values again and again
def _is_time(text: str) -> bool:
    return _TIME.match(text) is not None


def with_risks(
    relation: Relation, accepted: Collection[Any], look: Callable[[str], Occurrences] | None = None
) -> Relation:
    """The relation with the risks of its columns, all accepted; `look` counts a column that is elsewhere."""
    roles = relation.roles
    columns = (*roles.keep, *roles.sensitive)
    if unknown := [str(name) for name in accepted if name not in columns]:
        message = f"`accept_risk` names {listed(unknown)}, which is neither kept nor sensitive"
        raise RolesError(message, hint="name columns of {keep} or {sensitive} in it", code="column-missing")
    if not columns:
        return relation
    if look is None:
        table = relation.table
        person = None if roles.respondent is None else encode(table[roles.respondent]).codes
        counts = {name: occurrences(table[name], person) for name in columns}
    else:
        counts = {name: look(name) for name in columns}
    risks: dict[str, dict[str, Any]] = {}
    for name, seen in counts.items():
        if seen.rows and reads_as_time(seen.values):
            risks[name] = {"time": True}
        if seen.rows >= FEWEST_ROWS and seen.sole > MOST * seen.rows:
            risks[name] = {**risks.get(name, {}), "sole": seen.sole, "rows": seen.rows}
    refusable = {name: risk for name, risk in risks.items() if name in roles.keep or "time" in risk}
    if refused := {name: risk for name, risk in refusable.items() if name not in accepted}:
        raise _refused(refused, "row has" if roles.respondent is None else "person has")
    return replace(relation, risks=risks) if risks else relation


def _refused(risks: Mapping[str, Mapping[str, Any]], having: str) -> InputError:
    reasons = []
    for name, risk in risks.items():
        reasons += [f"column {listed([name])} reads as a time"] if "time" in risk else []
        if "sole" in risk:
            share = f"{risk['sole']:,} of {risk['rows']:,} rows"
            reasons.append(f"{share} have a value in column {listed([name])} that only one {having}")
    message = f"{'; '.join(reasons)}; it would be published unchanged"
    hint = "drop it or make it coarser before reading, or name it in {accept_risk} to publish it as it is"
    return InputError(message, hint=hint, code="risky-column", facts={"columns": dict(risks)})


def refuse_repetition(
    relation: Relation, parameters: Reading, is_apart: Callable[[Ledger], bool] = lambda _: False
) -> None:
    """Refuse people whom an earlier release shows, unless forced, or `is_apart`: it shows other periods."""
    values, contents = parameters.as_arguments(), type(parameters).contents
    for number, ledger in enumerate(values["after"], start=1):
        require_ledger(ledger)
        common = people_in_common(relation, ledger.original)
        if common == 0 or is_apart(ledger) or values["force"]:
            continue
        message = f"the release of ledger {number} of `after` shows {common or 0:,} people of this table"
        if common is None:
            message = f"this table and that of ledger {number} of `after` do not both name their people"
        raise ParameterError(
            f"{message}, and nothing is promised over several releases of {contents}",
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
