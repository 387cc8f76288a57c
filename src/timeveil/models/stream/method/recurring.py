"""People who come back: each published once, or with the same values every time.

Anyone who recognises a person in several published slots can intersect the values of their buckets, and a
value that stays the same is soon the only one left. With `recurring="withhold"` a person is published once,
so there is nothing to intersect. With `recurring="invariant"` a person keeps a signature, as in m-invariance
(Xiao and Tao 2007): the values of the bucket in which they were first published, all different, l or more.
Every later record of theirs is alone in a bucket that lists these values again: its own, and counterfeits for
the others. So what is published later does not depend on which value is whose, and shows nothing new.

Only a person's first record goes through the window, which holds one record of a person at a time. A later
one waits beside the window until its slot is final. It is published there, or in the first slot after it in
which its person has a signature and no other record, fewer than `window` slots late. It is withheld if there
is no such slot, or if its value is not in the signature.

Where we depart from the print
    Later records are completed by counterfeits alone, never by records of new people. Those would keep the
    totals of a slot exact, and exact totals show, to anyone who knows how common values are, which values
    returning people bring along: a little each time, and much in the end.
    A value may change. A record is published as long as its value is in the signature.
Cost: one look-up per record. Memory: all people followed, or those of the last `forget_after` slots.
"""

from collections.abc import Hashable, Iterable, Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from timeveil.domain.arrays import Ints
from timeveil.models.stream.method.placing import Chance, People
from timeveil.models.stream.parameters import StreamParameters

Signature = tuple[int, ...]  # codes of values, in ascending order
FIRSTS, RETURNS = b"firsts", b"returns"


class Returning(NamedTuple):
    """A record of a person who was published before, or may yet be."""

    record: int
    code: int
    arrived: int


class Recurrence:
    """The people of a stream who are followed.

    `known` has, of each person published, the slot of the latest record and the signature; `under_way` are
    people whose first record is in the window; `waiting` are later records by the slot they arrived in.
    """

    def __init__(self, options: StreamParameters, chance: Chance) -> None:
        self.options, self.chance = options, chance
        self.known: dict[Hashable, tuple[int, Signature]] = {}
        self.under_way: set[Hashable] = set()
        self.waiting: dict[int, list[Returning]] = {}

    def firsts(self, slot: int, records: Ints, codes: Ints, people: People) -> tuple[Ints, list[Returning]]:
        """Positions of the records that are their person's first, and the others, which are withheld."""
        firsts, repeats, horizon = list[int](), list[Returning](), self.options.forget_after or inf
        # In random order: of a person's records in one slot, neither row nor value decides which is first.
        for position in self.chance.words(slot, FIRSTS, len(records)).argsort().tolist():
            record = int(records[position])
            person = people[record]
            since = self.known[person][0] if person in self.known else None
            if person in self.under_way or (since is not None and slot - since <= horizon):
                repeats.append(Returning(record, int(codes[position]), slot))
            else:
                firsts.append(position)
                self.known.pop(person, None)
                self.under_way.add(person)
        if self.options.recurring == "invariant" and repeats:
            for person in {people[returning.record] for returning in repeats} & self.known.keys():
                self.known[person] = slot, self.known[person][1]
            self.waiting[slot], repeats = repeats, []
        return np.sort(np.array(firsts, np.int64)), repeats

    def publish(self, slot: int, people: Sequence[Hashable], codes: Ints, buckets: Ints | None) -> None:
        """Note the people of a final slot, who are there for the first time, and their signatures."""
        signatures: dict[int, Signature] = {}
        if self.options.recurring == "invariant" and buckets is not None:
            for bucket, code in sorted(zip(buckets.tolist(), codes.tolist(), strict=True)):
                signatures[bucket] = (*signatures.get(bucket, ()), code)
        numbers = [0] * len(people) if buckets is None else buckets.tolist()
        for person, bucket in zip(people, numbers, strict=True):
            self.known[person] = slot, signatures.get(bucket, ())
        self.under_way.difference_update(people)
        horizon = self.options.forget_after
        if horizon is not None and slot % horizon == 0:  # seldom, because it looks at everyone
            entries = self.known.items()
            self.known = {person: entry for person, entry in entries if slot - entry[0] <= horizon}

    def returned(
        self, slot: int, present: Iterable[Hashable], people: People, buckets: int
    ) -> tuple[list[Returning], Ints, Ints, list[Returning]]:
        """Records that return in a final slot, each in a bucket of its own after the first `buckets`.

        `present` are the people who are in the slot for the first time. The result has the records that are
        published, their buckets, the buckets and values of counterfeits, and the records that are withheld.
        """
        published, withheld, counterfeits, present = [], [], [], set(present)
        last_chance = slot - self.options.window + 1
        for arrived in sorted(number for number in self.waiting if number <= slot):
            postponed = []
            for returning in self.waiting.pop(arrived):
                person = people[returning.record]
                is_ready = person in self.known and person not in present
                if is_ready and returning.code in self.known[person][1]:
                    published.append(returning)
                    present.add(person)
                elif is_ready or arrived == last_chance:
                    withheld.append(returning)
                else:
                    postponed.append(returning)
            if postponed:
                self.waiting[arrived] = postponed
        # Numbers at random: in the order above they would show who waited longest.
        numbers = buckets + self.chance.words(slot, RETURNS, len(published)).argsort().argsort()
        for (record, code, _), number in zip(published, numbers.tolist(), strict=True):
            since, signature = self.known[people[record]]
            self.known[people[record]] = max(since, slot), signature
            counterfeits += [(number, value) for value in signature if value != code]
        return published, numbers, np.array(counterfeits, np.int64).reshape(-1, 2).T, withheld
