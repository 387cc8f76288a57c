"""`timeveil explore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from timeveil.cli import options
from timeveil.domain.run import Columns
from timeveil.errors import InfeasibleError, ParameterError, TimeveilError
from timeveil.jobs.exploring import SWEPT, explorable


def explore(**given: Any) -> int:
    """Try a parameter at several settings in memory: what each loses, what it risks, where the knee is.

    Takes the options of `generalize-time`, `publish-stream`, `anonymize-series` or `sanitize-patterns`, one
    of them with a range, 2..50, or a list, 2,5,10. No release is written. Exits with 3 if no setting is
    possible, or none stays within the limits.

    Example: timeveil explore visits.csv --respondent patient --time taken_at --quasi zip --drop-rest
    --k 2..50 --max-risk 0.1 --picture explored.svg
    """
    from timeveil.cli.files import write_new
    from timeveil.cli.output import Output
    from timeveil.explore import explore as sweep
    from timeveil.explore.sweep import METHODS
    from timeveil.explore.words import exploration_lines, exploration_picture
    from timeveil.folder.new_files import refuse_taken
    from timeveil.jobs.columns import lists_hint
    from timeveil.jobs.exploring import plan_from

    picture, source = given["picture"], given["source"]
    if picture is not None:
        refuse_taken(Path(picture))
    output = Output(as_json=given["as_json"], quiet=given["quiet"])
    judging = {name: given[name] for name in ("loss", "risk", "max_loss", "max_risk", "workers")}
    try:
        plan = plan_from(source, given)
        adversary = _adversary(plan.model, given["knows"])
        with output.progress() as progress:
            exploration = sweep(
                METHODS[plan.model],
                plan.source,
                plan.roles,
                adversary=adversary,
                progress=progress,
                **judging,
                **plan.options,
            )
    except TimeveilError as error:
        raise lists_hint(error, given) from None
    if picture is not None:
        write_new(Path(picture), exploration_picture(exploration).svg())
    output.result("\n".join(exploration_lines(exploration, source, output.width)), exploration.as_dict())
    met = exploration.feasible and (exploration.best is not None or not exploration.limited)
    return 0 if met else InfeasibleError.exit_code


def _adversary(model: str, knows: str | None) -> Any:
    """The outsider of a stream, if one is named; else the one that the model is about."""
    if knows is None:
        return None
    if model != "stream":
        raise ParameterError("`--knows` applies to streams only", hint="leave --knows out")
    from timeveil.models.stream.judges.attack import StreamAdversary

    return StreamAdversary(knows)  # type: ignore[arg-type]  # it checks the name


_SOURCE = typer.Argument(
    metavar="IN",
    help="Table to read, such as visits.csv; a saved job, such as job.toml; or a series release folder.",
)
_JUDGING = {
    "loss": (str, "NAME", "Loss to compare by, a column of the table: --loss withheld"),
    "risk": (str, "worst|mean|promised", "Risk to compare by: --risk mean"),
    "knows": (str, "published-slot|true-slot|several-slots", "Slot an outsider knows: --knows true-slot"),
    "max_loss": (float, "X", "Largest acceptable loss: --max-loss 0.2"),
    "max_risk": (float, "X", "Largest acceptable risk: --max-risk 0.1"),
    "picture": (str, "FILE", "Draw the trade-off as SVG: --picture explored.svg"),
    "workers": (int, "N", "Settings tried at a time; one per core if not set: --workers 1"),
}
options.takes(
    explore,
    [
        options.switch("source", Annotated[str, _SOURCE], options.NO_DEFAULT),
        *(options.argument(declared, ranges=name in SWEPT) for name, declared in explorable().items()),
        *options.columns([name for name in Columns.table() if name != "cyclic"]),
        *(
            options.switch(name, Annotated[kind | None, typer.Option(metavar=metavar, help=text)], None)
            for name, (kind, metavar, text) in _JUDGING.items()
        ),
        *options.SPEECH,
    ],
)
