"""What a verifier checks of any release: findings, and the shape of its manifest.

Manifests have a closed shape, in which every key is known and every value is of one kind. A shape is data,
written by hand for each model: it shares nothing with the code that writes manifests. A fault is described by
its path, never by its content, because a key or a value that does not belong may be anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from timeveil.calendar.catalogue import available, fit
from timeveil.calendar.granularity import Granularity
from timeveil.domain.judgement import Verdict, Violation
from timeveil.domain.relation import TimeAxis
from timeveil.domain.release import Ledger, Release
from timeveil.domain.wording import counted
from timeveil.errors import TimeveilError
from timeveil.evidence.codes import plain_type
from timeveil.evidence.published import schema_of

SHARED = {
    "columns:extra": "the table has columns that the manifest does not list: {names}",
    "columns:missing": "the table lacks columns that the manifest lists: {names}",
    "columns:order": "the columns are not in the stated order",
    "columns:type": "column `{name}` is not of the stated type",
    "guarantee": "the manifest states another guarantee than the release",
    "ledger": "{fault}",
    "ledger:model": "the ledger is not that of this release",
    "ledger-rows": "the ledger lists {listed:row}, not the {rows} of the original in order",
    "manifest": "{fault}",
    "parameters:run": "the run had other parameters: {names}",
    "row-order": "{rows:row} not in the order that follows from the values",
    "tables": "the release has {tables:table}, not `data` alone",
}
"""Sentences of the checks that every model shares."""
_PLURALS = {"person": "people", "series": "series"}
UNREADABLE = (TimeveilError, ArithmeticError, LookupError, TypeError, ValueError)  # what anyone may define


@dataclass(slots=True)
class Findings:
    """The checks done, and the violations found.

    `sentences` has a message per expectation, with numbers in braces. An expectation is named by its
    violation code, and by a detail after a colon where one code has several messages. A number written as
    `{below:group}` is shown with its noun: "1 group", "2 groups".
    """

    scope: str
    sentences: Mapping[str, str] = field(default_factory=dict)
    checks: list[str] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    public: int | None = None

    def check(self, sentence: str) -> None:
        self.checks.append(sentence)

    def expect(self, name: str, holds: object, /, **numbers: object) -> bool:
        """Note a violation unless the expectation holds; numbers and column names fill its sentence."""
        if not holds:
            # A message is made only for a violation: sentences cost nothing where all is well.
            sentence = self.sentences.get(name) or SHARED[name]
            fields = {key: _Number(n) if isinstance(n, Integral) else n for key, n in numbers.items()}
            self.violations.append(Violation(name.partition(":")[0], sentence.format(**fields)))
        return bool(holds)

    def expect_all(self, facts: Mapping[str, object], /, **numbers: object) -> bool:
        """Expect each fact by its name; their sentences choose among the numbers."""
        outcomes = [self.expect(name, holds, **numbers) for name, holds in facts.items()]
        return all(outcomes)

    def expect_none(self, name: str, /, **numbers: Any) -> bool:
        """Expect the first of the numbers, a count or a mask of what is wrong, to be 0."""
        first, wrong = next(iter(numbers.items()))
        count = int(np.count_nonzero(wrong)) if isinstance(wrong, np.ndarray) else int(wrong)
        return self.expect(name, not count, **{**numbers, first: count})

    def open_ledger(self, release: Release, ledger: Ledger) -> None:
        """Note that the checks from here on need the ledger: a recipient cannot repeat them.

        The first is that the stated parameters are those of the run, if the ledger has them.
        """
        self.public = len(self.violations)
        stated, run = (facts.get("parameters", {}) for facts in (release.manifest, ledger.facts))
        if run:
            self.check("the stated parameters are those of the run")
            names = {**stated, **run}
            wrong = [n for n in names if json.dumps(stated.get(n)) != json.dumps(run.get(n))]
            self.expect("parameters:run", not wrong, names=", ".join(sorted(wrong)))

    def expect_rows(self, ledger: Ledger, *columns: str) -> bool:
        """Expect a ledger with these columns and an entry for every original row, in order."""
        self.check("the ledger lists every original row, in order")
        if not self.expect("ledger:columns", {"row", *columns} <= set(ledger.entries.schema.names)):
            return False
        rows, numbers = ledger.original.rows, np.asarray(ledger.table.column("row"))
        self.expect("ledger-rows", np.array_equal(numbers, np.arange(rows)), listed=len(numbers), rows=rows)
        return len(numbers) == rows

    def verdict(self) -> Verdict:
        ledger_only = self.public == 0 and bool(self.violations)
        return Verdict(self.scope, tuple(self.checks), tuple(self.violations), ledger_only=ledger_only)


class _Number(int):
    """A count that a sentence shows with separators, and with its noun where one is named."""

    def __format__(self, spec: str) -> str:
        if len(spec) < 2:
            return format(int(self), spec or ",")
        return counted(int(self), spec, _PLURALS.get(spec))


# The shape of a manifest.


_SHOWN_FAULTS = 20
_TOOL = re.compile(r"timeveil \d{1,3}(\.\d{1,3}){2}((a|b|rc)\d{1,2})?", re.ASCII)
_MOST_COUNTED = 2**53


@dataclass(frozen=True, slots=True)
class Kind:
    """A single value: a test, and what passes it in words."""

    words: str
    fits: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Named:
    """A table with free names and values of one shape."""

    of: Shape


Shape: TypeAlias = "Kind | Named | list[Shape] | Mapping[str, Shape]"
"""A single value, a list of items of one shape, or a table of known keys; those with a `?` may be missing."""

TEXT = Kind("text", lambda value: isinstance(value, str))
LEVELS = Named(Named([TEXT]))  # labels by level, by column
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
NAMES_OR_NULL = Kind(
    "a list of names or null",
    lambda value: value is None or (isinstance(value, list | tuple) and all(map(TEXT.fits, value))),
)
COUNT = Kind("a number from 0 to 2^53", lambda value: type(value) is int and 0 <= value <= _MOST_COUNTED)
SHARE = Kind("a share from 0 to below 1", lambda value: type(value) in (int, float) and 0 <= value < 1)
TOOL_NAME = Kind("`timeveil` and a version", lambda value: TEXT.fits(value) and bool(_TOOL.fullmatch(value)))


def _is_definition(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    try:
        rebuilt = Granularity.from_dict(value).as_dict()
    except UNREADABLE:
        return True  # judged where granules are: they cannot be rebuilt from it
    return json.dumps(rebuilt) == json.dumps(dict(value))


DEFINITION = Kind("the definition of a granularity in its one spelling", _is_definition)


def one_of(*values: object) -> Kind:
    """One of a few values."""
    words = f"one of {', '.join(map(str, values))}"
    return Kind(words, lambda value: any(type(value) is type(v) and value == v for v in values))


def from_to(least: int, most: int, *kinds: type) -> Kind:
    """A number in bounds, whole unless `kinds` says otherwise: without bounds it could carry a message."""
    words = f"a number from {least} to {most:,}"
    return Kind(words, lambda value: type(value) in (kinds or (int,)) and least <= value <= most)


def or_null(kind: Kind) -> Kind:
    """A value of the kind, or nothing."""
    return Kind(f"{kind.words} or null", lambda value: value is None or kind.fits(value))


IF_SET: Mapping[str, Shape] = {
    "accept_risk?": [TEXT],
    **dict.fromkeys(("fold_spellings?", "allow_loss?"), one_of(True)),
}
"""Parameters that a manifest states only where they are set."""
CLOCK: Mapping[str, Shape] = {
    "column": TEXT,
    "kind": one_of("civil", "zoned", "relative"),
    "zone": or_null(TEXT),
    "unit": or_null(TEXT),
}
"""How a manifest with a time column describes it."""
_PART: Mapping[str, Shape] = {"file": TEXT, "rows": COUNT, "sha256": TEXT}
_TABLE: Shape = {"file": TEXT, "format": TEXT, **_PART, "formula_cells?": TEXT, "parts?": [_PART]}


def manifest_of(
    model: str,
    guarantee: Shape,
    described: Mapping[str, Shape],
    roles: Sequence[str],
    sections: Mapping[str, Shape],
) -> Shape:
    """The shape of a model's manifest: what all manifests state, and the model's own sections.

    Keys are in the order in which `write` writes them.
    """
    return {
        "format": one_of(1),
        "model": one_of(model),
        "tool": TOOL_NAME,
        "guarantee": guarantee,
        **described,
        "columns": [{"name": TEXT, "role": one_of(*roles), "type": TEXT}],
        **sections,
        # added by `write`, checked by `open_release`
        "tables?": dict.fromkeys(("data?", "sensitive?"), _TABLE),
    }


def in_order(value: Any, shape: Shape | None) -> Any:
    """The value with the keys of its tables in the order of their shape, unknown ones last."""
    match shape:
        case [of] if isinstance(value, list | tuple):
            return [in_order(item, of) for item in value]
        case Named(of) if isinstance(value, Mapping):
            return {name: in_order(item, of) for name, item in value.items()}
        case Mapping() if isinstance(value, Mapping):
            inner = {key.removesuffix("?"): kind for key, kind in shape.items()}
            keys = sorted(value, key=lambda key: [*inner, key].index(key))
            return {key: in_order(value[key], inner.get(key)) for key in keys}
    return value


def check_shape(release: Release, findings: Findings, shape: Shape) -> bool:
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
    """Everything in a value that does not have the shape."""
    at = f"`{path}` of the manifest" if path else "the manifest"
    match shape:
        case Kind(words, fits):
            if not fits(value):
                yield f"{at} is not {words}"
        case Mapping() if isinstance(value, Mapping):
            inner = {key.removesuffix("?"): kind for key, kind in shape.items()}
            for key, kind in inner.items():
                inner_path = f"{path}.{key}" if path else key
                if key in value:
                    yield from faults(value[key], kind, inner_path)
                elif key in shape:
                    yield f"`{inner_path}` of the manifest is missing"
            unknown = sum(key not in inner for key in value)
            if unknown:
                yield f"{at} has {counted(unknown, 'unknown key')}"
        case [of] if isinstance(value, list | tuple):
            for number, item in enumerate(value, start=1):
                yield from faults(item, of, f"{path}[{number}]")
        case Named(of) if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
            yield from faults(list(value.values()), [of], path)
        case _:
            yield f"{at} is not a {'list' if isinstance(shape, list) else 'table'}"


def check_columns(
    release: Release, findings: Findings, table: str = "data", section: str = "columns"
) -> bool:
    """Expect the stated columns in order, each with its type, and no other; False if the names differ."""
    stated, schema = release.manifest[section], schema_of(release, table)
    names = [column["name"] for column in stated]
    extra = ", ".join(name for name in schema.names if name not in names)
    missing = ", ".join(name for name in names if name not in schema.names)
    findings.expect("columns:extra", not extra, table=table, names=extra)
    findings.expect("columns:missing", not missing, table=table, names=missing)
    if extra or missing or not findings.expect("columns:order", schema.names == names, table=table):
        return False
    for column, kind in zip(stated, schema.types, strict=True):
        # whatever the layout in memory and the name of list items
        text = column["type"].removeprefix("dictionary<values=").split(", indices=")[0]
        text = {"large_string": "string", "string_view": "string", "large_binary": "binary"}.get(text, text)
        spellings = (str(kind), str(plain_type(kind)), pa.types.is_list(kind) and f"list<{kind.value_type}>")
        findings.expect("columns:type", text in spellings, name=column["name"])
    return True


def has_catalogue_title(stated: Mapping[str, Any], time: Mapping[str, Any]) -> bool:
    """Whether a granularity of the catalogue has the catalogue's title; the title of any other is free."""
    try:
        axis = TimeAxis(time["kind"], pa.timestamp("ms"), zone=time["zone"], unit=time["unit"])
        catalogued = fit(available(axis)[str(stated.get("name"))], axis).as_dict()
    except UNREADABLE:
        return True
    # Only a definition equal to the catalogue's, title aside, must carry its title.
    differs = {**stated, "title": None} != {**catalogued, "title": None}
    return bool(differs or stated.get("title") == catalogued["title"])
