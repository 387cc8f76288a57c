"""The list of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from timeveil.cli.anonymize_series import anonymize_series
from timeveil.cli.attack import attack
from timeveil.cli.compare import compare
from timeveil.cli.demo import demo
from timeveil.cli.explore import explore
from timeveil.cli.generalize_time import generalize_time
from timeveil.cli.granularities import granularities
from timeveil.cli.hierarchy import hierarchy
from timeveil.cli.measure import measure
from timeveil.cli.plot import plot
from timeveil.cli.profile import profile
from timeveil.cli.publish_stream import publish_stream
from timeveil.cli.query import query
from timeveil.cli.report import report
from timeveil.cli.run import run
from timeveil.cli.sanitize_patterns import sanitize_patterns
from timeveil.cli.stream_status import stream_status
from timeveil.cli.verify import verify

app = typer.Typer(
    name="timeveil",
    help="Publish temporal data about people without giving them away.",
    epilog="Exit codes: 0 done, 1 guarantee violated, 2 wrong usage or input, 3 infeasible, 70 our bug.",
    add_completion=False,
    no_args_is_help=False,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
)


@app.callback()
def _timeveil(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Say which version this is.")] = False,
) -> None:
    """Publish temporal data about people without giving them away."""
    from timeveil.cli.streams import to_stdout

    if version:
        from timeveil.domain.version import TOOL

        to_stdout(f"{TOOL}\n")
        raise typer.Exit
    if context.invoked_subcommand is None:
        to_stdout(context.get_help() + "\n")
        raise typer.Exit


for command in (
    profile,
    generalize_time,
    publish_stream,
    stream_status,
    anonymize_series,
    sanitize_patterns,
    explore,
    verify,
    measure,
    attack,
    query,
    compare,
    plot,
    report,
    run,
    granularities,
    hierarchy,
    demo,
):
    first = str(command.__doc__).split("\n", 1)[0]
    app.command(name=command.__name__.replace("_", "-"), short_help=first)(command)
