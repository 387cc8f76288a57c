"""Parts of a letter to the recipient that every kind of release has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def shown(name: object) -> str:
    """A name that came with the data, with letters that do not show written out: none can start a line.

    >>> print(shown("zip\\n\\nThe promise: all"), shown("Größe"))
    zip\\n\\nThe promise: all Größe
    """
    return "".join(
        mark if mark.isprintable() else mark.encode("unicode_escape").decode("ascii") for mark in str(name)
    )


def clocks(time: Mapping[str, Any]) -> str:
    """How the time column was read."""
    return {
        "civil": "Times are clock readings taken as they were written; no time zone was stated.",
        "zoned": f"Times were read on the clocks of {shown(time.get('zone'))}.",
        "relative": f"Times are whole numbers of the unit {shown(time.get('unit'))} since a start of their "
        "own.",
    }.get(str(time.get("kind")), "")


def listed(
    columns: Sequence[Mapping[str, Any]],
    meaning: Mapping[str, str],
    levels: Mapping[str, Any],
    head: str = "Columns:",
) -> str:
    """The columns of a table with type and meaning."""
    lines = [head]
    for column in columns:
        level = levels.get(column["name"], {}).get("name")
        generalised = f"; generalised to {shown(level)}" if level else ""
        said = meaning.get(column.get("role", ""), "")
        lines.append(f"  {shown(column['name'])}  ({shown(column['type'])})  {said}{generalised}")
    return "\n".join(lines)


def files(manifest: Mapping[str, Any]) -> list[str]:
    """The table files, and what is to be known of CSV."""
    lines = ["Files:"]
    lines += [f"  {entry['file']}  {entry['rows']} rows" for entry in manifest["tables"].values()]
    csv = any(entry["format"] == "csv" for entry in manifest["tables"].values())
    note = (
        "Text that a spreadsheet would run as a formula has an apostrophe before it; take one apostrophe "
        "away to have the original. An empty cell is a missing value, a pair of quotes an empty text."
    )
    return ["\n".join(lines), *([note] if csv else [])]
