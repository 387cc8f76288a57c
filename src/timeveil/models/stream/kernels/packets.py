"""The packet method over many slots in one call; the readable twin is `method.packets`.

Rows come sorted by slot, values and people as codes. What comes out is, per row, by how many slots it was
published late (-1: withheld), its bucket and its packet. Packets that wait stand in a pool with room for a
window of rows, so a slot costs the same however many came before.
"""

from __future__ import annotations

import numpy as np

from timeveil.compiling import kernel, part
from timeveil.models.stream.kernels.anatomy import bucket_values
from timeveil.models.stream.kernels.chance import begin_draws, draw_below, shuffle
from timeveil.models.stream.kernels.mixture import (
    GUESTS,
    OWN,
    TOTAL,
    clear_mix,
    count_packet,
    highest_in,
    holds_highest,
    remove_youngest,
    split,
    welcome,
)
from timeveil.models.stream.kernels.packet_cells import (
    CONFLICTS,
    DISTINCT,
    LEAST,
    LINE,
    MADE,
    NUMBER,
    SIZE,
    any_marked,
    dissolve,
    draw_values,
    highest,
    holds,
    is_double,
    join,
    make_packet,
    mark,
    pick,
    pick_highest,
    release,
    take_in,
)

SHUFFLING, CHOOSING = np.int64(0), np.int64(2**32 - 2)


@kernel
def publish_packets(rows, slots, begin, pool, mix, desk, bench, rules, shuffling, chance):  # type: ignore[no-untyped-def]
    """Run a whole stream; `slots` are the arriving ones, from 0 on, and row begin[k] is the first of each."""
    state = desk.state
    k = 0
    for slot in range(rules.span):
        low = begin[k]
        if k < slots.size and slots[k] == slot:
            k += 1
        high = begin[k]
        if low == high and state[LINE] == 0:
            continue
        begin_draws(shuffling, slot + rules.first, SHUFFLING)
        begin_draws(chance, slot + rules.first, CHOOSING)
        take_in(rows, slot, low, high, desk, bench, rules, shuffling)
        skewed = state[SIZE] < rules.l * highest(bench, desk)
        _hold(rows, slot, pool, desk, bench, rules, chance)
        if rules.fillers > 0 and not skewed:
            _fill(rows, slot, pool, desk, bench, rules, chance)
        if state[LINE] > 0:
            _mix(rows, slot, low == high, pool, mix, desk, bench, rules, chance)
        _publish(rows, slot, low, high, pool, mix, desk, bench, rules, shuffling)
        _forget(pool, desk)


@part
def _hold(rows, slot, pool, desk, bench, rules, chance):  # type: ignore[no-untyped-def]
    """Step 1."""
    state = desk.state
    first = state[LINE]
    last = first
    while state[SIZE] < rules.l * highest(bench, desk):
        if not pick_highest(desk, bench, chance):
            _join_rest(rows, first, last, pool, desk, bench, chance)
            break
        pool.line[last] = make_packet(rows, slot, state[LEAST], pool, desk, bench)
        last += 1
    for n in range(first, last):
        _wait(rows, slot, pool.line[n], False, pool, desk, rules, chance)


@part
def _join_rest(rows, first, last, pool, desk, bench, chance):  # type: ignore[no-untyped-def]
    """What is left joins packets that lack its value."""
    for v in range(desk.state[DISTINCT]):
        s = bench.values[v]
        for _ in range(bench.left[s]):
            lacking = 0
            for n in range(first, last):
                lacking += not holds(rows, pool.line[n], s, pool)
            place = draw_below(chance, lacking)
            for n in range(first, last):
                if not holds(rows, pool.line[n], s, pool):
                    if place == 0:
                        join(rows, pool.line[n], s, pool, desk, bench)
                        break
                    place -= 1


@part
def _fill(rows, slot, pool, desk, bench, rules, chance):  # type: ignore[no-untyped-def]
    """Step 2."""
    waiting = 0
    state = desk.state
    for n in range(state[LINE]):
        waiting += pool.filler[pool.line[n]]
    while waiting < rules.fillers:
        most = highest(bench, desk)
        if state[SIZE] - rules.size < rules.l * most:
            return
        for p in range(state[DISTINCT]):
            s = bench.values[p]
            desk.weight[p] = bench.left[s] if bench.left[s] < most else 0
        if not draw_values(desk, bench, rules.size, 0, chance):
            return
        p = make_packet(rows, slot, rules.size, pool, desk, bench)
        _wait(rows, slot, p, True, pool, desk, rules, chance)
        waiting += 1


