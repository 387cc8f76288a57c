"""TOML files: jobs, and calendars of the user's own."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from timeveil.errors import InputError, ParameterError, raising

DEEPEST = 20
_DEEP_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){20}""", re.ASCII)
"""The time that a key takes grows with the square of its parts."""


def load_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    from timeveil.reading.files import no_file, small_text

    def refused(cause: Exception) -> InputError:
        return _not_text(path.name) if isinstance(cause, UnicodeDecodeError) else no_file(path.name, cause)

    with raising(refused, on=(OSError, ValueError)):
        text = small_text(path, "a file of settings has")
    if _DEEP_KEY.search(text):
        raise _not_toml(path.name, f"a key has more than {DEEPEST} parts")
    causes = (ValueError, RecursionError)
    with raising(lambda cause: _not_toml(path.name, _reason(cause)), on=causes):
        return tomllib.loads(text)


def _reason(cause: Exception) -> str:
    """Where it went wrong; a number of too many digits, or too many brackets, have no place."""
    if isinstance(cause, tomllib.TOMLDecodeError):
        return f"{str(cause)[:1].lower()}{str(cause)[1:]}"
    return "a number is too long" if isinstance(cause, ValueError) else "it is nested too deep"


def _not_text(name: str) -> InputError:
    return InputError(f"`{name}` is not UTF-8 text", hint="save it as UTF-8", code="bad-encoding")


def _not_toml(name: str, why: str) -> ParameterError:
    return ParameterError(
        f"`{name}` is not TOML: {why}",
        hint='write key = value lines, text in quotes, such as zone = "Europe/Berlin"',
        code="bad-job",
    )


def granularity_tables(path: Path) -> dict[str, Any]:
    """The `[granularity.<name>]` tables of a file."""
    definitions = load_toml(path).get("granularity", {})
    if not isinstance(definitions, dict) or not definitions:
        raise ParameterError(
            f"`{path.name}` defines no granularity",
            hint="write a table such as [granularity.fortnight] with its keys",
            code="bad-calendar",
        )
    return definitions


def calendar_file(path: Path) -> dict[str, Any]:
    """The granularities of a calendar file, which holds nothing else."""
    tables = load_toml(path)
    for key in tables:
        if key != "granularity":
            raise ParameterError(
                f"`{path.name}` has an unknown key `{key}`",
                hint="a calendar file holds [granularity.<name>] tables only",
                code="bad-calendar",
            )
    return granularity_tables(path)
