"""Options of commands, made from tables of parameters, and what every command does with them.

A command is a table of its options with a method `run`, or a `Function` of an `Output` and whatever arguments
it takes; `--json` and `--quiet` are added to all of them.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from inspect import Parameter as Argument
from inspect import Signature
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand

from timeveil.cli.output import Output
from timeveil.domain.parameter import Parameter, Parameters, optional, parameter
from timeveil.domain.run import Columns, option_words
from timeveil.errors import ParameterError, TimeveilError, spell
from timeveil.jobs.typed import lists_hint

_SEVERAL = ("names", "list", "mapping")
_TYPES: Mapping[str, Any] = {"whole": int, "number": float, "flag": bool, "pair": tuple[str, str]}
DROP_REST = Parameter(
    "drop_rest", "flag", "Leave out every column that has no role.", default=False, example=True
)
_SPEECH = (
    Parameter("as_json", "flag", "Print the result as JSON.", default=False, option="--json"),
    Parameter("quiet", "flag", "Print errors only.", default=False),
)


class OnceEach(TyperCommand):
    """A command of the option parser that refuses an option typed twice, where the last one would win."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for typed, number in Counter(order).items():
            if number > 1 and not (getattr(typed, "multiple", True) or getattr(typed, "is_flag", True)):
                option = max(typed.opts, key=len)
                hint = f"give {option} once"
                raise ParameterError(f"`{option}` is given {number} times, and takes one value", hint=hint)
        return super().parse_args(ctx, args)


class Command(Parameters):
    """A command: the class is named like it and documented as its help, the fields are its options.

    `run` of an `Output` does it, and returns the exit code if it is not 0.
    """

    run: ClassVar[Callable[..., int | None]]


class ReleaseCommand(Command):
    """A command about a release."""

    folder: str = parameter("Release folder, such as published.", metavar="DIR", positional=True)


def earlier_ledgers() -> Any:
    """The line of commands that judge several releases of one table together."""
    return optional(
        "Ledger of an earlier release of the same table.",
        ["march.ledger"],
        "PATH",
        models=("time",),
        applies_with="ledger",
    )


class LedgerCommand(ReleaseCommand):
    """A command about a release and its ledger."""

    ledger: str = parameter(
        "Private ledger that was made with the release.", example="NAME.ledger", metavar="PATH"
    )
    after: list[str] | None = earlier_ledgers()


class Function:
    """A function as a command: it is called with an `Output`, and with its arguments by name.

    The option parser takes them from the signature, which is made when it first asks: options of commands
    that do not run are never made.
    """

    def __init__(
        self, function: Callable[..., int | None], arguments: Callable[[], Iterable[Argument]]
    ) -> None:
        self._function, self._arguments = function, arguments
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.__annotations__: dict[str, Any] = {}  # those of the signature are complete

    @cached_property
    def __signature__(self) -> Signature:
        return Signature([*self._arguments(), *map(argument, _SPEECH)])

    def __call__(self, *, as_json: bool, quiet: bool, **typed: Any) -> int | None:
        try:
            return self._function(Output(as_json=as_json, quiet=quiet), **typed)
        except TimeveilError as error:
            raise lists_hint(error, typed) from None


def command(table: type[Command]) -> Function:
    """The function that takes the options of a command and runs it."""

    def run(output: Output, **typed: Any) -> int | None:
        return table(**typed).run(output)

    run.__name__, run.__doc__ = getattr(table, "command", table.__name__.lower()), table.__doc__
    return Function(run, lambda: map(argument, table.table().values()))


def source(meaning: str) -> Argument:
    """The argument for the table to read."""
    return argument(Parameter("source", "text", meaning, metavar="IN", positional=True))


def columns(names: Iterable[str], required: Iterable[str] = ()) -> list[Argument]:
    """The arguments for roles of columns."""
    table = Columns.table()
    arguments = [argument(table[name], required=name in required) for name in names]
    return [*arguments, argument(DROP_REST)] if "drop" in names else arguments


def argument(declared: Parameter, *, required: bool = False, ranges: bool = False) -> Argument:
    """The argument of a command function that takes a parameter; with `ranges`, several settings of it."""
    several = declared.kind in _SEVERAL
    kind = list[str] if several else _TYPES.get(declared.kind, float if declared.read is float else str)
    default: Any = None if declared.default == () else declared.default
    if declared.kind == "flag":
        default = False
    elif declared.can_be_off or ranges:
        kind, default = str, None if ranges else str(default)
    needed = required or (declared.required and not ranges)
    form = typer.Argument(metavar=declared.metavar, help=declared.meaning)
    if not declared.positional:
        form = typer.Option(
            *names_of(declared),
            metavar=None if declared.kind == "flag" else metavar(declared, ranges=ranges),
            help=help_text(declared),
            show_default=default not in (None, False) and not several,
            autocompletion=(lambda: list(declared.choices)) if declared.choices else None,
        )
    annotation: Any = Annotated[kind if needed else kind | None, form]
    default = Argument.empty if needed else default
    return Argument(declared.name, Argument.KEYWORD_ONLY, annotation=annotation, default=default)


def names_of(declared: Parameter) -> list[str]:
    """How it is typed: `--k` and `-k`, or just `--min-support`."""
    return [declared.typed, *([f"-{declared.name}"] if len(declared.name) == 1 else [])]


def metavar(declared: Parameter, *, ranges: bool = False) -> str:
    """What help writes for a value."""
    usual = {"whole": "N", "number": "X", "names": "C,C,...", "list": "NAME"}
    text = declared.metavar or "|".join(declared.choices) or usual.get(declared.kind, "TEXT")
    if ranges:
        return f"{text}..{text}"
    return f"{text}|off" if declared.can_be_off else text


def help_text(declared: Parameter) -> str:
    """What it means, with an example to type if it takes a value."""
    meaning = spell((declared.off or declared.meaning).rstrip("."), "command")
    if declared.kind == "flag":
        return f"{meaning}."
    several = "; repeatable" if declared.kind in _SEVERAL else ""
    return f"{meaning}{several}: {shlex.join(option_words(declared, declared.example))}"
