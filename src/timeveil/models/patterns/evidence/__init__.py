"""A pattern release and its ledger, read once for all judges, and what anyone can compute from them.

Every pattern is a list of known items in order, at most one of each instant; no two are the same, and rows
are in the order of their length and then of their items, the empty pattern first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.arrays import Flags, Ints
from timeveil.domain.release import Release
from timeveil.errors import BundleError, ParameterError
from timeveil.evidence.codes import column_of, encode, fold, mismatch
from timeveil.evidence.published import Evidence as ReleaseEvidence
from timeveil.evidence.published import promised
from timeveil.models.patterns.evidence import counting
from timeveil.models.patterns.evidence.family import NONE, Family, SizeError, all_parts

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"  # how symbols are written
ADDING = ("additive", "tight", "clone", "least")  # the methods that add virtual people and lose no pattern
PATTERN, SUPPORT = "pattern", "support"
MOST_PEOPLE = 1 << 40  # no release counts this many people; sums of what is below stay exact
Fault = tuple[str, dict[str, int]]  # the name of a violated expectation, and its numbers


def _stated(section: str, name: str) -> property:
    return property(lambda patterns: patterns.manifest[section][name])


class Patterns:
    """The rows of a pattern release: each has the next `lengths` of `items`, and `support` people.

    `names` has the name of each item; item x belongs to instant `x // kinds`. `faults` is what is wrong with
    the table; only where there are some, an item may be unknown (-1).
    """

    method = _stated("parameters", "method")
    virtual = _stated("counts", "virtual")  # people who do not exist
    least = _stated("parameters", "min_support")  # patterns that fewer people have are not published,
    longest = _stated("parameters", "max_len")  # nor are those of more items
    structural = _stated("patterns", "structural")
    center = _stated("patterns", "center")

    def __init__(self, release: Release) -> None:
        described, part = release.manifest["patterns"], release.parts["data"]
        lists, support = column_of(part, PATTERN), column_of(part, SUPPORT)
        flat = pc.list_flatten(lists).cast(pa.string())
        coded = encode(flat.drop_null())
        texts = coded.values.to_pylist()
        if described["kind"] == "baskets":
            names, kinds = tuple(sorted(texts)), 1
            strange = sum(not text.strip() for text in texts)
        else:
            symbols = LETTERS[: described["symbols"]]
            kinds = len(symbols)
            names = tuple(f"{instant}={letter}" for instant in described["instants"] for letter in symbols)
            strange = len(names) - len(set(names)) + sum(text not in set(names) for text in texts)
        self.manifest, self.names, self.kinds = release.manifest, names, kinds
        numbers = np.array([self.number_of.get(text, NONE) for text in texts], dtype=np.int64)
        self.items: Ints = numbers[coded.codes] if len(coded.codes) else np.zeros(0, dtype=np.int64)
        self.lengths, self.support = (
            np.asarray(pc.fill_null(column, 0)).astype(np.int64)
            for column in (pc.list_value_length(lists), support)
        )
        self.faults: list[Fault] = []
        if missing := lists.null_count + flat.null_count:
            self.faults.append(("item:missing", {"cells": missing}))
        elif strange:
            self.faults.append(("item:strange", {"strange": strange, "texts": len(texts)}))
        else:
            self.faults.extend(_disorder(self))
        if support.null_count:
            self.faults.append(("support:missing", {"cells": support.null_count}))
        elif wrong := int(((self.support < 0) | (self.support > MOST_PEOPLE)).sum()):
            self.faults.append(("support:range", {"wrong": wrong, "most": MOST_PEOPLE}))

    @property
    def instants(self) -> tuple[str, ...]:
        return tuple(self.manifest["patterns"]["instants"] or ())

    @property
    def own_letters(self) -> bool:
        """Whether an item is what a person has; letters of a series release are coarser than people's own."""
        return self.kinds == 1 or bool(self.manifest["patterns"].get("origin") == "table")

    @property
    def people(self) -> int:
        """Number of people counted, virtual ones included."""
        return int(self.support.max(initial=0))

    @cached_property
    def starts(self) -> Ints:
        """Where the items of each row begin, and where the last ones end."""
        return np.concatenate([[0], np.cumsum(self.lengths)])

    @cached_property
    def number_of(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    @cached_property
    def family(self) -> Family:
        """The patterns of a table without faults as a family of sets."""
        levels = []
        for length in range(int(self.lengths.max(initial=0)) + 1):
            starts = self.starts[:-1][self.lengths == length]
            levels.append(self.items[starts[:, None] + np.arange(length)])
        return Family(tuple(levels), self.support, max(len(self.names), 1), self.kinds)

    def names_of(self, row: int) -> list[str]:
        return [self.names[item] for item in self.items[self.starts[row] : self.starts[row + 1]].tolist()]

    def numbers(self, items: Sequence[str]) -> list[int | None]:
        """The numbers of items; None for an item of baskets that no published pattern has."""
        unknown = [item for item in items if item not in self.number_of]
        if unknown and self.instants:
            instant, message = unknown[0].rpartition("=")[0], "an item is at no instant of the release"
            letters = f"a letter from a to {LETTERS[self.kinds - 1]}"
            if instant in self.instants:
                message = f"an item at `{instant}` does not end in {letters}"
            names = f"{', '.join(self.instants[:12])}{', ...' if len(self.instants) > 12 else ''}"
            hint = f"write INSTANT=LETTER, {letters}, at one of {names}"
            raise ParameterError(message, hint=hint, code="not-published")
        return [self.number_of.get(item) for item in items]

    def overlap(self, items: Sequence[int]) -> Ints:
        hits = np.isin(self.items, np.array(list(items), dtype=np.int64))
        sums = np.concatenate([[0], np.cumsum(hits)])
        overlap: Ints = sums[self.starts[1:]] - sums[self.starts[:-1]]
        return overlap


def _disorder(patterns: Patterns) -> Iterator[Fault]:
    """What is wrong with the order of known items and rows; later faults make sense without earlier ones."""
    # compare every item with the one before it in the same pattern
    row = np.repeat(np.arange(len(patterns.lengths)), patterns.lengths)
    neighbours = row[1:] == row[:-1]
    items, instants = patterns.items, patterns.items // patterns.kinds
    unordered = int((neighbours & (items[1:] <= items[:-1])).sum())
    together = int((neighbours & (instants[1:] == instants[:-1]) & (items[1:] > items[:-1])).sum())
    longer_first = int((np.diff(patterns.lengths) < 0).sum())
    if unordered:
        yield "item:order", {"items": unordered}
    if together:
        yield "item:together", {"patterns": together}
    if unordered or together:
        return
    if longer_first:
        yield "row-order:length", {"rows": longer_first}
    elif not len(patterns.lengths) or patterns.lengths[0] != 0:
        yield "missing-part:empty", {}
    else:
        # codes ascend with the items of a line
        levels, size = patterns.family.levels, patterns.family.size
        codes = [fold([(column, size) for column in level.T], len(level))[0] for level in levels]
        steps = np.concatenate([np.diff(code) for code in codes])
        if repeated := int((steps == 0).sum()):
            yield "pattern-twice", {"patterns": repeated}
        if misplaced := int((steps < 0).sum()):
            yield "row-order", {"rows": misplaced}


class Evidence(ReleaseEvidence):
    """A release and its ledger, if the judges may see it; everything is read when it is first needed."""

    @property
    def k(self) -> int:
        """The smallest group that may follow from the counts."""
        return promised(self.release, "k")

    @cached_property
    def table(self) -> Patterns:
        """The rows of the table as they are, sound or not."""
        return Patterns(self.release)

    @property
    def patterns(self) -> Patterns:
        """The published patterns; a table that does not hold patterns is refused."""
        if self.table.faults:
            raise _damaged()
        return self.table

    @cached_property
    def published(self) -> Family:
        """All patterns as a family of sets, with those that follow from closed ones."""
        if self.release.manifest["patterns"]["published"] != "closed":
            return self.patterns.family
        try:
            return all_parts(self.patterns.family)[0]
        except SizeError:
            raise _damaged() from None

    @cached_property
    def original(self) -> counting.Original:
        """The original rows with the items of the release."""
        return counting.read_original(self.private, self.release.manifest, self.table.names)

    @cached_property
    def counted(self) -> Flags:
        """Which original rows are counted; refused unless they and the virtual ones are those stated."""
        ledger, original = self.private, self.original
        if "transaction" not in ledger.entries.schema.names:
            raise mismatch("the ledger belongs to a release of another model")
        if len(original.row_of) != ledger.entries.num_rows:
            raise mismatch("the ledger does not note every row of its original")
        counted = np.zeros(original.rows.rows, dtype=bool)
        noted = (original.row_of >= 0) & np.asarray(pc.is_valid(ledger.table["transaction"]))
        counted[original.row_of[noted]] = True
        added, real = ledger.virtual, int(counted.sum())
        virtual = 0 if added is None or not added.num_rows else pc.sum(added["copies"]).as_py() or 0
        stated = self.release.manifest["counts"]
        if (virtual, real + virtual) != (stated["virtual"], stated["transactions"]):
            people = f"{stated['transactions']:,}, of whom {stated['virtual']:,} are virtual"
            ledger_has = f"the ledger has {real:,} real and {virtual:,} virtual people"
            raise mismatch(f"{ledger_has}, and the release counts {people}")
        return counted

    @cached_property
    def before(self) -> Family:
        """The patterns of the original with their true counts: what would be published without care."""
        patterns, rows = self.patterns, self.original.rows
        if patterns.method in ADDING:
            return replace(self.published, support=counting.supports(self.published, rows))
        size = max(len(self.original.names), 1)
        return counting.mined(rows, size, patterns.kinds, patterns.least, patterns.longest)


def _damaged() -> BundleError:
    hint = "run `timeveil verify` to see what is wrong with it, or get the release again"
    return BundleError("the table does not hold patterns as its manifest describes them", hint=hint)
