"""What a verifier checked, and what it found violated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral

from timeveil.domain.judgement import Verdict, Violation
from timeveil.domain.wording import counted

SHARED = {
    "columns:extra": "the table has columns that the manifest does not list: {names}",
    "columns:missing": "the table lacks columns that the manifest lists: {names}",
    "guarantee": "the manifest states another guarantee than the release",
    "manifest": "{fault}",
    "row-order": "{rows:row} not in the order that follows from the values",
}
"""Sentences of the checks that every model shares."""
_PLURALS = {"person": "people"}


@dataclass(slots=True)
class Findings:
    """The checks done, and the violations found.

    `sentences` has a message per expectation, with numbers in braces. An expectation is named by its
    violation code, and by a detail after a colon where one code has several messages. A number written as
    `{below:group}` is shown with its noun: "1 group", "2 groups".

    >>> findings = Findings("recipient", sentences={"counts:rows": "{rows:row}; {stated} stated"})
    >>> findings.expect("counts:rows", 5 == 6, rows=5, stated=6)
    False
    >>> findings.verdict().violations
    (Violation(code='counts', message='5 rows; 6 stated'),)
    """

    scope: str
    sentences: Mapping[str, str] = field(default_factory=dict)
    checks: list[str] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    public: int | None = None

    def check(self, sentence: str) -> None:
        """Note that something is being checked."""
        self.checks.append(sentence)

    def expect(self, name: str, holds: object, /, **numbers: object) -> bool:
        """Note a violation unless the expectation holds; numbers and column names fill its sentence."""
        if not holds:
            # A message is made only for a violation: sentences cost nothing where all is well.
            sentence = self.sentences.get(name) or SHARED[name]
            fields = {key: _Number(n) if isinstance(n, Integral) else n for key, n in numbers.items()}
            self.violations.append(Violation(name.partition(":")[0], sentence.format(**fields)))
        return bool(holds)

    def open_ledger(self) -> None:
        """Note that the checks from here on need the ledger: a recipient cannot repeat them."""
        self.public = len(self.violations)

    def verdict(self) -> Verdict:
        """Every check and violation."""
        ledger_only = self.public == 0 and bool(self.violations)
        return Verdict(self.scope, tuple(self.checks), tuple(self.violations), ledger_only=ledger_only)


class _Number(int):
    """A count that a sentence shows with separators, and with its noun where one is named."""

    def __format__(self, spec: str) -> str:
        if len(spec) < 2:
            return format(int(self), spec or ",")
        return counted(int(self), spec, _PLURALS.get(spec))
