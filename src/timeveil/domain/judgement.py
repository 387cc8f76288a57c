"""What a judge answers: a verdict, an estimate, or another result, each as plain data for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from timeveil.domain.wording import counted

if TYPE_CHECKING:
    import pyarrow as pa

MOST_SHOWN = 3  # violations that a verdict prints


def as_dict(self: Any) -> dict[str, Any]:
    """The result as plain data: dicts, lists, text and numbers.

    Keys are the names of the fields, then of the properties that `ALSO` of the class lists; or those that
    its `KEYS` lists: fields and properties, each as "name" or as "name as key".
    """
    names = [*(field.name for field in fields(self)), *getattr(type(self), "ALSO", ())]
    keys = getattr(type(self), "KEYS", names)
    pairs = ((name, key or name) for name, _, key in (entry.partition(" as ") for entry in keys))
    return {key: _plain(getattr(self, name)) for name, key in pairs}


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        # A class may name its keys itself.
        return value.as_dict() if hasattr(value, "as_dict") else as_dict(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


class PlainData:
    """A result that can be had as plain data."""

    __slots__ = ()
    as_dict = as_dict


class Shown(PlainData):
    """What has a representation in notebooks; how it looks is decided where tables and pictures are made."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        # By name, when a notebook asks: what is shown is made by layers above this one.
        html: str = import_module("timeveil.report.notebook").html(self)
        return html


class Losses(Shown):
    """What a release lost: of so many rows, records or series some were withheld, and others less exact."""

    __slots__ = ()
    rows: int
    suppressed: int
    bits: Mapping[str, float]

    @property
    def suppressed_share(self) -> float:
        """Share of all rows, records or series that were withheld."""
        return self.suppressed / max(self.rows + self.suppressed, 1)

    @property
    def bits_per_row(self) -> float:
        """Information that a published one loses on average, over all columns."""
        return sum(self.bits.values())


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number computed from a release: the best guess, and bounds that the truth is always within.

    On a stream the bounds are about the published records: moved and withheld ones are not counted. `unknown`
    names the columns or items asked for with a value that nothing published shows. `rows`, if they were asked
    for, are the published rows that may fit.

    >>> Estimate(3.5, low=2, high=6)
    Estimate(value=3.5, low=2, high=6)
    """

    value: float
    low: float
    high: float
    unknown: tuple[str, ...] = field(default=(), compare=False)
    rows: pa.Table | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        unknown = f", unknown={self.unknown}" if self.unknown else ""
        return f"Estimate(value={self.value}, low={self.low}, high={self.high}{unknown})"


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken promise: a stable code, and a sentence with numbers and never a value."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Verdict(Shown):
    """Truthy if and only if every check passed.

    `scope` is how much could be checked: `recipient`, what anyone can see in the published tables, or
    `with ledger`, the definition itself. `ledger_only` marks violations that a recipient cannot see.

    >>> verdict = Verdict(scope="recipient", checks=("group sizes",), violations=())
    >>> bool(verdict), verdict
    (True, <Verdict: holds, 1 check, recipient>)
    >>> print(Verdict("with ledger", (), (Violation("people-below-k", "1 group has fewer than 5 people"),)))
    violated, with ledger: 1 violation
      1 group has fewer than 5 people
    """

    KEYS: ClassVar = ("holds", "scope", "checks", "violations")

    scope: str
    checks: tuple[str, ...]
    violations: tuple[Violation, ...] = ()
    ledger_only: bool = False

    @property
    def holds(self) -> bool:
        """Whether every check passed."""
        return not self.violations

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        number = counted(len(self.checks), "check") if self else counted(len(self.violations), "violation")
        return f"<Verdict: {'holds' if self else 'violated'}, {number}, {self.scope}>"

    def __str__(self) -> str:
        scope = "as far as a recipient can see" if self.scope == "recipient" else self.scope
        if self:
            return f"holds, {scope}: {counted(len(self.checks), 'check')} passed"
        lines = [f"violated, {scope}: {counted(len(self.violations), 'violation')}"]
        lines += [f"  {violation.message}" for violation in self.violations[:MOST_SHOWN]]
        more = len(self.violations) - MOST_SHOWN
        return "\n".join([*lines, *([f"  and {more:,} more"] if more > 0 else [])])
