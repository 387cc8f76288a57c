"""The risk of the table of a run, before anything is done to it; commands and pages show it alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from timeveil.calendar.definitions import from_toml
from timeveil.domain.lines import READING
from timeveil.domain.parameter import Parameter, Parameters
from timeveil.domain.roles import REST
from timeveil.domain.run import Columns, Run
from timeveil.domain.wording import Progress, silent
from timeveil.errors import ParameterError
from timeveil.explore.profiling import profile
from timeveil.jobs.publish import refuse_empty
from timeveil.jobs.request import (
    PROFILED,
    calendar_file,
    fitting_table,
    is_given,
    refuse_foreign,
    value_from_text,
)
from timeveil.jobs.typed import roles_from
from timeveil.models import part
from timeveil.page.report import Summary
from timeveil.reading import read

_NONE = Parameter("", "any", "", default=None)


def run_to_profile(source: str, options: Mapping[str, Any]) -> Run:
    """The run whose table is to be looked at, from what was typed: its columns tell the model."""
    values = {name: options[name] for name in (*PROFILED, *READING) if is_given(options.get(name))}
    columns = {name: options[name] for name in Columns.table() if options.get(name)}
    table = fitting_table(source, {*columns, *values})
    refuse_foreign(table, [*columns, *values])
    promised = [name for name in ("k", "l") if table.table().get(name, _NONE).required]
    for name in (*table.needs, *promised):
        if name not in columns and name not in values:
            hint = f"add {{{name}}}, see `timeveil profile --help`"
            raise ParameterError(f"`{name}` is missing, which `{table.command}` needs", hint=hint)
    roles, _ = roles_from(table, source, {**columns, "drop": REST}, values)
    return Run(
        table, source, roles, {name: _typed(table, name, value) for name, value in values.items()}, out=""
    )


def _typed(table: type[Parameters], name: str, value: Any) -> Any:
    declared = table.table()[name]
    return declared.check(value_from_text(declared, value) if declared.kind in ("flag", "mapping") else value)


def profile_run(run: Run, progress: Progress = silent) -> tuple[Any, Summary]:
    """The risk of the table that a run would publish, as numbers and as a page."""
    if run.roles is None:
        hint = "see the report of that release"
        raise ParameterError("a release folder has no risk profile: it is published", hint=hint)
    values, fixed = run.values, part(run.model, "judges.profile").READ
    progress("reading", 0.0)
    options = {name: values[name] for name in (*READING, "nulls", "fold_spellings") if name in values}
    relation = read(run.source, replace(run.roles, drop=REST), **{**options, **fixed})
    refuse_empty(relation)
    progress("counting people", 0.5)
    calendar = values.get("definitions")
    risk = profile(
        relation,
        values.get("k"),
        values.get("granularities"),
        None if calendar is None else from_toml(calendar_file(Path(calendar))),
        ways=True,
        **{name: values[name] for name in ("l", "slot", "min_support") if name in values},
    )
    roles = run.roles
    known = [*roles.quasi_columns, *([roles.time] if roles.time and not fixed else [])]
    page = part(run.model, "words.profile").profile_summary
    summary: Summary = page(risk, relation.source or run.source, known)
    return risk, summary
