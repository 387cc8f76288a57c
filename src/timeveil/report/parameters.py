"""The parameters of a run in a table: what was set, and what that means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from timeveil.domain.release import Release
from timeveil.errors import spell
from timeveil.models import part
from timeveil.page.markdown import Table
from timeveil.page.wording import counted, name

_MOST_NAMES = 6
_EARLIER = {
    "adoption": "Whether a series may move to any cell with its own pattern; set by earlier versions.",
    "exact": "Whether groups are formed as in the paper; set by earlier versions.",
}
"""Parameters that only releases of earlier versions state."""


def meanings(model: str) -> dict[str, str]:
    """What each parameter of a model means."""
    table = part(model, "parameters").PARAMETERS.table()
    return {**_EARLIER, **{name: spell(declared.meaning) for name, declared in table.items()}}


def parameter_table(release: Release) -> Table:
    """The parameters that the manifest states."""
    meaning = meanings(release.manifest["model"])
    rows = [
        (name(parameter), _setting(value), meaning.get(parameter, ""))
        for parameter, value in release.manifest["parameters"].items()
    ]
    return Table("Parameters of the run", ("parameter", "set to", "meaning"), rows, words=3)


def _setting(value: Any) -> str:
    """A setting in few words.

    >>> _setting(None), _setting(True), _setting(0.05), _setting(["week", "month"])
    ('not set', 'yes', '0.05', 'week, month')
    """
    match value:
        case None:
            return "not set"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
        case list() | tuple():
            first = [_setting(item) for item in value[:_MOST_NAMES]]
            more = len(value) - len(first)
            return ", ".join(first) + (f" and {more:,} more" if more else "")
        case Mapping():
            return counted(len(value), "entry", "entries")
        case _:
            return f"{value}"
