"""What the option parser refuses, in our words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from timeveil.errors import ParameterError


def usage_error(cause: Any, commands: Sequence[str], asked: Sequence[str]) -> ParameterError:
    """An exception of the option parser as one of ours; `asked` is the command line."""
    context, parameter = getattr(cause, "ctx", None), getattr(cause, "param", None)
    removal = _removal(cause, context)
    if removal is not None:
        return removal
    message, hint = _worded(cause, commands, context)
    if hint is None and parameter is not None:
        hint = _meaning(parameter)
    command = f"timeveil {asked[0]}" if asked and asked[0] in commands else "timeveil"
    return ParameterError(message, hint=hint or f"`{command} --help` explains it")


def _worded(cause: Any, commands: Sequence[str], context: Any) -> tuple[str, str | None]:
    kind, name = type(cause).__name__, _name(getattr(cause, "param", None))
    sentence = _sentence(cause.format_message())
    match kind:
        case "MissingParameter":
            return f"{name} is missing", None
        case "BadParameter":
            return f"{name} {_wrong(cause.message)}", None
        case "NoSuchOption":
            near = _near(cause.option_name, _options(context))
            hint = f"did you mean {' or '.join(f'`{n}`' for n in near)}?" if near else None
            return f"there is no option `{cause.option_name}`", hint
    unknown = re.match(r"no such command '(.*?)'", sentence)
    if unknown:
        near = _near(unknown[1], commands)
        hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(commands)}"
        return f"there is no command `{unknown[1]}`", hint
    return sentence, None


def _removal(cause: Any, context: Any) -> ParameterError | None:
    """What is said of an option that earlier versions had, whichever way it switched."""
    from timeveil.jobs.request import tables

    table = tables().get(context.command.name) if context is not None else None
    name = getattr(cause, "option_name", "").removeprefix("--").removeprefix("no-").replace("-", "_")
    return table.removal(name) if table is not None and name in table.removed else None


def _name(parameter: Any) -> str:
    if parameter is None:
        return "a parameter"
    if getattr(parameter, "param_type_name", "") == "argument":
        return f"`{parameter.metavar or str(parameter.name).upper()}`"
    return f"`{max(parameter.opts, key=len)}`"


def _wrong(message: str) -> str:
    """What is wrong with a value.

    >>> _wrong("Input should be a valid integer, unable to parse string as an integer")
    'is not a whole number'
    """
    if "integer" in message:
        return "is not a whole number"
    return (
        "is not a number" if "number" in message or "float" in message else f"is wrong: {_sentence(message)}"
    )


def _meaning(parameter: Any) -> str | None:
    """What the option's own help says, which has an example."""
    help_text = getattr(parameter, "help", None)
    return None if help_text is None else _sentence(help_text)


def _options(context: Any) -> list[str]:
    parameters = context.command.params if context is not None else ()
    return [option for parameter in parameters for option in parameter.opts]


def _near(asked: str, known: Sequence[str]) -> list[str]:
    """Names that begin alike, or else look alike.

    >>> _near("--grain", ["--granularity", "--gaps", "--engine"])
    ['--granularity']
    """
    similar = [name for name in known if len(asked) > 4 and name.startswith(asked[:5])]
    return similar or get_close_matches(asked, known, n=2)


def _sentence(text: str) -> str:
    plain = text.strip().rstrip(".")
    return plain[:1].lower() + plain[1:]
