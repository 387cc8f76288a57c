"""What a description may look like: a closed shape, in which every key is known and every value of one kind.

A shape is data. Whatever does not belong to it is told by its place, never by its content, for a name or a
value that does not belong there may be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Kind:
    """A single value, said in words and by a test."""

    words: str
    fits: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Record:
    """Exactly these keys; those of `optional` may be missing."""

    needed: Mapping[str, Shape]
    optional: Mapping[str, Shape] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Each:
    """A list of things of one shape."""

    of: Shape


@dataclass(frozen=True, slots=True)
class Named:
    """Things of one shape, each under a name of its own."""

    of: Shape


Shape: TypeAlias = Kind | Record | Each | Named

TEXT = Kind("text", lambda value: isinstance(value, str))
TEXT_OR_NULL = Kind("text or null", lambda value: value is None or isinstance(value, str))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
COUNT = Kind("a number of 0 or more", lambda value: type(value) is int and value >= 0)
SHARE = Kind("a share from 0 to below 1", lambda value: type(value) in (int, float) and 0 <= value < 1)
TABLE = Kind("a table", lambda value: isinstance(value, Mapping))


def one_of(*values: object) -> Kind:
    """One of a few values.

    >>> list(faults("c", one_of("a", "b"), "letter"))
    ['`letter` of the manifest is not one of a, b']
    """
    words = f"one of {', '.join(map(str, values))}"
    return Kind(words, lambda value: any(type(value) is type(v) and value == v for v in values))


def faults(value: Any, shape: Shape, place: str = "") -> Iterator[str]:
    """Everything about a value that is not of its shape.

    >>> list(faults({"k": True, "ids": [1]}, Record({"k": COUNT, "name": TEXT}), "guarantee"))
    ... # doctest: +NORMALIZE_WHITESPACE
    ['`guarantee.k` of the manifest is not a number of 0 or more',
     '`guarantee.name` of the manifest is missing',
     '`guarantee` of the manifest has 1 key that does not belong there']
    """
    match shape:
        case Kind(words, fits):
            if not fits(value):
                yield f"{_said(place)} is not {words}"
        case Record():
            yield from _record(value, shape, place)
        case Each(of):
            if not isinstance(value, Sequence) or isinstance(value, str | bytes):
                yield f"{_said(place)} is not a list"
                return
            for number, one in enumerate(value, start=1):
                yield from faults(one, of, f"{place}[{number}]")
        case Named(of):
            if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
                yield f"{_said(place)} is not a table"
                return
            for number, one in enumerate(value.values(), start=1):
                yield from faults(one, of, f"{place}[{number}]")


def _record(value: Any, shape: Record, place: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{_said(place)} is not a table"
        return
    known = {**shape.needed, **shape.optional}
    for key, inner in known.items():
        inside = f"{place}.{key}" if place else key
        if key in value:
            yield from faults(value[key], inner, inside)
        elif key in shape.needed:
            yield f"{_said(inside)} is missing"
    strange = sum(key not in known for key in value)
    if strange:
        words = "1 key that does" if strange == 1 else f"{strange} keys that do"
        yield f"{_said(place)} has {words} not belong there"


def _said(place: str) -> str:
    return f"`{place}` of the manifest" if place else "the manifest"
