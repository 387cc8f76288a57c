"""From what a user typed, as options or as a job file, to one `Run`.

A job file has the same names as Python; unknown keys are refused, and paths are relative to it. What
`timeveil explore` is to try comes from options, a saved job, or both.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from timeveil.domain.lines import READING, Particulars
from timeveil.domain.parameter import OFF, Parameter, Parameters
from timeveil.domain.roles import REST, columns_named
from timeveil.domain.run import Columns, Files, Run
from timeveil.errors import InputError, ParameterError, raising
from timeveil.jobs.query import Question
from timeveil.jobs.typed import dated, is_release, name_of, overridden, roles_from
from timeveil.models import part, tables

_OF_EVENTS = ("granularities", "definitions", "hierarchies", "nulls", "fold_spellings")
PROFILED = ("k", "l", "slot", "min_support", "max_len", "symbols", *_OF_EVENTS)
"""Parameters that a risk depends on, beside how the table is read."""
USUAL = "generalize-time"  # the command of a job that names none
QUERY = "query"  # the command of a saved question
IS_RULE = re.compile("suppression|(?:intervals|log|calendar|prefixes):.*", re.DOTALL).fullmatch
"""Whether a hierarchy is a rule, not a file."""
_DEEP_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){20}""", re.ASCII)
"""The time that a key takes grows with the square of its parts."""
_KINDS = ("whole", "number", "choice", "text", "list")


def service_table(table: type[Parameters]) -> dict[str, Parameter]:
    """The parameters of a stream in service; none for other models."""
    service = getattr(part(table.model, "parameters"), "ServiceParameters", None)
    return {} if service is None else service.table()


def run_from_options(table: type[Parameters], options: Mapping[str, Any]) -> Run:
    """The run that a command line describes; options that were not given are None, empty or the default."""
    values = {name: value for name, value in options.items() if is_given(value)}
    if "drop_rest" in values:
        if "drop" in values:
            hint = "use --drop-rest alone to leave out every column without a role"
            raise ParameterError("both `--drop` and `--drop-rest` are given", hint=hint)
        values["drop"] = REST
    for name, declared in table.table().items():
        if name in values and declared.kind != "names":
            values[name] = value_from_text(declared, values[name])
    if "definitions" in values:
        calendar_file(Path(values["definitions"]))
    return _run(table, options["source"], values)


def is_given(value: Any) -> bool:
    """Whether an option was given; 0 is a value."""
    return value is not None and value is not False and value != []


def value_from_text(declared: Parameter, text: Any) -> Any:
    """An option's value, as the parameter takes it."""
    match declared.kind:
        case "flag":
            return not declared.default
        case "mapping":
            entries = dict(_entry(declared, entry) for entry in text)
            if len(entries) < len(text):
                message = f"`{declared.typed}` was given twice for one column, and only one would apply"
                raise ParameterError(message, hint=f"give {declared.typed} once for each column")
            return entries
        case "whole" if declared.can_be_off:
            if text == OFF:
                return None
            if not text.isdecimal():
                raise declared.refused(text)
            return int(text)
    return text if declared.read is None else declared.read(text)


def _entry(declared: Parameter, text: str) -> tuple[str, Any]:
    """A column and its value, typed as its option says, or COLUMN=N where it is a number."""
    read, kind = declared.read, (declared.metavar or "").partition("=")[2]
    (example,) = (f"{name}={value}" for name, value in declared.example.items())
    form = f"COLUMN={'N' if read else kind}, such as {example}"
    column, mark, value = text.rpartition("=") if read else text.partition("=")
    message, hint = f"`{declared.typed}` needs {form.partition(',')[0]}", f"write {declared.typed} {form}"
    error = ParameterError(message, hint=hint, code="bad-hierarchy")
    if not (column and mark and value):
        raise error
    with raising(error, on=ValueError):
        return column, read(value) if read else value


def job_keys(table: type[Parameters]) -> dict[str, Parameter]:
    """The keys of a job beside `command`, `in` and definitions of granularities."""
    lines = {declared.key: declared for declared in table.table().values()}
    lines |= {name: Columns.table()[name] for name in (*table.needs, *table.roles)}
    return lines | Files.table() | service_table(table)


def required_keys(table: type[Parameters]) -> list[str]:
    """The keys that a job must have."""
    return ["in", *table.needs, *(key for key, declared in job_keys(table).items() if declared.required)]


