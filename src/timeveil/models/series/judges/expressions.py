"""Features of a series by expression: sums, differences, products and ratios of its values.

Definition 1 of Shou et al. 2013 makes a pattern of any functions f1 ... fm of a series' values, such as
`A2 - A1` and `A2 / A1`. Expressions are read by Python's parser; nothing is ever run but four operations on
arrays. A name that is not a word is put in backquotes: `` `2005` - `2004` ``.

Bounds are by interval arithmetic. Floating-point operations are monotone in each argument, so the value that
they give for a series is within the bounds that they give for its envelope. A ratio whose divisor may be 0
can be anything, or nothing at all: a series without a value fits no range.
"""

from __future__ import annotations

import ast
import operator
import re
import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from timeveil.domain.arrays import Flags, Floats
from timeveil.errors import raising
from timeveil.models.series.judges.features import bad

LONGEST = 500  # characters of an expression
POINTS = 256
"""Points that are drawn in an envelope: the deviation of the share that fits is then at most 3 %."""
_OPERATIONS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.UAdd: operator.add,  # of 0 and the operand
    ast.USub: operator.sub,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_HINT = "write it with instants, numbers, + - * / and parentheses, such as `h08 - h07`"
Interval: TypeAlias = tuple[Floats, Floats, Flags]
"""Per row the lowest and highest value, and whether there surely is one."""


