"""The command line. Commands are thin: they read options, call the library and print what came out.

Only the option parser is loaded here; each command loads what it needs when it runs.
Exit codes: 0 done, 1 promise violated, 2 bad usage or input, 3 infeasible, 70 internal error, 130 stopped.
An error goes to stderr as `error: ...`, an empty line and `hint: ...`; with `--json` the same goes to stdout
as data. Of a foreign exception only the type and the line are shown, for its text could carry data.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from timeveil.cli import output
from timeveil.cli.options import OnceEach, command
from timeveil.cli.output import INTERRUPTED, Output, to_stdout
from timeveil.cli.preparing import Granularities, Hierarchy, ShiftDates, Suggest, explore, profile
from timeveil.cli.publishing import SavedJob, Schema, Serve, ServiceStatus, demo, publishing_command
from timeveil.cli.releases import Compare, Measure, Plot, Query, Report, Verify, attack
from timeveil.domain.version import TOOL
from timeveil.errors import ParameterError, safe_to_show, spell
from timeveil.jobs.query import Question
from timeveil.models import tables

__all__ = ["app", "main"]

_put_together = cache(typer.main.get_command)
_METHODS = (*map(publishing_command, tables().values()), command(ServiceStatus))
_RELEASES = (command(Verify), command(Measure), attack, *map(command, (Query, Compare, Plot, Report)))
_OTHERS = (*map(command, (Serve, ShiftDates, SavedJob, Schema, Granularities, Hierarchy)), demo)
_ALL: tuple[Any, ...] = (command(Suggest), profile, *_METHODS, explore, *_RELEASES, *_OTHERS)
_FUNCTIONS = {function.__name__.replace("_", "-"): function for function in _ALL}
_SUMMARIES = {name: str(function.__doc__).split("\n", 1)[0] for name, function in _FUNCTIONS.items()}


@cache
def _with_options(name: str) -> Any:
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    alone.command(name=name, cls=OnceEach, short_help=_SUMMARIES[name])(_FUNCTIONS[name])
    return typer.main.get_command(alone)


class Timeveil(TyperGroup):
    """The group of all commands; each is put together with its options when it is asked for."""

    def list_commands(self, _ctx: Any) -> list[str]:
        return list(_FUNCTIONS)

    def get_command(self, _ctx: Any, name: str) -> Any:
        return _with_options(name) if name in _FUNCTIONS else None

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_SUMMARIES.items()))


app = typer.Typer(
    name="timeveil",
    cls=Timeveil,
    help="Publish temporal data about people without giving them away.",
    epilog="New here? Run `timeveil demo`, which needs no data.\n\n"
    "Exit codes: 0 done, 1 promise violated, 2 bad usage or input, 3 infeasible, 70 internal error.",
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


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command line and exit with its code."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGTERM, output.stop)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, output.stop)
    if signal.getsignal(signal.SIGINT) in (signal.SIG_DFL, signal.default_int_handler):
        signal.signal(signal.SIGINT, output.stop)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        code = run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        code = INTERRUPTED
    output.flush()
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code; nothing but the code of a signal is raised."""
    output.begin()
    try:
        code = _put_together(app).main(args=list(arguments), prog_name="timeveil", standalone_mode=False)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as cause:  # noqa: BLE001 (an internal error has its own message)
        code = output.stop_code()
        if code is None:
            return _failed(cause, arguments)
    if code == INTERRUPTED:
        output.to_stderr(f"interrupted; {output.what_was_written()}\n")
    return code if isinstance(code, int) else 0


def _failed(cause: Exception, arguments: Sequence[str]) -> int:
    """Print what went wrong, with the hint as options or as keys of a job file; return the exit code."""
    if os.environ.get("TIMEVEIL_DEBUG"):
        traceback.print_exception(cause)
    refused = hasattr(cause, "format_message")  # by the option parser
    error = _usage_error(cause, arguments) if refused else safe_to_show(cause)
    every = [Question.table(), *(table.table() for table in tables().values())]
    options = {line.name: line.option for lines in every for line in lines.values() if line.option}
    hint = spell(error.template, "job" if arguments[:1] == ["run"] else "command", options)
    spelled = type(error)(error.message, hint=hint, code=error.code, facts=error.facts)
    Output(as_json="--json" in arguments).error(spelled)
    return error.exit_code


def _usage_error(cause: Any, arguments: Sequence[str]) -> ParameterError:
    """What the option parser refuses, in our words; the hint is the option's own help, if it is about one."""
    context, parameter = getattr(cause, "ctx", None), getattr(cause, "param", None)
    option = str(getattr(cause, "option_name", ""))
    command_name = context.command.name if context is not None else None
    name = option.removeprefix("--").removeprefix("no-").replace("-", "_")
    for table in tables().values():
        if name in table.removed and command_name in (table.command, "explore"):
            return table.removal(name, option)
    command = f"timeveil {arguments[0]}" if arguments and arguments[0] in _FUNCTIONS else "timeveil"
    help_text = getattr(parameter, "help", None)
    hint = _sentence(help_text) if help_text else f"`{command} --help` explains it"
    message = _sentence(cause.format_message())
    unknown = re.match(r"no such command '(.*?)'", message)
    kind = type(cause).__name__
    if kind == "MissingParameter":
        message = f"{_typed(parameter)} is missing"
    elif kind == "BadParameter":
        is_number = "number" in cause.message or "float" in cause.message
        wrong = "is not a number" if is_number else f"is wrong: {_sentence(cause.message)}"
        message = f"{_typed(parameter)} {'is not a whole number' if 'integer' in cause.message else wrong}"
    elif kind == "NoSuchOption":
        parameters = context.command.params if context is not None else ()
        near = _near(option, [spelling for parameter in parameters for spelling in parameter.opts])
        message = f"there is no option `{option}`"
        hint = f"did you mean {' or '.join(f'`{n}`' for n in near)}?" if near else hint
    elif unknown:
        near = _near(unknown[1], list(_FUNCTIONS))
        message = f"there is no command `{unknown[1]}`"
        hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(_FUNCTIONS)}"
    return ParameterError(message, hint=hint)


def _typed(parameter: Any) -> str:
    """An option or argument as help shows it."""
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or str(parameter.name).upper()}`"
    return f"`{max(parameter.opts, key=len)}`"


def _near(name: str, names: Sequence[str]) -> list[str]:
    similar = [other for other in names if len(name) > 4 and other.startswith(name[:5])]
    return similar or get_close_matches(name, names, n=2)


def _sentence(text: str) -> str:
    plain = text.strip().rstrip(".")
    return plain[:1].lower() + plain[1:]
