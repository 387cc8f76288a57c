"""`timeveil explore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from timeveil.cli import options as given
from timeveil.errors import InfeasibleError, ParameterError, TimeveilError

_Setting = str | None


def explore(
    table: Annotated[
        str,
        typer.Argument(
            metavar="IN",
            help="Table to read, such as visits.csv; a saved job, such as job.toml; or for patterns a series "
            "release folder.",
        ),
    ],
    k: Annotated[
        _Setting,
        typer.Option("--k", "-k", metavar="N..N", help="Promise of time, series and patterns: --k 2..50"),
    ] = None,
    l: Annotated[
        _Setting, typer.Option("--l", metavar="N..N", help="Promise of a stream, or of series: --l 2,3,4")
    ] = None,
    p: Annotated[
        _Setting, typer.Option("--p", "-p", metavar="N..N", help="Series that share a pattern: --p 2..10")
    ] = None,
    window: Annotated[
        _Setting, typer.Option(metavar="N..N", help="Slots of a stream held at a time: --window 1..14")
    ] = None,
    min_support: Annotated[
        _Setting, typer.Option(metavar="X..X", help="How frequent patterns are: --min-support 0.01..0.2")
    ] = None,
    protect_slot: Annotated[
        _Setting,
        typer.Option(
            metavar="N..N", help="Promise to whoever knows the true slot of a stream: --protect-slot 2..4"
        ),
    ] = None,
    shape_weight: Annotated[
        _Setting,
        typer.Option(metavar="X..X", help="Of series, the pattern against values: --shape-weight 2..100"),
    ] = None,
    suppress: Annotated[
        _Setting,
        typer.Option(metavar="X..X", help="Share of rows that may be withheld: --suppress 0,0.01,0.05"),
    ] = None,
    respondent: Annotated[
        str | None, typer.Option(metavar="C", help="Column of the person: --respondent patient")
    ] = None,
    time: Annotated[
        str | None, typer.Option(metavar="C", help="Column of when it happened: --time taken_at")
    ] = None,
    value: Annotated[
        str | None, typer.Option(metavar="C", help="Series in a long table: column of readings: --value kwh")
    ] = None,
    item: Annotated[
        str | None, typer.Option(metavar="C", help="Patterns of transactions: column of items: --item item")
    ] = None,
    series: Annotated[
        list[str] | None,
        typer.Option(metavar="C,C,...", help="Series in a wide table: its columns: --series h00..h23"),
    ] = None,
    quasi: given.Quasi = None,
    sensitive: given.Sensitive = None,
    keep: given.Keep = None,
    drop: given.Drop = None,
    drop_rest: given.DropRest = False,
    granularity: given.Granularities = None,
    slot: Annotated[
        str | None, typer.Option(metavar="NAME", help="How long a slot of a stream is: --slot week")
    ] = None,
    method: Annotated[
        str | None, typer.Option(metavar="NAME", help="Method for series or patterns: --method kapra")
    ] = None,
    symbols: Annotated[
        int | None, typer.Option(metavar="N", help="Patterns of series: letters: --symbols 4")
    ] = None,
    fill: Annotated[
        str | None,
        typer.Option(metavar="forward|linear|drop", help="Series: missing readings: --fill linear"),
    ] = None,
    nulls: Annotated[
        str | None,
        typer.Option(metavar="error|withhold", help="Rows without a person or a time: --nulls withhold"),
    ] = None,
    zone: given.Zone = None,
    unit: given.Unit = None,
    loss: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Loss to compare by, a column of the table: --loss withheld"),
    ] = None,
    risk: Annotated[
        str | None,
        typer.Option(metavar="worst|mean|promised", help="Risk to compare by: --risk mean"),
    ] = None,
    knows: Annotated[
        str | None,
        typer.Option(
            metavar="published-slot|true-slot|several-slots",
            help="On a stream: which slot of a record the outsider knows: --knows true-slot",
        ),
    ] = None,
    max_loss: Annotated[
        float | None, typer.Option(metavar="X", help="Most loss that will do: --max-loss 0.2")
    ] = None,
    max_risk: Annotated[
        float | None, typer.Option(metavar="X", help="Most risk that will do: --max-risk 0.1")
    ] = None,
    picture: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw the trade-off as SVG: --picture explored.svg")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Settings tried at a time; default: one per core: --workers 1"),
    ] = None,
    as_json: given.Json = False,
    quiet: given.Quiet = False,
) -> int:
    """Try a parameter at several settings in memory: what each loses, what it risks, where the knee is.

    Give the options of `generalize-time`, `publish-stream`, `anonymize-series` or `sanitize-patterns`, one of
    them with a range, 2..50, or a list, 2,5,10. No release is written. Exits with 3 if no setting is
    possible, or none stays within the limits.

    Example: timeveil explore visits.csv --respondent patient --time taken_at --quasi zip --drop-rest
    --k 2..50 --max-risk 0.1 --picture explored.svg
    """
    from timeveil.cli.files import write_new
    from timeveil.cli.output import Output
    from timeveil.explore import explore as sweep
    from timeveil.explore.exploration_picture import exploration_svg
    from timeveil.explore.report_exploration import described
    from timeveil.explore.sweep import METHODS
    from timeveil.folder.writing import refuse_taken
    from timeveil.jobs.exploring import plan_from

    if picture is not None:
        refuse_taken(Path(picture))
    output = Output(as_json=as_json, quiet=quiet)
    single = {"respondent": respondent, "time": time, "value": value, "item": item}
    lists = {"series": series, "quasi": quasi, "sensitive": sensitive, "keep": keep, "drop": drop}
    numbers = {"k": k, "l": l, "p": p, "window": window, "min_support": min_support}
    more = {"protect_slot": protect_slot, "shape_weight": shape_weight, "suppress": suppress}
    others = {"granularities": granularity, "slot": slot, "method": method, "symbols": symbols}
    reading = {"fill": fill, "nulls": nulls, "zone": zone, "unit": unit}
    try:
        plan = plan_from(
            table, {**single, **lists}, {**numbers, **more, **others, **reading}, drop_rest=drop_rest
        )
        with output.progress() as progress:
            found = sweep(
                METHODS[plan.model],
                plan.source,
                plan.roles,
                loss=loss,
                risk=risk,
                adversary=_adversary(plan.model, knows),
                max_loss=max_loss,
                max_risk=max_risk,
                workers=workers,
                progress=progress,
                **plan.options,
            )
    except TimeveilError as error:
        options = {f"--{name}": texts for name, texts in lists.items()}
        raise given.lists_hint(error, {**options, "--granularity": granularity}) from None
    if picture is not None:
        write_new(Path(picture), exploration_svg(found))
    output.result("\n".join(described(found, table, output.width)), found.as_dict())
    met = found.feasible and (found.best is not None or not found.limited)
    return 0 if met else InfeasibleError.exit_code


def _adversary(model: str, knows: str | None) -> Any:
    """The outsider of a stream, if one is named; else the one that the model is about."""
    if knows is None:
        return None
    if model != "stream":
        raise ParameterError(
            "`--knows` is about a stream, and this is none", hint="leave --knows out", code="bad-parameter"
        )
    from timeveil.models.stream.judges.attack import StreamAdversary

    return StreamAdversary(knows)  # type: ignore[arg-type]
