"""Promises about the sensitive values of the people in a group, as values.

A person *holds* a value of a column if one of their rows in the group has it. A missing value is a value.
Each promise has one spelling as text, which options, job files and manifests share: `at-most:1/3`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias, get_args

from timeveil.domain.parameter import Checked, Problem, literal, parameter, rule
from timeveil.domain.wording import counted, listed, printable
from timeveil.errors import ParameterError, raising

_SPELLINGS = "write at-most:1/3, distinct:3, entropy:3 or closeness:0.2"
_LARGEST_DENOMINATOR = 20  # a share such as 1/3 is written as a fraction, if it is exactly that


class Protection(Checked):
    """What the promises about a sensitive column have in common."""

    __slots__ = ()
    spelling: ClassVar[str]
    words: ClassVar[str]

    @property
    def amount(self) -> str:
        """What is promised, as text."""
        return literal(next(iter(self.as_arguments().values())))

    def __str__(self) -> str:
        return f"{self.spelling}:{self.amount}"

    def sentence(self, column: str) -> str:
        """The promise about a column in words."""
        return self.words.format(self.amount, listed([printable(column)]))

    @property
    def least_values(self) -> int:
        """The number of different values that a group needs in any case."""
        return 1


@dataclass(frozen=True, slots=True)
class AtMost(Protection):
    """No value is held by more than this share of a group's people; with `of`, none of these values is.

    >>> str(AtMost(1 / 3)), AtMost(1 / 3).least_values
    ('at-most:1/3', 3)
    >>> AtMost(0.5).sentence("result")
    'in every group, no value of `result` is held by more than 1/2 of the people'
    >>> str(AtMost(0.25, of=["positive", "unclear"]))
    'at-most:1/4:positive|unclear'
    >>> AtMost(0.25, of=["positive"]).sentence("result")
    'in every group, 1 named value of `result` is held by no more than 1/4 of the people'
    """

    spelling, words = "at-most", "in every group, no value of {1} is held by more than {0} of the people"

    share: float = parameter("Largest share of people with one value.", above=0, below=1, example=0.5)
    of: Any = parameter("The values that are meant, if not all are.", default=None)

    @rule("of")
    def _of_is_a_list_of_values(self) -> Problem:
        if self.of is None:
            return None
        values = self.of if isinstance(self.of, list | tuple) else ()
        texts = [value for value in values if isinstance(value, str) and value and "|" not in value]
        if not texts or len(set(texts)) < len(values):
            return "the values of an at-most are not a list of different values", "list values without `|`"
        object.__setattr__(self, "of", tuple(texts))
        return None

    def __str__(self) -> str:
        return f"{self.spelling}:{self.amount}" + (f":{'|'.join(self.of)}" if self.of else "")

    def sentence(self, column: str) -> str:
        """The promise about a column in words; values are named nowhere."""
        if not self.of:
            return Protection.sentence(self, column)
        named = f"{counted(len(self.of), 'named value')} of {listed([printable(column)])}"
        verb = "is held" if len(self.of) == 1 else "are each held"
        return f"in every group, {named} {verb} by no more than {self.amount} of the people"

    @property
    def amount(self) -> str:
        fraction = Fraction(self.share).limit_denominator(_LARGEST_DENOMINATOR)
        return str(fraction) if float(fraction) == self.share else literal(self.share)

    @property
    def least_values(self) -> int:
        """Everyone holds a value, and each value is held by at most this share."""
        return 1 if self.of else math.ceil(1 / self.share - 1e-9)


@dataclass(frozen=True, slots=True)
class Distinct(Protection):
    """Every group has at least this many different values.

    >>> Distinct(3).sentence("result")
    'every group has at least 3 different values of `result`'
    """

    spelling, words = "distinct", "every group has at least {0} different values of {1}"

    values: int = parameter("Number of different values.", at_least=2, example=3)

    @property
    def least_values(self) -> int:
        return self.values


@dataclass(frozen=True, slots=True)
class Entropy(Protection):
    """The values of a group are as mixed as this many equally common ones.

    The entropy of the values, each counted by the people who hold it, is at least the logarithm of `values`.

    >>> str(Entropy(2.5)), Entropy(2.5).least_values
    ('entropy:2.5', 3)
    """

    spelling = "entropy"
    words = "in every group, the values of {1} are at least as mixed as {0} equally common ones"

    values: float = parameter("Number of equally common values.", above=1, example=3)

    @property
    def least_values(self) -> int:
        return math.ceil(self.values - 1e-9)


@dataclass(frozen=True, slots=True)
class Closeness(Protection):
    """The values of a group are distributed nearly as in the whole table.

    The earth mover's distance between the two distributions, each value counted by the people who hold it, is
    at most `distance`. Numbers, dates and times are as far apart as their ranks, from 0 to 1. The values of
    text have no order of their own: `order` lists them from low to high, or is "none" if all are equally far
    apart.

    >>> str(Closeness(0.2)), str(Closeness(0.2, order=["low", "high"])), str(Closeness(0.2, order="none"))
    ('closeness:0.2', 'closeness:0.2:low<high', 'closeness:0.2:none')
    """

    spelling = "closeness"
    words = "in every group, {1} is distributed as in the whole table, to within a distance of {0}"

    distance: float = parameter("Largest distance.", above=0, below=1, example=0.2)
    order: Any = parameter('Values from low to high, or "none".', default=None)

    @rule("order")
    def _order_is_a_list_of_values(self) -> Problem:
        if self.order is None or self.order == "none":
            return None
        values = self.order if isinstance(self.order, list | tuple) else ()
        texts = [value for value in values if isinstance(value, str) and "<" not in value]
        if len(texts) < max(len(values), 2) or len(set(texts)) < len(texts):
            hint = 'list at least two different values without `<`, or use "none"'
            return "the order of a closeness is not a list of different values", hint
        object.__setattr__(self, "order", tuple(texts))
        return None

    def __str__(self) -> str:
        order = "" if self.order is None else ":none" if self.order == "none" else ":" + "<".join(self.order)
        return f"{self.spelling}:{self.amount}{order}"


AnyProtection: TypeAlias = AtMost | Distinct | Entropy | Closeness


def protections_from(described: Mapping[str, Any] | None) -> dict[str, AnyProtection]:
    """The promise about each column, from itself or its text."""
    return {
        column: promise if isinstance(promise, AnyProtection) else _from_text(promise)
        for column, promise in (described or {}).items()
    }


def _from_text(text: object) -> AnyProtection:
    name, _, amount = text.partition(":") if isinstance(text, str) else ("", "", "")
    number, _, order = amount.partition(":")
    kind = {kind.spelling: kind for kind in get_args(AnyProtection)}.get(name)
    unreadable = ParameterError("a promise about a sensitive column cannot be read", hint=_SPELLINGS)
    if kind is None or (order and kind not in (AtMost, Closeness)):
        raise unreadable
    with raising(unreadable, on=(ValueError, ZeroDivisionError, OverflowError)):
        value = float(Fraction(number))
    plain: float = int(value) if value.is_integer() else value
    try:
        if not order:
            promise: AnyProtection = kind(plain)
            return promise
        if kind is AtMost:
            return AtMost(plain, order.split("|"))
        return Closeness(plain, order if order == "none" else order.split("<"))
    except ParameterError as error:
        raise ParameterError(f"`{name}`: {error.message}", hint=_SPELLINGS) from None
