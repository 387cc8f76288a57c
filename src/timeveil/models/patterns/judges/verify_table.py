"""The table of a pattern release as a family of sets, and what anyone can see of it.

Every pattern is a list of known items in order, at most one of each instant, no two are the same, rows stand
by length and then by items, and every part of a pattern is there, down to the empty one, with at least as
many people. Of closed patterns the others follow: a set has as many people as the commonest pattern that
holds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.release import Release
from timeveil.domain.wording import counted
from timeveil.evidence.codes import Integers, column_of, encode
from timeveil.evidence.findings import Findings
from timeveil.models.patterns.judges.family import Family
from timeveil.models.patterns.judges.parts import TooManySetsError, all_parts, in_order
from timeveil.models.patterns.judges.shape import LETTERS, PATTERN, SUPPORT

MOST = 1 << 40
"""No release counts so many people; sums of what is below stay exact."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the items of a release are: their names in order, how many to an instant."""

    names: tuple[str, ...]
    kinds: int

    def places(self) -> dict[str, int]:
        """The number of each item."""
        return {name: place for place, name in enumerate(self.names)}


def check_table(release: Release, findings: Findings) -> tuple[Known, Family] | None:
    """Judge the table; the whole family of sets that it tells of, where there is one."""
    findings.check("every pattern is a list of items in order, none twice and one of each instant at most")
    patterns = column_of(release.parts["data"], PATTERN)
    flat = pc.list_flatten(patterns)
    empty = patterns.null_count + flat.null_count
    if empty:
        findings.refuse("item", f"{counted(empty, 'pattern')} or items missing")
        return None
    lengths = np.asarray(pc.list_value_length(patterns)).astype(np.int64)
    coded = encode(flat)
    known, numbers = _known(release, coded.values, findings)
    if numbers is None:
        return None
    items = numbers[coded.codes] if len(coded.codes) else np.zeros(0, dtype=np.int64)
    support = _support(release, findings)
    if support is None or not _check_items(items, lengths, known.kinds, findings):
        return None
    levels = _check_order(items, lengths, findings)
    if levels is None:
        return None
    family = Family(levels, support, max(len(known.names), 1), known.kinds)
    _check_counts(release, family, findings)
    if release.manifest["patterns"]["published"] == "closed":
        whole = _opened(family, findings)
    else:
        whole = _check_parts(family, findings)
    return None if whole is None else (known, whole)


def _known(release: Release, values: pa.Array, findings: Findings) -> tuple[Known, Integers | None]:
    """All items, and for each text that occurs the number of its item; None if one is no item."""
    said, texts = release.manifest["patterns"], values.to_pylist()
    if said["kind"] == "baskets":
        known = Known(tuple(sorted(texts)), 1)
        strange = sum(not text.strip() for text in texts)
    else:
        symbols = LETTERS[: said["symbols"]]
        known = Known(
            tuple(f"{instant}={letter}" for instant in said["instants"] for letter in symbols), len(symbols)
        )
        places = known.places()
        strange = len(known.names) - len(places) + sum(text not in places for text in texts)
    if strange:
        findings.refuse(
            "item", f"{counted(strange, 'item')} of {len(texts):,} not as the manifest states them"
        )
        return known, None
    places = known.places()
    return known, np.array([places[text] for text in texts], dtype=np.int64)


def _support(release: Release, findings: Findings) -> Integers | None:
    findings.check("every support is a number of people")
    column = column_of(release.parts["data"], SUPPORT)
    if column.null_count:
        findings.refuse("support", f"{counted(column.null_count, 'pattern')} without a support")
        return None
    support = np.asarray(column).astype(np.int64)
    wrong = int(((support < 0) | (support > MOST)).sum())
    if wrong:
        findings.refuse("support", f"{counted(wrong, 'support')} below 0 or beyond {MOST:,}")
        return None
    return support


