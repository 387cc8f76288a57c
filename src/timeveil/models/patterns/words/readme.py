"""What the recipient of a pattern release should know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from timeveil.domain.guarantee import NoInferenceChannel
from timeveil.page.text_wrapping import files, listed

_MEANING = {
    "pattern": "what people have in common: a list of items; the empty list is everybody",
    "support": "how many people have all of it",
}
_ADDS = ("additive", "tight", "clone")


def of_patterns(guarantee: NoInferenceChannel, manifest: Mapping[str, Any]) -> list[str]:
    """The letter's paragraphs about promise, columns, reading and conclusions."""
    return [
        _promise(guarantee, manifest["patterns"]),
        listed(manifest["columns"], _MEANING, {}, "Columns of the table data, one row per pattern:"),
        *files(manifest),
        _items(manifest["patterns"]),
        "How to ask: the row of a pattern says how many people have it. How many of those with one pattern "
        "have an item, too, is the support of both together beside that of the pattern. `timeveil query "
        "FOLDER --item ITEM` and `--given ITEM --then ITEM` do so, with bounds, also for patterns that are "
        "not here.",
        _family(manifest),
        _counts(manifest),
        _conclusions(guarantee),
        _made(manifest),
    ]


def _promise(guarantee: NoInferenceChannel, patterns: Mapping[str, Any]) -> str:
    said = (
        f"The promise: {guarantee.sentence}. A group is all who have some items and none of some others, and "
        "it is computed by adding and subtracting counts of patterns of these items. Everybody counts once."
    )
    if guarantee.counts_alone:
        return (
            f"{said} Readers of series do know that everybody has one symbol at every instant, so they may "
            "compute smaller groups."
        )
    if patterns["kind"] == "series":
        return (
            f"{said} That everybody has one symbol at every instant is taken into account: what is left "
            "for the only symbol of an instant that is not published counts as published. Not promised: what "
            "follows only when counts of other items, too, are solved as a system of equations. Of instants "
            "with three symbols or more that can be a smaller group."
        )
    return said


def _items(patterns: Mapping[str, Any]) -> str:
    if patterns["kind"] != "series":
        return "How to read a pattern: whoever is counted has all of its items, and perhaps others."
    return (
        "How to read a pattern: an item is an instant and a letter. Less its "
        f"{patterns['center']} and in units of its deviation, a series lies at each instant in one of "
        f"{patterns['symbols']} cells of the normal curve, equally likely; the letter tells which, from low "
        "to high, a to z and then A to Z. At instants that a pattern does not name, those who have it may be "
        "anywhere."
    )


def _family(manifest: Mapping[str, Any]) -> str:
    parameters, published = manifest["parameters"], manifest["patterns"]["published"]
    longest = parameters["max_len"]
    short = "" if longest is None else f", of {longest} items at most"
    said = f"All patterns{short} that at least {parameters['min_support']} people had were looked at"
    if parameters["method"] == "itemset":
        return f"{said}; some of them were left out to keep the promise."
    if published == "closed":
        return (
            f"{said}; of those the closed ones are here. The support of another is the largest of those that "
            "hold it."
        )
    return f"{said}, and all are here." if parameters["method"] in _ADDS else f"{said}; some were lost."


def _counts(manifest: Mapping[str, Any]) -> str:
    virtual, method = manifest["counts"]["virtual"], manifest["parameters"]["method"]
    if method in _ADDS:
        return (
            f"How exact counts are: {virtual} people who do not exist were added, so a true count lies "
            f"between the published one less {virtual} and the published one. Which were added is not told."
        )
    if method == "suppressive":
        return (
            "How exact counts are: some people were left out, so a true count is the published one or more."
        )
    return "How exact counts are: they are exact."


def _conclusions(guarantee: NoInferenceChannel) -> str:
    return (
        "What not to conclude: counts do not say who is among those counted. That no group below "
        f"{guarantee.k} follows from them by adding and subtracting does not mean that none can be bounded: "
        "whoever solves for all tables that fit may come closer, and so may whoever knows some of them. "
        "The promise is about this release alone: with a table of the same people it can tell more than "
        "either does."
    )


def _made(manifest: Mapping[str, Any]) -> str:
    """How it was made is no secret, and what that means."""
    asked, virtual = manifest["parameters"], manifest["counts"]["virtual"]
    number = f" and that {virtual} people were added" if asked["method"] in _ADDS else ""
    return (
        f"What is public besides: that the method is {asked['method']}, the smallest support "
        f"{asked['min_support']}{number}. Whoever tries every table that the method could be given may "
        "learn more than counts tell; where there are few people and few items, at times the table itself."
    )
