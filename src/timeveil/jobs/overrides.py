"""What a run changes in a saved job: keys that `--set` names, and dates in the paths of what is written."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from timeveil.domain.parameter import literal
from timeveil.errors import ParameterError

_DATE = re.compile(r"\{date(?::([^{}]*))?\}")
# Digits and what joins them: a date adds no folder to a path and leads out of none.
_FORMAT = re.compile(r"[\w.-]*(?:%[YmdHMSjGV][\w.-]*)+", re.ASCII)


def overridden(keys: Mapping[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """The keys of a job with those that are set, `key=value`; the value is TOML, text also without quotes.

    >>> overridden({"k": 5, "levels": {"age": 1}}, ["k=10", "levels.zip=2", "out=next"])
    {'k': 10, 'levels': {'age': 1, 'zip': 2}, 'out': 'next'}
    """
    changed, names = dict(keys), set()
    for setting in settings:
        name = name_of(setting)
        if name in names:
            raise ParameterError(f"`{name}` is set twice by --set", hint="set it once")
        names.add(name)
        changed = _merged(changed, _parsed(setting))
    return changed


def name_of(setting: str) -> str:
    """The key that a setting names."""
    return setting.partition("=")[0].strip().replace("-", "_")


def _parsed(setting: str) -> dict[str, Any]:
    name, (_, equals, text) = name_of(setting), setting.partition("=")
    for value in (text, literal(text.strip())) if equals and setting.isprintable() else ():
        with suppress(ValueError, RecursionError):
            leaf: Any
            table = leaf = tomllib.loads(f"{name} = {value}")
            while isinstance(leaf, dict):
                leaf = next(iter(leaf.values()), None)
            if not hasattr(leaf, "isoformat"):  # a date is text, such as a part of a name
                return table
    hint = "write --set k=10, or --set levels.age=1 for a key of a table"
    raise ParameterError("--set needs KEY=VALUE", hint=hint)


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Both tables; where both have a key, its new value, or both tables under it."""
    shared = [key for key in new if isinstance(old.get(key), dict) and isinstance(new[key], dict)]
    return {**old, **new, **{key: _merged(old[key], new[key]) for key in shared}}


def has_date(path: str) -> bool:
    """Whether a path holds `{date}` or `{date:FORM}`."""
    return bool(_DATE.search(path))


def dated(path: str, now: datetime) -> str:
    """The path with every `{date}` or `{date:FORM}` replaced.

    >>> dated("published/{date:%Y-%m}", datetime(2026, 3, 1)), dated("{date}.ledger", datetime(2026, 3, 1))
    ('published/2026-03', '2026-03-01.ledger')
    """

    def text(match: re.Match[str]) -> str:
        form = match[1] or "%Y-%m-%d"
        if not _FORMAT.fullmatch(form):
            hint = "use %Y %m %d %H %M %S %j %G %V with letters, digits, - _ and . between: {date:%Y-%m}"
            raise ParameterError("a date in a path has a form that is not allowed", hint=hint)
        return now.strftime(form)

    return _DATE.sub(text, path)
