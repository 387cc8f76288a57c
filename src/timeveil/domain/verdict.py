"""What a judge found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that is not as promised: a stable code, a sentence with numbers, never a value."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Truthy if and only if every check passed.

    `scope` says how far the check could see: `recipient`, only what the published tables show to
    anyone, or `with ledger`, the definition itself.

    >>> bool(Verdict(scope="recipient", checks=("group sizes",), violations=()))
    True
    """

    scope: str
    checks: tuple[str, ...]
    violations: tuple[Violation, ...] = ()

    def __bool__(self) -> bool:
        return not self.violations

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        found = [{"code": v.code, "message": v.message} for v in self.violations]
        return {"holds": bool(self), "scope": self.scope, "checks": list(self.checks), "violations": found}
