"""Inclusion and exclusion over everything published: which small groups can be computed, and who is in them.

On the original counts this shows what a release without care would reveal; on the published ones it must find
nothing. Of series the adversary knows that everybody has one symbol at every instant, as every reader does,
whatever the release promises, and works out first what follows from that. All maximal groups are found by
computing every cell of every maximal box; a group that is not maximal is a sum of such cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from timeveil.domain.arrays import Ints, Words
from timeveil.evidence.risk import Exposure, Risk
from timeveil.models.patterns.evidence import Evidence
from timeveil.models.patterns.evidence.boxes import Channels, channels_of
from timeveil.models.patterns.evidence.family import Family, Knowledge
from timeveil.models.patterns.judges.solving import BoundAttack, SolveAttack, bound_attack, solve_attack
from timeveil.models.patterns.parameters import PatternAdversary

__all__ = ["BoundAttack", "PatternAdversary", "PatternBreach", "SmallGroup", "SolveAttack", "attack"]

EXAMPLES = 3
SHORTENED = 200  # groups that are shortened to choose examples from
MOST_BITS = 1 << 37  # bits to read when members of groups are looked up: some seconds' work


@dataclass(frozen=True, slots=True)
class SmallGroup:
    """`people` have all items of `present` and none of `absent`; it follows from `counts` by their signs.

    Private: it is about few people. `counts` has pairs of a sign and a support. `follow` has the indexes of
    those in `counts` that are not published, but follow from others, as everybody has one symbol at every
    instant.
    """

    present: tuple[str, ...]
    absent: tuple[str, ...]
    people: int
    counts: tuple[tuple[int, int], ...]
    follow: tuple[int, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The group as plain data, private as well."""
        counts = [
            {"sign": sign, "people": support, "follows": index in self.follow}
            for index, (sign, support) in enumerate(self.counts)
        ]
        has, lacks = list(self.present), list(self.absent)
        return {"present": has, "absent": lacks, "people": self.people, "counts": counts}


@dataclass(frozen=True, slots=True, eq=False)
class PatternBreach(Exposure):
    """An attack on a pattern release, `before` the same on the counts of the original.

    `channels_before` and `channels_after` are the numbers of groups of more than nobody and fewer than k
    people that can be computed (maximal ones: all others are sums of them). For each person `before` and
    `after` have the size of the smallest such group that the person is in, 0 where there is none; `traced` of
    the groups were looked up in the original. `examples` are a few of those before, in as few counts as
    possible. `beyond` is the attack by bounds, None where it was not asked for or the release is too large;
    `solved` the attack by equations, None where it was not asked for or shows nothing more, as with baskets.
    `broken` is whether a group follows that the promise is about: a weaker one (`counts_alone`) is not about
    all.
    """

    KEYS: ClassVar = (
        *("adversary", "k", "people", "patterns", "broken", "channels", "exposed", "before", "after"),
        *("beyond as beyond_the_promise", "solved"),
    )

    adversary: PatternAdversary
    k: int
    people: int
    patterns: int
    channels_before: int
    channels_after: int
    traced: int
    before: Risk
    after: Risk
    examples: tuple[SmallGroup, ...] = field(repr=False, default=())
    beyond: BoundAttack | None = None
    solved: SolveAttack | None = None
    broken: bool = False

    @property
    def exposed_before(self) -> float:
        """Share of people who are in a small group that the original counts reveal."""
        return 1.0 - self.before.out_of_reach if self.people else 0.0

    @property
    def exposed_after(self) -> float:
        """Share of people who are in a small group that the published counts reveal."""
        return 1.0 - self.after.out_of_reach if self.people else 0.0

    @property
    def channels(self) -> dict[str, int]:
        """Small groups before and after."""
        return {"before": self.channels_before, "after": self.channels_after}

    @property
    def exposed(self) -> dict[str, float]:
        """Share of people in small groups, before and after."""
        return {"before": self.exposed_before, "after": self.exposed_after}


