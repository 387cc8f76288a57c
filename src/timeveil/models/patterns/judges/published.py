"""What a pattern release says: patterns and supports, read from its table and manifest alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.release import Release
from timeveil.errors import BundleError, ParameterError
from timeveil.evidence.codes import Integers, column_of
from timeveil.models.patterns.judges.family import Family, family_of
from timeveil.models.patterns.judges.parts import TooManySetsError, all_parts, in_order
from timeveil.symbols.sax import LETTERS, cell

ADDING = ("additive", "tight", "clone")
"""The methods that raise counts by virtual people."""


@dataclass(frozen=True, slots=True)
class Patterns:
    """The rows of a pattern release: row r has `items[starts[r]:starts[r + 1]]` and `support[r]` people.

    `names` has the name of each item; item x belongs to instant `x // kinds`. `instants` and `center` are
    those of series. `method` is how small groups were closed, with `virtual` people who do not exist;
    patterns that fewer than `least` people have, or of more than `longest` items, were not looked for.
    """

    names: tuple[str, ...]
    kinds: int
    starts: Integers
    items: Integers
    support: Integers
    method: str
    virtual: int
    least: int
    longest: int | None
    structural: bool
    closed: bool
    instants: tuple[str, ...] = ()
    center: str | None = None

    @property
    def lengths(self) -> Integers:
        """How many items each pattern has."""
        return np.diff(self.starts)

    @property
    def people(self) -> int:
        """How many people are counted, virtual ones included."""
        return int(self.support.max(initial=0))

    def named(self, items: Integers) -> list[str]:
        """Items by their names."""
        return [self.names[item] for item in items.tolist()]

    def places(self, items: Sequence[str]) -> list[int | None]:
        """The numbers of items; None for one of baskets that no published pattern has."""
        known = {name: place for place, name in enumerate(self.names)}
        strange = [item for item in items if item not in known]
        if strange and self.instants:
            instant = strange[0].rpartition("=")[0]
            letters = f"a letter from a to {LETTERS[self.kinds - 1]}"
            raise ParameterError(
                f"an item at `{instant}` does not end in {letters}"
                if instant in self.instants
                else "an item is at no instant of the release",
                hint=f"write INSTANT=LETTER, {letters}, at one of "
                f"{', '.join(self.instants[:12])}{', ...' if len(self.instants) > 12 else ''}",
                code="not-published",
            )
        return [known.get(item) for item in items]

    def inside(self, wanted: Sequence[int]) -> Integers:
        """How many of these items each pattern has."""
        hits = np.isin(self.items, np.array(list(wanted), dtype=np.int64))
        sums = np.concatenate([[0], np.cumsum(hits)])
        found: Integers = sums[self.starts[1:]] - sums[self.starts[:-1]]
        return found

    def range_of(self, item: str) -> tuple[float, float] | None:
        """Between which values of a z-normalised series an item lies; None for one that is no symbol."""
        if not self.instants:
            return None
        place = self.places([item])[0]
        return None if place is None else cell(place % self.kinds, self.kinds)

    def family(self) -> Family:
        """All patterns as a family of sets, with those that follow from closed ones."""
        sets = [
            self.items[low:high].tolist() for low, high in zip(self.starts[:-1], self.starts[1:], strict=True)
        ]
        found = family_of(sets, self.support, max(len(self.names), 1), self.kinds)
        try:
            return all_parts(found)[0] if self.closed else found
        except TooManySetsError:
            pass
        raise _damaged()


def published_patterns(release: Release) -> Patterns:
    """Read the table of a pattern release."""
    said, asked = release.manifest["patterns"], release.manifest["parameters"]
    lists = column_of(release.parts["data"], "pattern")
    flat = pc.list_flatten(lists).cast(pa.string())
    lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0)).astype(np.int64)
    names = _names(said, flat)
    known = {name: place for place, name in enumerate(names)}
    coded = flat.combine_chunks().dictionary_encode()
    numbers = np.array([known.get(text, -1) for text in coded.dictionary.to_pylist()], dtype=np.int64)
    items = numbers[np.asarray(coded.indices)] if len(coded) else np.zeros(0, dtype=np.int64)
    support = column_of(release.parts["data"], "support")
    if (items < 0).any() or lists.null_count or support.null_count or not len(lengths):
        raise _damaged()
    found = Patterns(
        names,
        said["symbols"] or 1,
        np.concatenate([[0], np.cumsum(lengths)]),
        items,
        np.asarray(support).astype(np.int64),
        asked["method"],
        release.manifest["counts"]["virtual"],
        asked["min_support"],
        asked["max_len"],
        said["structural"],
        said["published"] == "closed",
        tuple(said["instants"] or ()),
        said["center"],
    )
    return _refuse_disorder(found)


def _names(said: Any, flat: pa.ChunkedArray) -> tuple[str, ...]:
    if said["kind"] == "baskets":
        return tuple(sorted(text for text in pc.unique(flat).to_pylist() if text is not None))
    return tuple(
        f"{instant}={letter}" for instant in said["instants"] for letter in LETTERS[: said["symbols"]]
    )


def _refuse_disorder(found: Patterns) -> Patterns:
    """Patterns stand by length and then by items, each once."""
    lengths = found.lengths
    if lengths[0] != 0 or (np.diff(lengths) < 0).any():
        raise _damaged()
    levels = []
    for length in range(int(lengths[-1]) + 1):
        mine = np.flatnonzero(lengths == length)
        levels.append(found.items[found.starts[mine][:, None] + np.arange(length)])
    if any(in_order(levels)) or any((np.diff(level, axis=1) <= 0).any() for level in levels):
        raise _damaged()
    return found


def _damaged() -> BundleError:
    return BundleError(
        "the table does not hold patterns as its manifest describes them",
        hint="`timeveil verify` says what is wrong with it; get the release again",
        code="folder-damaged",
    )
