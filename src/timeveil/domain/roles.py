"""Which column has which role."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from timeveil.errors import RolesError

REST: Literal["rest"] = "rest"
TO = ".."
SINGLE = ("respondent", "time", "value", "item", "event")  # roles of one column


@dataclass(frozen=True, slots=True)
class Derived:
    """A quasi-identifier computed from the time column, such as the weekday (see `timeveil.calendar`)."""

    name: str

    def column(self, time: str) -> str:
        """The name of the column it becomes: `taken_at_weekday`."""
        return f"{time}_{self.name}"


@dataclass(frozen=True, slots=True)
class Roles:
    """What each column means. A column without a role is refused unless it is dropped.

    `respondent` is the person a row is about; it never reaches a release. `time` is when it happened, and
    `until` lists further times of the row, which are published as the duration since `time`, and as nothing
    else: `time=["admitted", "discharged"]` is short for `time="admitted", until=["discharged"]`. `quasi`
    is what an outsider may know about a person, `sensitive` what they must not learn, `keep` everything else
    to publish. `drop` lists columns to leave out; `drop="rest"` leaves out every column without a role.
    `event` tells a person's events apart where a table is published repeatedly, such as a case number; it
    never reaches a release either.

    >>> Roles(respondent="patient", time="taken_at", quasi=["zip"], sensitive=["result"]).published
    ('zip', 'result')
    """

    respondent: str | None = None
    time: str | None = None
    quasi: Sequence[str | Derived] = ()
    sensitive: Sequence[str] = ()
    keep: Sequence[str] = ()
    drop: Sequence[str] | Literal["rest"] = ()
    value: str | None = None
    item: str | None = None
    series: Sequence[str] = ()
    event: str | None = None
    until: Sequence[str] = ()

    def __post_init__(self) -> None:
        times: Any = self.time
        if isinstance(times, list | tuple) and times:
            object.__setattr__(self, "time", times[0])
            object.__setattr__(self, "until", (*times[1:], *_names("until", self.until)))
        for name in SINGLE:
            if not isinstance(getattr(self, name), str | None):
                kind = type(getattr(self, name)).__name__
                raise RolesError(f"`{name}` is a {kind}, not a name", hint=f"name one column with {{{name}}}")
        for name in ("quasi", "sensitive", "keep", "series", "until"):
            object.__setattr__(self, name, _names(name, getattr(self, name)))
        if not isinstance(self.drop, str) or self.drop != REST:
            object.__setattr__(self, "drop", _names("drop", self.drop))
        columns = [*self.columns, *(() if self.drop == REST else self.drop)]
        if len(set(columns)) < len(columns):
            twice = next(column for column in columns if columns.count(column) > 1)
            hint = "give each column one role"
            raise RolesError(f"column `{twice}` has more than one role", hint=hint, code="column-twice")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table with a role other than `drop`, in role order."""
        single = (self.respondent, self.time, self.value, self.item)
        quasi = [name for name in self.quasi if isinstance(name, str)]
        columns = (*single, *self.until, *quasi, *self.sensitive, *self.keep, *self.series, self.event)
        return tuple(name for name in columns if name is not None)

    @property
    def durations(self) -> dict[str, str]:
        """Per quasi-identifier that is a duration the column of the time that it ends at."""
        return {f"{self.time}_to_{name}": name for name in self.until}

    @property
    def quasi_columns(self) -> tuple[str, ...]:
        """The names of the quasi-identifiers; of derived ones, the column they become."""
        derived = (q if isinstance(q, str) else q.column(str(self.time)) for q in self.quasi)
        # Roles that were fitted to a table name durations among the others.
        return tuple(dict.fromkeys((*derived, *self.durations)))

    @property
    def published(self) -> tuple[str, ...]:
        """The columns that a release publishes as they are or generalised, without the time."""
        return (*self.quasi_columns, *self.keep, *self.sensitive)


def require_roles(roles: object) -> None:
    """Refuse anything but roles."""
    if not isinstance(roles, Roles):
        hint = 'name its columns: Roles(respondent="patient", time="taken_at")'
        raise RolesError(f"the roles of the table are a {type(roles).__name__}, not Roles", hint=hint)


def _names(role: str, columns: Iterable[str | Derived] | str | None) -> tuple[str | Derived, ...]:
    if isinstance(columns, str | Derived):
        raise RolesError(f"`{role}` takes a list of columns, not one name", hint=f"write {role}=[...]")
    names = tuple(columns) if isinstance(columns, Iterable) else () if columns is None else (columns,)
    if not all(isinstance(name, str | Derived) for name in names):
        raise RolesError(f"`{role}` has something that is not a name", hint=f'write {role}=["zip"]')
    return names


def columns_named(texts: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """The columns that texts name, in their order; a range takes all between its ends in the table.

    A text that is a column's name is that column, whatever characters are in it.
    """
    columns: list[str] = []
    for text in texts:
        for name in [text] if text in names else text.split(","):
            columns += [name] if name in names else _range(name.strip(), names)
    return tuple(columns)


def _range(text: str, names: Sequence[str]) -> Sequence[str]:
    first, dots, last = text.partition(TO)
    if not dots or text in names:
        for mark in ("-", ":"):  # two columns joined by a dash or colon are meant as a range
            first, _, last = text.partition(mark)
            if first in names and last in names:
                raise _no_column(text, [first, last], f"a range is written with two dots: {first}{TO}{last}")
        return [text]
    for end in (first, last):
        if end not in names:
            near = get_close_matches(end, names, 1)
            form = "a range is written FIRST..LAST, such as q01..q10"
            raise _no_column(end, near, f"did you mean `{near[0]}`?" if near else form)
    low, high = names.index(first), names.index(last)
    if high < low:
        hint = f"write the range as {last}..{first}"
        raise RolesError(f"`{last}` comes before `{first}` in the table", hint=hint)
    return names[low : high + 1]


def _no_column(name: str, near: Sequence[str], hint: str) -> RolesError:
    facts = {"missing": [name], "near": list(near)}
    return RolesError(f"the table has no column `{name}`", hint=hint, code="column-missing", facts=facts)
