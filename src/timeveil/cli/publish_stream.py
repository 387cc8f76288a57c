"""`timeveil publish-stream`."""

from __future__ import annotations

from typing import Annotated

import typer

from timeveil.cli import options as given
from timeveil.errors import ParameterError, TimeveilError


def publish_stream(
    table: Annotated[
        str,
        typer.Argument(
            metavar="IN",
            help="Table to read, such as cases.csv; or, with --state, a folder that snapshots come in by.",
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            metavar="DIR",
            help="New folder for the release, or the folder to publish slots in: --out published",
        ),
    ],
    time: given.Time,
    sensitive: Annotated[
        str, typer.Option(metavar="C", help="Column that nobody must learn of a person: --sensitive disease")
    ],
    l: Annotated[
        int,
        typer.Option("--l", metavar="N", help="No value may be held by more than 1 in l records: --l 3"),
    ],
    window: Annotated[
        int,
        typer.Option(metavar="N", help="Slots that are held at a time, delay included: --window 7"),
    ],
    quasi: given.Quasi = None,
    keep: given.Keep = None,
    respondent: Annotated[
        str | None,
        typer.Option(metavar="C", help="Column of the person; never published: --respondent patient"),
    ] = None,
    drop: given.Drop = None,
    drop_rest: given.DropRest = False,
    slot: Annotated[
        str, typer.Option(metavar="NAME", help="How long a slot is, a granularity: --slot week")
    ] = "day",
    move_cost: Annotated[
        str,
        typer.Option(
            metavar="linear|quadratic|N,N,...",
            help="What it costs to publish late, by name or for 0, 1, 2 ... slots: --move-cost 0,1,3",
        ),
    ] = "linear",
    withhold_cost: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="What it costs to withhold; default: to move by a window: --withhold-cost 10"
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Secret number to draw records with; default: a new one: --seed 271828"
        ),
    ] = None,
    first_window: Annotated[
        str,
        typer.Option(metavar="grow|exact", help="How the first window is filled: --first-window exact"),
    ] = "grow",
    keep_empty: Annotated[
        bool, typer.Option("--keep-empty", help="Move no record into a slot that had none: --keep-empty")
    ] = False,
    filler: Annotated[
        str,
        typer.Option(
            metavar="never|last_chance|always",
            help="Also move records that their slot can spare, so that fewer are withheld: --filler always",
        ),
    ] = "never",
    jitter: Annotated[
        int, typer.Option(metavar="N", help="Delay everybody by 0 to N slots at random: --jitter 1")
    ] = 0,
    protect_slot: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Also promise 1 in N, 2 to l - 1, to whoever knows the true slot: --protect-slot 2",
        ),
    ] = None,
    spread: Annotated[
        int,
        typer.Option(
            metavar="N", help="With --protect-slot: move what is held by 1 to N slots at random: --spread 6"
        ),
    ] = 1,
    fillers: Annotated[
        int,
        typer.Option(
            metavar="N", help="With --protect-slot: let N packets wait for the sake of others: --fillers 8"
        ),
    ] = 0,
    buckets: Annotated[
        str,
        typer.Option(metavar="anatomy|none", help="Publish values by bucket, or as they are: --buckets none"),
    ] = "anatomy",
    late: Annotated[
        str,
        typer.Option(
            metavar="refuse|move", help="Records whose slot has come in already: --late move them on"
        ),
    ] = "refuse",
    nulls: Annotated[
        str,
        typer.Option(
            metavar="error|withhold",
            help="Rows without a time, a person or a sensitive value: refuse, or --nulls withhold them",
        ),
    ] = "error",
    zone: given.Zone = None,
    unit: given.Unit = None,
    file_format: Annotated[
        str, typer.Option("--format", metavar="parquet|csv", help="Files of the release: --format csv")
    ] = "parquet",
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="Write the private ledger to a file only you can read: --ledger cases.ledger"
        ),
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="In service: the private file that remembers all: --state stream.db"
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="In service: keep watching the folder: --follow")
    ] = False,
    poll: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="With --follow: how often to look for new files; default 5: --poll 60"
        ),
    ] = None,
    close: Annotated[
        bool,
        typer.Option(
            "--close", help="In service: publish the rest of the window and end the stream: --close"
        ),
    ] = False,
    stream_by: Annotated[
        str | None,
        typer.Option(
            metavar="C", help="In service: a window of its own for each value: --stream-by hospital"
        ),
    ] = None,
    max_gap: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="In service: put a file aside that leaves out more slots; default 31 or the window: "
            "--max-gap 60",
        ),
    ] = None,
    as_json: given.Json = False,
    quiet: given.Quiet = False,
) -> int:
    """Publish small snapshots so that in every slot no sensitive value can be told with more than 1 in l.

    Holds a window of slots, moves a few records to a later slot, withholds as few as it can, and publishes
    every slot in order. With a folder for IN and --state it works in service: every file is a snapshot,
    every final slot a folder, and it goes on where it was whatever happened.

    Example: timeveil publish-stream cases.csv --out published --time day --sensitive disease --quasi age
    --drop-rest --l 3 --window 7
    """
    from timeveil.cli.output import Output
    from timeveil.jobs.stream import perform_stream
    from timeveil.models.stream.words.run import Serving, StreamRun

    roles = given.roles_from(
        respondent,
        time,
        quasi=quasi,
        sensitive=[sensitive],
        keep=keep,
        drop=drop,
        drop_rest=drop_rest,
    )
    run = StreamRun(
        source=table,
        roles=roles,
        l=l,
        window=window,
        out=out,
        slot=slot,
        move_cost=move_cost_from(move_cost),
        withhold_cost=withhold_cost,
        seed=seed,
        first_window=first_window,
        fill_empty=not keep_empty,
        filler=filler,
        jitter=jitter,
        protect_slot=protect_slot,
        spread=spread,
        fillers=fillers,
        buckets=buckets,
        late=late,
        nulls=nulls,
        zone=zone,
        unit=unit,
        format=file_format,
        ledger=ledger,
        serving=Serving(state, stream_by, follow, poll, close, max_gap),
    )
    try:
        return perform_stream(run, Output(as_json=as_json, quiet=quiet))
    except TimeveilError as error:
        raise given.lists_hint(error, {"--quasi": quasi, "--keep": keep, "--drop": drop}) from None


def move_cost_from(text: str) -> str | tuple[float, ...]:
    """A name, or numbers with commas between.

    >>> move_cost_from("linear"), move_cost_from("0,1,2.5")
    ('linear', (0.0, 1.0, 2.5))
    """
    if not text[:1].isdigit() and not text.startswith(("-", ".", "+")):
        return text
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        pass
    raise ParameterError(
        "--move-cost is neither a name nor numbers with commas between",
        hint="give linear, quadratic, or what moving by 0, 1, 2 ... slots costs, such as 0,1,3",
        code="bad-parameter",
    )
