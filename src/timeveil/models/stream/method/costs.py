"""What moving and withholding cost (Wang et al. 2010, §II.C).

A record that is published d slots late costs mu(d); one that is withheld costs beta of its value. All costs
of a run are whole multiples of one small unit, so that gains are added and compared exactly.

Where we depart from the print
    beta is mu(w) by default, so that moving is always preferred to withholding.
    The conditions C1 to C3 are checked on the distances 0 to 2w instead of being assumed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from numbers import Rational
from typing import Any

from timeveil.errors import ParameterError, raising

MoveCost = str | Sequence[float] | Callable[[int], float]
WithholdCost = float | Mapping[Any, float] | None

NAMED: Mapping[str, Callable[[int], int]] = {"linear": lambda d: d, "quadratic": lambda d: d * d}
FINEST = 1 << 40
ROUNDED = 10**12
"""Steps may shrink by this fraction of the largest cost: the error of adding 0.1 to 0.2."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs as whole multiples of `unit`.

    `move[d]` is mu(d); `withhold` is beta of every value that `withhold_by_value` does not name.

    >>> costs = costs_from("quadratic", None, window=3)
    >>> costs.move[:4], costs.withhold
    ((0, 1, 4, 9), 9)
    """

    name: str | tuple[float, ...]
    move: tuple[int, ...]
    withhold: int
    withhold_by_value: Mapping[Any, int]
    unit: Fraction

    def of_value(self, value: Any) -> int:
        """beta of a value."""
        return self.withhold_by_value.get(value, self.withhold)

    def of_distance(self, distance: int) -> int:
        """mu of any distance; beyond those that were checked it goes on with the last step."""
        beyond = distance - len(self.move) + 1
        return self.move[min(distance, len(self.move) - 1)] + max(beyond, 0) * (self.move[-1] - self.move[-2])

    def by_name(self, values: Iterable[Any]) -> float | dict[str, float]:
        """beta for a ledger: one number, or where values differ, by name of each that has its own.

        >>> costs_from("linear", {"flu": 9}, window=3).by_name(["flu", "cold"])
        {'flu': 9.0}
        """
        costs = self.withhold_by_value
        if not costs:
            return self.amount(self.withhold)
        return {str(value): self.amount(costs[value]) for value in values if value in costs}

    def amount(self, units: int) -> float:
        """A sum of costs in the caller's numbers."""
        return float(units * self.unit)


def costs_from(move_cost: MoveCost, withhold_cost: WithholdCost, window: int, jitter: int = 0) -> Costs:
    """Check costs and bring them to one unit."""
    furthest = 2 * window + jitter
    moves = _moves(move_cost, window, furthest)
    _check_conditions(moves)
    by_value: dict[Any, Fraction] = {}
    usual = moves[window]
    if isinstance(withhold_cost, Mapping):
        by_value = {value: _number(cost, "withhold_cost") for value, cost in withhold_cost.items()}
    elif withhold_cost is not None:
        usual = _number(withhold_cost, "withhold_cost")
    if min((usual, *by_value.values())) < 0:
        raise _bad(
            "withhold_cost is negative",
            "use 0 or more, or leave {withhold_cost} out for the cost of moving w slots",
        )
    unit = _unit([*moves, usual, *by_value.values()])
    steps = [round((after - before) / unit) for before, after in pairwise(moves)]
    move = [0]
    for step in accumulate(steps, max):  # rounding differences, not sums, keeps C3
        move.append(move[-1] + max(step, 1))
    if isinstance(move_cost, str):
        name: str | tuple[float, ...] = move_cost
    else:
        furthest = max(window, window - 1 + jitter)  # as far as a record may come
        name = tuple(float(cost) for cost in moves[: furthest + 1])
    return Costs(
        name,
        tuple(move),
        # The default must equal mu(w) in units exactly, whatever rounding made of mu.
        move[window] if usual == moves[window] else round(usual / unit),
        {value: round(cost / unit) for value, cost in by_value.items()},
        unit,
    )


def _moves(move_cost: MoveCost, window: int, furthest: int) -> list[Fraction]:
    """mu(0) to mu(furthest); a table goes on with its last step."""
    if isinstance(move_cost, str):
        if move_cost not in NAMED:
            raise _bad("`move_cost` is neither `linear` nor `quadratic`", "use one of them, or list numbers")
        return [Fraction(NAMED[move_cost](d)) for d in range(furthest + 1)]
    if callable(move_cost):
        return [_number(_call(move_cost, d), "move_cost") for d in range(furthest + 1)]
    if not isinstance(move_cost, Sequence):
        raise _bad("`move_cost` is not a name, a list of numbers or a function", 'use {move_cost="linear"}')
    table = [_number(cost, "move_cost") for cost in move_cost]
    if len(table) < window + 1:
        raise _bad(
            f"`move_cost` lists {len(table)} numbers; a window of {window} slots needs {window + 1}",
            f"list the cost of moving by 0, 1, ... {window} slots",
        )
    step = table[-1] - table[-2]
    table += [table[-1] + step * extra for extra in range(1, furthest + 1 - len(table) + 1)]
    return table[: furthest + 1]


def _call(rule: Callable[[int], float], distance: int) -> Any:
    message = f"the function `move_cost` failed at distance {distance}"
    with raising(_bad(message, "make it accept any whole number"), on=Exception):
        return rule(distance)


def _check_conditions(moves: Sequence[Fraction]) -> None:
    """Conditions C1 to C3 of §II.C; on whole numbers C3 says that steps never shrink."""
    if min(moves) < 0:
        raise _bad("`move_cost` is negative somewhere", "use costs of 0 or more")
    if moves[0] != 0:
        raise _bad("`move_cost` breaks condition C1: not moving must cost 0", "start it with 0")
    steps = [after - before for before, after in pairwise(moves)]
    for distance, step in enumerate(steps, start=1):
        if step <= 0:
            raise _bad(
                f"`move_cost` breaks condition C2 at distance {distance}: moving further must cost more",
                "let it rise with every slot",
            )
    for distance, (before, after) in enumerate(pairwise(steps), start=2):
        if after < before - moves[-1] / ROUNDED:
            raise _bad(
                f"`move_cost` breaks condition C3 at distance {distance}: "
                "each further slot must cost at least as much as the one before",
                "let its steps never shrink; linear and quadratic do",
            )


def _number(cost: Any, name: str) -> Fraction:
    """A number as it is written: 0.1 is one tenth."""
    cost = cost.item() if hasattr(cost, "item") else cost
    if isinstance(cost, Rational) and not isinstance(cost, bool):
        return Fraction(cost)
    error = _bad(f"`{name}` contains something that is not a finite number", "use numbers of 0 or more")
    with raising(error, on=(TypeError, ValueError)):
        if not isinstance(cost, bool | str) and math.isfinite(cost):
            return Fraction(str(cost))
    raise error


def _unit(amounts: Sequence[Fraction]) -> Fraction:
    """The largest number of which all amounts are multiples, unless that is absurdly fine."""
    exact = Fraction(
        math.gcd(*(a.numerator for a in amounts)) or 1, math.lcm(*(a.denominator for a in amounts))
    )
    return max(exact, max(amounts) / FINEST)


def _bad(message: str, hint: str) -> ParameterError:
    return ParameterError(message, hint=hint)