@part
def _wait(rows, slot, p, filler, pool, desk, rules, chance):  # type: ignore[no-untyped-def]
    """A packet of the slot waits, unless somebody stands in it twice."""
    pool.due[p] = slot + 1 + draw_below(chance, rules.spread)
    pool.filler[p] = filler
    if is_double(rows, p, pool):
        desk.state[CONFLICTS] += pool.size[p]
        release(p, pool, desk)
        return
    pool.line[desk.state[LINE]] = p
    desk.state[LINE] += 1


@part
def _mix(rows, slot, empty, pool, mix, desk, bench, rules, chance):  # type: ignore[no-untyped-def]
    """Step 3."""
    closed = empty and not rules.fill_empty
    for n in range(desk.state[LINE]):
        p = pool.line[n]
        if pool.due[p] > slot:
            continue
        if closed or any_marked(rows, p, desk.present, slot + 1, pool):
            _put_off(slot, p, not closed, pool, desk, rules)
        else:
            welcome(mix, pool, rows.code, p)
            mark(rows, p, desk.present, slot + 1, pool)
    held = mix.held
    while held[GUESTS] > 0 and rules.l * highest_in(mix) > held[TOTAL]:
        if (
            _help(rows, slot, pool, mix, desk, bench, rules, chance)
            or _call_filler(rows, slot, pool, mix, desk)
            or _help_at_any_cost(rows, slot, pool, mix, desk, bench, rules, chance)
        ):
            continue
        p = remove_youngest(mix, pool, rows.code)
        mark(rows, p, desk.present, np.int64(0), pool)
        _put_off(slot, p, False, pool, desk, rules)
    while held[OWN] < held[GUESTS] and _help(rows, slot, pool, mix, desk, bench, rules, chance):
        pass
    if held[GUESTS] == 0:
        for i in range(held[OWN] - 1, -1, -1):
            _return(rows, slot, mix.own[i], pool, desk, bench, rules, chance)
        held[OWN] = 0


@part
def _put_off(slot, p, conflict, pool, desk, rules):  # type: ignore[no-untyped-def]
    if slot - pool.origin[p] >= rules.window - 1:
        pool.gone[p] = True
        if conflict:
            desk.state[CONFLICTS] += pool.size[p]
    else:
        pool.due[p] = max(pool.due[p], slot + 1)


@part
def _help(rows, slot, pool, mix, desk, bench, rules, chance):  # type: ignore[no-untyped-def]
    if desk.state[SIZE] - rules.size < rules.l * highest(bench, desk):
        return False
    if not pick(desk, bench, mix, rules.size, chance):
        return False
    p = make_packet(rows, slot, rules.size, pool, desk, bench)
    _join_mixture(rows, slot, p, pool, mix, desk)
    return True


@part
def _join_mixture(rows, slot, p, pool, mix, desk):  # type: ignore[no-untyped-def]
    if is_double(rows, p, pool) or any_marked(rows, p, desk.shown, slot + 1, pool):
        desk.state[CONFLICTS] += pool.size[p]
        release(p, pool, desk)
        return
    mark(rows, p, desk.shown, slot + 1, pool)
    mix.own[mix.held[OWN]] = p
    mix.held[OWN] += 1
    count_packet(mix, pool, rows.code, p, 1)


@part
def _call_filler(rows, slot, pool, mix, desk):  # type: ignore[no-untyped-def]
    most = highest_in(mix)
    for n in range(desk.state[LINE]):
        p = pool.line[n]
        early = pool.filler[p] and pool.origin[p] < slot < pool.due[p] and pool.called[p] != slot
        if early and not holds_highest(mix, pool, rows.code, p, most):
            pool.called[p] = slot
            if not any_marked(rows, p, desk.present, slot + 1, pool):
                welcome(mix, pool, rows.code, p)
                mark(rows, p, desk.present, slot + 1, pool)
                return True
    return False


@part
def _help_at_any_cost(rows, slot, pool, mix, desk, bench, rules, chance):  # type: ignore[no-untyped-def]
    state = desk.state
    if pool.origin[mix.guests[0]] > slot - rules.window + 1:
        return False
    if not pick(desk, bench, mix, rules.size, chance):
        return False
    p = make_packet(rows, slot, rules.size, pool, desk, bench)
    if state[SIZE] < state[LEAST] * highest(bench, desk):
        dissolve(rows, p, pool, desk, bench)
        release(p, pool, desk)
        return False
    _join_mixture(rows, slot, p, pool, mix, desk)
    _hold(rows, slot, pool, desk, bench, rules, chance)
    return True


