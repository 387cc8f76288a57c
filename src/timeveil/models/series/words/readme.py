"""What the recipient of a series release should know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from timeveil.domain.guarantee import KPAnonymity
from timeveil.page.text_wrapping import files, listed, shown

_MEANING = {
    "group": "number of the group that shares one envelope",
    "low": "lowest value of the group at this instant",
    "high": "highest value of the group at this instant",
    "pattern": "the shape: one letter per instant, a for the lowest values of the series itself",
    "level": "how many letters there are",
    "sensitive": "published as it was; sensitive",
    "perturbed": "sensitive; some values were exchanged for others nearby",
    "keep": "published as it was",
}


def of_series(guarantee: KPAnonymity, manifest: Mapping[str, Any]) -> list[str]:
    """The letter's paragraphs about promise, columns, reading and conclusions."""
    return [
        f"The promise: {guarantee.sentence}. One row is one series, and one series is one person's.",
        _columns(manifest),
        *files(manifest),
        _envelopes(manifest),
        _patterns(manifest),
        _own(manifest),
        _partly(manifest),
        _perturbed(guarantee, manifest),
        _suppressed(manifest),
        "How to ask: to estimate how many series lie in a range at some instant, take of every row the share "
        "of its envelope that lies in the range, and add up. To find a shape, compare it with what the "
        "letters stand for. `timeveil query FOLDER --range INSTANT=LOW:HIGH` and `--like N,N,...` do so, "
        "with bounds.",
        _conclusions(guarantee),
    ]


def _columns(manifest: Mapping[str, Any]) -> str:
    changed = manifest["series"]["perturbed"]
    columns = [
        {**column, "role": "perturbed"} if column["name"] in changed else column
        for column in manifest["columns"]
    ]
    return listed(columns, _MEANING, {}, "Columns of the table data, one row per series:")


def _envelopes(manifest: Mapping[str, Any]) -> str:
    digits = manifest["parameters"]["round_outward"]
    said = "Every series of a group lies between its bounds at every instant. "
    if digits is None:
        return said + "Each bound is the exact value of somebody in the group."
    return said + (
        f"Bounds were rounded outward to {digits} significant digits; somebody in the group comes as near to "
        "each of them as that, and where values have no more digits, reaches it."
    )


def _patterns(manifest: Mapping[str, Any]) -> str:
    series = manifest["series"]
    several = series["levels"] == "each"
    levels = "The level column has one number per letter" if several else "The level is that of all letters"
    return (
        f"How to read a pattern: less its {series['center']} and in units of its deviation, a series lies at "
        "each instant in one of as many cells of the normal curve, equally likely, as the level says; the "
        f"letter tells which, from low to high, a to z and then A to Z. {levels}. A letter at another level "
        f"means another cell. Letters stand for: {_some(series['pattern'])}."
    )


def _own(manifest: Mapping[str, Any]) -> str:
    if manifest["series"]["own_patterns"]:
        return "Every pattern is each of its series' own."
    return (
        "Patterns are not each series' own: a pattern stands for all that share it, and a letter need not be "
        "that of any one of them. Values cannot be bounded from them."
    )


def _partly(manifest: Mapping[str, Any]) -> str:
    series = manifest["series"]
    if series["values"] == series["instants"] == series["pattern"]:
        return ""
    return (
        f"Series have {len(series['instants'])} instants: {_some(series['instants'])}. Values were published "
        f"of {len(series['values'])} of them and letters of {len(series['pattern'])}; groups were formed on "
        "all."
    )


def _perturbed(guarantee: KPAnonymity, manifest: Mapping[str, Any]) -> str:
    changed = manifest["series"]["perturbed"]
    if not changed:
        return ""
    return (
        f"Some values of {', '.join(map(shown, changed))} were exchanged for others nearby, drawn at random "
        "from those that occur, so that among those who share envelope and pattern none stands in more than "
        f"1 row in {guarantee.l}. Which ones is not published. Different values may still lie close together."
    )


def _suppressed(manifest: Mapping[str, Any]) -> str:
    return f"{manifest['counts']['suppressed']} series of the original were withheld to keep the promise."


def _conclusions(guarantee: KPAnonymity) -> str:
    return (
        "What not to conclude: an envelope is where a group lies, not an error bar of each series in it. Who "
        f"knows somebody's series finds {guarantee.p} rows at least that could be theirs; if these have the "
        "same or nearly the same sensitive value, it is known all the same. Who is in a group learns more of "
        "the others than an outsider does. The promise is about this release alone: two releases of the same "
        "people can tell more together than each does. Numbers of groups and the order of rows mean nothing."
    )


def _some(names: list[str], most: int = 6) -> str:
    if len(names) <= most:
        return ", ".join(map(shown, names))
    return f"{', '.join(map(shown, names[: most - 1]))}, ... {shown(names[-1])}"