def attack(evidence: Evidence, adversary: PatternAdversary | None = None) -> PatternBreach:
    """Compute small groups from the original and the published counts; the ledger shows who is in them."""
    adversary = adversary or PatternAdversary()
    patterns, k, people = evidence.patterns, evidence.k, len(evidence.counted)
    original, published = evidence.original, evidence.published
    before, after = Knowledge(evidence.before), Knowledge(published)
    evidence.progress("looking for small groups", 0.1)
    groups_before = channels_of(before.family, k)
    groups_after = promised = channels_of(after.family, k)
    if patterns.instants and not patterns.structural:
        promised = channels_of(published.unlinked, k)
    bits = original.rows.bits(max(len(original.names), 1))
    evidence.progress("looking for people", 0.4)
    risk_before, traced = _exposure(groups_before, bits, people)
    risk_after, _ = _exposure(groups_after, bits, people)
    numbers = (published.number - 1, len(groups_before), len(groups_after), traced, risk_before, risk_after)
    examples = _examples(before, groups_before, k, original.names)
    beyond = solved = None
    if adversary.bounds:
        # Fewer than the smallest support have what is not published; virtual people may have it, too.
        rare = None if patterns.method == "itemset" else patterns.least - 1 + patterns.virtual
        evidence.progress("bounding counts that are not published", 0.6)
        beyond = bound_attack(published, k, adversary.seconds, rare=rare, longest=patterns.longest)
        evidence.progress("solving for small groups", 0.8)
        solved = solve_attack(published, k, adversary.seconds)
    return PatternBreach(adversary, k, people, *numbers, examples, beyond, solved, len(promised) > 0)


def _exposure(channels: Channels, holders: Words, people: int) -> tuple[Risk, int]:
    """The smallest group that each person is in, 0 people for none; and the number of groups looked up."""
    items = max(1, channels.present.shape[1] + channels.absent.shape[1])
    # Smallest groups first: where there are too many for the time, the most revealing are looked up.
    order = np.argsort(channels.size, kind="stable")[: max(1, MOST_BITS // (64 * holders.shape[1] * items))]
    smallest: Ints = np.zeros(people, dtype=np.int64)
    for sizes, members in channels.take(order).members(holders):
        for size, bits in zip(sizes.tolist(), members, strict=True):
            who = np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little", count=people))
            smallest[who[smallest[who] == 0]] = size
    return Risk(smallest, np.ones(people)), len(order)


Term = tuple[int, int]  # a sign, and the number of a set whose support is added or subtracted


def examples_of(evidence: Evidence) -> tuple[SmallGroup, ...]:
    """A few of the groups that the true counts reveal."""
    before = Knowledge(evidence.before)
    return _examples(before, channels_of(before.family, evidence.k), evidence.k, evidence.original.names)


def _examples(
    knowledge: Knowledge, channels: Channels, k: int, names: Sequence[str]
) -> tuple[SmallGroup, ...]:
    """A few groups, with as few absent items as still give one."""
    family = knowledge.family
    presents, absents = ((items >= 0).sum(axis=1) for items in (channels.present, channels.absent))
    order = np.lexsort([presents, channels.size, absents])[:SHORTENED]
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], SmallGroup] = {}
    for present, every in channels.take(order).groups():
        absent = every
        for item in every:
            fewer = [other for other in absent if other != item]
            if fewer and 0 < _people(family, _terms(family, present, fewer)) < k:
                absent = fewer
        terms = _terms(family, present, absent)
        has, lacks = (tuple(names[item] for item in sorted(items)) for items in (present, absent))
        counts = tuple((sign, int(family.support[number])) for sign, number in terms)
        follow = tuple(index for index, (_, number) in enumerate(terms) if knowledge.published[number] < 0)
        groups.setdefault((has, lacks), SmallGroup(has, lacks, _people(family, terms), counts, follow))

    def effort(group: SmallGroup) -> tuple[int, ...]:
        """Published counts are easier to add up than those that themselves follow from others."""
        return bool(group.follow), len(group.counts), group.people, len(group.present)

    return tuple(sorted(groups.values(), key=effort)[:EXAMPLES])


def _people(family: Family, terms: list[Term]) -> int:
    return sum(sign * int(family.support[number]) for sign, number in terms)


def _terms(family: Family, present: list[int], absent: list[int]) -> list[Term]:
    """The sets whose counts give a group, each with its sign; sets that nobody can have are left out."""
    kinds = family.kinds
    if not absent:
        # all without one of its symbols, less those with another in its place
        for item in present:
            remaining = [other for other in present if other != item]
            symbols = [item - item % kinds + symbol for symbol in range(kinds) if symbol != item % kinds]
            sums = [remaining, *([*remaining, symbol] for symbol in symbols)]
            total, *parts = (family.find_set(items) for items in sums)
            if total is not None and None not in parts:
                return [(1, total), *((-1, number) for number in parts if number is not None)]
        return [(1, family.find_set(present) or 0)]
    sets = [present]
    for item in absent:
        apart = [items for items in sets if item // kinds not in {other // kinds for other in items}]
        sets += [[*items, item] for items in apart]
    signed = [((-1) ** (len(items) - len(present)), family.find_set(items)) for items in sets]
    return [(sign, number) for sign, number in signed if number is not None]