def particulars(path: Path, keys: Mapping[str, Any] | None = None) -> Particulars:
    """The `[report]` table of a job: what `timeveil report` states."""
    table = (load_toml(path) if keys is None else keys).get("report", {})
    if not isinstance(table, dict):
        raise _bad_job(f"`report` in `{path.name}` is not a table", "write [report] and its keys below it")
    _refuse_unknown(path, Particulars, table, [*Particulars.table()])
    return Particulars(**table)


def _keys(path: Path, settings: Sequence[str]) -> dict[str, Any]:
    return overridden({key.replace("-", "_"): value for key, value in load_toml(path).items()}, settings)


def read_question(path: Path, settings: Sequence[str] = ()) -> tuple[str, Question] | None:
    """The release and the question of a saved question; None of a job that publishes."""
    keys, lines = _keys(path, settings), Question.table()
    if keys.pop("command", USUAL) != QUERY:
        return None
    _refuse_unknown(path, Question, keys, ["in", *lines])
    source, values = _source(path, keys), {name: lines[name].check(value) for name, value in keys.items()}
    for name, value in values.items():
        if isinstance(value, list) and not all(isinstance(text, str) for text in value):
            raise _bad_job(f"`{name}` must be a list of texts", "write each in quotes")
    return source, Question(**values)


def read_job(path: Path, settings: Sequence[str] = ()) -> Run:
    """The run that a job file describes, some keys of it set otherwise: `key=value`."""
    keys = _keys(path, settings)
    command = keys.pop("command", USUAL)
    table = tables().get(command) if isinstance(command, str) else None
    if table is None:
        message = f"`command` in `{path.name}` is not one that publishes"
        raise _bad_job(message, f"use one of {', '.join(tables())}")
    particulars(path, keys)  # checks them, for they are used later
    keys.pop("report", None)
    definitions = keys.pop("granularity", None) if "definitions" in table.table() else None
    lines = job_keys(table)
    _refuse_unknown(path, table, keys, ["in", *lines])
    for key in required_keys(table):
        if key not in keys:
            raise _bad_job(f"`{path.name}` lacks the key `{key}`", f"add a line {key} = ...")
    source = _source(path, keys)
    # An empty list says nothing, unless leaving the key out says something else.
    values = {
        lines[key].name: _checked(path, lines[key], value)
        for key, value in keys.items()
        if value != [] or lines[key].default is None
    }
    if definitions is not None:
        if not isinstance(definitions, dict) or not all(isinstance(d, dict) for d in definitions.values()):
            hint = "name those that may be chosen by granularities = [...]; [granularity.<name>] defines one"
            raise _bad_job(f"`granularity` in `{path.name}` is not a table of definitions", hint)
        if "definitions" in values:
            message = f"`{path.name}` both names a calendar file and defines granularities"
            raise _bad_job(message, "keep all definitions in one place")
        values["definitions"] = str(path)
    if "hierarchies" in values:
        values["hierarchies"] = {
            column: how if IS_RULE(str(how)) else near(path, str(how))
            for column, how in values["hierarchies"].items()
        }
    public = tuple(setting for setting in settings if name_of(setting) not in table.secret)
    return _run(table, source, values, job=str(path), settings=public)


def _source(path: Path, keys: dict[str, Any]) -> str:
    """What a job reads, taken out of its keys."""
    source = keys.pop("in", None)
    if not isinstance(source, str):
        raise _bad_job(f"`in` in `{path.name}` must be text", 'write it in quotes: in = "visits.csv"')
    return near(path, source)


def _checked(path: Path, declared: Parameter, value: Any) -> Any:
    """A job's value in its range; one column may be written without brackets."""
    if declared.name == "drop" and value == REST:
        return value
    if declared.name in Columns.table() and declared.kind == "names" and isinstance(value, str):
        return (value,)
    if declared.can_be_off and value == OFF:
        return None
    if declared.opened and declared.kind != "list" and not isinstance(value, str):
        raise _bad_job(f"`{declared.key}` must be a path", f'write it in quotes: {declared.key} = "..."')
    checked = declared.check(value)
    if declared.opened and declared.kind == "list":
        if not all(isinstance(entry, str) for entry in checked):
            raise _bad_job(f"`{declared.key}` must be a list of paths", "write each in quotes")
        return [near(path, entry) for entry in checked]
    return near(path, checked) if declared.path or declared.opened else checked


