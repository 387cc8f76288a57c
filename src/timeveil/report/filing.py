"""The report that is filed with a release: what, under which guarantee, at what cost, and with which limits.

Without a ledger it holds only what anyone who has the release can work out. With the ledger it is private.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from timeveil.domain.release import Ledger, Release
from timeveil.domain.version import TOOL
from timeveil.domain.wording import Progress, silent
from timeveil.errors import ParameterError
from timeveil.folder import open_ledger
from timeveil.judging import QUERIES, is_well_formed
from timeveil.models import part
from timeveil.page import templates
from timeveil.page.markdown import Markdown, Table, markdown
from timeveil.page.report import Kind, Report
from timeveil.page.svg import Picture
from timeveil.page.wording import capital, name
from timeveil.report.explain import facts_of, limits_of, sentences_of, words_of
from timeveil.report.parameters import parameter_table
from timeveil.report.verification import VerificationSummary, verification

LARGEST_PICTURE = 120_000
"""Characters of a picture; a larger one is not put into a report."""
_MOST_COLUMNS = 40
_SUBJECTS = {"time": "timestamped rows", "stream": "a stream", "series": "series", "patterns": "patterns"}
_ROLES = {
    "quasi": "quasi-identifier: what an outsider may know about a person",
    "keep": "published unchanged",
    "sensitive": "sensitive",
    "time": "when, as the name of a span of time",
    "start": "first moment of that span",
    "end": "first moment after that span",
    "slot": "slot that the record was published in",
    "bucket": "number of the bucket within its slot",
    "count": "records of the bucket with this value",
    "group": "number of the group that shares one envelope",
    "pattern": "pattern",
    "level": "number of letters of the pattern",
    "support": "number of people with the pattern",
}


def report(
    release: Release | str | Path, ledger: Ledger | str | Path | None = None, *, progress: Progress = silent
) -> Report:
    """Report what was released, under which guarantee, what it costs and what it does not protect.

    `release` is a release or its folder, whose files are then checked, too. Without a `ledger` the report is
    public: everything in it follows from the release. With a ledger, or its file, it is private: it adds the
    risk before publication, the loss, and the results of attacks. The same release gives the same report.
    """
    private = open_ledger(ledger) if isinstance(ledger, str | Path) else ledger
    if not isinstance(release, Release | str | Path):
        raise ParameterError(
            f"a report is about a release or its folder, not about a {type(release).__name__}",
            hint="give what a method returned first, or the folder that `write` made",
        )
    progress("verifying", 0.0)
    verified = verification(release, private)
    if not verified.verdict or verified.evidence is None:
        return _violated(verified, private)
    opened, pictures = verified.evidence.release, Gallery()
    facts = facts_of(verified.evidence)
    context = part(verified.model, "words.report").context(facts, progress)
    body = templates.document(
        f"{words_of(opened)}/report.md.j2",
        f=facts,
        verified=verified,
        picture=pictures.add,
        done=[*sentences_of(facts), *(f"Warning: {warning}" for warning in facts.warnings)]
        if private is not None
        else sentences_of(facts),
        limits=limits_of(facts),
        columns=_columns(opened),
        parameters=parameter_table(opened),
        measure_queries=QUERIES,
        tool=opened.manifest.get("tool", TOOL),
        **context,
    )
    return Report(
        f"Report on a release of {_SUBJECTS[verified.model]}",
        _kind(private),
        verified.model,
        holds=True,
        summary=verified.sentences,
        markdown=body,
        pictures=tuple(pictures.drawn),
    )


class Gallery:
    """The pictures of a report, numbered as the template asks for them."""

    def __init__(self) -> None:
        self.drawn: list[Picture] = []

    def add(self, *choices: Picture | None) -> Markdown:
        """The first of several pictures that is not too large, as an image; nothing where there is none."""
        possible = [choice for choice in choices if choice is not None]
        for choice in possible:
            if len(choice.svg(1)) <= LARGEST_PICTURE:
                self.drawn.append(choice)
                return Markdown(f"![{markdown(choice.title)}]({len(self.drawn) - 1})")
        too_large = "There is too much to draw on this page; `timeveil plot` draws it."
        return Markdown(too_large if possible else "")


def _kind(ledger: Ledger | None) -> Kind:
    return "public" if ledger is None else "private"


def _violated(verified: VerificationSummary, ledger: Ledger | None) -> Report:
    """A release that does not keep its promise has no numbers worth reporting, so only that is said."""
    release = verified.release
    readable = release is not None and is_well_formed(release.manifest)
    promise = capital(release.guarantee.sentence) if readable and release is not None else None
    body = templates.document(
        "report/violated.md.j2",
        verified=verified,
        promise=promise,
        parameters=parameter_table(release) if readable and release is not None else None,
    )
    title = "Report on a release that violates its guarantee"
    return Report(
        title, _kind(ledger), verified.model, holds=False, summary=verified.sentences, markdown=body
    )


def _columns(release: Release) -> list[Table]:
    """The columns of every table; of series, the bounds of all instants on one line."""
    changed = release.manifest.get("series", {}).get("perturbed", ())
    tables = []
    for table, key in (("data", "columns"), ("sensitive", "sensitive_columns")):
        columns = release.manifest.get(key)
        if columns is None:
            continue
        bounds = [column for column in columns if column["role"] in ("low", "high")]
        rows = [_column(column, changed) for column in columns if column not in bounds]
        if bounds:
            ends = f"{name(bounds[0]['name'])} to {name(bounds[-1]['name'])}"
            rows.insert(1, (ends, bounds[0]["type"], "lowest and highest value of the group at each instant"))
        more = len(rows) - _MOST_COLUMNS
        rows = [*rows[:_MOST_COLUMNS], *([("and more", "", f"{more:,} columns")] if more > 0 else [])]
        tables.append(Table(f"Columns of the table {table}", ("column", "type", "what it is"), rows, words=3))
    return tables


def _column(column: Mapping[str, Any], changed: Sequence[str]) -> tuple[str, str, str]:
    meaning = _ROLES.get(column["role"], column["role"])
    if column["name"] in changed:
        meaning += "; some values were replaced by others nearby"
    return name(column["name"]), column.get("type", ""), meaning
