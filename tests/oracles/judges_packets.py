"""An adversary by brute force: who is what, over many runs of a method on one stream.

Somebody knows everything about a stream but who has which value: the histogram of every slot, everybody's
true slot, how the method works, and all that was published. Each run deals a slot's values to its records at
random, publishes, and notes what is seen of one of them together with its value. The share of a value among
the runs that look the same is what this somebody may believe. They look three times, ever closer: at the slot
that a record stands in; at its bucket, as far as that says something of records of its own slot; and at
everything that was published.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

Place = tuple[int, int]
Method = Callable[[int, list[list[tuple[int, int]]]], dict[int, Place]]
"""From a seed and snapshots of (record, value) to the slot and bucket of every record that was published."""


def believed(method: Method, histograms: Sequence[Sequence[int]], runs: int, seed: int = 0) -> dict:
    """Per record and what is seen of it how often it had which value."""
    chance = random.Random(seed)  # noqa: S311
    origin = [slot for slot, values in enumerate(histograms) for _ in values]
    found: dict = defaultdict(Counter)
    for _ in range(runs):
        value = [one for values in histograms for one in chance.sample(values, len(values))]
        snapshots = [
            [(n, value[n]) for n in range(len(value)) if origin[n] == slot] for slot in range(len(histograms))
        ]
        place = method(chance.getrandbits(60), snapshots)
        buckets = _buckets(place, origin, value)
        whole = tuple((where, *buckets[where]) for where in sorted(buckets))
        for n, true in enumerate(value):
            where = place.get(n)
            found[n, None if where is None else where[0]][true] += 1
            found[n, where, whole][true] += 1
            if where is not None:
                values, origins = buckets[where]
                near = tuple(one for one in values if one in histograms[origin[n]])
                found[n, where[0], near, origins.count(origin[n])][true] += 1
    return found


def _buckets(place: dict[int, Place], origin: list[int], value: list[int]) -> dict[Place, tuple]:
    """Per bucket its values, and which slots its records came from, in no order."""
    members: dict = defaultdict(list)
    for n, where in place.items():
        members[where].append(n)
    return {
        where: (tuple(sorted(value[n] for n in rows)), tuple(sorted(origin[n] for n in rows)))
        for where, rows in members.items()
    }


def bound(values: Sequence[int], size: int) -> float:
    """What may be believed of a record of a slot with these values."""
    return 1 / min(size, len(values) // max(Counter(values).values()))


def breaches(found: dict, histograms: Sequence[Sequence[int]], size: int) -> list[tuple[float, float]]:
    """Beliefs above their bound by more than chance explains, each with its bound.

    By Chernoff's bound a share as far above would come up in fewer than one in a million of such tests.
    """
    slot_of = [slot for slot, values in enumerate(histograms) for _ in values]
    allowed = math.log(1e6 * len(found))
    above = []
    for key, counts in found.items():
        most, total = max(counts.values()), counts.total()
        share, limit = most / total, bound(histograms[slot_of[key[0]]], size)
        if share > limit and total * _apart(share, limit) > allowed:
            above.append((share, limit))
    return above


def _apart(share: float, limit: float) -> float:
    """Relative entropy of a coin of chance `share` to one of chance `limit`."""
    if limit >= 1:
        return 0.0
    tails = 0.0 if share == 1 else (1 - share) * math.log((1 - share) / (1 - limit))
    return share * math.log(share / limit) + tails