def _refuse_unknown(path: Path, table: type[Parameters], keys: Iterable[str], names: list[str]) -> None:
    for key in keys:
        if key in table.removed:
            raise table.removal(key)
        if key not in names:
            near = get_close_matches(key, names, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"the keys are {', '.join(names)}"
            raise _bad_job(f"`{path.name}` has an unknown key `{key}`", hint)


def _bad_job(message: str, hint: str) -> ParameterError:
    return ParameterError(message, hint=hint, code="bad-job")


def near(path: Path, name: str) -> str:
    """A path relative to the job file's folder; the trailing slash of a folder stays, and so do addresses."""
    if "://" in name:
        return name
    return str(path.parent / name) + ("/" if name.endswith("/") else "")


def _run(table: type[Parameters], source: str, values: Mapping[str, Any], **job: Any) -> Run:
    """The run of values by name, whichever way they came; a saved `job` has its path and its `settings`."""

    def among(names: Iterable[str]) -> dict[str, Any]:
        return {name: values[name] for name in names if name in values}

    files, arguments = among(Files.table()), among(table.table())
    columns = {name: value for name, value in among((*table.needs, *table.roles)).items() if value}
    Files(**files)
    moment = datetime.now().astimezone()
    paths = {name: dated(files[name], moment) for name in ("out", "ledger") if files.get(name)}
    if values.get("state") and paths.get("out") != files.get("out"):
        message = "`out` has a date, and a stream in service always writes to the same folder"
        raise ParameterError(message, hint="name a folder without a date")
    files |= paths
    roles, instants = roles_from(table, source, columns, arguments)
    of_series = "series" in table.roles and "item" not in columns
    for name, declared in table.table().items():
        if of_series and declared.kind == "names" and arguments.get(name):
            arguments[name] = columns_named(arguments[name], instants)
    files |= {name: bool(values.get(name)) for name in ("explain", "dry_run")}
    files["series"] = () if job else tuple(columns.get("series", ()))
    files["service"] = {name: v for name, v in among(service_table(table)).items() if is_given(v)}
    return Run(table, source, roles, arguments, **job, **files)


def load_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    from timeveil.reading.files import read_error, small_text

    def unreadable(cause: Exception) -> InputError:
        hint = "save it as UTF-8"
        not_text = InputError(f"`{path.name}` is not UTF-8 text", hint=hint, code="bad-encoding")
        return not_text if isinstance(cause, UnicodeDecodeError) else read_error(path.name, cause)

    def not_toml(cause: Exception | str) -> ParameterError:
        if isinstance(cause, RecursionError):
            reason = "it is nested too deep"
        elif isinstance(cause, str | tomllib.TOMLDecodeError):  # where it went wrong
            reason = f"{str(cause)[:1].lower()}{str(cause)[1:]}"
        else:
            reason = "a number is too long"
        hint = 'write key = value lines, text in quotes, such as zone = "Europe/Berlin"'
        return _bad_job(f"`{path.name}` is not TOML: {reason}", hint)

    with raising(unreadable, on=(OSError, ValueError)):
        text = small_text(path, "a file of settings has")
    if _DEEP_KEY.search(text):
        raise not_toml("a key has more than 20 parts")
    with raising(not_toml, on=(ValueError, RecursionError)):
        return tomllib.loads(text)


def granularity_tables(path: Path) -> dict[str, Any]:
    """The `[granularity.<name>]` tables of a file."""
    definitions = load_toml(path).get("granularity", {})
    if not isinstance(definitions, dict) or not definitions:
        hint = "write a table such as [granularity.fortnight] with its keys"
        raise ParameterError(f"`{path.name}` defines no granularity", hint=hint, code="bad-calendar")
    return definitions


def calendar_file(path: Path) -> dict[str, Any]:
    """The granularities of a calendar file, which holds nothing else."""
    for key in load_toml(path):
        if key != "granularity":
            hint = "a calendar file holds [granularity.<name>] tables only"
            raise ParameterError(f"`{path.name}` has an unknown key `{key}`", hint=hint, code="bad-calendar")
    return granularity_tables(path)


def explorable() -> dict[str, Parameter]:
    """The parameters of all four methods that a command line can try, those with several settings first."""
    lines: dict[str, Parameter] = {}
    for table in tables().values():
        for name, declared in table.table().items():
            typed = declared.kind in _KINDS or name == "slot" or declared.default is False
            needs_files = any(table.table()[n].opened for n in (name, declared.applies_with) if n)
            if not typed or needs_files or name in table.secret:
                continue
            same = lines.setdefault(name, replace(declared, default=None))
            if same.choices != declared.choices:  # each model has its own methods
                lines[name] = replace(same, kind="text", choices=(), metavar="NAME")
    return {name: lines[name] for name in sorted(lines, key=lambda name: name not in explored())}


@cache
def explored() -> set[str]:
    """The parameters that may have several settings."""
    return {name for table in tables().values() for name in table.explored}


def run_to_explore(source: str, options: Mapping[str, Any]) -> Run:
    """The run that a command line states, one of its values with several settings.

    A saved job states everything; numbers to try may replace its own.
    """
    from timeveil.explore.sweep import is_many, number

    values, columns = _among(options, explorable())
    # Several settings stay as they are typed; a single one is a number.
    typed = {name: text for name, text in values.items() if name in explored()}
    numbers = {name: text if is_many(text) else number(name, text) for name, text in typed.items()}
    if source.endswith(".toml"):
        for name in [*columns, *(name for name in values if name not in numbers)]:
            hint = "change it in the job; on the command line give the number to try, such as {k=2..50}"
            raise ParameterError(f"`{name}` is stated by the saved job", hint=hint)
        run = read_job(Path(source))
        if "state" in run.service:
            message = "the job works on an inbox in service, and explore tries a complete table"
            raise ParameterError(message, hint="name a table of what came in, with the options of the job")
        _refuse_foreign(run.table, numbers)
        return replace(run, values={**run.values, **numbers})
    table = _fitting_table(source, [*columns, *values])
    roles, _ = roles_from(table, source, columns, values)
    return Run(table, source, roles, {**values, **numbers}, out="")


def run_to_profile(source: str, options: Mapping[str, Any]) -> Run:
    """The run whose table is to be looked at, from what was typed: its columns tell the model."""
    values, columns = _among(options, (*PROFILED, *READING))
    table = _fitting_table(source, [*columns, *values], profiles=True)
    if "hierarchies" in values and "recode" not in table.table():
        raise ParameterError("a profile has `hierarchies` of events only", hint="leave {hierarchies} out")
    roles, _ = roles_from(table, source, {**columns, "drop": REST}, values)
    for name, value in values.items():
        line = table.table()[name]
        is_text = line.kind in ("flag", "mapping")
        values[name] = line.check(value_from_text(line, value) if is_text else value)
    return Run(table, source, roles, values, out="")


def _among(options: Mapping[str, Any], names: Iterable[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values and the columns that were given."""
    values = {name: options[name] for name in names if is_given(options.get(name))}
    columns = {name: options[name] for name in Columns.table() if options.get(name)}
    return values, columns | ({"drop": REST} if options.get("drop_rest") else {})


def _fitting_table(source: str, names: Sequence[str], *, profiles: bool = False) -> type[Parameters]:
    """The table that knows most of what is given; of several, the one that lacks least.

    What is given must be enough for its method or, if it `profiles`, for the risk of a table.
    """

    def fit(table: type[Parameters]) -> tuple[int, int]:
        of_table = {*table.table(), *table.needs, *table.roles}
        return len(of_table.intersection(names)), -len({*table.needs, *_required(table)}.difference(names))

    in_folders = [table for table in tables().values() if "item" in table.roles and is_release(source)]
    table = max(in_folders or tables().values(), key=fit)
    _refuse_foreign(table, names)
    help_of = "profile --help`" if profiles else f"{table.command} --help`; one number may be a range"
    for name in (*table.needs, *_required(table)):
        if name not in names and (name in (*table.needs, "k", "l") or not profiles):
            hint = f"add {{{name}}}, see `timeveil {help_of}"
            raise ParameterError(f"`{name}` is missing, which `{table.command}` needs", hint=hint)
    return table


def _required(table: type[Parameters]) -> list[str]:
    return [name for name, declared in table.table().items() if declared.required]


def _refuse_foreign(table: type[Parameters], names: Iterable[str]) -> None:
    """Refuse what the model's own command does not know."""
    for name in names:
        if name not in (*table.table(), *table.needs, *table.roles):
            message = f"`{name}` does not apply to `{table.command}`, which the rest describes"
            hint = f"leave {{{name}}} out, or see `timeveil {table.command} --help`"
            raise ParameterError(message, hint=hint)
