"""The file `release.json`: read with suspicion, of a closed schema, and written in one way.

It names the type of every column. A written table has fewer types than memory: text is text however it was
laid out, so that Parquet and CSV files of the same release open with the same types.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from timeveil.calendar.civil import is_zone
from timeveil.domain.judgement import Violation
from timeveil.domain.wording import counted
from timeveil.errors import BundleError, raising
from timeveil.evidence.checks import COUNT, TEXT, Kind, Shape, faults
from timeveil.judging import canonical
from timeveil.reading.files import limits, too_large

FORMAT_VERSION = 1
MANIFEST, README = "release.json", "README.txt"
DEEPEST = 50  # lists and objects inside each other; a manifest of ours has fewer than ten
FORMULA_CELLS = "an apostrophe stands before text that a spreadsheet would run"
DATABASE = "postgresql"
"""The form of a table in a database, whose name is stated instead of a file's, and the hash of its CSV."""
GET_AGAIN = "get the folder again from its publisher"
_NEWER = "open it with the version of timeveil named in its release.json, or a newer one"

_PLAIN = (
    "int8 int16 int32 int64 uint8 uint16 uint32 uint64 string",  # these are items of lists, too
    "bool halffloat float double date32[day] time32[ms] time64[us] time64[ns]",
    "timestamp[ms] timestamp[us] timestamp[ns]",
)
_BY_NAME = {name: pa.type_for_alias(name) for line in _PLAIN for name in line.split()}
_BY_NAME |= {f"list<{name}>": pa.list_(_BY_NAME[name]) for name in _PLAIN[0].split()}
_ZONED = re.compile(r"timestamp\[(ms|us|ns), tz=([^\]]+)\]")
_OFFSET = re.compile(r"[+-]\d{2}:?\d{2}", re.ASCII)
_DECIMAL = re.compile(r"decimal(128|256)\((\d+), (-?\d+)\)")
_HASH = Kind("a hash", lambda value: TEXT.fits(value) and bool(re.fullmatch("[0-9a-f]{64}", value)))
_FILE: Mapping[str, Shape] = {"file": TEXT, "rows": COUNT, "sha256": _HASH}
_ENTRY: Shape = {**_FILE, "format": TEXT, "formula_cells?": TEXT, "parts?": [_FILE]}


def damaged(name: str, fault: str, hint: str = GET_AGAIN) -> BundleError:
    """The error for a file of a release that is not as it was written."""
    return BundleError(f"`{name}` {fault}", hint=hint)


def read_manifest(folder: Path) -> tuple[dict[str, Any], list[Violation]]:
    """The manifest of a folder, and whether it is spelt as timeveil spells it, as in `parsed`."""
    path, most = folder / MANIFEST, limits().description
    if not path.is_file():
        missing = f"there is no {MANIFEST} in it" if folder.exists() else "it does not exist"
        missing = "it is a file" if folder.is_file() else missing
        message = f"`{folder.name or folder}` is not a release folder: {missing}"
        hint = "name the folder that `write` or `--out` made"
        # The release may be further down: a folder of several streams has one in each.
        below = folder.iterdir() if folder.is_dir() else ()
        if streams := sum((inner / "slots").is_dir() for inner in below):
            hint = f"it contains {counted(streams, 'stream')}: name the folder of one of them"
        raise BundleError(message, hint=hint, code="folder-missing")
    if path.is_symlink():
        raise damaged(MANIFEST, "is a symbolic link, which releases do not contain")
    size = path.stat().st_size
    if size > most:
        raise too_large(MANIFEST, f"has {size:,} bytes; at most {most:,} are read", "description")
    hint = "ask its owner for permission to read it"
    error = BundleError(f"no permission to read `{folder.name}`", hint=hint, code="no-permission")
    with raising(error, on=OSError):
        content = path.read_bytes()
    return parsed(content)


def parsed(
    content: bytes, forms: Sequence[str] = ("parquet", "csv")
) -> tuple[dict[str, Any], list[Violation]]:
    """The manifest in these bytes, of the right shape, and whether it is spelt as `as_json` spells it."""
    with raising(damaged(MANIFEST, "is not JSON"), on=(ValueError, RecursionError)):
        manifest = json.loads(str(content, "utf-8"))
        depth = _depth(manifest)
    if depth > DEEPEST:
        raise damaged(MANIFEST, f"has more than {DEEPEST} lists and objects inside each other")
    _check_shape(manifest, forms)
    with suppress(ValueError):  # NaN and infinity, which JSON does not have
        if as_json(manifest) == content:
            return dict(manifest), []
    return dict(manifest), [Violation("file-form", "the manifest is not written as timeveil writes it")]


