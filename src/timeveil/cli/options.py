"""Options of commands: made from the tables of parameters, and a few that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter as Argument
from inspect import Signature
from typing import Annotated, Any

import typer

from timeveil.domain.parameter import Parameter
from timeveil.domain.run import Columns, option_words
from timeveil.errors import spell

_TYPES: Mapping[str, Any] = {"whole": int, "number": float, "flag": bool}


def argument(declared: Parameter, *, required: bool = False, ranges: bool = False) -> Argument:
    """The argument of a command function that takes a parameter; with `ranges`, several settings of it."""
    several = declared.kind in ("names", "list", "mapping")
    kind = list[str] if several else _TYPES.get(declared.kind, float if declared.read is float else str)
    default: Any = None if declared.default == () else declared.default
    if declared.kind == "flag":
        default = False
    elif declared.can_be_off or ranges:
        kind, default = str, None if ranges else str(default)
    needed = required or (declared.required and not ranges)
    form = typer.Option(
        *names_of(declared),
        metavar=None if declared.kind == "flag" else metavar(declared, ranges=ranges),
        help=help_text(declared),
        show_default=default not in (None, False) and not several,
    )
    annotation = kind if needed else kind | None
    return Argument(
        declared.name,
        Argument.KEYWORD_ONLY,
        annotation=Annotated[annotation, form],
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
    return f"{meaning}: {' '.join(option_words(declared, declared.example))}"


def takes(command: Any, arguments: list[Argument]) -> Callable[..., int]:
    """The command function with these arguments as its signature."""
    command.__signature__ = Signature(arguments, return_annotation=int)
    command.__annotations__ = {a.name: a.annotation for a in arguments} | {"return": int}
    taking: Callable[..., int] = command
    return taking


Table = Annotated[
    str, typer.Argument(metavar="IN", help="Table to read: CSV, TSV or Parquet, such as visits.csv.")
]
Folder = Annotated[str, typer.Argument(metavar="DIR", help="Release folder, such as published.")]
Calendar = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="TOML file that defines further granularities: --calendar clinic.toml"),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON: --json")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print errors only: --quiet")]
LedgerIn = Annotated[
    str,
    typer.Option(
        "--ledger", metavar="PATH", help="Private ledger that was made with the release: --ledger NAME.ledger"
    ),
]


NO_DEFAULT = Argument.empty


def switch(name: str, kind: Any, default: Any = False) -> Argument:
    """An argument with one of the annotations above."""
    return Argument(name, Argument.KEYWORD_ONLY, annotation=kind, default=default)


DROP_REST = switch(
    "drop_rest",
    Annotated[bool, typer.Option("--drop-rest", help="Leave out every column that has no role: --drop-rest")],
)
SPEECH = [switch("as_json", Json), switch("quiet", Quiet)]
"""How every command speaks."""


def columns(names: Iterable[str], required: Iterable[str] = ()) -> list[Argument]:
    """The arguments for roles of columns."""
    table = Columns.table()
    arguments = [argument(table[name], required=name in required) for name in names]
    return [*arguments, DROP_REST] if "drop" in names else arguments
