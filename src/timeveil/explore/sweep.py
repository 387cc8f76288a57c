"""Try a parameter at several settings.

Every setting is a run of the method itself, in memory, verified, measured and attacked by the judges; only
the numbers are kept. Settings run in parallel threads; the result does not depend on how many there are.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from timeveil.domain.relation import Relation
from timeveil.domain.release import Release
from timeveil.domain.roles import REST, Roles
from timeveil.domain.wording import Progress, silent
from timeveil.errors import InfeasibleError, InputError, ParameterError, RolesError
from timeveil.explore.exploration import Exploration, Setting
from timeveil.explore.judgement import (
    LOSSES,
    RISKS,
    AnyAdversary,
    check_adversary,
    default_adversary,
    default_risk,
    judge,
)
from timeveil.explore.values import is_many, settings_of
from timeveil.judging import verify
from timeveil.models.events.method import generalize_time
from timeveil.models.patterns.method import sanitize_patterns
from timeveil.models.series.method import anonymize_series
from timeveil.models.stream.method import publish_stream
from timeveil.reading.sources import open_source

Method = Callable[..., Any]
METHODS: Mapping[str, Method] = {
    "time": generalize_time,
    "stream": publish_stream,
    "series": anonymize_series,
    "patterns": sanitize_patterns,
}
SWEPT: Mapping[str, tuple[str, ...]] = {
    "time": ("k", "suppress"),
    "stream": ("l", "window", "protect_slot"),
    "series": ("k", "p", "l", "shape_weight"),
    "patterns": ("k", "min_support"),
}
"""The parameters of each model that can be explored."""
_INTERVAL = 0.1
"""Seconds between two reports of progress."""


def explore(
    method: Method,
    table: Any,
    roles: Roles | None = None,
    /,
    *,
    loss: str | None = None,
    risk: str | None = None,
    adversary: AnyAdversary | None = None,
    max_loss: float | None = None,
    max_risk: float | None = None,
    workers: int | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Exploration:
    """Try one parameter of a method at several settings, and show what each costs and gives.

    `options` are those of the method; the one to explore has a list, a range such as `range(2, 11)`, or a
    text: `"2,5,10"`, or `"2..50"` for a few round numbers from 2 to 50. Settings are compared by `loss` and
    `risk`, whose names are in the reference. Nothing is written. A setting that the method refuses is
    reported as refused, unless all are.

    >>> visits = pa.table({"who": ["u1", "u2", "u1", "u4", "u3"],
    ...                    "when": ["2006-01-03", "2006-01-03", "2006-01-11", "2006-01-12", "2006-02-01"]})
    >>> roles = Roles(respondent="who", time="when")
    >>> results = explore(generalize_time, visits, roles, k=[2, 3, 9], suppress=0.2)
    >>> [setting.facts.get("granularity") for setting in results.settings]
    ['week', 'quarter', None]
    """
    model = _model(method)
    name, settings = _swept(model, options)
    outsider = adversary or default_adversary(model, name, options)
    check_adversary(model, outsider)
    by = (_named("loss", loss, LOSSES[model]), _named("risk", risk, RISKS, default_risk(outsider)))
    _check_limits(max_loss=max_loss, max_risk=max_risk)
    threads = _threads(workers, len(settings))
    fixed = {"seed": 0, **options} if model == "stream" else options
    task = _Task(method, _loaded(table, roles, options), roles, fixed, name, outsider, *by)
    results = _all(task, settings, threads, progress)
    return Exploration(model, name, results, *by, outsider.as_dict(), max_loss, max_risk)


@dataclass(frozen=True, slots=True)
class _Task:
    """A method and a table on which settings are tried."""

    method: Method
    table: Any
    roles: Roles | None
    options: Mapping[str, Any]
    name: str
    adversary: AnyAdversary
    loss: str
    risk: str

    def run(self, value: float, doing: Callable[[str, float], None]) -> Setting:
        """Publish in memory, verify and judge; only the numbers are kept."""
        options = {**self.options, self.name: value}
        release, ledger = self.method(
            self.table, self.roles, **options, progress=lambda step, share: doing(step, 0.5 * share)
        )
        doing("verifying", 0.5)
        if not verify(release, ledger):
            return Setting(value, refused="the release does not keep its promise")
        judged = judge(release, ledger, self.adversary, lambda step, share: doing(step, 0.6 + 0.4 * share))
        if self.loss not in judged.losses:
            raise ParameterError(
                f"`{self.loss}` cannot be measured because that part was not published",
                hint=f"compare by one of {', '.join(judged.losses)}",
            )
        chosen = judged.losses[self.loss], judged.risks[self.risk]
        return Setting(value, *chosen, judged.losses, judged.risks, judged.facts)


class _Stopped(Exception):  # noqa: N818
    """Another setting failed, or the user interrupted: the others need not be tried."""


def _all(task: _Task, values: tuple[float, ...], workers: int, progress: Progress) -> tuple[Setting, ...]:
    """All settings, in the order of their values, `workers` at a time."""
    stop, shares = threading.Event(), [0.0] * len(values)

    def attempt(index: int) -> Setting | ParameterError | InfeasibleError:
        def doing(_step: str, share: float) -> None:
            if stop.is_set():
                raise _Stopped
            shares[index] = share

        try:
            return task.run(values[index], doing)
        except (ParameterError, InfeasibleError) as error:
            return error
        finally:
            shares[index] = 1.0

    with ThreadPoolExecutor(workers, thread_name_prefix="explore") as pool:
        futures = [pool.submit(attempt, place) for place in range(len(values))]
        try:
            _watch(futures, lambda: _report(progress, task.name, shares))
            results = [future.result() for future in futures]
        finally:
            stop.set()
            for future in futures:
                future.cancel()
    return _settled(values, results)


def _watch(futures: list[Future[Any]], report: Callable[[], None]) -> None:
    """Wait until all are done, reporting from the caller's thread; the first error is raised."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, _INTERVAL, FIRST_EXCEPTION)
        for future in done:
            future.result()
        report()


