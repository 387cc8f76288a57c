"""What `timeveil explore` is to try: the model and its options, from the command line or from a saved job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timeveil.cli.options import roles_from
from timeveil.domain.roles import Roles
from timeveil.errors import ParameterError

if TYPE_CHECKING:
    from timeveil.models.events.words.run import Run
    from timeveil.models.patterns.words.run import PatternRun
    from timeveil.models.series.words.run import SeriesRun
    from timeveil.models.stream.words.run import StreamRun

COMMANDS = {
    "time": "generalize-time",
    "stream": "publish-stream",
    "series": "anonymize-series",
    "patterns": "sanitize-patterns",
}
_NEEDS = {
    "time": ("respondent", "time", "k"),
    "stream": ("time", "sensitive", "l", "window"),
    "series": ("k", "p"),
    "patterns": ("k", "min_support"),
}
_TAKES = {
    "time": ("k", "suppress", "granularities", "nulls", "zone", "unit"),
    "stream": ("l", "window", "protect_slot", "slot", "nulls", "zone", "unit"),
    "series": ("k", "p", "l", "shape_weight", "method", "fill", "zone", "unit"),
    "patterns": ("k", "min_support", "method", "symbols", "fill", "zone", "unit"),
}
_ROLES = {
    "time": ("respondent", "time", "quasi", "sensitive", "keep"),
    "stream": ("respondent", "time", "quasi", "sensitive", "keep"),
    "series": ("respondent", "time", "value", "series", "sensitive", "keep"),
    "patterns": ("respondent", "time", "value", "series", "item"),
}
NUMBERS = ("k", "l", "p", "window", "min_support", "protect_slot", "shape_weight", "suppress")
_SHOWN = {"granularities": "--granularity"}


@dataclass(frozen=True, slots=True)
class Plan:
    """A model, a table with its roles, and the options of the method, one of them with several settings."""

    model: str
    source: Any
    roles: Roles | None
    options: Mapping[str, Any]


def plan_from(table: str, columns: Mapping[str, Any], options: Mapping[str, Any], *, drop_rest: bool) -> Plan:
    """The plan that a command line states; None stands for what is not given.

    A saved job states all; options with numbers may take the place of its own.
    """
    given = {name: value for name, value in options.items() if value is not None}
    named = {name: value for name, value in columns.items() if value}
    numbers = {name: _typed(name, given[name]) for name in NUMBERS if name in given}
    if table.endswith(".toml"):
        _refuse_more([*named, *(name for name in given if name not in NUMBERS)], drop_rest=drop_rest)
        return _of_job(Path(table), numbers)
    model = _model(table, named, given)
    _check(model, named, given)
    roles = _roles(model, table, named, drop_rest=drop_rest)
    return Plan(model, _source(table, roles), roles, {**given, **numbers})


def _typed(name: str, text: str) -> Any:
    """Several settings stay as they are typed; a single one is a number."""
    from timeveil.explore.values import is_many, number

    return text if is_many(text) else number(name, text)


def _model(table: str, columns: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """The model whose own options are given."""
    if Path(table).is_dir() or "min_support" in options or "item" in columns:
        return "patterns"
    if "window" in options or "protect_slot" in options:
        return "stream"
    if "p" in options or "series" in columns or "value" in columns:
        return "series"
    return "stream" if "l" in options else "time"


def _check(model: str, columns: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """What the model's own command would miss or not know."""
    command, given = COMMANDS[model], {**columns, **options}
    for name in given:
        if name not in (*_TAKES[model], *_ROLES[model], "drop"):
            raise ParameterError(
                f"`{_option(name)}` is not about `{command}`, which the other options mean",
                hint=f"leave `{_option(name)}` out, or see `timeveil {command} --help`",
                code="bad-parameter",
            )
    for name in _NEEDS[model]:
        if name not in given:
            raise ParameterError(
                f"`{_option(name)}` is missing, which `{command}` needs",
                hint=f"`timeveil {command} --help` explains it; one number may be a range, such as 2..50",
                code="bad-parameter",
            )
    if model == "stream" and len(columns["sensitive"]) > 1:
        raise ParameterError(
            "a stream has one sensitive column", hint="name one: --sensitive disease", code="bad-parameter"
        )


def _roles(model: str, table: str, columns: Mapping[str, Any], *, drop_rest: bool) -> Roles | None:
    drop: Sequence[str] = columns.get("drop", ())
    known: dict[str, Any] = {name: columns.get(name) for name in ("respondent", "time")}
    lists = {name: columns.get(name, ()) for name in ("sensitive", "keep")}
    series, value = columns.get("series", ()), columns.get("value")
    if model == "series":
        from timeveil.jobs.series import series_roles

        return series_roles(table, series, **known, value=value, **lists, drop=drop, drop_rest=drop_rest)[0]
    if model == "patterns":
        from timeveil.jobs.patterns import pattern_roles

        item = columns.get("item")
        return pattern_roles(table, series, **known, item=item, value=value, drop=drop, drop_rest=drop_rest)[
            0
        ]
    return roles_from(**known, **lists, quasi=columns.get("quasi", ()), drop=drop, drop_rest=drop_rest)


def _source(table: str, roles: Roles | None) -> Any:
    """The table, or the release of series where no roles are needed."""
    if roles is not None:
        return table
    from timeveil.folder import open_release

    return open_release(table)


def _of_job(path: Path, numbers: Mapping[str, Any]) -> Plan:
    """A saved job with other numbers."""
    from timeveil.jobs.job import read_job

    run = read_job(path)
    model, options = _options(run)
    for name in numbers:
        if name not in _TAKES[model]:
            raise ParameterError(
                f"`{_option(name)}` is not about `{COMMANDS[model]}`, which the job is",
                hint=f"leave `{_option(name)}` out",
                code="bad-parameter",
            )
    return Plan(model, _source(run.source, run.roles), run.roles, {**options, **numbers})


def _options(run: Run | StreamRun | SeriesRun | PatternRun) -> tuple[str, dict[str, Any]]:
    """The model of a run, and the arguments of its method."""
    from timeveil.jobs.perform import time_options
    from timeveil.models.patterns.words.run import PatternRun
    from timeveil.models.series.words.run import SeriesRun
    from timeveil.models.stream.words.run import StreamRun

    match run:
        case StreamRun():
            if run.serving.state is not None:
                raise ParameterError(
                    "the job works on a folder in service, and explore tries a whole table",
                    hint="name a table of what came in, with the options of the job",
                    code="bad-parameter",
                )
            seed = {} if run.seed is None else {"seed": run.seed}
            return "stream", {**run.options(), **seed}
        case SeriesRun():
            return "series", run.options()
        case PatternRun():
            return "patterns", run.options()
        case _:
            return "time", time_options(run)


def _refuse_more(names: Sequence[str], *, drop_rest: bool) -> None:
    """A job says itself what its columns and options are."""
    extra = [*names, *(["drop_rest"] if drop_rest else [])]
    if extra:
        raise ParameterError(
            f"`{_option(extra[0])}` is given beside a saved job, which states it itself",
            hint="change it in the job; beside one, give only the number to try, such as --k 2..50",
            code="bad-parameter",
        )


def _option(name: str) -> str:
    return _SHOWN.get(name, f"--{name.replace('_', '-')}")
