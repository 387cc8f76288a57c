"""The report that is filed with a release: what, under which guarantee, at what cost, and with which limits.

Without a ledger it holds only what anyone who has the release can work out. With the ledger it is private.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from timeveil.domain.release import Ledger, Release
from timeveil.domain.version import TOOL
from timeveil.domain.wording import Progress, silent
from timeveil.errors import ParameterError, spell
from timeveil.folder import open_ledger
from timeveil.judging import QUERIES, Evidence, is_well_formed
from timeveil.models import part, words
from timeveil.page import templates
from timeveil.page.markdown import Figure, Markdown, Table, markdown
from timeveil.page.report import Report
from timeveil.page.svg import Picture
from timeveil.page.wording import capital, counted, name, visible
from timeveil.report.explain import facts_of, limits_of, sentences_of
from timeveil.report.verification import VerificationSummary, verification

LARGEST_PICTURE = 120_000
"""Characters of a picture; a larger one is not put into a report."""
_MOST_COLUMNS, _MOST_NAMES = 40, 6
_SUBJECTS = {"time": "timestamped rows", "stream": "a stream", "series": "series", "patterns": "patterns"}
_EARLIER = {
    "adoption": "Whether a series may move to any cell with its own pattern; set by earlier versions.",
    "exact": "Whether groups are formed as in the paper; set by earlier versions.",
}
"""Parameters that only releases of earlier versions state."""


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
    evidence = verified.evidence
    if verified.verdict and evidence is not None:
        title, template = f"a release of {_SUBJECTS[verified.model]}", f"{words(verified.model)}/report.md.j2"
        context = _context(verified, evidence, progress)
    else:
        # A release that does not keep its promise has no numbers worth reporting, so only that is said.
        title, template = "a release that violates its guarantee", "report/violated.md.j2"
        readable = verified.release is not None and is_well_formed(verified.release.manifest)
        stated = verified.release if readable else None
        context = {
            "promise": None if stated is None else capital(stated.guarantee.sentence),
            "parameters": None if stated is None else parameter_table(stated),
        }
    figures = Figures()
    body = templates.document(template, verified=verified, show=figures.show, **context)
    return Report(
        f"Report on {title}",
        "public" if private is None else "private",
        verified.model,
        holds=bool(verified.verdict),
        summary=verified.sentences,
        markdown=body,
        figures=tuple(figures.numbered),
    )


class Figures:
    """The tables and pictures of a report, numbered as the template asks for them."""

    def __init__(self) -> None:
        self.numbered: list[Figure] = []

    def show(self, *choices: Figure | None) -> Markdown:
        """The first of several figures that is not too large, as an image; nothing where there is none."""
        possible = [choice for choice in choices if choice is not None]
        for choice in possible:
            if isinstance(choice, Table) or len(choice.svg(1)) <= LARGEST_PICTURE:
                self.numbered.append(choice)
                title = choice.title if isinstance(choice, Picture) else choice.caption
                return Markdown(f"![{markdown(title)}]({len(self.numbered) - 1})")
        too_large = "There is too much to draw on this page; `timeveil plot` draws it."
        return Markdown(too_large if possible else "")


def _context(verified: VerificationSummary, evidence: Evidence, progress: Progress) -> dict[str, Any]:
    """What the template of a model is filled with; what is private, only with the ledger."""
    release, facts = evidence.release, facts_of(evidence)
    results, (sentences, warnings) = part(verified.model, "words.results"), sentences_of(facts)
    context = {
        **dict.fromkeys(("breach", "again", "sizes", "errors", "error_table")),
        "losses": (),
        "exposed": (),
    }
    context |= results.public(facts)
    if facts.ledger is not None and facts.counts.get("rows", 1):
        again = Markdown(visible(facts.command()))
        context |= {"again": again, **results.private(facts, progress)}
    return {
        "f": facts,
        "figures": Table("The release in numbers", ("figure", "value"), facts.figures(), words=2),
        "columns": column_tables(release),
        "parameters": parameter_table(release),
        "done": [*sentences, *(f"Warning: {warning}" for warning in warnings)],
        "limits": limits_of(facts),
        "measure_queries": QUERIES,
        "tool": release.manifest.get("tool", TOOL),
        **context,
    }


def column_tables(release: Release) -> list[Table]:
    """The columns of every table; of series, the bounds of all instants on one line."""
    tables, manifest = [], release.manifest
    for table, key in (("data", "columns"), ("sensitive", "sensitive_columns")):
        columns = manifest.get(key, ())
        bounds = [column for column in columns if column["role"] in ("low", "high")]
        rows = [
            (name(column["name"]), column.get("type", ""), templates.column_meaning(manifest, column))
            for column in columns
            if column not in bounds
        ]
        if bounds:
            ends = f"{name(bounds[0]['name'])} to {name(bounds[-1]['name'])}"
            rows.insert(1, (ends, bounds[0]["type"], "lowest and highest value of the group at each instant"))
        more = len(rows) - _MOST_COLUMNS
        rows = [*rows[:_MOST_COLUMNS], *([("and more", "", f"{more:,} columns")] if more > 0 else [])]
        head = ("column", "type", "what it is")
        tables += [Table(f"Columns of the table {table}", head, rows, words=3)] if rows else []
    return tables


def parameter_table(release: Release) -> Table:
    """The parameters that the manifest states, and what they mean."""
    meaning = meanings(release.manifest["model"])
    rows = [
        (name(parameter), _setting(value), meaning.get(parameter, ""))
        for parameter, value in release.manifest["parameters"].items()
    ]
    return Table("Parameters of the run", ("parameter", "set to", "meaning"), rows, words=3)


def meanings(model: str) -> dict[str, str]:
    """What each parameter of a model means."""
    table = part(model, "parameters").PARAMETERS.table()
    return {**_EARLIER, **{name: spell(declared.meaning) for name, declared in table.items()}}


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
