"""What texts in options and job files mean: columns, keys that `--set` changes, and dates in paths.

Lists of columns are typed `q01,q02`, `q01..q10`, or both. A table of series is wide, a row per series, or
long, a row per reading; patterns also come from transactions or from a series release.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from timeveil.domain.parameter import Parameter, Parameters, literal
from timeveil.domain.roles import Derived, Roles, columns_named
from timeveil.errors import ParameterError, TimeveilError
from timeveil.models import parameters_of

_WIDE_OR_LONG = "wide: {series} of columns; long: {respondent}, {time} and {value}"
_ITEMS_OR_SERIES = "transactions: {respondent} and {item}; series: {series} of columns"


def roles_from(
    table: type[Parameters], source: str, columns: Mapping[str, Any], values: Mapping[str, Any]
) -> tuple[Roles | None, Sequence[str]]:
    """Roles of the columns named, None for a release folder, and the instants; `values` are as for `read`."""
    from timeveil.reading.sources import Form, open_source

    if "item" in table.roles and Path(source).is_dir() and (is_release(source) or not columns):
        if columns:
            message = f"`{next(iter(columns))}` is set, but a release folder states its columns"
            raise ParameterError(message, hint="leave columns out for a release folder")
        return None, instants_of(Path(source))
    if "series" in table.roles:
        _refuse_mixed(table, columns)
    if "series" not in columns:
        return plain_roles(columns), ()
    form = Form(**{name: values.get(name) for name in Form._fields})
    series = columns_named(columns["series"], open_source(source, form).names)
    return plain_roles({**columns, "series": series}), series


def is_release(source: str) -> bool:
    """Whether it is a release folder; other folders hold files of one table."""
    return (Path(source) / "release.json").is_file()


def plain_roles(columns: Mapping[str, Any]) -> Roles:
    """Roles of the columns named; those that are derived from the time are quasi-identifiers."""
    plain = {name: value for name, value in columns.items() if name != "cyclic"}
    plain["quasi"] = (*columns.get("quasi", ()), *map(Derived, columns.get("cyclic", ())))
    return Roles(**plain)


def _refuse_mixed(table: type[Parameters], columns: Mapping[str, Any]) -> None:
    """A table holds transactions or series, and one of series is wide or long."""
    for name, exclusive, reason, hint in (
        ("item", ("series", "time", "value"), "a table holds transactions or series", _ITEMS_OR_SERIES),
        ("series", ("time", "value"), "a table is wide or long, not both", _WIDE_OR_LONG),
    ):
        conflicting = [other for other in exclusive if name in columns and other in columns]
        if conflicting:
            raise ParameterError(f"both `{name}` and `{conflicting[0]}` are set; {reason}", hint=hint)
    if "item" in columns or "series" in columns:
        return
    if "time" not in columns and "value" not in columns:
        has_items = "item" in table.roles
        message = f"neither {'`item` nor ' if has_items else ''}`series` nor `time` and `value` are set"
        hint = _ITEMS_OR_SERIES if has_items else _WIDE_OR_LONG
        raise ParameterError(message, hint=hint, code="role-missing")
    missing = [f"`{name}`" for name in ("respondent", "time", "value") if name not in columns]
    if missing:
        message = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing for a long table"
        hint = "a long table has a row per reading: set {respondent}, {time} and {value}"
        raise ParameterError(message, hint=hint, code="role-missing")


def instants_of(folder: Path) -> list[str]:
    """The instants of a series release; none for any other folder."""
    from timeveil.folder.manifest import read_manifest

    try:
        manifest, _ = read_manifest(folder)
        instants = manifest["series"]["instants"]
    except (OSError, ValueError, KeyError, TypeError, TimeveilError):
        return []
    return instants if isinstance(instants, list) else []


def lists_hint(error: TimeveilError, columns: Mapping[str, Any]) -> TimeveilError:
    """The error, with a better hint where one name holds a list."""
    if error.code not in ("column-missing", "unknown-granularity"):
        return error
    for name, texts in columns.items():
        for text in texts if isinstance(texts, list) else ():
            if isinstance(text, str) and "," in text and f"`{text}`" in error.message:
                repeated = " ".join(f'{{{name}="{part.strip()}"}}' for part in text.split(","))
                kind = "granularity" if name == "granularities" else "column"
                hint = f"name one {kind} at a time: {repeated}"
                return type(error)(error.message, hint=hint, code=error.code, facts=error.facts)
    return error


def refuse_other_models(lines: Mapping[str, Parameter], typed: Mapping[str, Any], model: str) -> None:
    """Refuse an option about other models than that of the release: it would be ignored."""
    for name, declared in lines.items():
        is_set = typed[name] not in (None, []) and typed[name] is not False  # 0 is set
        if declared.models and model not in declared.models and is_set:
            contents = " or ".join(parameters_of(model).contents for model in declared.models)
            hint = f"leave {declared.typed} out"
            raise ParameterError(f"`{declared.typed}` applies to releases of {contents} only", hint=hint)


_DATE = re.compile(r"\{date(?::([^{}]*))?\}")
# Digits and what joins them: a date adds no folder to a path and leads out of none.
_FORMAT = re.compile(r"[\w.-]*(?:%[YmdHMSjGV][\w.-]*)+", re.ASCII)


def overridden(keys: Mapping[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """The keys of a job with those that are set, `key=value`; the value is TOML, text also without quotes."""
    changed, names = dict(keys), set()
    for setting in settings:
        name = name_of(setting)
        if name in names:
            raise ParameterError(f"`{name}` is set twice by --set", hint="set it once")
        names.add(name)
        changed = _merged(changed, _parsed(setting))
    return changed


def name_of(setting: str) -> str:
    """The key that a setting names."""
    return setting.partition("=")[0].strip().replace("-", "_")


def _parsed(setting: str) -> dict[str, Any]:
    name, (_, equals, text) = name_of(setting), setting.partition("=")
    for value in (text, literal(text.strip())) if equals and setting.isprintable() else ():
        with suppress(ValueError, RecursionError):
            leaf: Any
            table = leaf = tomllib.loads(f"{name} = {value}")
            while isinstance(leaf, dict):
                leaf = next(iter(leaf.values()), None)
            if not hasattr(leaf, "isoformat"):  # a date is text, such as a part of a name
                return table
    hint = "write --set k=10, or --set levels.age=1 for a key of a table"
    raise ParameterError("--set needs KEY=VALUE", hint=hint)


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Both tables; where both have a key, its new value, or both tables under it."""
    shared = [key for key in new if isinstance(old.get(key), dict) and isinstance(new[key], dict)]
    return {**old, **new, **{key: _merged(old[key], new[key]) for key in shared}}


def dated(path: str, moment: datetime) -> str:
    """The path with every `{date}` or `{date:FORM}` replaced."""

    def text(match: re.Match[str]) -> str:
        form = match[1] or "%Y-%m-%d"
        if not _FORMAT.fullmatch(form):
            hint = "use %Y %m %d %H %M %S %j %G %V with letters, digits, - _ and . between: {date:%Y-%m}"
            raise ParameterError("a date in a path has a form that is not allowed", hint=hint)
        return moment.strftime(form)

    return _DATE.sub(text, path)
