"""Buckets of one slot on arrays; the readable twin is `timeveil.models.stream.method.buckets`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from timeveil.models.stream.kernels.chance import draw_below, shuffle


class Bench(NamedTuple):
    """Room to work in, for slots of at most so many records and so many values.

    sorted: records by value. end[s]: where a value's records end there; left[s]: how many are not in a
    bucket yet. ranked: values, the commonest first. at_least[c]: values with c records or more left.
    inside: the values of each bucket.
    """

    sorted: np.ndarray
    values: np.ndarray
    ranked: np.ndarray
    end: np.ndarray
    left: np.ndarray
    at_least: np.ndarray
    cursor: np.ndarray
    inside: np.ndarray
    lacking: np.ndarray


def bench_of(records: int, values: int, l: int) -> Bench:
    """An empty bench."""
    return Bench(
        np.empty(records, np.int64),
        np.empty(values, np.int64),
        np.empty(values, np.int64),
        np.zeros(values, np.int64),
        np.zeros(values, np.int64),
        np.zeros(records + 2, np.int64),
        np.zeros(records + 2, np.int64),
        np.empty(records + l, np.int64),
        np.empty(records + 1, np.int64),
    )


@njit(cache=True, nogil=True)
def make_buckets(bench, rows, number, code, l, chance, bucket):  # type: ignore[no-untyped-def]
    """Write the bucket of each of rows[:number]; returns how many buckets there are."""
    if number == 0:
        return 0
    shuffle(chance, rows, np.int64(0), number)
    distinct = list_values(bench, rows, number, code)
    bench.values[:distinct].sort()
    by_value(bench, rows, number, code, distinct)
    return bucket_values(bench, distinct, l, chance, bucket)


@njit(cache=True, nogil=True)
def bucket_values(bench, distinct, l, chance, bucket):  # type: ignore[no-untyped-def]
    """The same of records that are grouped by value, some of each value left."""
    highest = _rank(bench, distinct)
    made = _draw(bench, l, bucket)
    for p in range(distinct):
        s = bench.values[p]
        if bench.left[s] > 0:
            _join(bench, s, made, l, chance, bucket)
        bench.left[s] = 0
    bench.at_least[: highest + 2] = 0
    return made


@njit(cache=True, nogil=True)
def list_values(bench, rows, number, code):  # type: ignore[no-untyped-def]
    """Count records by value and list the values in the order in which they come up."""
    distinct = 0
    for i in range(number):
        s = code[rows[i]]
        if bench.left[s] == 0:
            bench.values[distinct] = s
            distinct += 1
        bench.left[s] += 1
    return distinct


@njit(cache=True, nogil=True)
def by_value(bench, rows, number, code, distinct):  # type: ignore[no-untyped-def]
    """Group records by value, keeping their order."""
    place = 0
    for p in range(distinct):
        s = bench.values[p]
        bench.end[s] = place
        place += bench.left[s]
    for i in range(number):
        s = code[rows[i]]
        bench.sorted[bench.end[s]] = rows[i]
        bench.end[s] += 1


@njit(cache=True, nogil=True)
def _rank(bench, distinct):  # type: ignore[no-untyped-def]
    """Values by falling count, equal ones in ascending order; returns the highest count."""
    highest = 0
    for p in range(distinct):
        count = bench.left[bench.values[p]]
        highest = max(highest, count)
        bench.at_least[count] += 1
    for count in range(highest - 1, 0, -1):
        bench.at_least[count] += bench.at_least[count + 1]
    for count in range(1, highest + 1):
        bench.cursor[count] = bench.at_least[count + 1]
    for p in range(distinct):
        s = bench.values[p]
        bench.ranked[bench.cursor[bench.left[s]]] = s
        bench.cursor[bench.left[s]] += 1
    return highest


@njit(cache=True, nogil=True)
def _draw(bench, l, bucket):  # type: ignore[no-untyped-def]
    """Make buckets of the l commonest values while there are l; of equally common ones take the last."""
    made = 0
    while bench.at_least[1] >= l:
        least = bench.left[bench.ranked[l - 1]]
        above = bench.at_least[least + 1]
        shift = bench.at_least[least] - l
        for i in range(l):
            s = bench.ranked[i if i < above else i + shift]
            bench.inside[made * l + i] = s
            bench.end[s] -= 1
            bucket[bench.sorted[bench.end[s]]] = made
            bench.at_least[bench.left[s]] -= 1
            bench.left[s] -= 1
        made += 1
    return made


@njit(cache=True, nogil=True)
def _join(bench, s, made, l, chance, bucket):  # type: ignore[no-untyped-def]
    """Put the one record left of a value into a random bucket that lacks the value."""
    number = np.int64(0)
    for b in range(made):
        there = False
        for i in range(b * l, b * l + l):
            if bench.inside[i] == s:
                there = True
                break
        if not there:
            bench.lacking[number] = b
            number += 1
    bucket[bench.sorted[bench.end[s] - 1]] = bench.lacking[draw_below(chance, number)]
