"""Publishing from the table to the folder: method, write, verify, explain; and the risk before it.

Nothing appears in its place unless what was written keeps the promise. Commands, the service and any other
surface run jobs through `publish`, and show its `Outcome` their own way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from timeveil.calendar.definitions import from_toml
from timeveil.domain.judgement import Verdict
from timeveil.domain.lines import READING
from timeveil.domain.relation import Relation
from timeveil.domain.release import Deferred, Ledger, Release
from timeveil.domain.roles import REST
from timeveil.domain.run import Run
from timeveil.domain.wording import Progress, silent
from timeveil.errors import BundleError, InfeasibleError, InputError, ParameterError
from timeveil.explore.profiling import profile
from timeveil.folder import open_ledger, open_release
from timeveil.folder.in_store import is_elsewhere
from timeveil.folder.writing import refuse_places, write_pair
from timeveil.jobs import request
from timeveil.jobs.typed import instants_of
from timeveil.judging import gather, verify
from timeveil.models import method_of, part
from timeveil.page.report import Explanation, Summary
from timeveil.reading import read
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
        for table in release.parts.values():
            if isinstance(table, Deferred) and written is not release:
                table.forget()  # what was written has the same rows
        evidence = gather(written, ledger)
        progress("verifying", 0.7)
        verdict = verify(evidence)
        progress("explaining", 0.9)
        explanation = explain(evidence, verdict=verdict, run=run) if verdict else None
        outcomes.append(Outcome(release, ledger, verdict, explanation))
        return verdict

    if run.dry_run:
        judge(release)
        return outcomes[0]
    progress("writing", 0.6)
    targets = [target for target in (run.out, run.ledger) if target is not None]
    note_written(*(target for target in targets if not is_elsewhere(target)))
    try:
        write_pair(release, run.out, ledger, run.ledger, run.format, judge, overwrite=run.overwrite)
    except BundleError:
        if not outcomes or outcomes[0].verdict:
            raise
        return outcomes[0]
    note_written(*filter(is_elsewhere, targets))  # they appeared, which nobody can see afterwards
    return outcomes[0]


def arguments(run: Run) -> dict[str, Any]:
    """The arguments of the method, with files opened."""
    values = dict(run.values)
    if values.get("definitions") is not None:
        values["definitions"] = request.granularity_tables(Path(values["definitions"]))
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
    if run.values.get("force") or run.roles is None or instants is None or is_elsewhere(run.out):
        return
    for folder in sorted(Path(run.out).absolute().parent.iterdir()):
        if set(instants) <= set(instants_of(folder)):
            message = f"`{folder.name}` in the same folder is a series release, it seems of the same people; "
            message += "anyone who has both knows from the table who is alike, and from the counts how many"
            hint = "make the patterns from that release: give its folder as IN; or go on with {force=True}"
            raise ParameterError(message, hint=hint, code="same-people")


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
    definitions = None if calendar is None else from_toml(request.calendar_file(Path(calendar)))
    further = ("l", "slot", "min_support", "max_len", "hierarchies")
    more: dict[str, Any] = {name: values[name] for name in further if name in values}
    risk = profile(relation, values.get("k"), values.get("granularities"), definitions, ways=True, **more)
    knowable = [*run.roles.quasi_columns, *([run.roles.time] if run.roles.time and not fixed else [])]
    return risk, part(run.model, "words").profile_summary(risk, relation.source or run.source, knowable)
