"""Inclusion and exclusion over everything published: which small groups can be computed, and who is in them.

On the original counts this shows what a release without care would tell; on the published ones it must find
nothing. Of series the adversary knows that everybody has one symbol at every instant, as every reader does,
whatever the release promises, and works out first what follows from that. All maximal groups are found by
computing every cell of every maximal box; a group that is not maximal is a sum of such cells.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.errors import InfeasibleError
from timeveil.evidence.codes import Integers
from timeveil.evidence.published import promised
from timeveil.evidence.risk import Risk
from timeveil.models.patterns.judges.adversary import PatternAdversary
from timeveil.models.patterns.judges.bounds import bound_attack
from timeveil.models.patterns.judges.boxes import TooManyBoxesError
from timeveil.models.patterns.judges.breach import PatternBreach, SmallGroup
from timeveil.models.patterns.judges.cells import Channels, channels_of
from timeveil.models.patterns.judges.completion import Known, known_from
from timeveil.models.patterns.judges.counting import Baskets
from timeveil.models.patterns.judges.family import Family
from timeveil.models.patterns.judges.published import published_patterns
from timeveil.models.patterns.judges.query_original import counted_before, original_of
from timeveil.models.patterns.judges.solving import solve_attack

EXAMPLES = 3
SHORTENED = 200
_BUDGET = 1 << 37
"""Bits to look at when groups are looked up: some seconds' work."""
_AT_ONCE = 1 << 22
Bits = npt.NDArray[np.uint64]


def attack_patterns(release: Release, ledger: Ledger, adversary: PatternAdversary) -> PatternBreach:
    """Compute small groups from the original and the published counts; the ledger tells who is in them."""
    known, k = published_patterns(release), promised(release, "k")
    original = original_of(release, ledger, known)
    after = known.family()
    series = bool(known.instants)
    before, follows = (known_from(family, structural=series) for family in (counted_before(original), after))
    found = [_found(all_known.family, k, structural=series) for all_known in (before, follows)]
    against = found[1] if known.structural == series else _found(after, k, structural=known.structural)
    bits = _lines(original.rows, original.size)
    weight = np.ones(original.rows.rows)
    sizes, traced = zip(*(_smallest(channels, bits, original.rows.rows) for channels in found), strict=True)
    return PatternBreach(
        adversary,
        k,
        original.rows.rows,
        after.number - 1,
        len(found[0]),
        len(found[1]),
        traced[0],
        Risk(sizes[0], weight),
        Risk(sizes[1], weight),
        _examples(before, found[0], k, original.known.named),
        bound_attack(after, k, adversary.seconds) if adversary.bounds else None,
        solve_attack(after, k, adversary.seconds) if adversary.bounds else None,
        broken=len(against) > 0,
    )


def _found(family: Family, k: int, *, structural: bool) -> Channels:
    try:
        return channels_of(family, k, structural=structural)
    except TooManyBoxesError:
        pass
    raise InfeasibleError(
        "symbols of one instant can be combined in too many ways to look at all",
        hint="attack a release with a larger min_support, fewer symbols or fewer instants",
        code="too-many-patterns",
    )


