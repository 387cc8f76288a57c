"""What a check notes down while it goes along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from timeveil.domain.verdict import Verdict, Violation

TimeCode = Literal[
    "candidates",
    "class-rows",
    "columns",
    "counts",
    "granule",
    "guarantee",
    "incomplete-rows",
    "label",
    "ledger",
    "ledger-groups",
    "ledger-rows",
    "manifest",
    "no-class",
    "people-below-k",
    "row-count",
    "row-order",
    "row-values",
    "rows-below-k",
    "smallest-group",
    "tables",
    "withheld",
]
StreamCode = Literal[
    "bucket",
    "bucket-size",
    "bucket-values",
    "columns",
    "conservation",
    "counts",
    "guarantee",
    "incomplete-rows",
    "ledger",
    "ledger-rows",
    "manifest",
    "moved-back",
    "moved-too-far",
    "not-eligible",
    "origin",
    "packet",
    "packet-bucket",
    "packet-fate",
    "packet-origin",
    "packet-size",
    "packet-values",
    "parameters",
    "person-twice",
    "row-count",
    "row-order",
    "row-values",
    "slot",
    "slot-order",
    "slot-records",
    "tables",
    "tables-disagree",
    "value-counts",
    "value-missing",
    "value-too-frequent",
]
SeriesCode = Literal[
    "cell-below-p",
    "changed-values",
    "columns",
    "conservation",
    "counts",
    "envelope",
    "envelope-differs",
    "envelope-wide",
    "group",
    "group-below-k",
    "guarantee",
    "incomplete-rows",
    "ledger",
    "ledger-groups",
    "ledger-rows",
    "manifest",
    "outside-envelope",
    "pattern",
    "pattern-not-own",
    "person-twice",
    "rounding",
    "row-count",
    "row-order",
    "row-values",
    "statements",
    "suppressed",
    "tables",
    "values-below-l",
]
PatternCode = Literal[
    "channel",
    "columns",
    "conservation",
    "counts",
    "guarantee",
    "item",
    "ledger",
    "ledger-rows",
    "lost",
    "manifest",
    "min-support",
    "missing-part",
    "not-closed",
    "pattern-twice",
    "person-twice",
    "row-count",
    "row-order",
    "statements",
    "support",
    "tables",
    "too-large",
    "unlike-any-data",
    "virtual",
    "wrong-support",
]
ViolationCode = TimeCode | StreamCode | SeriesCode | PatternCode
TIME_CODES: tuple[str, ...] = get_args(TimeCode)
STREAM_CODES: tuple[str, ...] = get_args(StreamCode)
SERIES_CODES: tuple[str, ...] = get_args(SeriesCode)
PATTERN_CODES: tuple[str, ...] = get_args(PatternCode)
VIOLATION_CODES: tuple[str, ...] = tuple(sorted({*TIME_CODES, *STREAM_CODES, *SERIES_CODES, *PATTERN_CODES}))


@dataclass(slots=True)
class Findings:
    """The checks done and what they refused.

    `sentences` has a message per expectation, with numbers in braces. An expectation is named by its
    violation code, and by a detail after a colon where one code has several messages.

    >>> findings = Findings("recipient", sentences={"counts:rows": "{rows} rows; {stated} stated"})
    >>> findings.expect("counts:rows", 5 == 6, rows=5, stated=6)
    False
    >>> findings.verdict().violations
    (Violation(code='counts', message='5 rows; 6 stated'),)
    """

    scope: str
    sentences: Mapping[str, str] = field(default_factory=dict)
    checks: list[str] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)

    def check(self, sentence: str) -> None:
        """Note that something is being checked."""
        self.checks.append(sentence)

    def refuse(self, code: ViolationCode, message: str) -> None:
        """Note what is not as promised; `message` holds numbers and column names, never a value."""
        self.violations.append(Violation(code, message))

    def expect(self, name: str, holds: bool, **numbers: object) -> bool:  # noqa: FBT001
        """Note a violation unless the expectation holds; numbers and column names fill its sentence."""
        if not holds:
            message = self.sentences[name].format(**numbers)
            self.violations.append(Violation(name.partition(":")[0], message))
        return holds

    def verdict(self) -> Verdict:
        """The outcome."""
        return Verdict(self.scope, tuple(self.checks), tuple(self.violations))
