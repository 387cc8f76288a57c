"""TOML files: jobs, and calendars of the user's own."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from timeveil.errors import InputError, ParameterError


def load_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"there is no file `{path.name}`", hint="see that the path is spelt right", code="file-missing"
        ) from None
    except PermissionError:
        raise InputError(
            f"no permission to read `{path.name}`",
            hint="ask its owner for the right to read",
            code="no-permission",
        ) from None
    except UnicodeDecodeError:
        raise InputError(
            f"`{path.name}` is not UTF-8 text", hint="save it as UTF-8", code="bad-encoding"
        ) from None
    except OSError:
        raise InputError(
            f"`{path.name}` could not be read", hint="name a TOML file", code="file-unreadable"
        ) from None
    except tomllib.TOMLDecodeError as cause:
        raise ParameterError(
            f"`{path.name}` is not TOML: {str(cause)[:1].lower()}{str(cause)[1:]}",
            hint='write key = value lines, text in quotes, such as zone = "Europe/Berlin"',
            code="bad-job",
        ) from None


def granularity_tables(path: Path) -> dict[str, Any]:
    """The `[granularity.<name>]` tables of a file."""
    found = load_toml(path).get("granularity", {})
    if not isinstance(found, dict) or not found:
        raise ParameterError(
            f"`{path.name}` defines no granularity",
            hint="write a table such as [granularity.fortnight] with its keys",
            code="bad-calendar",
        )
    return found


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
