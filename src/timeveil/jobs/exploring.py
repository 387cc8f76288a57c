"""What `timeveil explore` is to try: a model and its options, from the command line or from a saved job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from timeveil.domain.parameter import Parameter, Parameters
from timeveil.domain.roles import REST, Roles
from timeveil.domain.run import Columns, Run
from timeveil.errors import ParameterError
from timeveil.jobs.columns import roles_from
from timeveil.jobs.publish import arguments, source_of
from timeveil.jobs.request import is_given, read_job, tables

SWEPT = ("k", "l", "p", "window", "min_support", "protect_slot", "shape_weight", "suppress")
"""Parameters that may have several settings."""
_KINDS = ("whole", "number", "choice", "text", "list")


@dataclass(frozen=True, slots=True)
class Plan:
    """A model, a table with its roles, and the arguments of the method, one of them with several settings."""

    model: str
    source: Any
    roles: Roles | None
    options: Mapping[str, Any]


def explorable() -> dict[str, Parameter]:
    """The parameters of all four methods that a command line can try, those with several settings first."""
    lines: dict[str, Parameter] = {}
    for table in tables().values():
        for name, declared in table.table().items():
            if (declared.name != "slot" and declared.kind not in _KINDS) or name in table.secret:
                continue
            same = lines.setdefault(name, replace(declared, default=None))
            if same.choices != declared.choices:  # each model has its own methods
                lines[name] = replace(same, kind="text", choices=(), metavar="NAME")
    return {name: lines[name] for name in sorted(lines, key=lambda name: name not in SWEPT)}


def plan_from(source: str, options: Mapping[str, Any]) -> Plan:
    """The plan that a command line states; None and empty lists are what is not given.

    A saved job states everything; numbers to try may replace its own.
    """
    values = {name: options[name] for name in explorable() if is_given(options.get(name))}
    columns = {name: options[name] for name in Columns.table() if options.get(name)}
    if options.get("drop_rest"):
        columns["drop"] = REST
    numbers = {name: _settings(name, values[name]) for name in SWEPT if name in values}
    if source.endswith(".toml"):
        for name in [*columns, *(name for name in values if name not in SWEPT)]:
            raise ParameterError(
                f"`{name}` is stated by the saved job",
                hint="change it in the job; on the command line give the number to try, such as {k=2..50}",
            )
        return _plan_of_job(read_job(Path(source)), numbers)
    table = _table(source, columns, values)
    _check(table, columns, values)
    roles, _ = roles_from(table, source, columns)
    run = Run(table, source, roles, {**values, **numbers}, out="")
    return Plan(table.model, source_of(run), roles, run.values)


def _settings(name: str, text: str) -> Any:
    """Several settings stay as they are typed; a single one is a number."""
    from timeveil.explore.sweep import is_many, number

    return text if is_many(text) else number(name, text)


def _table(source: str, columns: Mapping[str, Any], options: Mapping[str, Any]) -> type[Parameters]:
    """The model whose own options are given."""
    if Path(source).is_dir() or "min_support" in options or "item" in columns:
        model = "patterns"
    elif "window" in options or "protect_slot" in options:
        model = "stream"
    elif {"p", "series", "value"} & {*options, *columns}:
        model = "series"
    else:
        model = "stream" if "l" in options else "time"
    return next(table for table in tables().values() if table.model == model)


def _check(table: type[Parameters], columns: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Refuse what the model's own command does not know or would miss."""
    for name in {**columns, **options}:
        _refuse_foreign(table, name, (*table.table(), *table.needs, *table.roles))
    required = (name for name, declared in table.table().items() if declared.required)
    for name in (*table.needs, *required):
        if name not in columns and name not in options:
            raise ParameterError(
                f"`{name}` is missing, which `{table.command}` needs",
                hint=f"add {{{name}}}, see `timeveil {table.command} --help`; one number may be a range",
            )


def _refuse_foreign(table: type[Parameters], name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise ParameterError(
            f"`{name}` does not apply to `{table.command}`, which the rest describes",
            hint=f"leave {{{name}}} out, or see `timeveil {table.command} --help`",
        )


def _plan_of_job(run: Run, numbers: Mapping[str, Any]) -> Plan:
    """A saved job with other numbers."""
    if "state" in run.service:
        raise ParameterError(
            "the job works on an inbox in service, and explore tries a complete table",
            hint="name a table of what came in, with the options of the job",
        )
    for name in numbers:
        _refuse_foreign(run.table, name, tuple(run.table.table()))
    return Plan(run.model, source_of(run), run.roles, {**arguments(run), **numbers})
