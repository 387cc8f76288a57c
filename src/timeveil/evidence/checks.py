"""What a verifier checks of any release: findings, the shape of its manifest, the order of its rows.

Manifests have a closed shape, in which every key is known and every value is of one kind. A shape is data,
written by hand for each model: it shares nothing with the code that writes manifests. A fault is described by
its path, never by its content, because a key or a value that does not belong may be anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.catalogue import available, fit
from timeveil.domain.judgement import Verdict, Violation
from timeveil.domain.relation import TimeAxis
from timeveil.domain.release import Release
from timeveil.domain.wording import counted
from timeveil.errors import TimeveilError
from timeveil.evidence.codes import plain_type
from timeveil.evidence.published import schema_of

Mask: TypeAlias = npt.NDArray[np.bool_]
SHARED = {
    "columns:extra": "the table has columns that the manifest does not list: {names}",
    "columns:missing": "the table lacks columns that the manifest lists: {names}",
    "columns:order": "the columns are not in the stated order",
    "columns:type": "column `{name}` is not of the stated type",
    "guarantee": "the manifest states another guarantee than the release",
    "manifest": "{fault}",
    "row-order": "{rows:row} not in the order that follows from the values",
    "tables": "the release has {tables:table}, not `data` alone",
}
"""Sentences of the checks that every model shares."""
_PLURALS = {"person": "people", "series": "series"}


@dataclass(slots=True)
class Findings:
    """The checks done, and the violations found.

    `sentences` has a message per expectation, with numbers in braces. An expectation is named by its
    violation code, and by a detail after a colon where one code has several messages. A number written as
    `{below:group}` is shown with its noun: "1 group", "2 groups".

    >>> findings = Findings("recipient", sentences={"counts:rows": "{rows:row}; {stated} stated"})
    >>> findings.expect("counts:rows", 5 == 6, rows=5, stated=6)
    False
    >>> findings.verdict().violations
    (Violation(code='counts', message='5 rows; 6 stated'),)
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

    def open_ledger(self) -> None:
        """Note that the checks from here on need the ledger: a recipient cannot repeat them."""
        self.public = len(self.violations)

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
_TOOL = re.compile(r"timeveil \d+(\.\w+)*(\+\w+)?", re.ASCII)


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
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
NAMES_OR_NULL = Kind(
    "a list of names or null",
    lambda value: value is None or (isinstance(value, list | tuple) and all(map(TEXT.fits, value))),
)
COUNT = Kind("a number of 0 or more", lambda value: type(value) is int and value >= 0)
SHARE = Kind("a share from 0 to below 1", lambda value: type(value) in (int, float) and 0 <= value < 1)
TABLE = Kind("a table", lambda value: isinstance(value, Mapping))
TOOL_NAME = Kind("`timeveil` and a version", lambda value: TEXT.fits(value) and bool(_TOOL.fullmatch(value)))


def one_of(*values: object) -> Kind:
    """One of a few values.

    >>> list(faults("c", one_of("a", "b"), "letter"))
    ['`letter` of the manifest is not one of a, b']
    """
    words = f"one of {', '.join(map(str, values))}"
    return Kind(words, lambda value: any(type(value) is type(v) and value == v for v in values))


def from_to(least: int, most: int, *kinds: type) -> Kind:
    """A number in bounds, whole unless `kinds` says otherwise: without bounds it could carry a message."""
    words = f"a number from {least} to {most:,}"
    return Kind(words, lambda value: type(value) in (kinds or (int,)) and least <= value <= most)


def or_null(kind: Kind) -> Kind:
    """A value of the kind, or nothing."""
    return Kind(f"{kind.words} or null", lambda value: value is None or kind.fits(value))


IF_SET: Mapping[str, Shape] = {"accept_risk?": [TEXT], "fold_spellings?": one_of(True)}
"""Parameters that a manifest states only where they are set."""
CLOCK: Mapping[str, Shape] = {
    "column": TEXT,
    "kind": one_of("civil", "zoned", "relative"),
    "zone": or_null(TEXT),
    "unit": or_null(TEXT),
}
"""How a manifest with a time column describes it."""


