"""The command line. Commands are thin: they read options, call the library and print what came out.

Only the option parser is loaded here; each command loads what it needs when it runs.
"""

from __future__ import annotations

from typing import Annotated

import typer

from timeveil.cli.demo import demo
from timeveil.cli.frame import main
from timeveil.cli.options import OnceEach, command
from timeveil.cli.output import to_stdout
from timeveil.cli.preparing import Granularities, Hierarchy, explore, profile
from timeveil.cli.publishing import SavedJob, Schema, ServiceStatus, publishing_command
from timeveil.cli.query import Query
from timeveil.cli.releases import Compare, Measure, Plot, Report, Verify, attack
from timeveil.cli.shifting import ShiftDates
from timeveil.domain.version import TOOL
from timeveil.models import tables

__all__ = ["app", "main"]

app = typer.Typer(
    name="timeveil",
    help="Publish temporal data about people without giving them away.",
    epilog="Exit codes: 0 done, 1 promise violated, 2 bad usage or input, 3 infeasible, 70 internal error.",
    no_args_is_help=False,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
)


@app.callback()
def _timeveil(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Publish temporal data about people without giving them away."""
    if version:
        to_stdout(f"{TOOL}\n")
        raise typer.Exit
    if context.invoked_subcommand is None:
        to_stdout(context.get_help() + "\n")
        raise typer.Exit


_PUBLISHING = (profile, *map(publishing_command, tables().values()), command(ServiceStatus), explore)
_RELEASES = (command(Verify), command(Measure), attack, *map(command, (Query, Compare, Plot, Report)))
_OTHERS = (*map(command, (ShiftDates, SavedJob, Schema, Granularities, Hierarchy)), demo)
for function in (*_PUBLISHING, *_RELEASES, *_OTHERS):
    name, first = function.__name__.replace("_", "-"), str(function.__doc__).split("\n", 1)[0]
    app.command(name=name, cls=OnceEach, short_help=first)(function)
