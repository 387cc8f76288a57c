"""What the option parser refuses, in our words."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from timeveil.errors import ParameterError


def usage_error(cause: Any) -> ParameterError:
    """An exception of the option parser as one of ours."""
    context = getattr(cause, "ctx", None)
    path = context.command_path if context is not None else "timeveil"
    message, hint = _worded(cause, context)
    return ParameterError(message, hint=hint or f"`{path} --help` explains it", code="bad-parameter")


def _worded(cause: Any, context: Any) -> tuple[str, str | None]:
    kind, parameter = type(cause).__name__, getattr(cause, "param", None)
    name = _name(parameter)
    if kind == "MissingParameter" and parameter is not None:
        return f"{name} is missing", _example(parameter)
    if kind == "BadParameter" and parameter is not None:
        return f"{name}: {_sentence(cause.message)}", _example(parameter)
    if kind == "NoSuchOption":
        near = get_close_matches(cause.option_name, _options(context), n=2)
        hint = f"did you mean {' or '.join(f'`{n}`' for n in near)}?" if near else None
        return f"there is no option `{cause.option_name}`", hint
    message = _sentence(cause.format_message())
    if message.startswith("no such command") and context is not None:
        asked = message.removeprefix("no such command ").strip("'\". ")
        commands = list(getattr(context.command, "commands", ()))
        near = get_close_matches(asked, commands, n=1) or [", ".join(commands)]
        hint = f"did you mean `{near[0]}`?" if near[0] in commands else f"there are {near[0]}"
        return f"there is no command `{asked}`", hint
    return message, None


def _name(parameter: Any) -> str:
    if parameter is None:
        return "a parameter"
    if getattr(parameter, "param_type_name", "") == "argument":
        return f"`{parameter.metavar or str(parameter.name).upper()}`"
    longest = max(parameter.opts, key=len)
    return f"`{longest}`"


def _example(parameter: Any) -> str | None:
    """What the option's own help says, which has an example."""
    return getattr(parameter, "help", None)


def _options(context: Any) -> list[str]:
    parameters = context.command.params if context is not None else ()
    return [option for parameter in parameters for option in parameter.opts]


def _sentence(text: str) -> str:
    plain = text.strip().rstrip(".")
    return plain[:1].lower() + plain[1:]
