"""The report that is filed with a release: what, under which guarantee, at what cost, and with which limits.

Without a ledger it holds only what anyone who has the release can work out. With the ledger it is private.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from timeveil.domain.ledger import Ledger
from timeveil.domain.progress import Progress, silent
from timeveil.domain.release import Release
from timeveil.domain.version import TOOL
from timeveil.errors import ParameterError
from timeveil.folder import open_ledger
from timeveil.judging.verify import is_well_formed
from timeveil.models.events.words.story import time_story
from timeveil.models.patterns.words.story import pattern_story
from timeveil.models.series.words.story import series_story
from timeveil.models.stream.words.story import stream_story
from timeveil.page.tree import Block, Kind, Lines, Numbers, Report, Section, Sentences
from timeveil.report.parameters import parameters
from timeveil.report.protection import not_protected
from timeveil.report.standing import Standing, standing_of
from timeveil.report.story import Story

_STORIES = {"time": time_story, "stream": stream_story, "series": series_story, "patterns": pattern_story}
_MOST_COLUMNS = 40
_ROLES = {
    "quasi": "quasi-identifier: what an outsider may know of a person",
    "keep": "published as it was",
    "sensitive": "sensitive",
    "time": "when, as the name of a span of time",
    "start": "first moment of that span",
    "end": "first moment after that span",
    "slot": "slot of time that the record was published in",
    "bucket": "number of the bucket within its slot",
    "count": "how many records of the bucket have this value",
    "group": "number of the group that shares one envelope",
    "low": "lowest value of the group at an instant",
    "high": "highest value of the group at an instant",
    "pattern": "pattern",
    "level": "how many letters the pattern has",
    "support": "how many people have the pattern",
}

_NO_NUMBERS = (
    "No numbers on risk, costs and attacks are given, for they would rest on tables that cannot be trusted.",
    "Ask for the release again, or make it again from the original. Then check it: `timeveil verify`.",
)
_SOUND = (
    "As far as a recipient can see, the release is sound. See that the ledger is the one that was made "
    "together with it."
)
_AGAIN = {
    "time": "A calendar or hierarchy file of your own has to be named as well.",
    "stream": "Which records move is drawn anew unless the seed of the first run is given, which is not told "
    "here. Costs of withholding, if any were set, stand in the ledger.",
    "series": "Where sensitive values were exchanged, chance draws others unless the seed of the first run "
    "is given, which is not told here.",
    "patterns": "A smallest support that was given as a share stands here as the number it came to; instants "
    "that were chosen from a series release have to be named as well.",
}


def report(
    release: Release | str | Path,
    ledger: Ledger | str | Path | None = None,
    *,
    progress: Progress = silent,
) -> Report:
    """Say what was released, under which guarantee, what it costs and what it does not protect.

    `release` is a release or its folder, of which the files are checked, too. Without a `ledger` the report
    is public: nothing in it does not follow from the release. With one, or its file, it is private: it tells
    the risk before, what was lost, and what attacks came to. The same release gives the same report.
    """
    private = open_ledger(ledger) if isinstance(ledger, str | Path) else ledger
    if not isinstance(release, Release | str | Path):
        raise ParameterError(
            f"a report is about a release or its folder, not about a {type(release).__name__}",
            hint="give what a method returned first, or the folder that `write` made",
            code="bad-parameter",
        )
    progress("verifying", 0.0)
    standing = standing_of(release, private)
    if not standing.verdict or standing.release is None:
        return _violated(standing, private)
    story = _STORIES[standing.model](standing.release, private, progress)
    sections = (
        Section("What was released", _released(standing.release, story)),
        Section("The guarantee", (Sentences(story.promise), parameters(standing.release))),
        Section("What was done", (Sentences(story.done, numbered=True),)),
        Section("Risk", story.risk),
        Section("What it costs", story.loss),
        Section("Attacks", story.attacks),
        Section("Verification", tuple(standing.blocks())),
        Section("What is not protected", _limits(standing.release, story)),
        Section("How to do it again", _again(standing.release, story)),
    )
    return Report(
        f"Report on a release of {story.what}",
        _kind(private),
        standing.model,
        holds=True,
        standing=standing.head,
        sections=sections,
    )


def _kind(ledger: Ledger | None) -> Kind:
    return "public" if ledger is None else "private"


def _violated(standing: Standing, ledger: Ledger | None) -> Report:
    """Of a release that is not what it says, only that is told: its numbers would mean nothing."""
    found = standing.release
    sections = [Section("What is wrong", tuple(standing.blocks()))]
    if found is not None and is_well_formed(found.manifest):
        promise = found.guarantee.sentence
        stated = f"{promise[:1].upper()}{promise[1:]}. That is what it says; the checks above say otherwise."
        sections.append(Section("What it says of itself", (Sentences((stated,)), parameters(found))))
    told = (_SOUND if standing.sound else "", *_NO_NUMBERS)
    sections.append(Section("What to do", (Sentences(tuple(filter(None, told))),)))
    return Report(
        "Report on a release that is violated",
        _kind(ledger),
        standing.model,
        holds=False,
        standing=standing.head,
        sections=tuple(sections),
    )


def _released(release: Release, story: Story) -> tuple[Block, ...]:
    figures = Numbers("The release in numbers", ("figure", "value"), story.figures, words=2)
    return figures, *_columns(release)


def _columns(release: Release) -> list[Block]:
    """The columns of every table; of series, bounds of all instants on one line."""
    tables = {"data": "columns", "sensitive": "sensitive_columns"}
    changed = release.manifest.get("series", {}).get("perturbed", ())
    found: list[Block] = []
    for table, key in tables.items():
        columns = release.manifest.get(key)
        if columns is None:
            continue
        rows = [_column(one, changed) for one in columns if one["role"] not in ("low", "high")]
        bounds = [one for one in columns if one["role"] in ("low", "high")]
        if bounds:
            ends = f"`{bounds[0]['name']}` to `{bounds[-1]['name']}`"
            rows.insert(1, (ends, bounds[0]["type"], "lowest and highest value of the group at each instant"))
        left = len(rows) - _MOST_COLUMNS
        shown = [*rows[:_MOST_COLUMNS], *([("and more", "", f"{left:,} columns")] if left > 0 else [])]
        head = ("column", "type", "what it is")
        found.append(Numbers(f"Columns of the table {table}", head, tuple(shown), words=3))
    return found


def _column(column: Mapping[str, Any], changed: Sequence[str]) -> tuple[str, ...]:
    meaning = _ROLES.get(column["role"], column["role"])
    if column["name"] in changed:
        meaning += "; some values were exchanged for others nearby"
    return f"`{column['name']}`", column.get("type", ""), meaning


def _limits(release: Release, story: Story) -> tuple[Block, ...]:
    head = ("what", "why it is not covered")
    general = Numbers("Beyond the promise", head, tuple(not_protected(release)), words=2)
    return (general, Sentences(story.limits)) if story.limits else (general,)


def _again(release: Release, story: Story) -> tuple[Block, ...]:
    tool = release.manifest.get("tool", TOOL)
    told: list[Block] = [
        Sentences(
            (f"The release was made with {tool}. Whoever has its folder checks it, without a ledger, by",)
        ),
        Lines(("timeveil verify DIR",)),
        Sentences(("and makes the public report, the same to the last character, by",)),
        Lines(("timeveil report DIR --out report.html",)),
    ]
    if story.again is None:
        return (
            *told,
            Sentences(
                (
                    "Only the custodian, who has the original table, can make the release again, with the "
                    "parameters above.",
                )
            ),
        )
    return (
        *told,
        Sentences(("The release itself is made from the original table IN by",)),
        Lines((story.again,)),
        Sentences((_caution(release),)),
    )


def _caution(release: Release) -> str:
    """What a second run needs beside its command."""
    drawn = release.manifest.get("series", {}).get("perturbed", True)
    return _AGAIN[release.manifest["model"]] if drawn else "The same table gives the same release."
