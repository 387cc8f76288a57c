"""Try a parameter at several settings.

Every setting is a run of the method itself, in memory, verified, measured and attacked by the judges; only
the numbers are kept. Settings run in parallel threads; the result does not depend on how many there are.
"""

import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from timeveil.domain.lines import AnyAdversary, ExploreParameters
from timeveil.domain.relation import Relation
from timeveil.domain.release import Release
from timeveil.domain.roles import REST, Roles
from timeveil.domain.wording import Progress, silent
from timeveil.errors import InfeasibleError, InputError, ParameterError, RolesError
from timeveil.evidence.published import Evidence
from timeveil.explore.exploration import Exploration, Setting
from timeveil.judging import attack, gather, measure, refuse_foreign, verify
from timeveil.models import method_of, part, tables
from timeveil.reading.sources import Form, Frame, open_source

RISKS = ("worst", "mean", "promised")  # the ways to state a risk
TO = ".."
MOST = 100  # more settings than this are a mistake
_STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
"""Round numbers, each about half as large again as the one before, at every power of ten."""
_INTERVAL = 0.1  # seconds between two reports of progress


def explore(
    method: Callable[..., Any],
    table: Any,
    roles: Roles | None = None,
    /,
    *,
    loss: str | None = None,
    risk: str | None = None,
    adversary: AnyAdversary[Any] | None = None,
    max_loss: float | None = None,
    max_risk: float | None = None,
    workers: int | None = None,
    progress: Progress = silent,
    each: Callable[[Setting], None] = lambda _: None,
    **options: Any,
) -> Exploration:
    """Try one parameter of a method at several settings, and show what each costs and gives.

    `options` are those of the method; the one to explore has a list, a range such as `range(2, 11)`, or a
    text: `"2,5,10"`, or `"2..50"` for a few round numbers from 2 to 50. Settings are compared by `loss` and
    `risk`, whose names are in the reference. Nothing is written. A setting that the method refuses is
    reported as refused, unless all are. `each` is called with every setting as soon as it is judged.

    >>> from timeveil import generalize_time
    >>> visits = pa.table({"who": ["u1", "u2", "u1", "u4", "u3"],
    ...                    "when": ["2006-01-03", "2006-01-03", "2006-01-11", "2006-01-12", "2006-02-01"]})
    >>> roles = Roles(respondent="who", time="when")
    >>> results = explore(generalize_time, visits, roles, k=[2, 3, 9], suppress=0.2)
    >>> [setting.facts.get("granularity") for setting in results.settings]
    ['week', 'quarter', None]
    """
    ExploreParameters.from_call(locals())
    methods = {command.replace("-", "_"): parameters for command, parameters in tables().items()}
    parameters = methods.get(getattr(method, "__name__", ""))
    # By name first: looking at every method would load all four models.
    if parameters is None or method is not method_of(parameters):
        raise ParameterError("`method` cannot be explored", hint=f"give one of {', '.join(methods)}")
    model = parameters.model
    name, settings = _swept(parameters.explored, options)
    refuse_foreign(model, adversary)
    tradeoff = part(model, "judges.profile").Tradeoff()
    outsider: AnyAdversary[Any] = adversary or tradeoff.outsider(name, options)
    losses = list(tradeoff.losses)
    loss, risk = loss or losses[0], risk or tradeoff.usual_risk(outsider)
    for what, chosen, names in (("loss", loss, losses), ("risk", risk, RISKS)):
        if chosen not in names:
            hint = f"use one of {', '.join(names)}"
            raise ParameterError(f"`{what}` is not a known measure", hint=hint)
    affinity = getattr(os, "sched_getaffinity", None)
    threads = min(workers or (len(affinity(0)) if affinity else os.cpu_count() or 1), len(settings))
    data = _loaded(table, roles, options)
    if not isinstance(data, str | Path):  # the file is read
        options |= dict.fromkeys(Form._fields)
    fixed = {"seed": 0, **options} if "seed" in parameters.table() else options

    def attempt(value: float, doing: Progress) -> Setting:
        """Publish in memory, verify and judge; only the numbers are kept."""
        options = {**fixed, name: value}
        release, ledger = method(
            data, roles, **options, progress=lambda step, share: doing(step, 0.5 * share)
        )
        doing("verifying", 0.5)
        evidence = gather(release, ledger)
        if not verify(evidence):
            return Setting(value, refused="the release does not keep its promise")
        losses, risks, facts = judge(evidence, outsider, lambda step, share: doing(step, 0.6 + 0.4 * share))
        if loss not in losses:
            message = f"`{loss}` cannot be measured because that part was not published"
            raise ParameterError(message, hint=f"compare by one of {', '.join(losses)}")
        ways = ledger.facts.get("ways", {})
        return Setting(value, losses[loss], risks[risk], losses, risks, facts, ways=ways)

    results = _all(attempt, name, settings, threads, progress, each)
    return Exploration(model, name, results, loss, risk, outsider.as_dict(), max_loss, max_risk)


