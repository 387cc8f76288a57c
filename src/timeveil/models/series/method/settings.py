"""The parameters of a series release, checked before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, get_args

from timeveil.domain.guarantee import KPAnonymity
from timeveil.domain.roles import Roles
from timeveil.errors import InfeasibleError, ParameterError, RolesError
from timeveil.reading.collection import FILLS, Fill
from timeveil.symbols.sax import MOST_LEVELS, Center

Method = Literal["adaptive", "kapra", "naive", "representative"]

OWN_COLUMNS = ("group", "pattern", "level")
LEAST_REPRESENTED = 3
"""Whoever knows all but one of a subgroup gets near the last from a representative; with two, at once."""

MOST_WEIGHT, MOST_EFFORT = 1_000_000, 1_000
MOST_DIGITS = 15
"""Decimals of so many digits are all different floats; of more they are not."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that decides what series become, besides the series."""

    promise: KPAnonymity
    method: Method
    shape_weight: float
    effort: int
    max_level: int
    center: Center
    round_outward: int | None
    publish_values: tuple[str, ...] | None
    publish_pattern: tuple[str, ...] | None
    exact: bool
    adoption: bool
    fill: Fill | None

    @property
    def one_level(self) -> bool:
        """Whether a pattern has one level for all of its instants."""
        return self.method != "adaptive"

    @property
    def own_patterns(self) -> bool:
        """Whether the method gives nobody a pattern but their own."""
        return self.method in ("adaptive", "kapra")

    def published(self) -> dict[str, Any]:
        """What a manifest tells of the parameters; null where the method does not use one."""
        weighted, formed = self.method in ("adaptive", "representative"), self.method == "kapra"
        return {
            "k": self.promise.k,
            "p": self.promise.p,
            "l": self.promise.l,
            "method": self.method,
            "shape_weight": self.shape_weight if weighted else None,
            "effort": self.effort if weighted else None,
            "max_level": self.max_level,
            "center": self.center,
            "round_outward": self.round_outward,
            "adoption": self.adoption if formed else None,
            "exact": self.exact if formed else None,
            "fill": self.fill,
            "publish_values": None if self.publish_values is None else list(self.publish_values),
            "publish_pattern": None if self.publish_pattern is None else list(self.publish_pattern),
        }


def settings_from(
    promise: KPAnonymity,
    *,
    method: str,
    shape_weight: float,
    effort: int,
    max_level: int,
    center: str,
    round_outward: int | None,
    publish_values: Sequence[str] | None,
    publish_pattern: Sequence[str] | None,
    exact: bool,
    adoption: bool,
    fill: str | None,
) -> Settings:
    """Check every parameter."""
    _one_of("method", method, get_args(Method))
    _one_of("center", center, get_args(Center))
    if fill is not None:
        _one_of("fill", fill, FILLS)
    weight = isinstance(shape_weight, Real) and not isinstance(shape_weight, bool)
    if not weight or not 0 <= shape_weight <= MOST_WEIGHT:
        raise ParameterError(
            f"`shape_weight` must be a finite number of at least 0 and at most {MOST_WEIGHT:,}",
            hint="2 is for values, 10 for both, 50 and up for the shape",
            code="bad-parameter",
        )
    _whole("effort", effort, 0, MOST_EFFORT, "it is how long groups are improved; 0 is fastest, 1 is usual")
    _whole("max_level", max_level, 2, MOST_LEVELS, "symbols are written a to z and A to Z; 20 is usual")
    if round_outward is not None:
        meaning = "it is how many digits bounds keep; to publish them exact, write round_outward=None"
        _whole("round_outward", round_outward, 1, MOST_DIGITS, meaning)
    if method == "representative" and promise.p < LEAST_REPRESENTED:
        raise ParameterError(
            f"the method `representative` needs p of at least {LEAST_REPRESENTED}, got {promise.p}: "
            "of two who share a pattern each would know the other's",
            hint="raise p, or use method='adaptive'",
            code="bad-parameter",
        )
    return Settings(
        promise,
        method,  # type: ignore[arg-type]
        shape_weight if isinstance(shape_weight, int) else float(shape_weight),
        int(effort),
        int(max_level),
        center,  # type: ignore[arg-type]
        None if round_outward is None else int(round_outward),
        _names("publish_values", publish_values),
        _names("publish_pattern", publish_pattern),
        bool(exact),
        bool(adoption),
        fill,  # type: ignore[arg-type]
    )


