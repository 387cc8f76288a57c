"""One run of `anonymize_series` from the table to the folder: group, verify, write, explain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from timeveil.cli.options import roles_from
from timeveil.cli.output import Output
from timeveil.domain.progress import Progress
from timeveil.domain.roles import Roles
from timeveil.errors import InfeasibleError, ParameterError
from timeveil.jobs.columns import listed
from timeveil.jobs.perform import empty, refuse_early, violated, write_both

if TYPE_CHECKING:
    from timeveil.domain.ledger import Ledger
    from timeveil.domain.release import Release
    from timeveil.models.series.words.run import SeriesRun

Instants = Callable[[Sequence[str] | None], tuple[str, ...] | None]


def perform_series(run: SeriesRun, output: Output) -> int:
    """Publish series, verify against the original, write and explain. Nothing is written on failure."""
    from timeveil.judging.verify import verify
    from timeveil.models.series.words.report import explain_series

    refuse_early(run)
    with output.progress() as progress:
        release, ledger = _published(run, lambda doing, share: progress(doing, share * 0.7))
        progress("verifying", 0.7)
        verdict = verify(release, ledger)
        progress("explaining", 0.85)
        explanation = explain_series(release, ledger, verdict=verdict, run=run) if verdict else None
        if verdict:
            progress("writing", 0.9)
            write_both(run, release, ledger)
    if explanation is None:
        return violated(verdict, output)
    output.result(explanation.text(output.width), explanation.as_dict())
    for warning in explanation.facts["warnings"]:
        output.say(f"warning: {warning}")
    if run.ledger is not None:
        output.say(f"The ledger `{run.ledger}` says whose series is in which group: keep it to yourself.")
    return 0


def _published(run: SeriesRun, progress: Progress) -> tuple[Release, Ledger]:
    from timeveil.models.series.method import anonymize_series

    try:
        return anonymize_series(run.source, run.roles, **run.options(), progress=progress)
    except InfeasibleError as error:
        if error.facts.get("people") == 0 and run.fill is None:
            raise empty(Path(run.source).name) from None
        if error.code == "too-few-people":  # on the command line a k beyond the table is a wrong option
            raise ParameterError(error.message, hint=error.hint, code=error.code, facts=error.facts) from None
        raise


def series_roles(
    source: str,
    series: Sequence[str],
    *,
    respondent: str | None,
    time: str | None,
    value: str | None,
    sensitive: Sequence[str],
    keep: Sequence[str],
    drop: Sequence[str],
    drop_rest: bool,
) -> tuple[Roles, Instants]:
    """Roles of a wide or a long table, and how lists of its instants are read."""
    from timeveil.reading.sources import open_source

    _refuse_neither(series, respondent, time, value)
    names: tuple[str, ...] = open_source(source).names if series else ()
    columns = listed(series, names)
    plain = roles_from(respondent, time, sensitive=sensitive, keep=keep, drop=drop, drop_rest=drop_rest)
    roles = Roles(
        respondent=plain.respondent,
        time=plain.time,
        value=value,
        series=columns,
        sensitive=plain.sensitive,
        keep=plain.keep,
        drop=plain.drop,
    )
    return roles, lambda texts: listed(texts, columns) if texts else None


def _refuse_neither(
    series: Sequence[str], respondent: str | None, time: str | None, value: str | None
) -> None:
    """A table is wide or long; say which options are missing or too many."""
    if series and (time or value):
        raise ParameterError(
            "both --series and --time or --value are given; a table is wide or long, not both",
            hint="wide: --series h00..h23; long: --respondent C --time C --value C",
            code="bad-parameter",
        )
    if series:
        return
    missing = [
        name
        for name, found in (("--respondent", respondent), ("--time", time), ("--value", value))
        if not found
    ]
    if len(missing) == 3 or missing == ["--time", "--value"]:
        raise ParameterError(
            "neither --series nor --time and --value are given",
            hint="wide: --series h00..h23; long: --respondent C --time C --value C",
            code="role-missing",
        )
    if missing:
        raise ParameterError(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing for a long table",
            hint="a long table has a row per reading: --respondent C --time C --value C",
            code="role-missing",
        )
