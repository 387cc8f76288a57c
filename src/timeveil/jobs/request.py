"""From what a user typed, as options or as a job file, to one `Run`.

Both ways end in the same tables: columns, files, the method's parameters, and for a stream those of a
service. A job file has the same names as Python; unknown keys are refused, and paths are relative to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from timeveil.domain.parameter import OFF, Parameter, Parameters
from timeveil.domain.roles import REST
from timeveil.domain.run import Columns, Files, Run
from timeveil.errors import ParameterError
from timeveil.jobs.columns import roles_from
from timeveil.jobs.toml import calendar_file, load_toml
from timeveil.models import FOLDERS, part

RULES = ("intervals:", "prefixes:", "suppression")
"""How a hierarchy begins that is not a file."""


def tables() -> dict[str, type[Parameters]]:
    """The publishing commands, each with its table of parameters."""
    declared_tables = [part(model, "parameters").PARAMETERS for model in FOLDERS]
    return {table.command: table for table in declared_tables}


def service_table(table: type[Parameters]) -> dict[str, Parameter]:
    """The parameters of a stream in service; none for other models."""
    service = getattr(part(table.model, "parameters"), "ServiceParameters", None)
    return {} if service is None else service.table()


def run_from_options(table: type[Parameters], options: Mapping[str, Any]) -> Run:
    """The run that a command line describes; options that were not given are None, empty or the default."""
    columns = {name: options[name] for name in (*table.needs, *table.roles) if options.get(name)}
    if options.get("drop_rest"):
        if "drop" in columns:
            raise ParameterError(
                "both `--drop` and `--drop-rest` are given",
                hint="use --drop-rest alone to leave out every column without a role",
            )
        columns["drop"] = REST
    names = {name for name, declared in table.table().items() if declared.kind == "names"}
    values = {
        name: texts if name in names else value_from_text(declared, texts)
        for name, declared in table.table().items()
        if is_given(texts := options.get(name))
    }
    calendar = values.get("definitions")
    if isinstance(calendar, str):
        calendar_file(Path(calendar))
    service = {name: options[name] for name in service_table(table) if is_given(options[name])}
    files = {name: options[name] for name in Files.table()}
    return _run(
        table,
        options["source"],
        columns,
        values,
        service=service,
        explain=bool(options.get("explain")),
        **files,
    )


def is_given(value: Any) -> bool:
    """Whether an option was given; 0 is a value."""
    return value is not None and value is not False and value != []


def value_from_text(declared: Parameter, text: Any) -> Any:
    """An option's value, as the parameter takes it.

    >>> value_from_text(Parameter("levels", "mapping", "", read=int), ["age=1", "zip=0"])
    {'age': 1, 'zip': 0}
    """
    match declared.kind:
        case "flag":
            return not declared.default
        case "mapping":
            return dict(_entry(declared, entry) for entry in text)
        case "whole" if declared.can_be_off:
            if text == OFF:
                return None
            if not text.isdecimal():
                raise declared.refused(text)
            return int(text)
    return text if declared.read is None else declared.read(text)


def _entry(declared: Parameter, text: str) -> tuple[str, Any]:
    """A column and its value, typed COLUMN=VALUE."""
    column, mark, value = text.partition("=") if declared.read is None else text.rpartition("=")
    if not (column and mark and value) or (declared.read is int and not value.isdecimal()):
        form = "COLUMN=HOW, such as age=intervals:5,10 or zip=zip.csv"
        raise ParameterError(
            f"`{declared.typed}` needs {'COLUMN=HOW' if declared.read is None else 'COLUMN=N'}",
            hint=f"write {declared.typed} {form if declared.read is None else 'COLUMN=N, such as age=1'}",
            code="bad-hierarchy",
        )
    return column, value if declared.read is None else declared.read(value)


def read_job(path: Path) -> Run:
    """The run that a job file describes."""
    keys = {key.replace("-", "_"): value for key, value in load_toml(path).items()}
    command = keys.pop("command", "generalize-time")
    table = tables().get(command) if isinstance(command, str) else None
    if table is None:
        raise _bad_job(
            f"`command` in `{path.name}` is not a command that can be saved",
            f"use one of {', '.join(tables())}",
        )
    definitions = keys.pop("granularity", None) if table.model == "time" else None
    lines = {declared.key: declared for declared in table.table().values()}
    lines |= {name: Columns.table()[name] for name in (*table.needs, *table.roles)}
    lines |= Files.table() | service_table(table)
    _refuse_unknown(path, table, [*keys], ["in", *lines])
    needed = ["in", "out", *table.needs, *(key for key, declared in lines.items() if declared.required)]
    for key in needed:
        if key not in keys:
            raise _bad_job(f"`{path.name}` lacks the key `{key}`", f"add a line {key} = ...")
    if not isinstance(keys["in"], str):
        raise _bad_job(f"`in` in `{path.name}` must be text", 'write it in quotes: in = "visits.csv"')
    checked = {
        key: _checked(lines[key], value) for key, value in keys.items() if key in lines and value != []
    }
    if definitions is not None:
        _take_own_calendar(path, definitions, checked)
    return _run_of_job(path, table, keys["in"], checked)


def _run_of_job(path: Path, table: type[Parameters], source: str, checked: dict[str, Any]) -> Run:
    values = {name: checked[p.key] for name, p in table.table().items() if p.key in checked}
    for name, declared in table.table().items():
        if declared.opened and values.get(name) not in (None, str(path)):
            values[name] = _near(path, values[name])
    if "hierarchies" in values:
        values["hierarchies"] = {
            column: how if str(how).startswith(RULES) else _near(path, str(how))
            for column, how in values["hierarchies"].items()
        }
    service = {name: checked[name] for name in service_table(table) if is_given(checked.get(name))}
    if "state" in service:
        service["state"] = _near(path, service["state"])
    files = {name: checked[name] for name in Files.table() if name in checked}
    files |= {name: _near(path, files[name]) for name in ("out", "ledger") if name in files}
    columns = {name: checked[name] for name in (*table.needs, *table.roles) if name in checked}
    return _run(table, _near(path, source), columns, values, service=service, job=str(path), **files)


def _run(
    table: type[Parameters], source: str, columns: dict[str, Any], values: dict[str, Any], **more: Any
) -> Run:
    Files(**{name: more[name] for name in Files.table() if name in more})
    roles, instants = roles_from(table, source, columns)
    for name, declared in table.table().items():
        if declared.kind == "names" and values.get(name):
            values[name] = instants(values[name])
    series = () if more.get("job") else tuple(columns.get("series", ()))
    return Run(table, source, roles, values, series=series, **more)


def _checked(declared: Parameter, value: Any) -> Any:
    """A job's value in its range; one column may be written without brackets."""
    if declared.name == "drop" and value == REST:
        return value
    if declared.name in Columns.table() and declared.kind == "names" and isinstance(value, str):
        return (value,)
    if declared.can_be_off and value == OFF:
        return None
    if declared.opened and not isinstance(value, str):
        raise _bad_job(f"`{declared.key}` must be a path", f'write it in quotes: {declared.key} = "..."')
    return declared.check(value)


def _refuse_unknown(path: Path, table: type[Parameters], keys: list[str], known: list[str]) -> None:
    for key in keys:
        if key in table.removed:
            raise table.removal(key)
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"the keys are {', '.join(known)}"
            raise _bad_job(f"`{path.name}` has an unknown key `{key}`", hint)


def _take_own_calendar(path: Path, definitions: Any, checked: dict[str, Any]) -> None:
    """Granularities that the job file itself defines."""
    if not isinstance(definitions, dict) or not all(
        isinstance(entry, dict) for entry in definitions.values()
    ):
        raise _bad_job(
            f"`granularity` in `{path.name}` is not a table of definitions",
            "name those that may be chosen with granularities = [...]; [granularity.<name>] defines one",
        )
    if "calendar" in checked:
        raise _bad_job(
            f"`{path.name}` both names a calendar file and defines granularities",
            "keep all definitions in one place",
        )
    checked["calendar"] = str(path)


def _bad_job(message: str, hint: str) -> ParameterError:
    return ParameterError(message, hint=hint, code="bad-job")


def _near(path: Path, name: str) -> str:
    """A path relative to the job file's folder; the trailing slash of a folder stays."""
    return str(path.parent / name) + ("/" if name.endswith("/") else "")