@part
def _return(rows, slot, p, pool, desk, bench, rules, chance):  # type: ignore[no-untyped-def]
    """An own packet goes back to the slot, or waits if it does not fit there."""
    mark(rows, p, desk.shown, np.int64(0), pool)
    dissolve(rows, p, pool, desk, bench)
    if desk.state[SIZE] >= rules.l * highest(bench, desk):
        release(p, pool, desk)
        return
    row = pool.head[p]
    for _ in range(pool.size[p]):
        s = rows.code[row]
        bench.end[s] -= 1
        bench.left[s] -= 1
        rows.packet[row] = pool.number[p]
        row = pool.after[row]
    desk.state[SIZE] -= pool.size[p]
    _wait(rows, slot, p, True, pool, desk, rules, chance)


@part
def _publish(rows, slot, low, high, pool, mix, desk, bench, rules, shuffling):  # type: ignore[no-untyped-def]
    """Step 4."""
    state = desk.state
    made = np.int64(0)
    if high > low:
        made = _publish_core(rows, slot, low, high, desk, bench, rules, shuffling)
    held = mix.held
    for kind in range(2):
        for i in range(held[GUESTS] if kind == 0 else held[OWN]):
            p = mix.guests[i] if kind == 0 else mix.own[i]
            row = pool.head[p]
            for _ in range(pool.size[p]):
                rows.late[row] = slot - pool.origin[p]
                row = pool.after[row]
    if held[GUESTS] > 0:
        made += split(mix, pool, rows.code, rules.l, rows.bucket, made)
    _renumber(rows, low, high, made, pool, mix, desk, shuffling)
    for i in range(held[GUESTS]):
        pool.gone[mix.guests[i]] = True
    for i in range(held[OWN]):
        release(mix.own[i], pool, desk)
    state[MADE] += made
    clear_mix(mix)


@part
def _renumber(rows, low, high, made, pool, mix, desk, shuffling):  # type: ignore[no-untyped-def]
    """Number the buckets of the slot by chance."""
    numbers = desk.order
    for b in range(made):
        numbers[b] = b
    shuffle(shuffling, numbers, np.int64(0), made)
    for row in range(low, high):
        if rows.late[row] == 0:
            rows.bucket[row] = numbers[rows.bucket[row]]
    for i in range(mix.held[GUESTS]):
        p = mix.guests[i]
        row = pool.head[p]
        for _ in range(pool.size[p]):
            rows.bucket[row] = numbers[rows.bucket[row]]
            row = pool.after[row]


@part
def _publish_core(rows, slot, low, high, desk, bench, rules, shuffling):  # type: ignore[no-untyped-def]
    """The core in buckets; with people, without those in which somebody is shown already."""
    state = desk.state
    distinct = 0
    for p in range(state[DISTINCT]):
        s = bench.values[p]
        if bench.left[s] > 0:
            bench.values[distinct] = s
            distinct += 1
    if distinct == 0:
        return 0
    made = bucket_values(bench, distinct, rules.l, shuffling, rows.bucket)
    number = 0
    for row in range(low, high):
        if rows.packet[row] < 0:
            rows.packet[row] = state[NUMBER] + rows.bucket[row]
            rows.late[row] = 0
            desk.rows[number] = row
            number += 1
    state[NUMBER] += made
    if rows.person.size:
        made = _without_conflicts(rows, slot, number, made, desk)
    return made


@part
def _without_conflicts(rows, slot, number, made, desk):  # type: ignore[no-untyped-def]
    """Withhold every bucket of the core in which somebody is shown already; how many are left."""
    start, order = desk.start, desk.order
    for b in range(made + 1):
        start[b] = 0
    for n in range(number):
        start[rows.bucket[desk.rows[n]] + 1] += 1
    for b in range(made):
        start[b + 1] += start[b]
    for n in range(number):
        b = rows.bucket[desk.rows[n]]
        order[start[b]] = desk.rows[n]
        start[b] += 1  # where the bucket ends
    kept = 0
    begin = np.int64(0)
    for b in range(made):
        end = start[b]
        wrong = False
        for n in range(begin, end):
            who = rows.person[order[n]]
            wrong = wrong or desk.shown[who] == slot + 1
            for other in range(begin, n):
                wrong = wrong or rows.person[order[other]] == who
        for n in range(begin, end):
            if wrong:
                rows.late[order[n]] = -1
            else:
                rows.bucket[order[n]] = kept
                desk.shown[rows.person[order[n]]] = slot + 1
        if wrong:
            desk.state[CONFLICTS] += end - begin
        else:
            kept += 1
        begin = end
    return kept


@part
def _forget(pool, desk):  # type: ignore[no-untyped-def]
    """Packets that were published or withheld leave the line."""
    kept = 0
    for n in range(desk.state[LINE]):
        p = pool.line[n]
        if pool.gone[p]:
            release(p, pool, desk)
        else:
            pool.line[kept] = p
            kept += 1
    desk.state[LINE] = kept
