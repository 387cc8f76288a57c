"""One run of `sanitize_patterns` from the table to the folder: mine, sanitize, verify, write, explain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timeveil.cli.options import roles_from
from timeveil.cli.output import Output
from timeveil.domain.progress import Progress
from timeveil.domain.roles import Roles
from timeveil.errors import InfeasibleError, ParameterError, TimeveilError
from timeveil.jobs.columns import listed
from timeveil.jobs.perform import empty, refuse_early, violated, write_both
from timeveil.jobs.series import Instants, series_roles

if TYPE_CHECKING:
    from timeveil.domain.ledger import Ledger
    from timeveil.domain.release import Release
    from timeveil.models.patterns.words.run import PatternRun


def perform_patterns(run: PatternRun, output: Output) -> int:
    """Publish patterns, verify against the original, write and explain. Nothing is written on failure."""
    from timeveil.judging.verify import verify
    from timeveil.models.patterns.words.report import explain_patterns

    refuse_early(run)
    with output.progress() as progress:
        release, ledger = _published(run, lambda doing, share: progress(doing, share * 0.6))
        refuse_neighbour(run, release)
        progress("verifying", 0.6)
        verdict = verify(release, ledger)
        explanation = explain_patterns(release, ledger, verdict=verdict, run=run) if verdict else None
        if verdict:
            progress("writing", 0.85)
            write_both(run, release, ledger)
    if explanation is None:
        return violated(verdict, output)
    output.result(explanation.text(output.width), explanation.as_dict())
    for warning in explanation.facts["warnings"]:
        output.say(f"warning: {warning}")
    if run.ledger is not None:
        output.say(f"The ledger `{run.ledger}` holds the true rows and what was added: keep it to yourself.")
    return 0


def _published(run: PatternRun, progress: Progress) -> tuple[Release, Ledger]:
    from timeveil.folder import open_release
    from timeveil.models.patterns.method import sanitize_patterns

    source: Any = run.source if run.roles is not None else open_release(run.source)
    beside = None if run.beside is None else open_release(run.beside)
    try:
        return sanitize_patterns(source, run.roles, **run.options(), beside=beside, progress=progress)
    except InfeasibleError as error:
        if error.facts.get("people") == 0 and run.fill is None:
            raise empty(Path(run.source).name) from None
        raise


def refuse_neighbour(run: PatternRun, release: Release) -> None:
    """A series release of the same instants beside the new folder is taken for one of the same people."""
    instants = release.manifest["patterns"]["instants"]
    if run.force or run.roles is None or instants is None:
        return
    for folder in sorted(Path(run.out).absolute().parent.iterdir()):
        if set(instants) <= set(_instants(folder)):
            raise ParameterError(
                f"`{folder.name}` beside it is a series release, it seems of the same people; whoever has "
                "both knows from the table who is alike and from the counts how many",
                hint="make the patterns from that release: give its folder as IN; or go on with force=True",
                code="same-people",
            )


def _instants(folder: Path) -> list[str]:
    """The instants of a series release; none if it is something else."""
    from timeveil.folder.manifest_file import read_manifest

    try:
        manifest = read_manifest(folder)
        found = manifest["series"]["instants"] if manifest["model"] == "series" else []
    except (OSError, ValueError, KeyError, TypeError, TimeveilError):
        return []
    return found if isinstance(found, list) else []


def pattern_roles(
    source: str,
    series: Sequence[str],
    *,
    respondent: str | None,
    item: str | None,
    time: str | None,
    value: str | None,
    drop: Sequence[str],
    drop_rest: bool,
) -> tuple[Roles | None, Instants]:
    """Roles of a table, or none for a release folder, and how lists of its instants are read."""
    named = [*series, *drop, *(name for name in (respondent, item, time, value) if name is not None)]
    if Path(source).is_dir():
        if named or drop_rest:
            raise ParameterError(
                "columns are named, but a release folder says itself what its columns are",
                hint="leave --series, --respondent, --item, --time, --value and --drop out",
                code="bad-parameter",
            )
        instants = _instants(Path(source))
        return None, lambda texts: listed(texts, instants) if texts else None
    if item is None:
        if not (series or time or value):
            raise ParameterError(
                "neither --item nor --series nor --time and --value are given",
                hint="transactions: --respondent C --item C; series: --series h00..h23",
                code="role-missing",
            )
        known = {"respondent": respondent, "time": time, "value": value, "drop": drop, "drop_rest": drop_rest}
        return series_roles(source, series, sensitive=(), keep=(), **known)  # type: ignore[arg-type]
    if series or time or value:
        raise ParameterError(
            "both --item and columns of series are given; a table holds transactions or series",
            hint="transactions: --respondent C --item C; series: --series h00..h23",
            code="bad-parameter",
        )
    plain = roles_from(respondent, None, drop=drop, drop_rest=drop_rest)
    return Roles(
        respondent=respondent, item=item, drop=plain.drop
    ), lambda texts: tuple(texts) if texts else None
