"""What `timeveil explore` is to try: a model and its options, from the command line or from a saved job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from timeveil.domain.parameter import Parameter, Parameters
from timeveil.domain.roles import REST
from timeveil.domain.run import Columns, Run
from timeveil.errors import ParameterError
from timeveil.jobs.columns import roles_from
from timeveil.jobs.request import is_given, read_job, tables

SWEPT = ("k", "l", "p", "window", "min_support", "protect_slot", "shape_weight", "suppress")
"""Parameters that may have several settings."""
_KINDS = ("whole", "number", "choice", "text", "list")


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


def run_to_explore(source: str, options: Mapping[str, Any]) -> Run:
    """The run that a command line states, one of its values with several settings.

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
        run = read_job(Path(source))
        if "state" in run.service:
            raise ParameterError(
                "the job works on an inbox in service, and explore tries a complete table",
                hint="name a table of what came in, with the options of the job",
            )
        _refuse_foreign(run.table, numbers)
        return replace(run, values={**run.values, **numbers})
    table = _table(source, {*columns, *values})
    _refuse_foreign(table, [*columns, *values])
    required = (name for name, declared in table.table().items() if declared.required)
    for name in (*table.needs, *required):
        if name not in columns and name not in values:
            raise ParameterError(
                f"`{name}` is missing, which `{table.command}` needs",
                hint=f"add {{{name}}}, see `timeveil {table.command} --help`; one number may be a range",
            )
    roles, _ = roles_from(table, source, columns)
    return Run(table, source, roles, {**values, **numbers}, out="")


def _settings(name: str, text: str) -> Any:
    """Several settings stay as they are typed; a single one is a number."""
    from timeveil.explore.sweep import is_many, number

    return text if is_many(text) else number(name, text)


def _table(source: str, names: set[str]) -> type[Parameters]:
    """The model whose own options are given."""
    if Path(source).is_dir() or names & {"min_support", "item"}:
        model = "patterns"
    elif names & {"window", "protect_slot"}:
        model = "stream"
    elif names & {"p", "series", "value"}:
        model = "series"
    else:
        model = "stream" if "l" in names else "time"
    return next(table for table in tables().values() if table.model == model)


def _refuse_foreign(table: type[Parameters], names: Iterable[str]) -> None:
    """Refuse what the model's own command does not know."""
    for name in names:
        if name not in (*table.table(), *table.needs, *table.roles):
            raise ParameterError(
                f"`{name}` does not apply to `{table.command}`, which the rest describes",
                hint=f"leave {{{name}}} out, or see `timeveil {table.command} --help`",
            )
