"""A pattern release and its ledger, read once for all judges, and what anyone can compute from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from timeveil.domain.release import Ledger, Release
from timeveil.evidence.published import mismatch, promised
from timeveil.models.patterns.evidence.completion import Knowledge, knowledge_of
from timeveil.models.patterns.evidence.counting import mined, supports
from timeveil.models.patterns.evidence.family import Family, Flags, TooManySetsError, all_parts
from timeveil.models.patterns.evidence.original import Original, counted_people, read_original
from timeveil.models.patterns.evidence.table import ADDING, Patterns, Table, damaged, read_table

__all__ = ["Evidence"]


@dataclass(frozen=True)
class Evidence:
    """A release and its ledger, if the judges may see it; everything is read when it is first needed."""

    release: Release
    ledger: Ledger | None = None

    @property
    def k(self) -> int:
        """The smallest group that may follow from the counts."""
        return promised(self.release, "k")

    @cached_property
    def table(self) -> Table:
        """The cells of the table as they are, sound or not."""
        return read_table(self.release)

    @cached_property
    def patterns(self) -> Patterns:
        """The published patterns; a table that does not hold patterns is refused."""
        if next(self.table.faults(), None) is not None:
            raise damaged()
        return self.table.patterns(self.release.manifest)

    @cached_property
    def published(self) -> Family:
        """All patterns as a family of sets, with those that follow from closed ones."""
        family = self.patterns.family
        if not self.patterns.closed:
            return family
        try:
            return all_parts(family)[0]
        except TooManySetsError:
            raise damaged() from None

    @cached_property
    def knowledge(self) -> Knowledge:
        """What follows from the published counts, for a reader who knows how series are made."""
        return knowledge_of(self.published, structural=bool(self.patterns.instants))

    @cached_property
    def original(self) -> Original:
        """The original rows with the items of the release."""
        if self.ledger is None:
            raise mismatch("there is no ledger")
        return read_original(self.ledger, self.release.manifest, self.table.names)

    @cached_property
    def counted(self) -> Flags:
        """Which rows of the original are counted; a ledger of another release is refused."""
        if self.ledger is None:
            raise mismatch("there is no ledger")
        return counted_people(self.ledger, self.release.manifest, self.original)

    @cached_property
    def before(self) -> Family:
        """The patterns of the original with their true counts: what would be published without care."""
        patterns, rows = self.patterns, self.original.rows
        if patterns.method in ADDING:
            return self.published.with_support(supports(self.published, rows))
        size = max(len(self.original.names), 1)
        return mined(rows, size, patterns.kinds, patterns.least, patterns.longest)
