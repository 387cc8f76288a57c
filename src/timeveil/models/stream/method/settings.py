"""The parameters of a run, with the costs, the roles and the secret seed that go with them.

Costs (Wang et al. 2010, §II.C): a record that is published d slots late costs mu(d); one that is withheld
costs beta of its value. All costs of a run are whole multiples of one small unit, so that gains are added and
compared exactly.

Where we depart from the print
    beta is mu(w) by default, so that moving is always preferred to withholding.
    The conditions C1 to C3 are checked on the distances 0 to 2w instead of being assumed.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, pairwise
from numbers import Rational
from typing import Any

from timeveil.calendar.granularity import Granularity
from timeveil.domain.guarantee import LDiversity
from timeveil.domain.roles import Derived, Roles, require_roles
from timeveil.domain.wording import counted
from timeveil.errors import ParameterError, RolesError, raising
from timeveil.models.stream.parameters import StreamParameters
from timeveil.recoding import Hierarchy
from timeveil.recoding.groups import hierarchies_for

RESERVED = ("slot", "bucket", "count")  # columns that a release has besides those of the input

MoveCost = str | Sequence[float] | Callable[[int], float]
WithholdCost = float | Mapping[Any, float] | None
NAMED: Mapping[str, Callable[[int], int]] = {"linear": lambda d: d, "quadratic": lambda d: d * d}
FINEST = 1 << 40
ROUNDED = 10**12  # steps may shrink by this fraction of the largest cost: the error of adding 0.1 to 0.2


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything besides the records that decides what becomes of them."""

    roles: Roles
    options: StreamParameters
    promise: LDiversity
    costs: Costs
    hierarchies: Mapping[str, Hierarchy]
    seed: int = field(repr=False)

    @property
    def l(self) -> int:
        return self.options.l

    @property
    def sensitive(self) -> str:
        return self.roles.sensitive[0]

    def refuse_few_values(self, values: int, hint: str) -> None:
        """With fewer than l different sensitive values in all, every slot would be empty."""
        if 0 < values < self.l:
            column = f"the sensitive column has {counted(values, 'different value')}"
            message = f"l is {self.l} but {column}: no slot could be published"
            raise ParameterError(message, hint=hint, facts={"l": self.l, "values": values})

    def remembered(self) -> dict[str, Any]:
        """The parameters as a state has them; withhold costs by value, and hierarchies, as digests."""
        roles, costs, slot = self.roles, self.costs, self.options.slot
        by_value = sorted((repr(value), cost) for value, cost in costs.withhold_by_value.items())
        remembered: dict[str, Any] = {
            **self.options.lasting(),
            "slot": slot.as_dict() if isinstance(slot, Granularity) else slot,
            "hierarchies": {n: [*h.names, _digest(h.definition)] for n, h in self.hierarchies.items()}
            or None,
            "move_cost": [str(cost * costs.unit) for cost in costs.move],
            "withhold_cost": [str(costs.withhold * costs.unit), _digest(json.dumps(by_value))],
            "roles": [roles.respondent, roles.time, [*roles.quasi_columns], self.sensitive, [*roles.keep]],
        }
        # Through JSON and back, so that tuples equal the lists of a state that was read.
        return dict(json.loads(json.dumps(remembered)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def settings_from(roles: Roles, options: StreamParameters) -> Settings:
    """Check roles and costs; draw a seed if none is set."""
    check_roles(roles)
    recurring = None if options.recurring == "ignore" else options.recurring
    if recurring and roles.respondent is None:
        message = f"`recurring` is `{recurring}`, but no column says whose the records are"
        raise RolesError(message, hint="name the {respondent} column", code="role-missing")
    if options.generalized:
        refuse_clashes(roles, ("group",))
    hierarchies = hierarchies_for(roles.quasi_columns, options.hierarchies)
    k = (options.k or options.l) if options.generalized else None
    promise = LDiversity(options.l, options.protect_slot, recurring, options.forget_after, k)
    seed = secrets.randbits(128) if options.seed is None else options.seed
    return Settings(roles, options, promise, Costs(options), hierarchies, seed)


def check_roles(roles: Roles) -> None:
    """A stream needs one sensitive column and no time-derived quasi-identifier; reserved names are free."""
    require_roles(roles)
    if len(roles.sensitive) != 1:
        message = f"a stream needs exactly one sensitive column; {len(roles.sensitive)} are named"
        hint = "name one {sensitive} column and {drop} the others: buckets that hide one may show another"
        raise RolesError(message, hint=hint, code="role-missing")
    if roles.until or any(isinstance(quasi, Derived) for quasi in roles.quasi):
        message = "a quasi-identifier derived from the time reveals the true slot of a record that was moved"
        raise RolesError(message, hint="leave {until}, weekday, hour_of_day and month_of_year out")
    refuse_clashes(roles, RESERVED)


def refuse_clashes(roles: Roles, reserved: Sequence[str]) -> None:
    """Refuse published columns with the name of a column that a release has besides them."""
    clashes = [name for name in reserved if name in roles.published]
    if clashes:
        message = f"the release has a column {' and '.join(f'`{name}`' for name in clashes)} of its own"
        raise RolesError(message, hint="rename that column before reading", code="column-clash")


class Costs:
    """Costs as whole multiples of `unit`, which are checked.

    `move[d]` is mu(d); `withhold` is beta of every value that `withhold_by_value` does not name.
    """

    def __init__(self, options: StreamParameters) -> None:
        window, stated = options.window, options.withhold_cost
        moves = _moves(options.move_cost, window, window + options.reach)
        _check_conditions(moves)
        named = stated if isinstance(stated, Mapping) else {}
        by_value = {value: _number(cost, "withhold_cost") for value, cost in named.items()}
        usual = moves[window] if stated is named or stated is None else _number(stated, "withhold_cost")
        if min((usual, *by_value.values())) < 0:
            hint = "use 0 or more, or leave {withhold_cost} out for the cost of moving w slots"
            raise ParameterError("withhold_cost is negative", hint=hint)
        # The largest number of which all amounts are multiples, unless that is absurdly fine.
        amounts = [*moves, usual, *by_value.values()]
        numerator = math.gcd(*(amount.numerator for amount in amounts)) or 1
        exact = Fraction(numerator, math.lcm(*(amount.denominator for amount in amounts)))
        self.unit = unit = max(exact, max(amounts) / FINEST)
        steps = [round((after - before) / unit) for before, after in pairwise(moves)]
        # Rounding differences, not sums, keeps C3.
        self.move = tuple(accumulate((max(step, 1) for step in accumulate(steps, max)), initial=0))
        # The default must equal mu(w) in units exactly, whatever rounding made of mu.
        self.withhold = self.move[window] if usual == moves[window] else round(usual / unit)
        self.withhold_by_value = {value: round(cost / unit) for value, cost in by_value.items()}
        listed, name = max(window + 1, options.reach), options.move_cost  # as far as a record may come
        self.name = name if isinstance(name, str) else tuple(float(cost) for cost in moves[:listed])

    def of_value(self, value: Any) -> int:
        return self.withhold_by_value.get(value, self.withhold)

    def of_distance(self, distance: int) -> int:
        """mu of any distance; beyond those that were checked it goes on with the last step."""
        beyond = distance - len(self.move) + 1
        return self.move[min(distance, len(self.move) - 1)] + max(beyond, 0) * (self.move[-1] - self.move[-2])

    def as_facts(self, values: Iterable[Any]) -> dict[str, Any]:
        """beta for a ledger: one number, or where values differ, by name of each that has its own."""
        costs = self.withhold_by_value
        named = {str(value): self.amount(costs[value]) for value in values if value in costs}
        return {"withhold_cost": named if costs else self.amount(self.withhold)}

    def amount(self, units: int) -> float:
        return float(units * self.unit)


def _moves(move_cost: MoveCost, window: int, furthest: int) -> list[Fraction]:
    """mu(0) to mu(furthest); a table goes on with its last step."""
    if isinstance(move_cost, str):
        if move_cost not in NAMED:
            raise _refused("is neither `linear` nor `quadratic`", "use one of them, or list numbers")
        move_cost = NAMED[move_cost]
    if callable(move_cost):
        costs = list[Any]()
        for distance in range(furthest + 1):
            error = _refused(f"failed at distance {distance}", "make it accept any whole number")
            with raising(error, on=Exception):
                costs.append(move_cost(distance))
        return [_number(cost, "move_cost") for cost in costs]
    if not isinstance(move_cost, Sequence):
        raise _refused("is not a name, a list of numbers or a function", 'use {move_cost="linear"}')
    table = [_number(cost, "move_cost") for cost in move_cost]
    if len(table) < window + 1:
        problem = f"lists {len(table)} numbers; a window of {window} slots needs {window + 1}"
        raise _refused(problem, f"list the cost of moving by 0, 1, ... {window} slots")
    step = table[-1] - table[-2]
    table += [table[-1] + step * extra for extra in range(1, furthest + 2 - len(table))]
    return table[: furthest + 1]


def _check_conditions(moves: Sequence[Fraction]) -> None:
    """Conditions C1 to C3 of §II.C; on whole numbers C3 says that steps never shrink."""
    steps = [after - before for before, after in pairwise(moves)]
    grain = moves[-1] / ROUNDED
    if min(moves) < 0:
        raise _refused("is negative somewhere", "use costs of 0 or more")
    if moves[0] != 0:
        raise _refused("breaks condition C1: not moving must cost 0", "start it with 0")
    for distance, step in enumerate(steps, 1):
        if step <= 0:
            rule = f"C2 at distance {distance}: moving further must cost more"
            raise _refused(f"breaks condition {rule}", "let it rise with every slot")
    for distance, (before, after) in enumerate(pairwise(steps), 2):
        if after < before - grain:
            rule = f"C3 at distance {distance}: each slot must cost at least as much as the one before"
            raise _refused(f"breaks condition {rule}", "let its steps never shrink; linear and quadratic do")


def _refused(problem: str, hint: str) -> ParameterError:
    return ParameterError(f"`move_cost` {problem}", hint=hint)


def _number(cost: Any, name: str) -> Fraction:
    """A number as it is written: 0.1 is one tenth."""
    message = f"`{name}` contains something that is not a finite number"
    error = ParameterError(message, hint="use numbers of 0 or more")
    with raising(error, on=(TypeError, ValueError, OverflowError)):
        cost = cost.item() if hasattr(cost, "item") else cost
        if isinstance(cost, bool | str) or not math.isfinite(cost):
            raise ValueError
        return Fraction(cost if isinstance(cost, Rational) else str(cost))