def _report(progress: Progress, name: str, shares: list[float]) -> None:
    done = sum(share >= 1 for share in shares)
    progress(f"trying {name}: {done} of {len(shares)}", sum(shares) / len(shares))


def _settled(
    values: tuple[float, ...], results: list[Setting | ParameterError | InfeasibleError]
) -> tuple[Setting, ...]:
    """Errors become refused settings; if every setting is a wrong parameter, that is the caller's error."""
    wrong = [result for result in results if isinstance(result, ParameterError)]
    if len(wrong) == len(results):
        raise wrong[0]
    return tuple(
        result if isinstance(result, Setting) else Setting(value, refused=result.message)
        for value, result in zip(values, results, strict=True)
    )


def _model(method: Method) -> str:
    for model, candidate in METHODS.items():
        if method is candidate:
            return model
    raise _bad(
        "`method` cannot be explored",
        f"give one of {', '.join(candidate.__name__ for candidate in METHODS.values())}",
    )


def _swept(model: str, options: Mapping[str, Any]) -> tuple[str, tuple[float, ...]]:
    """The one parameter that has several settings."""
    many = [name for name in SWEPT[model] if is_many(options.get(name))]
    if len(many) == 1:
        return many[0], settings_of(many[0], options[many[0]])
    if many:
        raise _bad(
            f"{' and '.join(f'`{name}`' for name in many)} have several settings; only one can be explored",
            f"give {{{many[1]}}} a single setting",
        )
    raise _bad(
        "no parameter has several settings to try",
        f'give one of {", ".join(SWEPT[model])} several, such as {{{SWEPT[model][0]}="2..50"}}',
    )


def _named(what: str, chosen: str | None, names: tuple[str, ...], usual: str | None = None) -> str:
    if chosen is not None and chosen not in names:
        raise _bad(f"`{what}` is not a known measure", f"use one of {', '.join(names)}")
    return chosen or usual or names[0]


def _check_limits(**limits: float | None) -> None:
    for name, limit in limits.items():
        number = isinstance(limit, int | float) and not isinstance(limit, bool)
        if limit is not None and not (number and math.isfinite(limit) and limit >= 0):
            raise _bad(
                f"`{name}` must be a number of at least 0", f"write it as a share, such as {{{name}=0.1}}"
            )


def _threads(workers: int | None, settings: int) -> int:
    if workers is None:
        affinity = getattr(os, "sched_getaffinity", None)
        cores = len(affinity(0)) if affinity else os.cpu_count() or 1
        return min(cores, settings)
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise _bad("`workers` must be a whole number of at least 1", "leave {workers} out for one per core")
    return min(workers, settings)


def _loaded(table: Any, roles: Roles | None, options: Mapping[str, Any]) -> Any:
    """The table in memory, so that it is read once, unless the engine reads it itself."""
    if isinstance(table, Relation | Release):
        return table
    if roles is None:
        raise RolesError("no column has a role", hint="give roles, as for the method", code="role-missing")
    if options.get("engine", "memory") != "memory" and isinstance(table, str | Path):
        return table
    source = open_source(table)
    columns = [name for name in source.names if roles.drop != REST or name in roles.columns]
    data: pa.Table = pa.concat_tables(source.batches(columns))
    if data.num_rows == 0:
        raise InputError(
            f"{'the table' if source.name is None else f'`{source.name}`'} has no rows, so there is nothing "
            "to explore",
            hint="check that it is the right file",
            code="file-unreadable",
        )
    return data


def _bad(message: str, hint: str) -> ParameterError:
    return ParameterError(message, hint=hint)
