"""The letter to whoever receives a release: `README.txt`."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from timeveil.model.guarantee import Guarantee

_MEANING = {
    "quasi": "what an outsider may know of a person",
    "keep": "published as it was",
    "sensitive": "published as it was; sensitive",
    "time": "when, as the name of a span of time",
    "start": "first moment of that span; empty if it has none",
    "end": "first moment after that span; empty if it has none",
}


def letter(guarantee: Guarantee, manifest: Mapping[str, Any]) -> str:
    """What the recipient should know, in plain text."""
    paragraphs = [
        "A release made with timeveil",
        f"The promise: {guarantee.sentence}. People were counted, not rows.",
        *_time(manifest),
        *_columns(manifest),
        *_tables(manifest),
        _withheld(manifest),
        "What not to conclude: that k people share a value does not mean that each of them is equally likely "
        "to be the one you think of; one person can have several of the rows. If all rows of a group "
        "have the same sensitive value, it is known of everybody in the group. Rows carry no link "
        "between the visits of one person, and their order means nothing.",
        "To check that these files are as they were written and keep the promise, run\n\n"
        "  timeveil verify FOLDER",
        "It needs these files only. Details stand in release.json.",
    ]
    return "\n\n".join(_wrapped(paragraph) for paragraph in paragraphs if paragraph) + "\n"


def _time(manifest: Mapping[str, Any]) -> list[str]:
    if "granularity" not in manifest or "time" not in manifest:
        return []
    time = manifest["time"]
    clocks = {
        "civil": "Times are clock readings taken as they were written; no time zone was stated.",
        "zoned": f"Times were read on the clocks of {time.get('zone')}.",
        "relative": f"Times are whole numbers of the unit {time.get('unit')} since a start of their own.",
    }.get(time.get("kind"), "")
    return [f"Time was generalised to: {manifest['granularity']}. {clocks}"]


def _columns(manifest: Mapping[str, Any]) -> list[str]:
    lines = ["Columns:"]
    for column in manifest["columns"]:
        level = manifest.get("levels", {}).get(column["name"], {}).get("name")
        meaning = _MEANING.get(column.get("role", ""), "")
        generalised = f"; generalised to {level}" if level else ""
        lines.append(f"  {column['name']}  ({column['type']})  {meaning}{generalised}")
    return ["\n".join(lines)]


def _tables(manifest: Mapping[str, Any]) -> list[str]:
    lines = ["Files:"]
    lines += [f"  {entry['file']}  {entry['rows']} rows" for entry in manifest["tables"].values()]
    csv = any(entry["format"] == "csv" for entry in manifest["tables"].values())
    note = (
        "Text that a spreadsheet would run as a formula has an apostrophe before it; take one apostrophe "
        "away to have the original. An empty cell is a missing value, a pair of quotes an empty text."
    )
    return ["\n".join(lines), *([note] if csv else [])]


def _withheld(manifest: Mapping[str, Any]) -> str:
    counts = manifest.get("counts", {})
    if "withheld" not in counts:
        return ""
    return f"{counts['withheld']} rows of the original were withheld to keep the promise."


def _wrapped(paragraph: str) -> str:
    return paragraph if "\n" in paragraph else textwrap.fill(paragraph, 90)
