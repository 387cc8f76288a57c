"""Publishing from the table to the folder: method, write, verify, explain.

Nothing appears in its place unless what was written keeps the promise. Commands, the service and any other
surface run jobs through `publish`, and show its `Outcome` their own way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from timeveil.domain.judgement import Verdict
from timeveil.domain.relation import Relation
from timeveil.domain.release import Deferred, Ledger, Release
from timeveil.domain.run import Run
from timeveil.domain.stored import give_back_memory
from timeveil.domain.wording import Progress, silent
from timeveil.errors import BundleError, InfeasibleError, InputError, ParameterError
from timeveil.folder import open_ledger, open_release
from timeveil.folder.writing import refuse_places, write_pair
from timeveil.jobs.request import granularity_tables
from timeveil.jobs.typed import instants_of
from timeveil.judging import gather, verify
from timeveil.models import method_of
from timeveil.page.report import Explanation
from timeveil.reading.database import is_address
from timeveil.report import explain


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to; there is no explanation and nothing was written if the verdict is bad."""

    release: Release
    ledger: Ledger
    verdict: Verdict
    explanation: Explanation | None


def publish(
    run: Run, progress: Progress = silent, note_written: Callable[..., None] = lambda *_: None
) -> Outcome:
    """Do what a run says; `note_written` is called with the new paths before they are written."""
    run.table(**run.values)  # checks them
    refuse_places(run.out, run.ledger, overwrite=run.overwrite)
    release, ledger = _released(run, lambda step, share: progress(step, share * 0.6))
    _refuse_neighbour(run, release)
    outcomes = list[Outcome]()

    def judge(written: Release) -> Verdict:
        for part in release.parts.values():
            if isinstance(part, Deferred) and written is not release:
                part.forget()  # what was written has the same rows
        give_back_memory()
        verdict, explanation = _judged(run, gather(written, ledger), progress)
        outcomes.append(Outcome(release, ledger, verdict, explanation))
        return verdict

    if run.dry_run:
        judge(release)
        return outcomes[0]
    progress("writing", 0.6)
    places = [place for place in (run.out, run.ledger) if place is not None]
    note_written(*(place for place in places if not is_address(place)))
    try:
        write_pair(release, run.out, ledger, run.ledger, run.format, judge, overwrite=run.overwrite)
    except BundleError:
        if not outcomes or outcomes[0].verdict:
            raise
        return outcomes[0]
    note_written(*filter(is_address, places))  # they appeared, which nobody can see afterwards
    return outcomes[0]


def _judged(run: Run, evidence: Any, progress: Progress) -> tuple[Verdict, Explanation | None]:
    """Verify a release and explain it if it is good."""
    progress("verifying", 0.7)
    verdict = verify(evidence)
    progress("explaining", 0.9)
    return verdict, explain(evidence, verdict=verdict, run=run) if verdict else None


def arguments(run: Run) -> dict[str, Any]:
    """The arguments of the method, with files opened."""
    values = dict(run.values)
    if values.get("definitions") is not None:
        values["definitions"] = granularity_tables(Path(values["definitions"]))
    if values.get("after"):
        values["after"] = [open_ledger(path) for path in values["after"]]
    if values.get("beside") is not None:
        values["beside"] = open_release(values["beside"])
    return values


def source_of(run: Run) -> Any:
    """The table, or the series release where the run names no roles."""
    return run.source if run.roles is not None else open_release(run.source)


def _released(run: Run, progress: Progress) -> tuple[Release, Ledger]:
    try:
        release, ledger = method_of(run.table)(source_of(run), run.roles, **arguments(run), progress=progress)
    except InfeasibleError as error:
        if error.facts.get("people") == 0 and run.values.get("fill") is None:
            raise _no_rows(Path(run.source).name) from None
        if error.code in run.table.out_of_range:
            hint = error.template
            raise ParameterError(error.message, hint=hint, code=error.code, facts=error.facts) from None
        raise
    # An empty table can be published from Python; in a saved run it is the wrong file.
    refuse_empty(ledger.original)
    return release, ledger


def refuse_empty(relation: Relation) -> None:
    """Refuse a table without rows."""
    if relation.rows == 0:
        raise _no_rows(relation.source)


def _no_rows(source: str | None) -> InputError:
    hint = "check that it is the right file"
    return InputError(f"`{source}` has no rows", hint=hint, code="file-unreadable")


def _refuse_neighbour(run: Run, release: Release) -> None:
    """A series release of the same instants in the same folder is taken for one of the same people."""
    instants = release.manifest.get("patterns", {}).get("instants")
    if run.values.get("force") or run.roles is None or instants is None or is_address(run.out):
        return
    for folder in sorted(Path(run.out).absolute().parent.iterdir()):
        if set(instants) <= set(instants_of(folder)):
            raise ParameterError(
                f"`{folder.name}` in the same folder is a series release, it seems of the same people; "
                "anyone who has both knows from the table who is alike, and from the counts how many",
                hint="make the patterns from that release: give its folder as IN; or go on with {force=True}",
                code="same-people",
            )
