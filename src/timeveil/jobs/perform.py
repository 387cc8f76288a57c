"""One run from the table to the folder: generalise, verify, write, explain."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timeveil.cli.output import Output
from timeveil.cli.stopping import raise_if_interrupted
from timeveil.cli.streams import note_written
from timeveil.domain.progress import Progress, silent
from timeveil.errors import InputError, ParameterError, PrivateArtifactError
from timeveil.jobs.toml import granularity_tables

if TYPE_CHECKING:
    from timeveil.domain.ledger import Ledger
    from timeveil.domain.relation import Relation
    from timeveil.domain.release import Release
    from timeveil.domain.verdict import Verdict
    from timeveil.models.events.words.explanation import Explanation
    from timeveil.models.events.words.run import Run
    from timeveil.models.patterns.words.run import PatternRun
    from timeveil.models.series.words.run import SeriesRun
    from timeveil.models.stream.words.run import StreamRun

VIOLATED = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to; written only if the verdict is good."""

    release: Release
    ledger: Ledger
    verdict: Verdict
    explanation: Explanation


def perform(run: Run, output: Output) -> int:
    """Do what a run says, and tell. Nothing is written unless the guarantee holds."""
    with output.progress() as progress:
        outcome = carry_out(run, progress)
    if not outcome.verdict:
        return violated(outcome.verdict, output)
    output.result(outcome.explanation.text(output.width), outcome.explanation.as_dict())
    if run.ledger is not None:
        output.say(f"The ledger `{run.ledger}` says who is in which group: keep it to yourself.")
    return 0


def carry_out(run: Run, progress: Progress = silent) -> Outcome:
    """Generalise, verify against the original, and if the guarantee holds, write."""
    from timeveil.judging.verify import verify
    from timeveil.models.events.words.exposure import exposure
    from timeveil.report import explain

    refuse_early(run)
    release, ledger = _generalise(run, lambda doing, share: progress(doing, share * 0.7))
    refuse_empty(ledger.original)
    progress("verifying", 0.7)
    verdict = verify(release, ledger)
    exposed = exposure(release, ledger) if verdict else None
    outcome = Outcome(
        release, ledger, verdict, explain(release, ledger, verdict=verdict, exposed=exposed, run=run)
    )
    if verdict:
        progress("writing", 0.85)
        write_both(run, release, ledger)
    return outcome


def refuse_empty(relation: Relation) -> None:
    """An empty table can be published from Python; on the command line it is the wrong file."""
    if relation.rows == 0:
        raise empty(relation.source)


def empty(source: str | None) -> InputError:
    """What is said of a table without rows."""
    return InputError(f"`{source}` has no rows", hint="see that it is the right file", code="file-unreadable")


def refuse_early(run: Run | SeriesRun | StreamRun | PatternRun) -> None:
    """What can be refused before any work is done."""
    from timeveil.folder.private import refuse_public
    from timeveil.folder.writing import refuse_taken, refuse_unnameable

    if run.format not in ("parquet", "csv"):
        raise ParameterError(
            "the format is neither `parquet` nor `csv`",
            hint="give --format parquet or csv",
            code="bad-parameter",
        )
    if getattr(run, "memory_limit", None) is not None and getattr(run, "engine", None) != "duckdb":
        raise ParameterError(
            "a memory limit is given, but only DuckDB keeps to one",
            hint="add --engine duckdb, or leave --memory-limit out",
            code="bad-parameter",
        )
    refuse_taken(Path(run.out))
    if run.ledger is None:
        return
    refuse_unnameable(Path(run.ledger))
    if Path(run.ledger).resolve().is_relative_to(Path(run.out).resolve()):
        raise PrivateArtifactError(
            "the ledger would lie in the release folder; a ledger identifies people",
            hint="write it outside of the folder that is published",
            code="ledger-in-release",
        )
    refuse_public(Path(run.ledger), is_folder=run.ledger.endswith("/"))
    refuse_taken(Path(run.ledger))


def _generalise(run: Run, progress: Progress) -> tuple[Release, Ledger]:
    from timeveil.models.events.method import generalize_time

    return generalize_time(run.source, run.roles, **time_options(run), progress=progress)


def time_options(run: Run) -> dict[str, Any]:
    """The arguments of `generalize_time` beside the table and its roles."""
    return {
        "k": run.k,
        "granularities": run.granularities,
        "choose": run.choose,
        "zone": run.zone,
        "suppress": run.suppress,
        "hierarchies": dict(run.hierarchies),
        "levels": dict(run.levels),
        "engine": run.engine,
        "gaps": run.gaps,
        "nulls": run.nulls,
        "unit": run.unit,
        "definitions": None if run.calendar is None else granularity_tables(Path(run.calendar)),
        "memory_limit": run.memory_limit,
    }


def write_both(run: Run | SeriesRun | StreamRun | PatternRun, release: Release, ledger: Ledger) -> None:
    """The ledger, if asked for, and the release; both or neither."""
    from timeveil.folder.writing import write, write_pair

    raise_if_interrupted()
    if run.ledger is None:
        write(release, run.out, format=run.format)  # type: ignore[arg-type]
    else:
        write_pair(release, Path(run.out), ledger, Path(run.ledger), run.format)  # type: ignore[arg-type]
    note_written(run.out, *([] if run.ledger is None else [run.ledger]))


def violated(verdict: Verdict, output: Output) -> int:
    """Say what is wrong with a release that was not written."""
    found = "\n".join(f"  {violation.message}" for violation in verdict.violations)
    text = f"violated: the release does not keep its promise, so nothing was written\n{found}\n"
    output.result(text, {"verified": verdict.as_dict()})
    return VIOLATED
