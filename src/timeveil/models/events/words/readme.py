"""The letter to whoever receives a release: `README.txt`."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from timeveil.domain.guarantee import Guarantee, KAnonymity, KPAnonymity, LDiversity, NoInferenceChannel
from timeveil.models.patterns.words.readme import of_patterns
from timeveil.models.series.words.readme import of_series
from timeveil.models.stream.words.readme import of_stream
from timeveil.page.text_wrapping import clocks, files, listed, shown

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
    match guarantee:
        case KAnonymity():
            paragraphs = _of_times(guarantee, manifest)
        case LDiversity():
            paragraphs = of_stream(guarantee, manifest)
        case KPAnonymity():
            paragraphs = of_series(guarantee, manifest)
        case NoInferenceChannel():
            paragraphs = of_patterns(guarantee, manifest)
    check = (
        "To check that these files are as they were written and keep the promise, run\n\n"
        "  timeveil verify FOLDER"
    )
    last = "It needs these files only. Details stand in release.json."
    everything = ["A release made with timeveil", *paragraphs, check, last]
    return "\n\n".join(_wrapped(paragraph) for paragraph in everything if paragraph) + "\n"


def _of_times(guarantee: KAnonymity, manifest: Mapping[str, Any]) -> list[str]:
    return [
        f"The promise: {guarantee.sentence}. People were counted, not rows.",
        *_time(manifest),
        listed(manifest["columns"], _MEANING, manifest.get("levels", {})),
        *files(manifest),
        _withheld(manifest),
        "How to ask: a row stands for one visit at an unknown moment of its span. To estimate how many rows "
        "lie in a window of time, count those whose span lies in it, and of every other the share of its "
        "span that does. `timeveil query FOLDER --between A B --where COLUMN=VALUE` does it, with bounds.",
        "What not to conclude: that k people share a value does not mean that each of them is equally likely "
        "to be the one you think of; one person can have several of the rows. If all rows of a group "
        "have the same sensitive value, it is known of everybody in the group. Rows carry no link "
        "between the visits of one person, and their order means nothing.",
    ]


def _time(manifest: Mapping[str, Any]) -> list[str]:
    if "granularity" not in manifest or "time" not in manifest:
        return []
    return [f"Time was generalised to: {shown(manifest['granularity'])}. {clocks(manifest['time'])}"]


def _withheld(manifest: Mapping[str, Any]) -> str:
    counts = manifest.get("counts", {})
    if "withheld" not in counts:
        return ""
    return f"{counts['withheld']} rows of the original were withheld to keep the promise."


def _wrapped(paragraph: str) -> str:
    return paragraph if "\n" in paragraph else textwrap.fill(paragraph, 90)
