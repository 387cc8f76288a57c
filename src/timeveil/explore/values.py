"""The settings to try: a list as it is, or a few round numbers of a range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from timeveil.errors import ParameterError, raising

TO = ".."
MOST = 100
"""More settings than this are a mistake."""
_ALL = 8
"""A range of fewer whole numbers than this is tried entirely."""
_STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
"""Round numbers, each about half as large again as the one before, at every power of ten."""
_FEW = 10


def is_many(setting: Any) -> bool:
    """Whether a parameter has several settings to try.

    >>> [is_many(setting) for setting in (5, "5", "2..50", "2,5", [2, 5], range(2, 5), None)]
    [False, False, True, True, True, True, False]
    """
    if isinstance(setting, str):
        return TO in setting or "," in setting
    return isinstance(setting, Sequence)


def settings_of(name: str, typed: Any) -> tuple[float, ...]:
    """The settings that a list, a range or its text names, each once, from small to large.

    >>> settings_of("k", "2..50")
    (2, 3, 5, 7, 10, 15, 20, 30, 50)
    >>> settings_of("min_support", "0.01..0.1"), settings_of("k", [10, 2, 5])
    ((0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1), (2, 5, 10))
    """
    if isinstance(typed, str):
        numbers = _range(name, typed) if TO in typed else [number(name, part) for part in typed.split(",")]
    else:
        numbers = [_checked(name, setting) for setting in typed]
    settings = tuple(sorted(set(numbers)))
    if not settings or len(settings) > MOST:
        raise _bad(
            f"`{name}` has {len(settings)} settings; 1 to {MOST} can be tried",
            f'give a few, such as {{{name}="2,5,10"}}',
        )
    return settings


def number(name: str, text: str) -> float:
    """A number as it is typed, whole where it can be.

    >>> number("k", "5"), number("suppress", "0.01")
    (5, 0.01)
    """
    error = _bad(
        f"`{name}` is neither a number, a list of numbers nor a range",
        f'write {{{name}="2,5,10"}} or {{{name}="2..50"}}',
    )
    plain = text.strip()
    if plain.isascii() and plain.isdecimal():
        with raising(error, on=ValueError):
            return int(plain)
    with raising(error, on=ValueError):
        parsed = float(plain)
    if not (plain.isascii() and math.isfinite(parsed)):
        raise error
    return parsed


def _checked(name: str, setting: Any) -> float:
    if isinstance(setting, bool) or not isinstance(setting, int | float) or not math.isfinite(setting):
        raise _bad(f"`{name}` has a setting that is not a number", f'write {{{name}="2,5,10"}}')
    return setting


def _range(name: str, text: str) -> list[float]:
    first, _, last = text.partition(TO)
    low, high = number(name, first), number(name, last)
    if low > high:
        raise _bad(
            f"the range of `{name}` ends below its start",
            f'write {{{name}="{last.strip()}..{first.strip()}"}}',
        )
    integral = isinstance(low, int) and isinstance(high, int)
    if integral and high - low < _ALL:
        return list(range(int(low), int(high) + 1))
    inner = _round_numbers(low, high, integral=integral)
    most = _FEW - 2
    if len(inner) > most:
        inner = [inner[round(step * (len(inner) - 1) / (most - 1))] for step in range(most)]
    return [low, *inner, high]


def _round_numbers(low: float, high: float, *, integral: bool) -> list[float]:
    """Round numbers between the ends."""
    if high <= 0:
        return []
    least = max(low, high / 1_000)
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(high)) + 1)
    candidates = [float(f"{step}e{power}") for power in powers for step in _STEPS]
    inside = [value for value in candidates if low < value < high and value >= least]
    return [int(value) for value in inside if value == int(value)] if integral else list(inside)


def _bad(message: str, hint: str) -> ParameterError:
    return ParameterError(message, hint=hint)
