"""What a check notes down while it goes along."""

from __future__ import annotations

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
    """The checks done and what they refused."""

    scope: str
    checks: list[str] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)

    def check(self, sentence: str) -> None:
        """Note that something is being checked."""
        self.checks.append(sentence)

    def refuse(self, code: ViolationCode, message: str) -> None:
        """Note what is not as promised; `message` holds numbers and column names, never a value."""
        self.violations.append(Violation(code, message))

    def verdict(self) -> Verdict:
        """The outcome."""
        return Verdict(self.scope, tuple(self.checks), tuple(self.violations))
