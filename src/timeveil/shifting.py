"""Shift dates: the dates of each person move by a secret number of days, and intervals stay as they are.

It is pseudonymisation: nothing is promised. Anyone who knows when a person came twice knows an interval,
which is kept, and intervals single people out. So the risk is measured, and stated with the table.

The outsider knows some visits of a person, each with its true times and its quasi-identifiers, and how the
table was made, but no shift. A candidate is a person of the shifted table whose visits contain the known
ones, all moved by one shift that is possible.
Cost: for each person tried one look at the rows within reach of a known time.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.axis import civil, instants
from timeveil.calendar.civil import DAY, FIRST, LAST, month_of_days, weekday
from timeveil.domain.arrays import Ints
from timeveil.domain.lines import ShiftParameters
from timeveil.domain.relation import Relation
from timeveil.domain.roles import Roles
from timeveil.domain.version import TOOL
from timeveil.domain.wording import listed
from timeveil.errors import InputError, ParameterError, RolesError
from timeveil.reading import read
from timeveil.reading.encoding import combine, encode
from timeveil.reading.risks import reads_as_time

METHOD = "shift-dates"
SAMPLE = 1_000  # how many people are attacked at most
STATEMENT = (
    "The dates of each person were shifted by a secret number of days. This is pseudonymisation: nothing is "
    "promised, and the table is still about people who can be found."
)
_YEAR, _NEAR = 364, 30  # days: 52 weeks, and how far from whole years a shift that preserves the season is
_KNOWN: Mapping[str, int | None] = {"1": 1, "2": 2, "3": 3, "all": None}


@dataclass(frozen=True, slots=True)
class Shifted:
    """A table with shifted dates, what is stated with it, and the private key to pseudonyms and shifts.

    `risk` has the share of people who are the only candidate, by how many of their visits are known, and
    with `preserve` the share whose numbers of visits per weekday, or per quarter of the year, nobody shares.
    """

    table: pa.Table
    manifest: Mapping[str, Any]
    key: pa.Table

    @property
    def risk(self) -> Mapping[str, Any]:
        """The shares of people who are found, as the manifest states them."""
        return dict(self.manifest["risk"])

    def __repr__(self) -> str:
        return f"<Shifted {self.table.num_rows} rows, promises nothing>"


def shift_dates(
    table: Any,
    roles: Roles,
    *,
    within: int = 365,
    preserve: Literal["weekday", "season"] | None = None,
    seed: int | None = None,
    nulls: Literal["error", "withhold"] = "error",
    zone: str | None = None,
    unit: str | None = None,
    time_format: str | None = None,
    decimal: Any = None,
    delimiter: Any = None,
    encoding: str | None = None,
    sheet: str | None = None,
    accept_risk: Sequence[str] = (),
) -> Shifted:
    """Shift the time, and every column of `until`, by a secret number of days for each person.

    Intervals between the dates of a person stay as they are; pseudonyms replace the respondents. Other
    columns are published unchanged. Nothing is promised: `risk` of the result says how many people are found.

    >>> visits = pa.table({"who": ["ann", "ann", "bob"], "when": ["2024-01-03", "2024-01-10", "2024-01-03"]})
    >>> shifted = shift_dates(visits, Roles(respondent="who", time="when"), preserve="weekday", seed=1)
    >>> shifted.manifest["guarantee"], {day.strftime("%A") for day in shifted.table["when"].to_pylist()}
    (None, {'Wednesday'})
    """
    parameters = ShiftParameters.from_call(locals())
    relation = read(table, roles, **parameters.reading("nulls"))
    rows, keys = relation.rows, (relation.respondent, relation.time)
    complete = pc.and_(*(relation.table[column].is_valid() for column in keys))
    relation = replace(relation, data=relation.table.filter(complete))
    _refuse(relation, parameters)
    # Two streams that do not give each other away: pseudonyms are seen, shifts must not be.
    of_days, of_names = np.random.default_rng(parameters.seed).spawn(2)
    person = relation.table[relation.respondent].combine_chunks().dictionary_encode()
    people, codes = person.dictionary, np.asarray(person.indices)
    offsets = _offsets(parameters)
    days = of_days.choice(offsets, len(people))
    numbers = of_names.permutation(len(people)) + 1
    names = pa.array([f"p{number:0{len(str(len(people)))}}" for number in numbers], pa.string())
    data = relation.table
    for name in (relation.time, *relation.roles.until):
        at = data.schema.get_field_index(name)
        data = data.set_column(at, data.field(at), _moved(name, data[name], days[codes]))
    data = data.drop_columns(list(relation.roles.durations))
    at = data.schema.get_field_index(relation.respondent)
    data = data.set_column(at, relation.respondent, names.take(person.indices))
    # Rows in the order of pseudonyms and dates: that of the input may say who they are.
    data = data.sort_by([(name, "ascending") for name in data.column_names])
    key = pa.table({relation.respondent: people, "pseudonym": names, "days": days})
    manifest = {
        "format": 1,
        "tool": TOOL,
        "method": METHOD,
        "guarantee": None,
        "statement": STATEMENT,
        "parameters": {"within": parameters.within, "preserve": parameters.preserve},
        "shifted": [relation.time, *relation.roles.until],
        "counts": {"rows": data.num_rows, "people": len(people), "withheld": rows - data.num_rows},
        "risk": _risk(_visits(relation, codes), days, offsets, parameters),
    }
    return Shifted(data, manifest, key)


def _refuse(relation: Relation, parameters: ShiftParameters) -> None:
    """Refuse what cannot be shifted, and dates that would stay as they are and give the shift away."""
    if relation.clock.kind == "relative":
        message = "the time column counts from a start, so that there are no dates to shift"
        raise InputError(message, hint="name a column of dates, or publish the table with generalize_time")
    columns = relation.roles.published
    plain = [name for name in columns if name not in relation.roles.durations]
    if unknown := [name for name in parameters.accept_risk if name not in plain]:
        message = f"`accept_risk` names {listed(unknown)}, which is not passed on"
        raise RolesError(message, hint="name columns that are passed on in it", code="column-missing")
    dated = [name for name in plain if name not in parameters.accept_risk]
    dated = [name for name in dated if reads_as_time(pc.unique(relation.table[name]))]
    if dated:
        hint = "name it in {until} to shift it as well, {drop} it, or name it in {accept_risk}"
        message = f"column {listed(dated)} reads as a time and would not be shifted"
        raise InputError(message, hint=hint, code="risky-column", facts={"columns": dated})


def _offsets(parameters: ShiftParameters) -> Ints:
    days: Ints = np.arange(-parameters.within, parameters.within + 1)
    if parameters.preserve == "weekday":
        days = days[days % 7 == 0]
    if parameters.preserve == "season":
        days = days[np.abs((days + _YEAR // 2) % _YEAR - _YEAR // 2) <= _NEAR]
    if not days.any():
        message = f"no shift within {parameters.within} days preserves the {parameters.preserve}"
        raise ParameterError(message, hint="use {within=365}")
    nonzero: Ints = days[days != 0]
    return nonzero


def _moved(name: str, times: pa.ChunkedArray, days: Ints) -> pa.ChunkedArray:
    """Times moved by whole days; clocks show the same as before."""
    kind = times.type
    local = pc.local_timestamp(times) if getattr(kind, "tz", None) else times
    is_date = pa.types.is_date32(kind)
    numbers = np.asarray(local.cast(pa.int32() if is_date else pa.int64())).astype(np.int64)
    moved = numbers + days * (1 if is_date else DAY * 1_000)
    low, high = (FIRST // DAY, LAST // DAY) if is_date else (FIRST * 1_000, LAST * 1_000)
    if len(moved) and not low <= moved.min() <= moved.max() <= high:
        message = f"shifted times of column `{name}` would be outside the years 1 to 9999"
        raise InputError(message, hint="check for wrong dates", code="bad-time", facts={"column": name})
    if is_date:
        return pa.chunked_array([pa.array(moved.astype(np.int32)).cast(kind)])
    clock = pa.chunked_array([pa.array(moved).cast(local.type)])
    if local is times:
        return clock
    return pc.assume_timezone(clock, kind.tz, ambiguous="earliest", nonexistent="latest")


# What an outsider finds who knows some true times.


def _visits(relation: Relation, person: npt.NDArray[np.integer]) -> Ints:
    """Person, true time and kind of each visit; kinds differ in a quasi-identifier or in a duration.

    Several rows of one person, time and kind are one visit.
    """
    time = relation.table[relation.time]
    quasi = [encode(relation.table[name]) for name in relation.roles.quasi_columns]
    kind, _ = combine([(coded.codes, len(coded.values)) for coded in quasi], len(time))
    moment = civil(relation.clock, instants(relation.clock, time))
    return np.unique(np.stack([person.astype(np.int64), moment, kind], axis=1), axis=0)


def _risk(visits: Ints, days: Ints, offsets: Ints, parameters: ShiftParameters) -> dict[str, Any]:
    """The shares of people who are singled out; which people are tried follows from the table alone."""
    owner, moment, kind = visits.T
    begins = np.searchsorted(owner, np.arange(len(days) + 1))
    draw = np.random.default_rng(0)
    tried = np.sort(draw.permutation(len(days))[:SAMPLE]).tolist()
    shifts = _Shifts(np.stack([owner, moment + days[owner] * DAY, kind], axis=1), offsets, parameters.within)
    alone = Counter[str]()
    for target in tried:
        visits_of_target = [*map(tuple, visits[begins[target] : begins[target + 1], 1:].tolist())]
        for name, number in _KNOWN.items():
            chosen = visits_of_target
            if number is not None and number < len(chosen):
                chosen = [chosen[visit] for visit in draw.choice(len(chosen), number, replace=False)]
            alone[name] += shifts.candidates(chosen, all_known=number is None) == 1
    shares = {name: alone[name] / max(len(tried), 1) for name in _KNOWN}
    risk: dict[str, Any] = {"people_tried": len(tried), "singled_out": shares}
    if parameters.preserve:
        of_week, of_year = weekday(moment // DAY), month_of_days(moment // DAY) % 12 // 3
        profile = np.zeros((len(days), 7), np.int64)
        np.add.at(profile, (owner, of_week if parameters.preserve == "weekday" else of_year), 1)
        _, often = np.unique(profile, axis=0, return_counts=True)
        risk["unique_profile"] = int((often == 1).sum()) / max(len(days), 1)
    return risk


class _Shifts:
    """The visits of a shifted table by what no shift changes, kind and time of day, and then by day."""

    def __init__(self, visits: Ints, offsets: Ints, within: int) -> None:
        owner, moment, kind = visits.T
        self._within, self._possible = within, np.zeros(2 * within + 1, dtype=bool)
        self._possible[offsets + within] = True
        self._visits, (day, clock) = np.bincount(owner), np.divmod(moment, DAY)
        self._low, self._days = (int(day.min()), int(np.ptp(day)) + 1) if len(day) else (0, 1)
        keys = (kind * DAY + clock) * self._days + day - self._low
        order = np.argsort(keys, kind="stable")
        self._keys, self._owner = keys[order], owner[order]

    def candidates(self, known: Sequence[tuple[int, int]], *, all_known: bool) -> int:
        """How many people have all the known visits, moved by one possible shift."""
        matches = np.zeros(0, np.int64)  # each a person with a shift, as one number, sorted
        for number, (moment, kind) in enumerate(known):
            day, clock = divmod(moment, DAY)
            # The days within reach that the table has.
            reach = np.clip(np.array([-self._within, self._within + 1]) + day - self._low, 0, self._days)
            first = (kind * DAY + clock) * self._days
            begin, end = np.searchsorted(self._keys, first + reach)
            shift = self._keys[begin:end] - first - (day - self._low) + self._within
            possible = self._possible[shift]
            pairs = self._owner[begin:end][possible] * len(self._possible) + shift[possible]
            if number:
                at = np.minimum(np.searchsorted(matches, pairs), len(matches) - 1)
                pairs = pairs[matches[at] == pairs]
            if not len(pairs):
                return 0
            matches = np.sort(pairs)
        people = np.unique(matches // len(self._possible))
        return int((self._visits[people] == len(known)).sum()) if all_known else len(people)
