"""What a run did, in words and as data, and the report that is filed with a release.

Without a ledger, a report holds only what anyone who has the release can work out; with it, it is private.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from timeveil.domain.judgement import Verdict
from timeveil.domain.lines import Particulars
from timeveil.domain.release import Ledger, Release
from timeveil.domain.run import Run, option_words
from timeveil.domain.version import TOOL
from timeveil.domain.wording import Progress, silent
from timeveil.errors import ParameterError, spell
from timeveil.evidence.published import Evidence, require_matching_ledger
from timeveil.folder import open_ledger
from timeveil.folder.opening import NOT_ITS_LEDGER, digest, judged
from timeveil.folder.signoff import sign_offs
from timeveil.judging import QUERIES, canonical, gather, is_well_formed
from timeveil.models import FOLDERS, parameters_of, part, words
from timeveil.page import templates
from timeveil.page.report import Explanation, Figure, Markdown, Report, Table, markdown
from timeveil.page.svg import Picture
from timeveil.page.wording import capital, counted, name, quoted, visible
from timeveil.reading.database import is_address

__all__ = ["Explanation", "Report", "explain", "report"]

LARGEST_PICTURE = 120_000  # characters of a picture; a larger one is not put into a report
_MOST_COLUMNS, _MOST_NAMES = 40, 6
_EARLIER = {
    "adoption": "Whether a series may move to any cell with its own pattern; set by earlier versions.",
    "exact": "Whether groups are formed as in the paper; set by earlier versions.",
}
"""Parameters that only releases of earlier versions state."""
MOST_FILES = 24  # more files than this are listed by one hash over all of them
MOST_VIOLATIONS = 40


def explain(
    release: Release | Evidence,
    ledger: Ledger | None = None,
    *,
    verdict: Verdict | None = None,
    run: Run | None = None,
) -> Explanation:
    """Explain what a method did, from what it returned, or from the evidence gathered of it.

    `verdict` adds what was verified, `run` how to do it again.
    """
    facts = facts_of(gather(release, ledger), run)
    sentences, warnings = sentences_of(facts)
    warnings += [] if run is None else run.unused()
    data, title = facts.as_dict(), facts.title
    data["warnings"] = warnings
    if verdict is not None:
        written = run is None or not run.dry_run
        sentences += templates.sentences("page/checked.j2", verdict=verdict, written=written)
        data["verified"] = verdict.as_dict()
    sentences += [f"Warning: {warning}" for warning in warnings]
    if run is not None:
        data |= {"out": run.out, "ledger": run.ledger, "dry_run": run.dry_run}
        title = f"{title}, not written" if run.dry_run else f"{title}, in `{run.out}`"
        sentences += facts.examples() if run.explain else []  # of patterns, with the ledger
    return Explanation(title, tuple(sentences), templates.for_a_run(limits_of(facts)), data, run)


def facts_of(evidence: Evidence, run: Run | None = None) -> Any:
    """The facts of a release of any model, which is linked with its original only once."""
    hierarchies = None if run is None else run.values.get("hierarchies")
    return part(evidence.release.manifest["model"], "words").Facts(evidence, tuple(hierarchies or ()))


def sentences_of(facts: Any) -> tuple[list[str], list[str]]:
    """What was done, in sentences, and warnings."""
    sentences, warnings = templates.marked(f"{words(facts.manifest['model'])}/run.j2", f=facts)
    exceptions, risks = templates.marked("page/exceptions.j2", f=facts)
    return sentences + exceptions, warnings + risks


def limits_of(facts: Any) -> list[templates.Limit]:
    """What a release does not protect, with numbers where the ledger gives them."""
    manifest = facts.manifest
    context = {"guarantee": facts.guarantee, "manifest": manifest, "exposure": facts.exposure}
    measured = facts.ledger is not None and bool(manifest["counts"].get("rows", 1))
    return templates.limits(words(manifest["model"]), **context, measured=measured)


def report(
    release: Release | str | Path,
    ledger: Ledger | str | Path | None = None,
    *,
    dataset: str | None = None,
    date: str | None = None,
    issuer: str | None = None,
    recipient: str | None = None,
    purpose: str | None = None,
    sign: Sequence[str] | None = None,
    progress: Progress = silent,
) -> Report:
    """Report what was released, under which promise, what it costs and what it does not protect.

    `release` is a release or its folder, whose files are then checked, too. Without a `ledger` the report is
    public: everything in it follows from the release. With a ledger, or its file, it is private: it adds the
    risk before publication, the loss, and the results of attacks. The same release gives the same report.

    `dataset`, `date`, `issuer`, `recipient` and `purpose` are stated at its head, and not checked; each of
    `sign` gets a line to sign on.
    """
    particulars = Particulars.from_call(locals())
    private = open_ledger(ledger) if isinstance(ledger, str | Path) else ledger
    if not isinstance(release, Release | str | Path):
        message = f"a report is about a release or its folder, not about a {type(release).__name__}"
        hint = "give what a method returned first, or the folder that `write` made"
        raise ParameterError(message, hint=hint)
    progress("verifying", 0.0)
    verified = verification(release, private)
    evidence = verified.evidence
    if verified.verdict and evidence is not None:
        title = f"a release of {parameters_of(verified.model).contents}"
        template = f"{words(verified.model)}/report.md.j2"
        context = _context(verified, evidence, progress, particulars)
        # What others decided about the release is beside the ledger.
        decisions = sign_offs(ledger, verified.hash_of_all) if isinstance(ledger, str | Path) else []
        signed = (f"{capital(d.decision)} by {name(d.name)} on {d.at}: {d.reason}" for d in decisions)
        context["signed"] = list(signed)
    else:
        # A release that does not keep its promise has no numbers worth reporting, so only that is said.
        title, template, context = "a release that violates its promise", "report/violated.md.j2", {}
        if evidence is not None and is_well_formed(evidence.release):
            context = {"stated": evidence.release, "parameters": parameter_table(evidence.release)}
    figures: list[Figure] = []
    gravest = max(context.get("limits", ()), key=lambda limit: limit.urgency, default=None)
    context |= {"verified": verified, "findings": findings_of(verified.verdict)}
    body = templates.document(template, show=partial(_show, figures), **context)
    return Report(
        f"Report on {title}",
        "public" if private is None else "private",
        verified.model,
        holds=bool(verified.verdict),
        summary=verified.sentences,
        caveat="" if gravest is None else f"Its gravest limit: {gravest.text}",
        stated=particulars.labelled,
        signatures=tuple(particulars.sign or ()),
        markdown=body,
        figures=tuple(figures),
    )


def _show(figures: list[Figure], *choices: Figure | None) -> Markdown:
    """The first of several figures that is not too large, numbered, as an image; nothing if there is none."""
    possible = [choice for choice in choices if choice is not None]
    for choice in possible:
        if isinstance(choice, Table) or len(choice.svg(1)) <= LARGEST_PICTURE:
            figures.append(choice)
            title = choice.title if isinstance(choice, Picture) else choice.caption
            # An image that is a figure is a paragraph of its own, whatever follows.
            return Markdown(f"![{markdown(title)}]({len(figures) - 1})\n")
    return Markdown("There is too much to draw on this page; `timeveil plot` draws it." if possible else "")


def _context(
    verified: VerificationSummary, evidence: Evidence, progress: Progress, particulars: Particulars
) -> dict[str, Any]:
    """What the template of a model is filled with; what is private, only with the ledger."""
    release, facts = evidence.release, facts_of(evidence)
    # The particulars as they are typed after the command that makes the same report.
    values = ((line, getattr(particulars, name)) for name, line in Particulars.table().items())
    typed = [word for line, value in values if value is not None for word in option_words(line, value)]
    results, (sentences, warnings) = part(verified.model, "words"), sentences_of(facts)
    private = {}
    if facts.ledger is not None and facts.counts.get("rows", 1):
        private = {"again": Markdown(visible(facts.command())), **results.private(facts, progress)}
    return {
        **dict.fromkeys(("breach", "again", "sizes", "losses", "errors", "error_table", "exposed")),
        "f": facts,
        "figures": Table("The release in numbers", ("figure", "value"), facts.figures(), words=2),
        "columns": column_tables(release),
        "parameters": parameter_table(release),
        "done": [*sentences, *(f"Warning: {warning}" for warning in warnings)],
        "limits": limits_of(facts),
        "measure_queries": QUERIES,
        "tool": release.manifest.get("tool", TOOL),
        "options": Markdown(visible(shlex.join(typed))),
        **results.public(facts),
        **private,
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
    stated = canonical(release.manifest)["parameters"].items()
    rows = [(name(parameter), _setting(value), meaning.get(parameter, "")) for parameter, value in stated]
    return Table("Parameters of the run", ("parameter", "set to", "meaning"), rows, words=3)


def meanings(model: str) -> dict[str, str]:
    """What each parameter of a model means."""
    table = part(model, "parameters").PARAMETERS.table()
    return {**_EARLIER, **{name: spell(declared.meaning) for name, declared in table.items()}}


def _setting(value: Any) -> str:
    """A setting in few words."""
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


@dataclass(frozen=True, slots=True)
class VerificationSummary:
    """The evidence, if the release can be read, the verdict, and names and hashes of its files.

    `sound` says that a recipient would find nothing wrong, although the ledger does not agree.
    """

    evidence: Evidence | None
    model: str
    verdict: Verdict
    hashes: tuple[tuple[str, str], ...] = ()
    sound: bool = False

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdict in a few sentences."""
        scope = self.verdict.scope
        if self.model in FOLDERS:
            scope = parameters_of(self.model).scopes[scope]
        if self.verdict and self.evidence is not None:
            seen = "" if self.verdict.scope == "with ledger" else ", as far as a recipient can see"
            release = self.evidence.release
            sentences = [f"The promise holds{seen}.", f"{capital(release.guarantee.sentence)}."]
            sentences.append(f"Verified {scope}, by separate code.")
            if columns := release.manifest.get("parameters", {}).get("accept_risk"):
                risk = f"the risk of {quoted(columns)}"
                sentences.append(f"The publisher accepted {risk}: see what is not protected.")
            return tuple(sentences)
        result = f"Verified {scope}: {counted(len(self.verdict.violations), 'violation')}."
        if not self.sound:
            return "The promise is VIOLATED.", f"{result} Do not rely on this release."
        return (
            f"{capital(NOT_ITS_LEDGER.message)}.",
            f"According to this ledger, the promise is VIOLATED. {result} Without the ledger, no violation "
            "is found. Do not rely on this release before you know which of the two is wrong.",
        )

    @property
    def files(self) -> Table | None:
        """The files and their hashes, if they are few."""
        rows = [(name(file), name(sha256)) for file, sha256 in self.hashes]
        few = 0 < len(rows) <= MOST_FILES
        return Table("Files and their SHA-256", ("file", "SHA-256"), rows, words=2) if few else None

    @property
    def hash_of_all(self) -> str:
        """One hash over the names and hashes of all files."""
        lines = "".join(f"{sha256}  {file}\n" for file, sha256 in self.hashes)
        return hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()


