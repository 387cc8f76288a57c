"""What an attack on pattern counts came to."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from timeveil.evidence.risk import Risk
from timeveil.models.patterns.judges.adversary import PatternAdversary


@dataclass(frozen=True, slots=True)
class SmallGroup:
    """`people` have all items of `present` and none of `absent`; it follows from `counts` by their signs.

    Private: it is about few people. `counts` has pairs of a sign and a support. `follow` has the places of
    those in `counts` that are not published, but follow from others, as everybody has one symbol at every
    instant.

    >>> SmallGroup(("t0=c",), ("t1=b",), 1, ((1, 12), (-1, 11)), (1,)).as_dict()["counts"][1]
    {'sign': -1, 'people': 11, 'follows': True}
    """

    present: tuple[str, ...]
    absent: tuple[str, ...]
    people: int
    counts: tuple[tuple[int, int], ...]
    follow: tuple[int, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The same as data, private as well."""
        counts = [
            {"sign": sign, "people": number, "follows": place in self.follow}
            for place, (sign, number) in enumerate(self.counts)
        ]
        return {
            "present": list(self.present),
            "absent": list(self.absent),
            "people": self.people,
            "counts": counts,
        }


@dataclass(frozen=True, slots=True)
class BoundAttack:
    """What can be bounded by solving for all data that have the published counts; beyond the promise.

    `tried` patterns that are just not published were bounded out of `possible`. `pinned` groups are then sure
    to have more than nobody and fewer than k people; of `exact` ones the number is certain.
    """

    possible: int
    tried: int
    pinned: int
    exact: int


@dataclass(frozen=True, slots=True)
class SolveAttack:
    """Groups of series that follow from the counts as a system of equations; beyond the promise.

    Of all `possible` sets of at most `instants` instants, `tried` were solved for. `small` is how many groups
    with one of some symbols at each of them have more than nobody and fewer than k people for sure.
    """

    instants: int
    possible: int
    tried: int
    small: int


@dataclass(frozen=True, slots=True, eq=False)
class PatternBreach:
    """An attack on a pattern release, `before` the same on the counts as they are in the original.

    `channels_before` and `channels_after` are how many groups of more than nobody and fewer than k people can
    be computed (maximal ones: all others are sums of them). Of everybody `before` and `after` hold the size
    of the smallest such group that they are in, 0 where there is none; `traced` of the groups were looked up
    in the original. `examples` are some of those before, told in as few counts as will do. `beyond` is the
    attack by bounds, None where it was not asked for or the release is too large for it; `solved` the attack
    by equations, None where it was not asked for or tells nothing more, as with baskets. `broken` is whether
    a group follows that the promise is about: one that is weaker (`counts_alone`) is not about all.
    """

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
    def worst(self) -> float:
        """The highest chance of naming somebody of a small group that anyone is exposed to."""
        return self.after.worst

    @property
    def mean(self) -> float:
        """The chance of naming somebody of a small group, averaged over people."""
        return self.after.mean

    @property
    def exposed_before(self) -> float:
        """Share of people who are in a small group that the original counts give away."""
        return 1.0 - self.before.out_of_reach if self.people else 0.0

    @property
    def exposed_after(self) -> float:
        """Share of people who are in a small group that the published counts give away."""
        return 1.0 - self.after.out_of_reach if self.people else 0.0

    def share_above(self, threshold: float) -> float:
        """Share of people named with a chance above `threshold`."""
        return self.after.share_above(threshold)

    def as_dict(self) -> dict[str, Any]:
        """The same as data, without the examples."""
        return {
            "adversary": self.adversary.as_dict(),
            "k": self.k,
            "people": self.people,
            "patterns": self.patterns,
            "broken": self.broken,
            "channels": {"before": self.channels_before, "after": self.channels_after},
            "exposed": {"before": self.exposed_before, "after": self.exposed_after},
            "before": self.before.as_dict(),
            "after": self.after.as_dict(),
            "beyond_the_promise": None if self.beyond is None else asdict(self.beyond),
            "solved": None if self.solved is None else asdict(self.solved),
        }
