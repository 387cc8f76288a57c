"""The best pattern of one subgroup: one symbol per instant, chosen among those that may be published.

With unit centred shapes the loss of a subgroup under a pattern r is `size - V.r / |r - mean(r)|`, V the sum
of its shapes: correlation in disguise. So the pattern wanted is the one nearest to a line through V.
`choices` holds, per instant, the values a symbol may stand for; the fit alternates between that line and the
nearest choices, then changes one instant at a time while that helps.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from timeveil.compiling import part

ROUNDS = 4
SWEEPS = 3


@part
def true_choices(low, high, table, choices, levels, number):  # type: ignore[no-untyped-def]
    """Per instant the levels at which all positions between low and high share a symbol."""
    most = table.shape[0] - 1
    for j in range(len(low)):
        found = 0
        for level in range(1, most + 1):
            symbol = int(level * low[j])
            if symbol == int(level * high[j]):
                choices[j, found] = table[level, symbol]
                levels[j, found] = level
                found += 1
        number[j] = found


@part
def fit(V, choices, number, picked):  # type: ignore[no-untyped-def]  # noqa: N803
    """Pick a choice for each instant so that V.r / |r - mean(r)| is large; returns it, 0 where r is flat."""
    d = len(V)
    norm = 0.0
    for j in range(d):
        norm += V[j] * V[j]
        picked[j] = 0
    if norm <= 0.0:
        return 0.0
    slope, shift = np.sqrt(d / norm), 0.0
    best = 0.0
    for _ in range(ROUNDS):
        dot, total, square = 0.0, 0.0, 0.0
        for j in range(d):
            aim = slope * V[j] + shift
            near = abs(choices[j, 0] - aim)
            at = 0
            for c in range(1, number[j]):
                far = abs(choices[j, c] - aim)
                if far < near:
                    near, at = far, c
            picked[j] = at
            value = choices[j, at]
            dot += V[j] * value
            total += value
            square += value * value
        spread = square - total * total / d
        if dot <= 0.0 or spread <= 1e-12 * square:
            break
        now = dot / np.sqrt(spread)
        if now <= best * (1 + 1e-12):
            break
        best = now
        slope, shift = spread / dot, total / d
    return _ascend(V, choices, number, picked)


@part
def _ascend(V, choices, number, picked):  # type: ignore[no-untyped-def]  # noqa: N803
    """Change one instant at a time while the fit gets better."""
    d = len(V)
    dot, total, square = 0.0, 0.0, 0.0
    for j in range(d):
        value = choices[j, picked[j]]
        dot += V[j] * value
        total += value
        square += value * value
    best = _score(dot, total, square, d)
    for _ in range(SWEEPS):
        changed = False
        for j in range(d):
            old = choices[j, picked[j]]
            at = picked[j]
            for c in range(number[j]):
                step = choices[j, c] - old
                if step == 0.0:
                    continue
                more = step * (choices[j, c] + old)
                score = _score(dot + V[j] * step, total + step, square + more, d)
                if score > best * (1 + 1e-9) + 1e-12:
                    best, at = score, c
            if at != picked[j]:
                step = choices[j, at] - old
                dot += V[j] * step
                total += step
                square += step * (choices[j, at] + old)
                picked[j] = at
                changed = True
        if not changed:
            break
    return best


@njit(nogil=True, inline="always")
def _score(dot, total, square, d):  # type: ignore[no-untyped-def]
    spread = square - total * total / d
    return dot / np.sqrt(spread) if dot > 0.0 and spread > 1e-12 * square else 0.0
