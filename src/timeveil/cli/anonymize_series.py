"""`timeveil anonymize-series`."""

from __future__ import annotations

from typing import Annotated

import typer

from timeveil.cli import options as given
from timeveil.errors import ParameterError, TimeveilError

OFF = "off"


def anonymize_series(
    table: Annotated[
        str, typer.Argument(metavar="IN", help="Table to read: CSV, TSV or Parquet, such as loads.csv.")
    ],
    out: Annotated[
        str, typer.Option(metavar="DIR", help="New folder to write the release to: --out published")
    ],
    k: Annotated[
        int, typer.Option("--k", "-k", metavar="N", help="How many series must share every envelope: --k 10")
    ],
    p: Annotated[
        int,
        typer.Option("--p", "-p", metavar="N", help="How many of those must share every pattern: --p 5"),
    ],
    series: Annotated[
        list[str] | None,
        typer.Option(
            metavar="C,C,...",
            help="Wide table, a row per series: its columns in the order of time, by name or as a range: "
            "--series h00..h23",
        ),
    ] = None,
    respondent: Annotated[
        str | None,
        typer.Option(
            metavar="C",
            help="Column of the person a series is about; never published: --respondent household",
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(metavar="C", help="Long table, a row per reading: column of when: --time hour"),
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(metavar="C", help="Long table: column of the reading: --value kwh"),
    ] = None,
    sensitive: given.Sensitive = None,
    keep: given.Keep = None,
    drop: given.Drop = None,
    drop_rest: given.DropRest = False,
    method: Annotated[
        str,
        typer.Option(
            metavar="adaptive|kapra|naive|representative",
            help="How groups are formed; adaptive loses least: --method kapra",
        ),
    ] = "adaptive",
    shape_weight: Annotated[
        float,
        typer.Option(
            metavar="X",
            help="What matters more: 2 narrow envelopes, 10 both, 50 and up the pattern: --shape-weight 10",
        ),
    ] = 50.0,
    effort: Annotated[
        int,
        typer.Option(metavar="N", help="How long groups are improved; 0 is fastest: --effort 2"),
    ] = 1,
    max_level: Annotated[
        int,
        typer.Option(
            metavar="N", help="How many letters a pattern may have at most, up to 52: --max-level 20"
        ),
    ] = 20,
    center: Annotated[
        str,
        typer.Option(metavar="mean|median", help="What a pattern is told around: --center median"),
    ] = "mean",
    round_outward: Annotated[
        str,
        typer.Option(
            metavar="N|off",
            help="Significant digits that envelopes are widened to, fewer than values have, so that few "
            "bounds are somebody's value; off publishes exact values: --round-outward 2",
        ),
    ] = "3",
    l: Annotated[
        int | None,
        typer.Option(
            "--l",
            metavar="N",
            help="Exchange sensitive numbers for others nearby until no value stands for more than 1 in N of "
            "those who share a pattern: --l 3",
        ),
    ] = None,
    publish_values: Annotated[
        list[str] | None,
        typer.Option(
            metavar="C,C,...", help="Publish envelopes of these instants only: --publish-values h06..h12"
        ),
    ] = None,
    publish_pattern: Annotated[
        list[str] | None,
        typer.Option(
            metavar="C,C,...", help="Publish the pattern of these instants only: --publish-pattern h00..h12"
        ),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="With kapra: form groups exactly, which is slow: --exact")
    ] = False,
    no_adoption: Annotated[
        bool,
        typer.Option(
            "--no-adoption", help="With kapra: as in the paper, move no series afterwards: --no-adoption"
        ),
    ] = False,
    fill: Annotated[
        str | None,
        typer.Option(
            metavar="forward|linear|drop",
            help="Missing readings: take the last one, draw a line, or drop the person: --fill linear",
        ),
    ] = None,
    zone: given.Zone = None,
    unit: given.Unit = None,
    file_format: Annotated[
        str, typer.Option("--format", metavar="parquet|csv", help="Files of the release: --format csv")
    ] = "parquet",
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="Write the private ledger to a file only you can read: --ledger loads.ledger"
        ),
    ] = None,
    as_json: given.Json = False,
    quiet: given.Quiet = False,
) -> int:
    """Publish series so that k share every envelope of values, and p of them the pattern in it.

    One row per series with --series, or one row per reading with --respondent, --time and --value. Has the
    result checked, and writes a folder that appears whole or not at all.

    Example: timeveil anonymize-series loads.csv --out published --respondent household --series h00..h23
    --sensitive tariff --k 10 --p 5
    """
    from timeveil.cli.output import Output
    from timeveil.jobs.series import perform_series, series_roles
    from timeveil.models.series.words.run import SeriesRun

    try:
        roles, instants = series_roles(
            table,
            series or (),
            respondent=respondent,
            time=time,
            value=value,
            sensitive=sensitive or (),
            keep=keep or (),
            drop=drop or (),
            drop_rest=drop_rest,
        )
        run = SeriesRun(
            source=table,
            roles=roles,
            k=k,
            p=p,
            out=out,
            method=method,
            shape_weight=shape_weight,
            effort=effort,
            max_level=max_level,
            center=center,
            round_outward=digits_from(round_outward),
            l=l,
            publish_values=instants(publish_values),
            publish_pattern=instants(publish_pattern),
            exact=exact,
            adoption=not no_adoption,
            fill=fill,
            zone=zone,
            unit=unit,
            format=file_format,
            ledger=ledger,
            columns=tuple(series or ()),
        )
        return perform_series(run, Output(as_json=as_json, quiet=quiet))
    except TimeveilError as error:
        lists = {"--sensitive": sensitive, "--keep": keep, "--drop": drop}
        raise given.lists_hint(error, lists) from None


def digits_from(text: str) -> int | None:
    """How many digits, or None for `off`.

    >>> digits_from("3"), digits_from("off")
    (3, None)
    """
    if text == OFF:
        return None
    if text.isdecimal():
        return int(text)
    raise ParameterError(
        "--round-outward is neither a whole number nor `off`",
        hint="give how many significant digits envelopes keep: --round-outward 3",
        code="bad-parameter",
    )
