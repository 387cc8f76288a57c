"""Which column has which role."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from timeveil.errors import RolesError

REST: Literal["rest"] = "rest"


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

    `respondent` is the person a row is about; it never reaches a release. `time` is when it happened. `quasi`
    is what an outsider may know about a person, `sensitive` what they must not learn, `keep` everything else
    to publish. `drop` lists columns to leave out; `drop="rest"` leaves out every column without a role.

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

    def __post_init__(self) -> None:
        for name in ("quasi", "sensitive", "keep", "series"):
            object.__setattr__(self, name, _names(name, getattr(self, name)))
        if self.drop != REST:
            object.__setattr__(self, "drop", _names("drop", self.drop))
        columns = [*self.columns, *(() if self.drop == REST else self.drop)]
        if len(set(columns)) < len(columns):
            twice = next(column for column in columns if columns.count(column) > 1)
            hint = "give each column one role"
            raise RolesError(f"column `{twice}` has more than one role", hint=hint, code="column-twice")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table with a role other than `drop`, in role order."""
        single = [name for name in (self.respondent, self.time, self.value, self.item) if name is not None]
        quasi = [name for name in self.quasi if isinstance(name, str)]
        return (*single, *quasi, *self.sensitive, *self.keep, *self.series)

    @property
    def quasi_columns(self) -> tuple[str, ...]:
        """The names of the quasi-identifiers; of derived ones, the column they become."""
        return tuple(q if isinstance(q, str) else q.column(self.time or "time") for q in self.quasi)

    @property
    def published(self) -> tuple[str, ...]:
        """The columns that a release publishes as they are or generalised, without the time."""
        return (*self.quasi_columns, *self.keep, *self.sensitive)


def _names(role: str, columns: Iterable[str | Derived] | str | None) -> tuple[str | Derived, ...]:
    if isinstance(columns, str | Derived):
        raise RolesError(f"`{role}` takes a list of columns, not one name", hint=f"write {role}=[...]")
    return tuple(columns or ())
