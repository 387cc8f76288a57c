"""What a manifest may look like: a closed shape, in which every key is known and every value is of one kind.

A shape is data, written by hand for each model: it shares nothing with the code that writes manifests. A
fault is described by its path, never by its content, because a key or a value that does not belong may be
anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias

import pyarrow as pa

from timeveil.calendar.axis import check_zone
from timeveil.calendar.catalogue import available, fit
from timeveil.domain.relation import TimeAxis
from timeveil.domain.release import Release
from timeveil.domain.wording import counted
from timeveil.errors import ParameterError, TimeveilError
from timeveil.evidence.findings import Findings

_SHOWN_FAULTS = 20
_TOOL = re.compile(r"timeveil \d+(\.\w+)*(\+\w+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Kind:
    """A single value: a test, and what passes it in words."""

    words: str
    fits: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Record:
    """Exactly these keys; those of `optional` may be missing."""

    needed: Mapping[str, Shape]
    optional: Mapping[str, Shape] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Each:
    """A list of items of one shape."""

    of: Shape


@dataclass(frozen=True, slots=True)
class Named:
    """A table with free names and values of one shape."""

    of: Shape


Shape: TypeAlias = Kind | Record | Each | Named

TEXT = Kind("text", lambda value: isinstance(value, str))
TEXT_OR_NULL = Kind("text or null", lambda value: value is None or isinstance(value, str))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
NAMES_OR_NULL = Kind(
    "a list of names or null",
    lambda value: (
        value is None or (isinstance(value, list | tuple) and all(isinstance(name, str) for name in value))
    ),
)
COUNT = Kind("a number of 0 or more", lambda value: type(value) is int and value >= 0)
SHARE = Kind("a share from 0 to below 1", lambda value: type(value) in (int, float) and 0 <= value < 1)
TABLE = Kind("a table", lambda value: isinstance(value, Mapping))
TOOL_NAME = Kind(
    "`timeveil` and a version", lambda value: isinstance(value, str) and bool(_TOOL.fullmatch(value))
)


def one_of(*values: object) -> Kind:
    """One of a few values.

    >>> list(faults("c", one_of("a", "b"), "letter"))
    ['`letter` of the manifest is not one of a, b']
    """
    words = f"one of {', '.join(map(str, values))}"
    return Kind(words, lambda value: any(type(value) is type(v) and value == v for v in values))


def check_shape(release: Release, shape: Shape, findings: Findings) -> bool:
    """Expect a manifest with every section of its model, and nothing else."""
    findings.check("the manifest has every section, and nothing else")
    remaining = faults(release.manifest, shape)
    listed = list(islice(remaining, _SHOWN_FAULTS))
    for fault in listed:
        findings.expect("manifest", False, fault=fault)
    # A hostile manifest may have any number of faults; the rest are only counted.
    hidden = sum(1 for _ in remaining)
    findings.expect("manifest", not hidden, fault=f"{counted(hidden, 'more fault')} in the manifest")
    return not listed


def faults(value: Any, shape: Shape, path: str = "") -> Iterator[str]:
    """Everything in a value that does not have the shape.

    >>> list(faults({"k": True, "ids": [1]}, Record({"k": COUNT, "name": TEXT}), "guarantee"))
    ... # doctest: +NORMALIZE_WHITESPACE
    ['`guarantee.k` of the manifest is not a number of 0 or more',
     '`guarantee.name` of the manifest is missing',
     '`guarantee` of the manifest has 1 unknown key']
    """
    match shape:
        case Kind(words, fits):
            if not fits(value):
                yield f"{_at(path)} is not {words}"
        case Record():
            yield from _record(value, shape, path)
        case Each(of):
            if not isinstance(value, Sequence) or isinstance(value, str | bytes):
                yield f"{_at(path)} is not a list"
                return
            for number, item in enumerate(value, start=1):
                yield from faults(item, of, f"{path}[{number}]")
        case Named(of):
            if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
                yield f"{_at(path)} is not a table"
                return
            for number, item in enumerate(value.values(), start=1):
                yield from faults(item, of, f"{path}[{number}]")


def _record(value: Any, shape: Record, path: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{_at(path)} is not a table"
        return
    keys = {**shape.needed, **shape.optional}
    for key, inner in keys.items():
        inner_path = f"{path}.{key}" if path else key
        if key in value:
            yield from faults(value[key], inner, inner_path)
        elif key in shape.needed:
            yield f"{_at(inner_path)} is missing"
    unknown = sum(key not in keys for key in value)
    if unknown:
        yield f"{_at(path)} has {counted(unknown, 'unknown key')}"


def _at(path: str) -> str:
    return f"`{path}` of the manifest" if path else "the manifest"


def is_zone(name: str | None) -> bool:
    """Whether a name is that of a time zone."""
    if name is None:
        return False
    try:
        check_zone(name)
    except ParameterError:
        return False
    return True


def has_catalogue_title(stated: Mapping[str, Any], time: Mapping[str, Any]) -> bool:
    """Whether a granularity of the catalogue has the catalogue's title; the title of any other is free."""
    try:
        axis = TimeAxis(time["kind"], pa.timestamp("ms"), zone=time["zone"], unit=time["unit"])
        catalogued = fit(available(axis)[str(stated.get("name"))], axis).as_dict()
    except (TimeveilError, LookupError, TypeError, ValueError):
        return True
    # Only a definition equal to the catalogue's, title aside, must carry its title.
    differs = {**stated, "title": None} != {**catalogued, "title": None}
    return bool(differs or stated.get("title") == catalogued["title"])


def stated_type(stated: str) -> str:
    """A stated type without its layout in memory.

    >>> stated_type("dictionary<values=large_string, indices=int32, ordered=0>"), stated_type("int64")
    ('string', 'int64')
    """
    kind = stated.removeprefix("dictionary<values=").split(", indices=")[0]
    return {"large_string": "string", "string_view": "string", "large_binary": "binary"}.get(kind, kind)
