"""`timeveil sanitize-patterns`."""

from __future__ import annotations

from typing import Annotated

import typer

from timeveil.cli import options as given
from timeveil.errors import TimeveilError


def sanitize_patterns(
    table: Annotated[
        str,
        typer.Argument(
            metavar="IN",
            help="Table to read: CSV, TSV or Parquet, such as baskets.csv, or a series release folder.",
        ),
    ],
    out: Annotated[
        str, typer.Option(metavar="DIR", help="New folder to write the release to: --out published")
    ],
    k: Annotated[
        int,
        typer.Option("--k", "-k", metavar="N", help="The smallest group that counts may give away: --k 10"),
    ],
    min_support: Annotated[
        float,
        typer.Option(
            metavar="X",
            help="How many must have a pattern: a share below 1, or a number of people: --min-support 0.02",
        ),
    ],
    series: Annotated[
        list[str] | None,
        typer.Option(
            metavar="C,C,...",
            help="Series, a row per person: its columns in the order of time, by name or as a range: "
            "--series h00..h23",
        ),
    ] = None,
    respondent: Annotated[
        str | None,
        typer.Option(metavar="C", help="Column of the person; never published: --respondent customer"),
    ] = None,
    item: Annotated[
        str | None,
        typer.Option(
            metavar="C", help="Transactions: column of what somebody has, an item or a list: --item product"
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(metavar="C", help="Series, a row per reading: column of when: --time hour"),
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(metavar="C", help="Series, a row per reading: column of the reading: --value kwh"),
    ] = None,
    drop: given.Drop = None,
    drop_rest: given.DropRest = False,
    method: Annotated[
        str,
        typer.Option(
            metavar="additive|tight|clone|suppressive|itemset",
            help="How small groups are closed; the first three lose no pattern: --method tight",
        ),
    ] = "additive",
    symbols: Annotated[
        int,
        typer.Option(metavar="N", help="Series: how many letters there are, 2 to 52: --symbols 4"),
    ] = 6,
    center: Annotated[
        str,
        typer.Option(metavar="mean|median", help="Series: what letters are told around: --center median"),
    ] = "mean",
    instants: Annotated[
        list[str] | None,
        typer.Option(metavar="C,C,...", help="Series: patterns of these instants only: --instants h06..h12"),
    ] = None,
    max_len: Annotated[
        int | None,
        typer.Option(metavar="N", help="How many items a pattern may have at most: --max-len 4"),
    ] = None,
    no_structural: Annotated[
        bool,
        typer.Option(
            "--no-structural",
            help="Series: do not count with everybody having one letter at every instant: --no-structural",
        ),
    ] = False,
    published: Annotated[
        str,
        typer.Option(
            metavar="frequent|closed", help="Publish all patterns, or closed ones only: --published closed"
        ),
    ] = "frequent",
    cap: Annotated[
        int, typer.Option(metavar="N", help="Stop where there are more patterns than this: --cap 1000000")
    ] = 5_000_000,
    fill: Annotated[
        str | None,
        typer.Option(
            metavar="forward|linear|drop",
            help="Missing readings: take the last one, draw a line, or drop the person: --fill linear",
        ),
    ] = None,
    zone: given.Zone = None,
    unit: given.Unit = None,
    beside: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="A series release of the same people; refused without --force: --beside published-series",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Go on beside a series release of the same people: --force"),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Also tell small groups that true counts give away, with items: --explain"
        ),
    ] = False,
    file_format: Annotated[
        str, typer.Option("--format", metavar="parquet|csv", help="Files of the release: --format csv")
    ] = "parquet",
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Write the private ledger to a file only you can read: --ledger baskets.ledger",
        ),
    ] = None,
    as_json: given.Json = False,
    quiet: given.Quiet = False,
) -> int:
    """Publish frequent patterns so that no group below k follows from counts of its items.

    Patterns of transactions with --item, of series with --series or with --respondent, --time and --value, or
    of a series release. Has the result checked, and writes a folder that appears whole or not at all.

    Example: timeveil sanitize-patterns baskets.csv --out published --respondent customer --item product
    --k 10 --min-support 0.02
    """
    from timeveil.cli.output import Output
    from timeveil.jobs.patterns import pattern_roles, perform_patterns
    from timeveil.models.patterns.words.run import PatternRun

    try:
        roles, listed = pattern_roles(
            table,
            series or (),
            respondent=respondent,
            item=item,
            time=time,
            value=value,
            drop=drop or (),
            drop_rest=drop_rest,
        )
        run = PatternRun(
            source=table,
            roles=roles,
            k=k,
            min_support=min_support,
            out=out,
            method=method,
            symbols=symbols,
            structural=not no_structural,
            center=center,
            instants=listed(instants),
            max_len=max_len,
            published=published,
            cap=cap,
            fill=fill,
            zone=zone,
            unit=unit,
            beside=beside,
            force=force,
            format=file_format,
            ledger=ledger,
            columns=tuple(series or ()),
            told=explain,
        )
        return perform_patterns(run, Output(as_json=as_json, quiet=quiet))
    except TimeveilError as error:
        raise given.lists_hint(error, {"--drop": drop}) from None