def judge(
    evidence: Evidence, adversary: AnyAdversary[Any], doing: Callable[[str, float], None]
) -> tuple[dict[str, float], dict[str, float], dict[str, Any]]:
    """Measure and attack one release: its losses, risks and other facts by name; `doing` reports progress."""
    release = evidence.release
    tradeoff = part(release.guarantee.model, "judges.profile").Tradeoff()
    doing("measuring", 0.0)
    loss = measure(evidence, **tradeoff.asked)
    doing("attacking", 0.5)
    breach = attack(evidence, None, adversary)
    doing("judged", 1.0)
    losses, facts = tradeoff.measured(release, loss)
    promised = tradeoff.promised(evidence, adversary)
    return losses, {"worst": breach.worst, "mean": breach.mean, "promised": promised}, facts


class _Stopped(Exception):  # noqa: N818 (a signal between threads)
    """Another setting failed, or the user interrupted: the others need not be tried."""


def _all(
    attempt: Callable[[float, Progress], Setting],
    name: str,
    values: tuple[float, ...],
    workers: int,
    progress: Progress,
    each: Callable[[Setting], None],
) -> tuple[Setting, ...]:
    """All settings, in the order of their values, `workers` at a time.

    Errors become refused settings; if every setting is a wrong parameter, that is the caller's error.
    """
    stop, shares = threading.Event(), [0.0] * len(values)

    def run(index: int) -> Setting | ParameterError | InfeasibleError:
        def doing(_step: str, share: float) -> None:
            if stop.is_set():
                raise _Stopped
            shares[index] = share

        try:
            return attempt(values[index], doing)
        except (ParameterError, InfeasibleError) as error:
            return error
        finally:
            shares[index] = 1.0

    with ThreadPoolExecutor(workers, thread_name_prefix="explore") as pool:
        futures = [pool.submit(run, index) for index in range(len(values))]
        pending = set(futures)
        try:
            # Progress is reported from the caller's thread, and the first error is raised there.
            while pending:
                done, pending = wait(pending, _INTERVAL, FIRST_EXCEPTION)
                for future in done:
                    if isinstance(setting := future.result(), Setting):
                        each(setting)
                finished = sum(share >= 1 for share in shares)
                progress(f"trying {name}: {finished} of {len(shares)}", sum(shares) / len(shares))
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
    results = [future.result() for future in futures]
    wrong = [result for result in results if isinstance(result, ParameterError)]
    if len(wrong) == len(results):
        raise wrong[0]
    pairs = zip(values, results, strict=True)
    return tuple(r if isinstance(r, Setting) else Setting(value, refused=r.message) for value, r in pairs)