def as_json(manifest: Mapping[str, Any]) -> bytes:
    """A manifest as `release.json` contains it."""
    return (json.dumps(canonical(manifest), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def columns_key(table: str) -> str:
    """The key under which a manifest describes the columns of a table."""
    return "columns" if table == "data" else f"{table}_columns"


def schema_of(manifest: Mapping[str, Any], table: str) -> pa.Schema:
    """The columns and types that a manifest states for a table."""
    columns = manifest[columns_key(table)]
    names = [column["name"] for column in columns]
    if len(set(names)) != len(names) or not names:
        raise damaged(MANIFEST, "describes a table without columns, or a column twice")
    error = damaged(MANIFEST, "states a column type that does not exist")
    with raising(error, on=(pa.ArrowException, ValueError, OverflowError)):
        return pa.schema([pa.field(column["name"], type_named(column["type"])) for column in columns])


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max((_depth(item) for item in inner), default=0)


def _check_shape(manifest: Any, forms: Sequence[str]) -> None:
    """Check what is needed to open the tables; the model's judge checks everything else."""
    if not isinstance(manifest, Mapping):
        raise damaged(MANIFEST, "is not an object")
    if manifest.get("format") != FORMAT_VERSION:
        message = f"the release has a format unknown to this version, which reads format {FORMAT_VERSION}"
        raise BundleError(message, hint=_NEWER)
    kinds = {"model": str, "guarantee": Mapping, "columns": list, "tables": Mapping}
    for key, kind in kinds.items():
        if not isinstance(manifest.get(key), kind):
            raise damaged(MANIFEST, f"lacks `{key}`, or it is of the wrong kind")
    for name, entry in manifest["tables"].items():
        if not _is_table_entry(name, entry) or entry["format"] not in forms:
            fault = "describes a table by more or less than its file, rows, format and sha256"
            raise damaged(MANIFEST, fault)
        columns = manifest.get(columns_key(name))
        for column in columns if isinstance(columns, list) else [None]:
            match column:
                case {"name": str(), "type": str()}:
                    continue
            raise damaged(MANIFEST, "does not describe the columns of a table by name and type")


def _is_table_entry(name: str, entry: Any) -> bool:
    # The name becomes that of a file.
    if not re.fullmatch("[a-z_]{1,40}", name) or any(faults(entry, _ENTRY)):
        return False
    stated = (entry["format"], entry["rows"], entry["sha256"], entry.get("parts", []))
    return bool(entry == _table_entry(name, *stated))


def _table_entry(
    name: str, form: str, rows: int, digest: str, parts: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    file = name if form == DATABASE or parts else f"{name}.{form}"
    entry: dict[str, Any] = {"file": file, "format": form, "rows": rows, "sha256": digest}
    if parts and form == "parquet":
        rows = sum(part["rows"] for part in parts)
        digest = hashlib.sha256("".join(part["sha256"] for part in parts).encode()).hexdigest()
        named = [{**part, "file": f"{name}/{part_name(number)}"} for number, part in enumerate(parts)]
        return {**entry, "rows": rows, "sha256": digest, "parts": named}
    return {**entry, "formula_cells": FORMULA_CELLS} if form == "csv" else entry


def part_name(number: int) -> str:
    """The file of a part."""
    return f"part-{number:05d}.parquet"


def files_of(entry: Mapping[str, Any]) -> dict[str, str]:
    """The files of a table and their hashes."""
    return {part["file"]: part["sha256"] for part in entry.get("parts") or [entry]}


def describe(
    manifest: dict[str, Any],
    name: str,
    schema: pa.Schema,
    form: str,
    rows: int,
    digest: str,
    parts: Sequence[Mapping[str, Any]] = (),
) -> None:
    """State the file and the columns of a table; what a manifest already says about a column stays."""
    stated = {column["name"]: column for column in manifest.get(columns_key(name), ())}
    manifest[columns_key(name)] = [
        {**stated.get(field.name, {}), "name": field.name, "type": type_name(field.type)} for field in schema
    ]
    manifest["tables"][name] = _table_entry(name, form, rows, digest, parts)


def written_schema(table: Any) -> pa.Schema:
    """Names and types of the columns of a table once they are written and opened."""
    fields = [pa.field(field.name, _written_type(field.type)) for field in table.schema]
    for field in fields:
        message = f"column `{field.name}` has the type {field.type}, which cannot be written"
        hint = "convert it to plain columns of text or numbers before reading"
        error = BundleError(message, hint=hint, code="unsupported-input")
        with raising(error, on=BundleError):
            type_named(type_name(field.type))
    return pa.schema(fields)


def _written_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _written_type(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_written_type(kind.value_type))
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return pa.decimal128(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind) and kind.unit == "s":
        return pa.timestamp("ms", kind.tz)
    coarser = {pa.date64(): pa.date32(), pa.time32("s"): pa.time32("ms")}
    return coarser.get(kind, kind)


def type_name(kind: pa.DataType) -> str:
    """What `release.json` calls a written type."""
    return f"list<{kind.value_type}>" if pa.types.is_list(kind) else str(kind)


def type_named(name: str) -> pa.DataType:
    """The type that `release.json` calls by this name."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    if (zoned := _ZONED.fullmatch(name)) and (_OFFSET.fullmatch(zoned[2]) or is_zone(zoned[2])):
        return pa.timestamp(zoned[1], zoned[2])
    if decimal := _DECIMAL.fullmatch(name):
        make = pa.decimal128 if decimal[1] == "128" else pa.decimal256
        return make(int(decimal[2]), int(decimal[3]))
    raise BundleError("the release states a column type unknown to this version", hint=_NEWER)