def findings_of(verdict: Verdict) -> list[str]:
    """The violations, or else the checks that passed."""
    messages = [violation.message for violation in verdict.violations[:MOST_VIOLATIONS]]
    more = len(verdict.violations) - len(messages)
    return [*messages, *([f"And {counted(more, 'more violation')}."] if more else [])] or list(verdict.checks)


def verification(release: Release | str | Path, ledger: Ledger | None) -> VerificationSummary:
    """Verify a release; if it is a folder, its files as well."""
    if isinstance(release, Release) and ledger is not None:
        require_matching_ledger(release, ledger)
    evidence, verdict, sound = judged(release, ledger)
    model = "" if evidence is None else str(evidence.release.manifest.get("model"))
    hashes = []
    if is_address(release) and evidence is not None:
        hashes = [(name, table["sha256"]) for name, table in evidence.release.manifest["tables"].items()]
    elif not isinstance(release, Release):
        folder = Path(release)
        # Links are not followed.
        files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
        stated = {}
        if evidence is not None and all(fault.code != "file-changed" for fault in verdict.violations):
            # These hashes have just been compared with those of the files.
            tables = evidence.release.manifest.get("tables", {})
            stated = {folder / table["file"]: table["sha256"] for table in tables.values()}
        hashes = [(path.relative_to(folder).as_posix(), stated.get(path) or digest(path)) for path in files]
    return VerificationSummary(evidence, model, verdict, tuple(hashes), sound and not verdict)
