"""Commands that look at releases: `verify`, `measure`, `compare`, `plot` and `report`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import timeveil as tv
from timeveil.cli.options import LedgerOptions, ReleaseOptions, command, optional, refuse_foreign
from timeveil.cli.output import Output, one_line, refuse_file, write_file
from timeveil.cli.process import note_written
from timeveil.cli.publishing import VIOLATED
from timeveil.domain.parameter import Parameters, parameter
from timeveil.errors import BundleError, ParameterError
from timeveil.models import part

_SCOPES = {
    ("time", "recipient"): "as far as can be checked without the ledger (people were not counted)",
    ("time", "with ledger"): "checked with the ledger (the people of every group were counted)",
    ("stream", "recipient"): "as far as a recipient can see",
    ("stream", "with ledger"): "by following every record, with the ledger",
    ("series", "recipient"): "as far as a recipient can see",
    ("series", "with ledger"): "by following every series, with the ledger",
    ("patterns", "recipient"): "by computing every group that the counts give; how many are virtual is not "
    "checked",
    ("patterns", "with ledger"): "by counting every pattern and computing every group, with the ledger",
}


class VerifyOptions(ReleaseOptions):
    """The options of `verify`."""

    ledger: str | None = optional(
        "Private ledger; with it, people are counted, not only rows.", "visits.ledger", "PATH"
    )
    rewrite: str | None = optional(
        "If it holds, new folder for a clean copy made from the cells alone.", "clean", "NEW"
    )


@command(VerifyOptions)
def verify(options: VerifyOptions, output: Output) -> int:
    """Check the tables and the promise of a release, in full with a ledger; exit 0 if it holds, 1 if not.

    Cells, column names and the manifest (release.json) are checked. A file can hide other data; --rewrite
    writes a copy without it.

    Example: timeveil verify published
    """
    from timeveil.folder import writing
    from timeveil.folder.opening import judged

    ledger = None if options.ledger is None else output.ledger(options.ledger)
    evidence, verdict, sound = judged(Path(options.folder), ledger)
    model = None if evidence is None else str(evidence.release.manifest.get("model"))
    model = model if (model, verdict.scope) in _SCOPES else None
    lines = _verdict_lines(verdict, options.folder, model, output.width)
    output.result("\n".join(lines), {"model": model, **verdict.as_dict()})
    if sound and not verdict:
        output.say(
            "As far as a recipient can see, the release is sound: check that the ledger is the one that "
            "was made together with it."
        )
    if verdict and options.rewrite is not None:
        note_written(writing.rewrite(options.folder, options.rewrite))
        output.say(f"A clean copy is in `{options.rewrite}`.")
    return 0 if verdict else VIOLATED


def _verdict_lines(verdict: tv.Verdict, folder: str, model: str | None, width: int) -> list[str]:
    """The verdict, then what was violated or else what was checked."""
    from timeveil.page.wording import wrapped

    scope = _SCOPES[model or "time", verdict.scope]
    head = f"{'holds' if verdict else 'violated'}: `{one_line(Path(folder).resolve().name)}`, {scope}"
    lines = wrapped(head, width)
    for violation in verdict.violations:
        lines += wrapped(one_line(violation.message), width, "  ")
    if verdict:
        for number, check in enumerate(verdict.checks, start=1):
            lines += wrapped(check, width, f"{number}. ")
    return lines


class MeasureOptions(LedgerOptions):
    """The options of `measure`."""

    against: str | None = optional(
        "On patterns of series: a release of the same series to read counts off.", "curves", "DIR"
    )


@command(MeasureOptions)
def measure(options: MeasureOptions, output: Output) -> int:
    """Show what the release lost compared with the original.

    Example: timeveil measure published --ledger visits.ledger
    """
    release, ledger = tv.open_release(options.folder), output.ledger(options.ledger)
    against = None if options.against is None else tv.open_release(options.against)
    with output.progress() as progress:
        loss = tv.measure(release, ledger, against=against, progress=progress)
    model = release.manifest["model"]
    lines = part(model, "words").loss_summary(loss).lines(output.width)
    output.result("\n".join(lines), {"model": model, **loss.as_dict()})
    return 0


class CompareOptions(Parameters):
    """The options of `compare`."""

    folders: list[str] = parameter(
        "Release folders of the same data, such as k5 k10.", metavar="DIR DIR...", positional=True
    )
    ledger: list[str] | None = optional(
        "Private ledger of a release, one for each folder in the same order; with them loss and risk are "
        "measured.",
        ["k5.ledger", "k10.ledger"],
        "PATH",
    )
    out: str | None = optional("New SVG file to draw losses and risks to.", "compared.svg", "FILE")


@command(CompareOptions)
def compare(options: CompareOptions, output: Output) -> int:
    """Put releases of the same data side by side: what each promises, publishes, loses and risks.

    Exits with 1 if one of them does not keep its promise, or is not as it was written; `verify` says why.

    Example: timeveil compare k5 k10 --ledger k5.ledger --ledger k10.ledger --out compared.svg
    """
    from timeveil.compare.comparison import comparison_lines, comparison_picture

    folders, ledgers = options.folders, options.ledger or []
    refuse_file(options.out, folders, private=bool(ledgers))
    paths = [Path(folder).resolve() for folder in folders]
    for index, folder in enumerate(folders):
        if paths[index] in paths[:index]:
            raise ParameterError(f"`{folder}` is given twice", hint="name different release folders")
    names = [path.name for path in paths]
    if len(set(names)) < len(names):  # where two end alike, each is shown as it was typed
        names = [folder.rstrip("/") for folder in folders]
    try:
        releases = {name: tv.open_release(folder) for name, folder in zip(names, folders, strict=True)}
    except BundleError as error:
        if error.code != "folder-damaged":
            raise
        comparison = _damaged(names, folders)
        output.result("\n".join(comparison_lines(comparison, output.width)), comparison.as_dict())
        return VIOLATED
    if ledgers and len(ledgers) != len(names):
        raise ParameterError(
            f"there are {len(names)} folders and {len(ledgers)} ledgers",
            hint="give one --ledger for each folder, in the same order, or none",
        )
    private = dict(zip(names, map(output.ledger, ledgers), strict=True)) if ledgers else None
    with output.progress() as progress:
        comparison = tv.compare(releases, private, progress=progress)
    if options.out is not None:
        write_file(options.out, comparison_picture(comparison).svg(), private=bool(ledgers))
    output.result("\n".join(comparison_lines(comparison, output.width)), comparison.as_dict())
    if ledgers:
        output.say("Losses and chances were measured with the ledgers: keep these numbers to yourself.")
    return 0 if comparison.holds else VIOLATED


def _damaged(names: Sequence[str], folders: Sequence[str]) -> tv.Comparison:
    """What is wrong, as `verify` says it, and no number that rests on damaged files."""
    from timeveil.folder.opening import judged

    judgements = [judged(Path(folder)) for folder in folders]
    models = ("" if j.evidence is None else str(j.evidence.release.manifest["model"]) for j in judgements)
    verdicts = (judgement.verdict for judgement in judgements)
    reason = "A release that is not as it was written is no choice, and nothing is compared."
    return tv.Comparison(tuple(names), tuple(models), tuple(verdicts), (), "assumed", (reason,))


class PlotOptions(ReleaseOptions):
    """The options of `plot`."""

    out: str = parameter("New SVG file to draw to.", example="picture.svg", metavar="FILE")
    group: int | None = optional(
        "Series: this group; default: several, narrow to wide.", 7, models=("series",)
    )
    ledger: str | None = optional(
        "Series: draw the originals, too, which makes the picture private.",
        "loads.ledger",
        "PATH",
        models=("series",),
    )
    top: int | None = optional("Patterns: the N strongest; default 9.", 12, models=("patterns",))
    longer_than: int | None = optional("Patterns: only those of more than N items.", 3, models=("patterns",))


@command(PlotOptions)
def plot(options: PlotOptions, output: Output) -> int:
    """Draw a release: the envelopes and patterns of series, or the strongest patterns.

    Example: timeveil plot published --group 7 --out picture.svg
    """
    private = options.ledger is not None
    refuse_file(options.out, [options.folder], private=private)
    release = tv.open_release(options.folder)
    model = release.manifest["model"]
    if model not in ("series", "patterns"):
        raise ParameterError(
            "only a release of series or of patterns can be drawn",
            hint="name a folder that `anonymize-series` or `sanitize-patterns` wrote",
        )
    refuse_foreign(options, model)
    pictures = part(model, "words.pictures")
    if model == "series":
        ledger = None if options.ledger is None else output.ledger(options.ledger)
        picture = pictures.release_picture(release, options.group, ledger)
    else:
        evidence = part(model, "evidence").Evidence(release)
        top = pictures.SHOWN if options.top is None else options.top
        picture = pictures.release_picture(evidence, top, options.longer_than)
    write_file(options.out, picture.svg(), private=private)
    output.result(f"{options.out}: drawn", {"picture": options.out, "private": private})
    if private:
        output.say(f"`{options.out}` shows original series: keep it to yourself.")
    return 0


class ReportOptions(ReleaseOptions):
    """The options of `report`."""

    ledger: str | None = optional(
        "Private ledger; with it, the report shows risk, loss and attacks, and is private.",
        "visits.ledger",
        "PATH",
    )
    out: str | None = optional("New HTML file; without it, text is printed.", "report.html", "FILE")


@command(ReportOptions)
def report(options: ReportOptions, output: Output) -> int:
    """Write a report to keep with a release: what was published and guaranteed, its cost and its limits.

    Without a ledger it is public. Exits with 1 if the guarantee is violated; the report is written all the
    same, and says so.

    Example: timeveil report published --ledger visits.ledger --out report.html
    """
    out, private = options.out, options.ledger is not None
    refuse_file(out, [options.folder], "report", private=private)
    ledger = None if options.ledger is None else output.ledger(options.ledger)
    with output.progress() as progress:
        filed = tv.report(options.folder, ledger, progress=progress)
    text = str(filed)
    if out is not None:
        write_file(out, filed.html, private=private)
        text = f"{out}: {filed.kind} report written. {filed.summary[0]}"
    output.result(text, filed.as_dict())
    if out is not None and private:
        output.say(f"`{out}` shows what the release hides: keep it to yourself.")
    return 0 if filed.holds else VIOLATED
