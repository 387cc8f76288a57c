"""The command line as the tests see it."""

from __future__ import annotations

from typing import Any


def command_tree() -> dict[str, Any]:
    """The commands by name."""
    from typer.main import get_command

    from timeveil.cli import app

    group: Any = get_command(app)
    return {name: group.get_command(None, name) for name in group.list_commands(None)}


def command_names() -> list[str]:
    return sorted(name for name, command in command_tree().items() if not command.hidden)


def options(command: Any) -> set[str]:
    """Long names of the options of a command, `--help` aside."""
    shown = (parameter for parameter in command.params if not getattr(parameter, "hidden", False))
    names = {name for parameter in shown for name in (*parameter.opts, *parameter.secondary_opts)}
    return {name for name in names if name.startswith("--")} - {"--help"}
