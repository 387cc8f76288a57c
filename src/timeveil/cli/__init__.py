"""The command line. Commands are thin: they read options, call the library and print what came out.

Only the option parser is loaded here; each command loads what it needs when it runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from timeveil.cli.demo import demo
from timeveil.cli.frame import main
from timeveil.cli.options import OnceEach, command
from timeveil.cli.output import to_stdout
from timeveil.cli.preparing import Granularities, Hierarchy, ShiftDates, explore, profile
from timeveil.cli.publishing import SavedJob, Schema, ServiceStatus, publishing_command
from timeveil.cli.query import Query
from timeveil.cli.releases import Compare, Measure, Plot, Report, Verify, attack
from timeveil.domain.version import TOOL
from timeveil.models import tables

__all__ = ["app", "main"]

_PUBLISHING = (profile, *map(publishing_command, tables().values()), command(ServiceStatus), explore)
_RELEASES = (command(Verify), command(Measure), attack, *map(command, (Query, Compare, Plot, Report)))
_OTHERS = (*map(command, (ShiftDates, SavedJob, Schema, Granularities, Hierarchy)), demo)
_ALL: tuple[Any, ...] = (*_PUBLISHING, *_RELEASES, *_OTHERS)
_FUNCTIONS = {function.__name__.replace("_", "-"): function for function in _ALL}
_SUMMARIES = {name: str(function.__doc__).split("\n", 1)[0] for name, function in _FUNCTIONS.items()}


class Commands(Mapping[str, Any]):
    """The commands by name; each is put together with its options when it is asked for."""

    def __init__(self) -> None:
        self._commands: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._commands:
            alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
            decorate = alone.command(name=name, cls=OnceEach, short_help=_SUMMARIES[name])
            decorate(_FUNCTIONS[name])
            self._commands[name] = typer.main.get_command(alone)
        return self._commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_FUNCTIONS)

    def __len__(self) -> int:
        return len(_FUNCTIONS)


class Timeveil(TyperGroup):
    """The group of all commands; its help needs none of them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = Commands()

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 (the parser passes it)
        with formatter.section("Commands"):
            formatter.write_dl(list(_SUMMARIES.items()))


app = typer.Typer(
    name="timeveil",
    cls=Timeveil,
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