def manifest_of(model: str, guarantee: Shape, roles: Sequence[str], sections: Mapping[str, Shape]) -> Shape:
    """The shape of a model's manifest: what all manifests state, and the model's own sections."""
    return {
        "format": one_of(1),
        "model": one_of(model),
        "tool": TOOL_NAME,
        "guarantee": guarantee,
        "columns": [{"name": TEXT, "role": one_of(*roles), "type": TEXT}],
        **sections,
        "tables?": TABLE,  # added by `write`, checked by `open_release`
    }


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

    >>> list(faults({"k": True, "ids": [1]}, {"k": COUNT, "name": TEXT, "l?": COUNT}, "guarantee"))
    ... # doctest: +NORMALIZE_WHITESPACE
    ['`guarantee.k` of the manifest is not a number of 0 or more',
     '`guarantee.name` of the manifest is missing',
     '`guarantee` of the manifest has 1 unknown key']
    """
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
        findings.expect("columns:type", _is_of(column["type"], kind), name=column["name"])
    return True


def _is_of(stated: str, kind: pa.DataType) -> bool:
    """Whether a stated type is that of a column, whatever its layout in memory and the name of list items."""
    stated = stated.removeprefix("dictionary<values=").split(", indices=")[0]
    stated = {"large_string": "string", "string_view": "string", "large_binary": "binary"}.get(stated, stated)
    listed = f"list<{kind.value_type}>" if pa.types.is_list(kind) else None
    return stated in (str(kind), str(plain_type(kind)), listed)


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


# The order of rows.


def check_row_order(
    release: Release, by: Sequence[str], findings: Findings, table: str = "data", within: str | None = None
) -> None:
    """Expect rows in the order of `by`, and then of all other columns of the table.

    Where the runs of a column have an order of their own, rows are compared `within` each of its runs.
    """
    of_table = "" if table == "data" else f" of table `{table}`"
    findings.check(f"rows{of_table} are in an order that follows from their values alone")
    names = [*by, *(name for name in schema_of(release, table).names if name not in by and name != within)]
    wrong, last = 0, list[pa.RecordBatch]()
    for batch in filter(len, release.batches(table)):
        # The last row leads the next batch, so that neighbours across the border are compared too.
        rows = pa.Table.from_batches([*last, batch])
        last = [batch.slice(batch.num_rows - 1)]
        before, after = rows.slice(0, rows.num_rows - 1), rows.slice(1)
        falls, _ = compared_rows(before, after, names)
        if within is not None:
            falls &= compared_rows(before, after, [within])[1]
        wrong += int(falls.sum())
    findings.expect("row-order", not wrong, rows=wrong)


def compared_rows(before: pa.Table, after: pa.Table, names: Sequence[str]) -> tuple[Mask, Mask]:
    """Where the row of `before` sorts after that of `after`, and where the two are equal."""
    undecided: Mask = np.ones(before.num_rows, dtype=bool)
    wrong: Mask = np.zeros(before.num_rows, dtype=bool)
    for name in names:
        if not undecided.any():
            break
        for left, right in zip(_items(before.column(name)), _items(after.column(name)), strict=True):
            falls, same = _compared(_comparable(left), _comparable(right))
            wrong |= undecided & falls
            # The next column decides only where all columns so far are equal.
            undecided &= same
    return wrong, undecided


def _items(column: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    """The column itself; of a column of lists, the items by position."""
    if not pa.types.is_list(column.type):
        return [column]
    # Shorter lists are padded with nulls, which sort last, as in the published order.
    longest = pc.max(pc.list_value_length(column)).as_py() or 0
    padded = pc.list_slice(column, 0, longest, return_fixed_size_list=True)
    return [pc.list_element(padded, position) for position in range(longest)]


def _comparable(column: pa.ChunkedArray) -> pa.Array:
    kind = plain_type(column.type)
    if pa.types.is_null(kind):
        kind = pa.string()
    column = column.cast(pa.float32() if pa.types.is_float16(kind) else kind)
    return pa.concat_arrays(column.chunks)


def _compared(before: pa.Array, after: pa.Array) -> tuple[Mask, Mask]:
    """Where the value before is greater, and where the two are equal."""
    null_before, null_after = _mask(before.is_null()), _mask(after.is_null())
    falls = _mask(pc.fill_null(pc.greater(before, after), False)) | (null_before & ~null_after)
    same = _mask(pc.fill_null(pc.equal(before, after), False)) | (null_before & null_after)
    if pa.types.is_floating(before.type):
        zero = _mask(pc.fill_null(pc.equal(before, pa.scalar(0.0, before.type)), False))
        # 0.0 and -0.0 are equal, but only the same sign says that the next column decides.
        same &= ~zero | (np.signbit(_numbers(before)) == np.signbit(_numbers(after)))
        # NaN decides against nobody: neither a descent, nor equal, so later columns are not looked at.
        unordered = np.isnan(_numbers(before)) | np.isnan(_numbers(after))
        falls &= ~unordered | null_before
        same &= ~unordered | null_before
    return falls, same


def _mask(values: pa.Array) -> Mask:
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=bool)


def _numbers(values: pa.Array) -> npt.NDArray[np.float64]:
    return np.asarray(pc.fill_null(values, 0.0).to_numpy(zero_copy_only=False), dtype=np.float64)
