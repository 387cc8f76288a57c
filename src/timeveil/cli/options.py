"""Options of commands, made from tables of parameters, and what every command does with them.

A command is a function of its options and an `Output`; `--json` and `--quiet` are added to all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import Parameter as Argument
from inspect import Signature
from typing import Annotated, Any, TypeVar

import typer

from timeveil.cli.output import Output
from timeveil.domain.parameter import Parameter, Parameters, parameter
from timeveil.domain.run import Columns, option_words
from timeveil.errors import ParameterError, TimeveilError, spell
from timeveil.jobs.columns import lists_hint

T = TypeVar("T", bound=Parameters)
_SEVERAL = ("names", "list", "mapping")
_TYPES: Mapping[str, Any] = {"whole": int, "number": float, "flag": bool, "pair": tuple[str, str]}
_CONTENTS = {"time": "timestamped rows", "stream": "a stream", "series": "series", "patterns": "patterns"}
DROP_REST = Parameter(
    "drop_rest", "flag", "Leave out every column that has no role.", default=False, example=True
)
_SPEECH = (
    Parameter("as_json", "flag", "Print the result as JSON.", default=False, option="--json"),
    Parameter("quiet", "flag", "Print errors only.", default=False),
)


class ReleaseOptions(Parameters):
    """What a command about a release takes."""

    folder: str = parameter("Release folder, such as published.", metavar="DIR", positional=True)


class LedgerOptions(ReleaseOptions):
    """What a command about a release and its ledger takes."""

    ledger: str = parameter(
        "Private ledger that was made with the release.", example="NAME.ledger", metavar="PATH"
    )


def optional(meaning: str, example: Any, metavar: str | None = None, **more: Any) -> Any:
    """A line of a table for what need not be given."""
    return parameter(meaning, default=None, example=example, metavar=metavar, **more)


def takes(arguments: Iterable[Argument]) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Make a function a command: it is called with an `Output`, and with these arguments by name."""
    taken = [*arguments, *map(argument, _SPEECH)]

    def made(function: Callable[..., int]) -> Callable[..., int]:
        @wraps(function)
        def run(*, as_json: bool, quiet: bool, **given: Any) -> int:
            try:
                return function(Output(as_json=as_json, quiet=quiet), **given)
            except TimeveilError as error:
                raise lists_hint(error, given) from None

        run.__signature__ = Signature(taken, return_annotation=int)  # type: ignore[attr-defined]  # for typer
        run.__annotations__ = {a.name: a.annotation for a in taken} | {"return": int}
        return run

    return made


def command(table: type[T]) -> Callable[[Callable[[T, Output], int]], Callable[..., int]]:
    """Make a function a command that takes the options of a table."""

    def made(function: Callable[[T, Output], int]) -> Callable[..., int]:
        @wraps(function)
        def run(output: Output, **given: Any) -> int:
            return function(table(**given), output)

        return takes(map(argument, table.table().values()))(run)

    return made


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
    form = (
        typer.Argument(metavar=declared.metavar, help=declared.meaning)
        if declared.positional
        else typer.Option(
            *names_of(declared),
            metavar=None if declared.kind == "flag" else metavar(declared, ranges=ranges),
            help=help_text(declared),
            show_default=default not in (None, False) and not several,
        )
    )
    return Argument(
        declared.name,
        Argument.KEYWORD_ONLY,
        annotation=Annotated[kind if needed else kind | None, form],
        default=Argument.empty if needed else default,
    )


def names_of(declared: Parameter) -> list[str]:
    """How it is typed: `--k` and `-k`, or just `--min-support`."""
    return [declared.typed, *([f"-{declared.name}"] if len(declared.name) == 1 else [])]


def metavar(declared: Parameter, *, ranges: bool = False) -> str:
    """What help writes for a value.

    >>> metavar(Parameter("filler", "choice", "", choices=("never", "always")))
    'never|always'
    """
    usual = {"whole": "N", "number": "X", "names": "C,C,...", "list": "NAME"}
    text = declared.metavar or "|".join(declared.choices) or usual.get(declared.kind, "TEXT")
    if ranges:
        return f"{text}..{text}"
    return f"{text}|off" if declared.can_be_off else text


def help_text(declared: Parameter) -> str:
    """What it means, with an example to type.

    >>> help_text(Parameter("max_len", "whole", "Largest number of items.", example=4))
    'Largest number of items: --max-len 4'
    """
    meaning = spell((declared.off or declared.meaning).rstrip("."), "command")
    several = "; repeatable" if declared.kind in _SEVERAL else ""
    return f"{meaning}{several}: {' '.join(option_words(declared, declared.example))}"


def refuse_foreign(options: Parameters, model: str) -> None:
    """Refuse an option about other models than that of the release: it would be ignored."""
    for name, declared in options.table().items():
        if declared.models and model not in declared.models and getattr(options, name) != declared.default:
            contents = " or ".join(_CONTENTS[model] for model in declared.models)
            raise ParameterError(
                f"`{declared.typed}` applies to releases of {contents} only",
                hint=f"leave {declared.typed} out",
            )