def _lines(rows: Baskets, size: int) -> Bits:
    """A line of bits per item: who has it. The last line, for no item, is 0."""
    begins, holder = rows.holders(size)
    lines = np.zeros((size + 1, max(1, -(-rows.rows // 64))), dtype=np.uint64)
    for item in range(size):
        has = np.zeros(64 * lines.shape[1], dtype=bool)
        has[holder[begins[item] : begins[item + 1]]] = True
        lines[item] = np.packbits(has, bitorder="little").view(np.uint64)
    return lines


def _smallest(channels: Channels, lines: Bits, rows: int) -> tuple[Integers, int]:
    """Per person the size of the smallest group that they are in, 0 for none; and how many were looked up."""
    size: Integers = np.zeros(rows, dtype=np.int64)
    width = lines.shape[1]
    looks = max(1, channels.present.shape[1] + channels.absent.shape[1])
    order = np.argsort(channels.size, kind="stable")[: max(1, _BUDGET // (64 * width * looks))]
    step = max(1, _AT_ONCE // width)
    everybody = np.full(width, 2**64 - 1, dtype=np.uint64)
    for start in range(0, len(order), step):
        some = order[start : start + step]
        inside = np.broadcast_to(everybody, (len(some), width)).copy()
        for items in channels.present[some].T:
            inside &= np.where((items >= 0)[:, None], lines[items], everybody)
        for items in channels.absent[some].T:
            inside &= ~lines[items]  # the last line, that of no item, takes nobody out
        for one, held in zip(channels.size[some].tolist(), inside, strict=True):
            who = np.flatnonzero(np.unpackbits(held.view(np.uint8), bitorder="little", count=rows))
            fresh = who[(size[who] == 0) | (size[who] > one)]
            size[fresh] = one
    return size, len(order)


def _examples(known: Known, channels: Channels, k: int, named: object) -> tuple[SmallGroup, ...]:
    """Some groups, told with as few absent items as still give one."""
    order = np.lexsort(
        [(channels.present >= 0).sum(axis=1), channels.size, (channels.absent >= 0).sum(axis=1)]
    )
    family, told = known.family, dict[tuple[object, ...], SmallGroup]()
    for place in order[:SHORTENED].tolist():
        present = [item for item in channels.present[place].tolist() if item >= 0]
        absent = [item for item in channels.absent[place].tolist() if item >= 0]
        for item in list(absent):
            fewer = [other for other in absent if other != item]
            if fewer and 0 < _people(family, _terms(family, present, fewer)) < k:
                absent = fewer
        terms = _terms(family, present, absent)
        group = SmallGroup(
            tuple(named(np.array(sorted(present), dtype=np.int64))),  # type: ignore[operator]
            tuple(named(np.array(sorted(absent), dtype=np.int64))),  # type: ignore[operator]
            _people(family, terms),
            tuple((sign, int(family.support[number])) for sign, number in terms),
            tuple(place for place, (_, number) in enumerate(terms) if known.own[number] < 0),
        )
        told.setdefault((group.present, group.absent), group)
    best = sorted(told.values(), key=lambda group: (len(group.counts), group.people, len(group.present)))
    return tuple(best[:EXAMPLES])


def _people(family: Family, terms: list[tuple[int, int]]) -> int:
    return sum(sign * int(family.support[number]) for sign, number in terms)


def _terms(family: Family, present: list[int], absent: list[int]) -> list[tuple[int, int]]:
    """The sets whose counts give a group, each with its sign; sets that cannot be are left out."""
    if not absent:
        return _rest(family, present)
    terms = []
    instants = {item // family.kinds for item in present} if family.kinds > 1 else set()
    sets: list[list[int]] = [[]]
    for item in absent:
        more = []
        for one in sets:
            taken = {other // family.kinds for other in one} | instants
            if family.kinds == 1 or item // family.kinds not in taken:
                more.append([*one, item])
        sets += more
    for one in sets:
        number = family.find([*present, *one])
        if number is not None:
            terms.append((1 if len(one) % 2 == 0 else -1, number))
    return terms


def _rest(family: Family, items: list[int]) -> list[tuple[int, int]]:
    """What a set follows from: those without one of its symbols, less those with another in its place."""
    kinds = family.kinds
    for item in items:
        rest = [other for other in items if other != item]
        others = [item - item % kinds + symbol for symbol in range(kinds) if symbol != item % kinds]
        numbers = [family.find(rest), *(family.find([*rest, other]) for other in others)]
        if None not in numbers:
            signs = [1, *[-1] * len(others)]
            return [(sign, number or 0) for sign, number in zip(signs, numbers, strict=True)]
    return [(1, family.find(items) or 0)]