class Expression:
    """An expression over the instants of series; `instants` are those it names, in the order of time.

    Anything but arithmetic of instants is refused.
    """

    def __init__(self, text: object, instants: Sequence[str]) -> None:
        if not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
            raise bad(f"an expression is not a text of 1 to {LONGEST} characters", _HINT)
        quoted, plain = re.findall("`([^`]*)`", text), re.sub("`[^`]*`", "", text)
        # Python would leave out what follows a #, and take letters for others that look alike.
        if "#" in plain or unicodedata.normalize("NFKC", plain) != plain:
            raise bad(
                f"`{text}` has marks that are read only in backquotes", f"{_HINT}, or `` `h#1` - h07 ``"
            )
        mark = "_" * (1 + max(map(len, re.findall("_+", plain)), default=0))  # no word of the text has it
        numbers = iter(range(len(quoted)))
        try:
            words = re.sub("`[^`]*`", lambda _: f" {mark}{next(numbers)} ", text)
            tree = ast.parse(words.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise bad(f"`{text}` is not an expression", _HINT) from None
        names = {f"{mark}{number}": name for number, name in enumerate(quoted)}
        named = {
            node.id: names.get(node.id, node.id) for node in ast.walk(tree) if isinstance(node, ast.Name)
        }
        for node in ast.walk(tree):
            _refuse_foreign(node, text)
            number = node.value if isinstance(node, ast.Constant) else None
            if isinstance(number, int) and str(number) in instants:
                hint = f"put it in backquotes for the instant, or write {number}.0 for the number"
                raise bad(f"`{number}` in `{text}` is a number, and an instant has that name", hint)
        for name in named.values():
            if name not in instants:
                hint = "use the names of instants, in backquotes where they are not words"
                raise bad(f"`{name}` in `{text}` is not an instant", hint, "column-missing")
        if not named:
            raise bad(f"`{text}` names no instant", _HINT)
        self._tree, self.instants = tree, tuple(name for name in instants if name in named.values())
        self._names = {word: self.instants.index(name) for word, name in named.items()}

    def value(self, values: Floats) -> Floats:
        """Nan where there is none."""
        with np.errstate(all="ignore"):
            number = self._computed(self._tree, lambda column: values[:, column], np.float64, _applied)
            return np.broadcast_to(number, len(values))

    def bounds(self, low: Floats, high: Floats) -> Interval:
        """What the value of each row can be, the values at `instants` being between these."""
        with np.errstate(all="ignore"):
            least, most, defined = self._computed(
                self._tree,
                lambda column: (low[:, column], high[:, column], np.True_),
                lambda number: (np.float64(number), np.float64(number), np.True_),
                _combined,
            )
        shape = np.zeros(len(low))
        return least + shape, most + shape, np.broadcast_to(defined, len(low))

    def _computed(self, node: Any, of_instant: Any, of_number: Any, combined: Any) -> Any:
        """What a tree comes to, each instant, number and operation being computed by one of these."""
        match node:
            case ast.Name():
                return of_instant(self._names[node.id])
            case ast.UnaryOp():
                sides = [ast.Constant(0.0), node.operand]
            case ast.BinOp():
                sides = [node.left, node.right]
            case _:
                return of_number(node.value)
        parts = (self._computed(side, of_instant, of_number, combined) for side in sides)
        return combined(_OPERATIONS[type(node.op)], *parts)


@dataclass(frozen=True, slots=True)
class Function:
    """A function in Python of the values at all `instants`: what it can give for an envelope is not known."""

    instants: tuple[str, ...]
    call: Callable[[Mapping[str, Floats]], Any]

    def value(self, values: Floats) -> Floats:
        """The value for each row; the function is given an array of values per instant."""
        hint = "return an array, such as `lambda at: at['h08'] - at['h07']`"
        wrong = bad("a function does not give one number for each series", hint)
        with np.errstate(all="ignore"):
            given = self.call(dict(zip(self.instants, values.T, strict=True)))
        with raising(wrong, on=(TypeError, ValueError)):
            return np.broadcast_to(np.asarray(given, dtype=np.float64), len(values))

    def bounds(self, low: Floats, _high: Floats) -> Interval:
        """Anything, and perhaps nothing at all."""
        return np.full(len(low), -np.inf), np.full(len(low), np.inf), np.zeros(len(low), dtype=bool)


def _applied(operation: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    return operation(left, np.where(right == 0, np.nan, right) if operation is operator.truediv else right)


def _combined(operation: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """The bounds of an operation: those of its results at the ends, as it is monotone in between."""
    ends = [operation(a, b) for a in left[:2] for b in right[:2]]
    defined = left[2] & right[2]
    if operation is operator.truediv:
        defined = defined & ((right[0] > 0) | (right[1] < 0))
    if operation is operator.mul:  # infinity times 0 is no value
        endless = [~np.isfinite(side[0]) | ~np.isfinite(side[1]) for side in (left, right)]
        holds_0 = [(side[0] <= 0) & (side[1] >= 0) for side in (left, right)]
        defined = defined & ~(endless[0] & holds_0[1] | endless[1] & holds_0[0])
    # No result at an end, as of infinity less infinity, may hide any value.
    defined = defined & ~np.isnan(ends).any(axis=0)
    least, most = np.min(ends, axis=0), np.max(ends, axis=0)
    return np.where(defined, least, -np.inf), np.where(defined, most, np.inf), defined


def _refuse_foreign(node: ast.AST, text: str) -> None:
    """Anything that is not arithmetic, by what it is called in Python's grammar."""
    if isinstance(node, ast.Constant):
        number = None if isinstance(node.value, bool) else node.value
        if isinstance(number, int | float) and abs(number) <= sys.float_info.max:
            return
        raise bad(f"`{text}` has a constant that is not a finite number", _HINT)
    if isinstance(node, ast.Load | ast.Name | ast.BinOp | ast.UnaryOp) or type(node) in _OPERATIONS:
        return
    part = ast.get_source_segment(text, node) if isinstance(node, ast.expr) and "`" not in text else None
    raise bad(f"`{part or text}` is not arithmetic of instants", _HINT)


def shares(
    expressions: Sequence[tuple[Expression | Function, float, float]],
    names: Sequence[str],
    low: Floats,
    high: Floats,
) -> Floats:
    """Per row the share of its values, spread evenly and independently over its bounds, that fits all ranges.

    A column is an instant of `names`. The points are the same for every row and every call.
    """
    fits = np.zeros(len(low))
    for point in np.random.default_rng(0).random((POINTS, len(names))):
        drawn, inside = low + point * (high - low), np.ones(len(low), dtype=bool)
        for expression, least, most in expressions:
            value = expression.value(drawn[:, [names.index(name) for name in expression.instants]])
            inside &= (value >= least) & (value <= most)
        fits += inside
    return fits / POINTS