def _check_items(items: Integers, lengths: Integers, kinds: int, findings: Findings) -> bool:
    row = np.repeat(np.arange(len(lengths)), lengths)
    same = row[1:] == row[:-1]
    turned = int((same & (items[1:] <= items[:-1])).sum())
    if turned:
        findings.refuse("item", f"{counted(turned, 'item')} twice in a pattern, or out of order")
    both = int((same & (items[1:] // kinds == items[:-1] // kinds) & (items[1:] > items[:-1])).sum())
    if both:
        findings.refuse("item", f"{counted(both, 'pattern')} with two symbols of one instant")
    return not (turned or both)


def _check_order(items: Integers, lengths: Integers, findings: Findings) -> tuple[Integers, ...] | None:
    findings.check("rows stand in the order of their length and items, the empty pattern first")
    if (np.diff(lengths) < 0).any():
        findings.refuse(
            "row-order", f"{counted(int((np.diff(lengths) < 0).sum()), 'row')} after a longer one"
        )
        return None
    if not len(lengths) or lengths[0] != 0:
        findings.refuse("missing-part", "there is no empty pattern, which tells how many people there are")
        return None
    starts, levels = np.cumsum(lengths) - lengths, []
    for length in range(int(lengths[-1]) + 1):
        mine = np.flatnonzero(lengths == length)
        levels.append(items[starts[mine][:, None] + np.arange(length)])
    twice, turned = in_order(levels)
    if twice:
        findings.refuse("pattern-twice", f"{counted(twice, 'pattern')} that stand there twice")
    if turned:
        findings.refuse("row-order", f"{counted(turned, 'row')} not in the order of items")
    return None if twice or turned else tuple(levels)


def _check_counts(release: Release, family: Family, findings: Findings) -> None:
    counts, asked = release.manifest["counts"], release.manifest["parameters"]
    findings.check("the numbers of patterns and people are those of the manifest")
    if family.number != counts["patterns"]:
        findings.refuse(
            "row-count",
            f"the table has {family.number:,} patterns where the manifest states {counts['patterns']:,}",
        )
    if family.support[0] != counts["transactions"]:
        findings.refuse(
            "counts",
            f"the empty pattern counts {int(family.support[0]):,} people where the manifest states "
            f"{counts['transactions']:,}",
        )
    if counts["virtual"] > counts["transactions"]:
        findings.refuse("counts", "the manifest states more virtual people than people")
    if asked["method"] == "additive" and counts["virtual"] % asked["k"]:
        findings.refuse("counts", "the virtual people are not k of each kind, as the method adds them")
    findings.check(f"no pattern has a support below {asked['min_support']:,}, nor more items than stated")
    rare = int((family.support < asked["min_support"]).sum())
    if rare and family.number > 1:
        findings.refuse(
            "min-support", f"{counted(rare, 'pattern')} with a support below {asked['min_support']:,}"
        )
    longest = len(family.levels) - 1
    if asked["max_len"] is not None and longest > asked["max_len"]:
        findings.refuse(
            "statements", f"a pattern has {counted(longest, 'item')} where {asked['max_len']:,} is the most"
        )


def _check_parts(family: Family, findings: Findings) -> Family | None:
    findings.check("every part of a pattern is there, with as many people or more")
    if family.is_rooted:
        missing = sum(int((drop < 0).any(axis=1).sum()) for drop in family.drops)
    else:
        missing = _with_a_part_missing(family)
    if missing:
        findings.refuse("missing-part", f"{counted(missing, 'pattern')} of which a part is not there")
        return None
    _check_falling(family, findings)
    return family


def _with_a_part_missing(family: Family) -> int:
    """How many sets lack one of those with an item less, however much is missing."""
    missing = 0
    for below, level in pairwise(family.levels):
        known = set(map(tuple, below.tolist()))
        for items in map(tuple, level.tolist()):
            missing += any(items[:n] + items[n + 1 :] not in known for n in range(len(items)))
    return missing


def _check_falling(family: Family, findings: Findings) -> None:
    rising = 0
    for length, drop in enumerate(family.drops):
        mine = family.support[family.offsets[length] : family.offsets[length + 1]]
        rising += int((family.support[drop] < mine[:, None]).any(axis=1).sum())
    if rising:
        findings.refuse("support", f"{counted(rising, 'pattern')} with more people than a part of it")


def _opened(family: Family, findings: Findings) -> Family | None:
    """All sets that closed patterns tell of."""
    findings.check("every pattern is closed: all that hold it have fewer people")
    try:
        whole, shown = all_parts(family)
    except TooManySetsError:
        findings.refuse("too-large", "the patterns have too many parts to look at all of them")
        return None
    held = np.full(whole.number, -1, dtype=np.int64)
    for length, drop in enumerate(whole.drops):
        mine = whole.support[whole.offsets[length] : whole.offsets[length + 1]]
        np.maximum.at(held, drop.ravel(), np.repeat(mine, length))
    if held[0] > family.support[0]:
        findings.refuse("support", "a pattern has more people than there are, by the empty pattern")
        return None
    loose = int((held[shown] >= family.support)[1:].sum())  # the empty one is always there
    if loose:
        findings.refuse(
            "not-closed", f"{counted(loose, 'pattern')} with no more people than one that holds it"
        )
    return None if loose else whole
