"""The outcome of a verification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from timeveil.domain.plain_data import as_dict


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken promise: a stable code, and a sentence with numbers and never a value."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Truthy if and only if every check passed.

    `scope` is how much could be checked: `recipient`, what anyone can see in the published tables, or
    `with ledger`, the definition itself. `ledger_only` marks violations that a recipient cannot see.

    >>> bool(Verdict(scope="recipient", checks=("group sizes",), violations=()))
    True
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

    as_dict = as_dict