def check_sensitive(promise: KPAnonymity, roles: Roles) -> None:
    """A promise about sensitive values needs some."""
    if promise.l is not None and not roles.sensitive:
        raise RolesError(
            f"l is {promise.l}, and no column is sensitive",
            hint="name it with {sensitive=[...]}, or leave {l} out",
            code="role-missing",
        )


def enough(series: int, k: int) -> None:
    """No envelope is shared by k where there are fewer."""
    if series < k:
        who = "no series" if series == 0 else "one series" if series == 1 else f"{series:,} series"
        raise InfeasibleError(
            f"the table holds {who}, so no envelope can be shared by {k}",
            hint=f"choose k of at most {series}"
            if series > 1
            else "one alone cannot be hidden"
            if series
            else "see that it is the right table",
            code="too-few-people",
            facts={"people": series, "k": k, "best_k": series},
        )


def parts(settings: Settings, instants: Sequence[str]) -> tuple[list[int], list[int]]:
    """Where the instants stand whose values, and those whose pattern, are published (§6.1).

    Groups are formed on all instants whatever is published of them, so what is left out costs no promise.
    """
    values = _places("publish_values", settings.publish_values, instants)
    pattern = _places("publish_pattern", settings.publish_pattern, instants)
    if not set(values) & set(pattern):
        raise ParameterError(
            "`publish_values` and `publish_pattern` have no instant in common; nobody could estimate "
            "what is left out, for a pattern says nothing of values without one instant that has both",
            hint="let both name at least one instant; two that differ much are better",
            code="bad-parameter",
        )
    return values, pattern


def check_names(instants: Sequence[str], roles: Roles) -> None:
    """The names that the release needs must be free."""
    ours = {*OWN_COLUMNS, *(f"{name}_{end}" for name in instants for end in ("lo", "hi"))}
    taken = [name for name in (*roles.sensitive, *roles.keep) if name in ours]
    if taken:
        raise RolesError(
            f"the release needs the name {', '.join(f'`{name}`' for name in taken)} for a column of its own",
            hint="rename that column before reading",
            code="column-clash",
        )


def _places(name: str, asked: tuple[str, ...] | None, instants: Sequence[str]) -> list[int]:
    if asked is None:
        return list(range(len(instants)))
    unknown = [instant for instant in asked if instant not in instants]
    if unknown:
        raise ParameterError(
            f"`{name}` names {', '.join(f'`{instant}`' for instant in unknown[:8])}, which is no instant",
            hint="name columns of a wide table, or times of a long one as they are written there",
            code="column-missing",
        )
    return [place for place, instant in enumerate(instants) if instant in set(asked)]


def _names(name: str, given: Sequence[str] | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    listed = not isinstance(given, str) and all(isinstance(instant, str) for instant in given)
    if not listed or not given:
        raise ParameterError(
            f"`{name}` names no instant" if listed else f"`{name}` takes a list of instants",
            hint=f"write {name}=[...] with at least one, or leave it out to publish all",
            code="bad-parameter",
        )
    return tuple(given)


def _whole(name: str, given: Any, least: int, most: int | None, meaning: str) -> None:
    whole = isinstance(given, Integral) and not isinstance(given, bool)
    if not whole or given < least or (most is not None and given > most):
        shown = given if whole else type(given).__name__
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ParameterError(
            f"`{name}` must be a whole number {bounds}, got {shown}", hint=meaning, code="bad-parameter"
        )


def _one_of(name: str, given: Any, allowed: Sequence[str]) -> None:
    if given not in allowed:
        raise ParameterError(
            f"`{name}` is one of {', '.join(allowed)}",
            hint=f"use {name}={allowed[0]!r}",
            code="bad-parameter",
        )
