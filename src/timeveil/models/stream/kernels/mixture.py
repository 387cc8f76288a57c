"""Packets as chains of rows, and mixtures of them; the readable twin is `method.mixture`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from timeveil.compiling import part

LOOK = 32
VALUES, TOTAL, GUESTS, OWN = 0, 1, 2, 3


class Pool(NamedTuple):
    """Packets: a chain of `size` rows from `head` to `tail`, linked by `after`.

    line: those that wait, in the order in which they came to wait; free: places that hold no packet. gone:
    published or withheld in the slot at hand; called: the latest slot that it was called to.
    """

    number: np.ndarray
    origin: np.ndarray
    due: np.ndarray
    filler: np.ndarray
    gone: np.ndarray
    called: np.ndarray
    size: np.ndarray
    head: np.ndarray
    tail: np.ndarray
    line: np.ndarray
    free: np.ndarray
    after: np.ndarray


class Mix(NamedTuple):
    """Packets that are to be published together, counted by value.

    held: how many values are listed in `values` (`listed` where), how many records there are, how many guests
    and own packets. inside, within: the same counts and values of one bucket; left: packets without one.
    """

    counts: np.ndarray
    listed: np.ndarray
    values: np.ndarray
    guests: np.ndarray
    own: np.ndarray
    held: np.ndarray
    inside: np.ndarray
    within: np.ndarray
    left: np.ndarray


def pool_of(packets: int, rows: int) -> Pool:
    """An empty pool."""
    return Pool(
        np.zeros(packets, np.int64),
        np.zeros(packets, np.int64),
        np.zeros(packets, np.int64),
        np.zeros(packets, np.bool_),
        np.zeros(packets, np.bool_),
        np.zeros(packets, np.int64),
        np.zeros(packets, np.int64),
        np.zeros(packets, np.int64),
        np.zeros(packets, np.int64),
        np.zeros(packets, np.int64),
        np.arange(packets - 1, -1, -1, dtype=np.int64),
        np.zeros(rows, np.int32),
    )


def mix_of(packets: int, values: int) -> Mix:
    """An empty mixture."""
    return Mix(
        np.zeros(values, np.int64),
        np.zeros(values, np.bool_),
        np.zeros(values, np.int64),
        np.zeros(packets, np.int64),
        np.zeros(packets, np.int64),
        np.zeros(4, np.int64),
        np.zeros(values, np.int64),
        np.zeros(values, np.int64),
        np.zeros(packets, np.int64),
    )


@part
def count_packet(mix, pool, code, p, by):  # type: ignore[no-untyped-def]
    """A packet's values come in or go."""
    row = pool.head[p]
    for _ in range(pool.size[p]):
        s = code[row]
        if not mix.listed[s]:
            mix.listed[s] = True
            mix.values[mix.held[VALUES]] = s
            mix.held[VALUES] += 1
        mix.counts[s] += by
        row = pool.after[row]
    mix.held[TOTAL] += by * pool.size[p]


@part
def highest_in(mix):  # type: ignore[no-untyped-def]
    """How many records the commonest value has."""
    most = np.int64(0)
    for i in range(mix.held[VALUES]):
        most = max(most, mix.counts[mix.values[i]])
    return most


@part
def holds_highest(mix, pool, code, p, most):  # type: ignore[no-untyped-def]
    """Whether a packet holds a value that so many records have."""
    row = pool.head[p]
    for _ in range(pool.size[p]):
        if mix.counts[code[row]] == most:
            return True
        row = pool.after[row]
    return False


@part
def welcome(mix, pool, code, p):  # type: ignore[no-untyped-def]
    """A guest comes in, in the order of numbers."""
    at = mix.held[GUESTS]
    while at > 0 and pool.number[mix.guests[at - 1]] > pool.number[p]:
        mix.guests[at] = mix.guests[at - 1]
        at -= 1
    mix.guests[at] = p
    mix.held[GUESTS] += 1
    count_packet(mix, pool, code, p, 1)


@part
def remove_youngest(mix, pool, code):  # type: ignore[no-untyped-def]
    """The youngest guest with a commonest value goes, or the youngest if none has one; which it was."""
    most = highest_in(mix)
    number = mix.held[GUESTS]
    at = number - 1
    for i in range(number - 1, -1, -1):
        if holds_highest(mix, pool, code, mix.guests[i], most):
            at = i
            break
    p = mix.guests[at]
    for i in range(at, number - 1):
        mix.guests[i] = mix.guests[i + 1]
    mix.held[GUESTS] -= 1
    count_packet(mix, pool, code, p, -1)
    return p


@part
def clear_mix(mix):  # type: ignore[no-untyped-def]
    """Forget everything."""
    for i in range(mix.held[VALUES]):
        s = mix.values[i]
        mix.counts[s] = 0
        mix.listed[s] = False
    for i in range(4):
        mix.held[i] = 0


@part
def split(mix, pool, code, l, bucket, first):  # type: ignore[no-untyped-def]
    """Write the bucket of each row of the mixture, from `first` on; returns how many buckets there are."""
    number = np.int64(0)
    for i in range(mix.held[GUESTS]):
        mix.left[number] = mix.guests[i]
        number += 1
    for i in range(mix.held[OWN]):
        mix.left[number] = mix.own[i]
        number += 1
    made = np.int64(0)
    while number > 0:
        most, total, listed = np.int64(0), np.int64(0), np.int64(0)
        at = np.int64(0)
        while True:
            p = mix.left[at]
            for i in range(at, number - 1):
                mix.left[i] = mix.left[i + 1]
            number -= 1
            count_packet(mix, pool, code, p, -1)
            row = pool.head[p]
            for _ in range(pool.size[p]):
                s = code[row]
                if mix.inside[s] == 0:
                    mix.within[listed] = s
                    listed += 1
                mix.inside[s] += 1
                most = max(most, mix.inside[s])
                bucket[row] = first + made
                row = pool.after[row]
            total += pool.size[p]
            if number == 0 or (l * most <= total and l * highest_in(mix) <= mix.held[TOTAL]):
                break
            at = _best_of(mix, pool, code, l, number, most)
        for i in range(listed):
            mix.inside[mix.within[i]] = 0
        made += 1
    return made


@part
def _best_of(mix, pool, code, l, number, most):  # type: ignore[no-untyped-def]
    """The packet with which the bucket at hand lacks the fewest records, the first of several."""
    best = np.int64(0)
    least = np.int64(0)
    for i in range(min(number, LOOK)):
        p = mix.left[i]
        high = most
        row = pool.head[p]
        for _ in range(pool.size[p]):
            high = max(high, mix.inside[code[row]] + 1)
            row = pool.after[row]
        lacks = l * high - pool.size[p]
        if i == 0 or lacks < least:
            best, least = np.int64(i), lacks
    return best