def _swept(explored: Sequence[str], options: Mapping[str, Any]) -> tuple[str, tuple[float, ...]]:
    many = [name for name in explored if is_many(options.get(name))]
    if len(many) == 1:
        return many[0], settings_of(many[0], options[many[0]])
    if many:
        names = " and ".join(f"`{name}`" for name in many)
        hint = f"give {{{many[1]}}} a single setting"
        raise ParameterError(f"{names} have several settings; only one can be explored", hint=hint)
    hint = f'give one of {", ".join(explored)} several, such as {{{explored[0]}="2..50"}}'
    raise ParameterError("no parameter has several settings to try", hint=hint)


def _loaded(table: Any, roles: Roles | None, options: Mapping[str, Any]) -> Any:
    """The table in memory, so that it is read once, unless the engine reads it itself."""
    if isinstance(table, Relation | Release):
        return table
    if roles is None:
        raise RolesError("no column has a role", hint="give roles, as for the method", code="role-missing")
    if options.get("engine", "memory") != "memory" and isinstance(table, str | Path):
        return table
    source = open_source(table, Form(**{name: options.get(name) for name in Form._fields}))
    columns = [name for name in source.names if roles.drop != REST or name in roles.columns]
    data: pa.Table = pa.concat_tables(source.batches(columns))
    if data.num_rows == 0:
        subject = "the table" if source.name is None else f"`{source.name}`"
        message = f"{subject} has no rows, so there is nothing to explore"
        raise InputError(message, hint="check that it is the right file", code="file-unreadable")
    more = (source.name, source.decided, source.decimal_commas)
    return Frame(tuple(data.column_names), lambda _: data, *more)


def is_many(setting: Any) -> bool:
    """Whether a parameter has several settings to try."""
    if isinstance(setting, str):
        return TO in setting or "," in setting
    return isinstance(setting, Sequence)


def settings_of(name: str, typed: Any) -> tuple[float, ...]:
    """The settings that a list, a range or its text names, each once, from small to large."""
    if isinstance(typed, str):
        numbers = _range(name, typed) if TO in typed else [number(name, part) for part in typed.split(",")]
    else:
        numbers = list(typed)
        if not all(type(setting) in (int, float) and math.isfinite(setting) for setting in numbers):
            hint = f'write {{{name}="2,5,10"}}'
            raise ParameterError(f"`{name}` has a setting that is not a number", hint=hint)
    settings = tuple(sorted(set(numbers)))
    if not settings or len(settings) > MOST:
        hint = f'give a few, such as {{{name}="2,5,10"}}'
        raise ParameterError(f"`{name}` has {len(settings)} settings; 1 to {MOST} can be tried", hint=hint)
    return settings


def number(name: str, text: str) -> float:
    """A number as it is typed, whole where it can be."""
    hint = f'write {{{name}="2,5,10"}} or {{{name}="2..50"}}'
    plain = text.strip()
    with suppress(ValueError, OverflowError):
        parsed = int(plain) if plain.isdecimal() else float(plain)
        if plain.isascii() and math.isfinite(parsed):
            return parsed
    raise ParameterError(f"`{name}` is neither a number, a list of numbers nor a range", hint=hint)


def _range(name: str, text: str) -> list[float]:
    """The ends and a few round numbers between them; of a short range, every whole number."""
    first, _, last = text.partition(TO)
    low, high = number(name, first), number(name, last)
    if low > high:
        hint = f'write {{{name}="{last.strip()}..{first.strip()}"}}'
        raise ParameterError(f"the range of `{name}` ends below its start", hint=hint)
    integral = isinstance(low, int) and isinstance(high, int)
    if integral and high - low < 8:
        return list(range(int(low), int(high) + 1))
    if high <= 0:
        return [low, high]
    least = max(low, high / 1_000)
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(high)) + 1)
    candidates = [float(f"{step}e{power}") for power in powers for step in _STEPS]
    inner = [value for value in candidates if low < value < high and value >= least]
    if integral:
        inner = [int(value) for value in inner if value.is_integer()]
    most = 8
    if len(inner) > most:
        inner = [inner[round(step * (len(inner) - 1) / (most - 1))] for step in range(most)]
    return [low, *inner, high]
