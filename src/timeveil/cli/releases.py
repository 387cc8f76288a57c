"""Commands that look at releases: `verify`, `measure`, `attack`, `query`, `compare`, `plot`, `report`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import timeveil as tv
from timeveil.cli.options import Command, Function, LedgerCommand, ReleaseCommand, argument, earlier_ledgers
from timeveil.cli.output import Output, note_written, refuse_file, write_file
from timeveil.cli.publishing import VIOLATED
from timeveil.domain.lines import Particulars
from timeveil.domain.parameter import Parameter, optional, parameter
from timeveil.domain.wording import printable
from timeveil.errors import BundleError, ParameterError
from timeveil.jobs.query import Question
from timeveil.jobs.request import is_given, particulars
from timeveil.jobs.typed import refuse_other_models
from timeveil.models import FOLDERS, adversary_of, parameters_of, part
from timeveil.page.wording import numbered, wrapped


class Verify(ReleaseCommand):
    """Check that a release keeps its promise, fully if you have the ledger; exit 0 if it does, 1 if not.

    Cells, column names and the manifest (release.json) are checked. A file can hide other data; --rewrite
    writes a copy without it.

    Example: timeveil verify published
    """

    ledger: str | None = optional(
        "Private ledger; with it, people are counted, not only rows.", "visits.ledger", "PATH"
    )
    after: list[str] | None = earlier_ledgers()
    rewrite: str | None = optional(
        "If it holds, new folder for a clean copy made from the cells alone.", "clean", "NEW"
    )

    def run(self, output: Output) -> int:
        from timeveil.folder import writing
        from timeveil.folder.in_store import is_elsewhere
        from timeveil.folder.opening import judged, label
        from timeveil.folder.placing import refuse_nested

        if self.rewrite is not None and not is_elsewhere(self.rewrite):
            refuse_nested(Path(self.rewrite))
        ledger = None if self.ledger is None else output.ledger(self.ledger, self.after)
        with output.progress() as progress:
            evidence, verdict, sound = judged(self.folder, ledger, progress)
        model = None if evidence is None else str(evidence.release.manifest.get("model"))
        model = model if model in FOLDERS else None
        scope = parameters_of(model or "time").scopes[verdict.scope]
        head = f"{'holds' if verdict else 'violated'}: `{printable(label(self.folder))}`, {scope}"
        lines = wrapped(head, output.width)
        for violation in verdict.violations:
            lines += wrapped(printable(violation.message), output.width, "  ")
        lines += numbered(verdict.checks, output.width) if verdict else []
        output.result("\n".join(lines), {"model": model, **verdict.as_dict()})
        if sound and not verdict:
            output.say(
                "As far as a recipient can see, the release is sound: check that the ledger is the one that "
                "was made together with it."
            )
        if verdict and self.rewrite is not None:
            note_written(self.rewrite)
            writing.rewrite(self.folder, self.rewrite)
            output.say(f"A clean copy is in `{self.rewrite}`.")
        return 0 if verdict else VIOLATED


class Measure(LedgerCommand):
    """Show what the release lost compared with the original.

    Example: timeveil measure published --ledger visits.ledger
    """

    against: str | None = optional(
        "On patterns of series: a release of the same series, to compare with counts estimated from it.",
        "curves",
        "DIR",
    )

    def run(self, output: Output) -> None:
        release, ledger = tv.open_release(self.folder), output.ledger(self.ledger, self.after)
        against = None if self.against is None else tv.open_release(self.against)
        with output.progress() as progress:
            loss = tv.measure(release, ledger, against=against, progress=progress)
        model = release.manifest["model"]
        lines = part(model, "words").loss_summary(loss).lines(output.width)
        output.result("\n".join(lines), {"model": model, **loss.as_dict()})


class AttackOptions(LedgerCommand):
    """Options of `attack` beside what the adversary knows."""

    beside_plain: bool = parameter(
        "On a stream made with --protect-slot, with --knows true-slot: compare with the original as the "
        "paper's method would publish it.",
        default=False,
        models=("stream",),
    )
    explain: bool = parameter(
        "On patterns: also list small groups that the true counts reveal.",
        default=False,
        models=("patterns",),
    )
    picture: str | None = optional("Draw how many candidates are left, as SVG.", "attack.svg", "FILE")


def adversary_options() -> dict[str, Parameter]:
    """What adversaries may know, as options; a name that several models use is one option, typed as text."""
    lines = [(model, line) for model in FOLDERS for line in adversary_of(model).table().values()]
    options = {}
    for name in dict.fromkeys(line.name for _, line in lines):
        models, named = zip(*((model, line) for model, line in lines if line.name == name), strict=True)
        meanings: dict[str, list[str]] = {}
        for model, line in zip(models, named, strict=True):
            usual = line.default is not None and line.kind != "flag"
            text = (line.off or line.meaning).rstrip(".") + usual * f"; {line.default} if not set"
            meanings.setdefault(text[0].lower() + text[1:], []).append(parameters_of(model).contents)
        meaning = "; on ".join(f"{' and '.join(contents)}: {text}" for text, contents in meanings.items())
        options[name] = replace(
            named[0],
            meaning=f"On {meaning}.",
            off="",
            kind=named[0].kind if len({line.kind for line in named}) == 1 else "text",
            default=named[0].default if named[0].kind == "flag" else None,
            models=models,
        )
    return options


@partial(
    Function,
    arguments=lambda: map(argument, (*AttackOptions.table().values(), *adversary_options().values())),
)
def attack(output: Output, **typed: Any) -> None:
    """Look for every person as an outsider would, in the original and in the release.

    The outsider knows the quasi-identifiers and some visits of a person; on a stream, the slot of a record;
    on series, some values, the shape, or both. On patterns the outsider adds and subtracts the counts.

    Example: timeveil attack published --ledger visits.ledger --tolerance 30m; on series, timeveil attack
    published --ledger loads.ledger --values 3 --pattern
    """
    from timeveil.judging import gather

    options = AttackOptions(**{name: typed[name] for name in AttackOptions.table()})
    refuse_file(options.picture, private=True)
    release = tv.open_release(options.folder)
    model = str(release.manifest["model"])
    refuse_other_models({**AttackOptions.table(), **adversary_options()}, typed, model)
    pictures = part(model, "words.pictures")
    if options.picture is not None and not hasattr(pictures, "attack_picture"):
        message = f"there is no picture of an attack on {parameters_of(model).contents}"
        raise ParameterError(message, hint="leave --picture out; `timeveil plot` draws the release itself")
    ledger = output.ledger(options.ledger, options.after)
    lines = [line for line in adversary_of(model).table().values() if is_given(typed[line.name])]
    # A flag that was given is not at its default.
    knowledge = {line.name: not line.default if line.kind == "flag" else typed[line.name] for line in lines}
    adversary = adversary_of(model).typed(knowledge, release.manifest)
    with output.progress() as progress:
        breach: Any = tv.attack(gather(release, ledger, progress), None, adversary)
    plain = _plain_breach(release, ledger, breach) if options.beside_plain else None
    numbers = breach.as_dict() | ({} if plain is None else {"plain": plain.as_dict()})
    if options.explain:
        numbers["examples"] = [group.as_dict() for group in breach.examples]
    if options.picture is not None:
        unit = [release.manifest["time"]["unit"] or "second"] if model == "time" else []
        draw = pictures.attack_picture if plain is None else pictures.method_picture
        write_file(options.picture, draw(breach, *(unit if plain is None else [plain])).svg(), private=True)
    summary = part(model, "words").attack_summary(breach, release, *([] if plain is None else [plain]))
    risk = {name: numbers["after"][name] for name in ("worst", "mean")}
    text = "\n".join(summary.lines(output.width, examples=options.explain))
    output.result(text, {"model": model, **risk, **numbers})


def _plain_breach(release: tv.Release, ledger: tv.Ledger, breach: tv.StreamBreach) -> tv.StreamBreach:
    """The same attack on the same records, published by the paper's method."""
    if breach.true_slot is None or breach.adversary.knows != "true-slot":
        hint = "give --knows true-slot and a release that was made with --protect-slot"
        raise ParameterError("there is nothing to show beside the paper's method", hint=hint)
    original, stated = ledger.original, release.manifest["parameters"]
    published = tv.publish_stream(
        original.table,
        replace(original.roles, drop=()),
        slot=stated["slot"] or "day",
        nulls="withhold",
        zone=original.clock.zone,
        unit=original.clock.unit,
        **{name: stated[name] for name in ("l", "window", "move_cost", "fill_empty")},
    )
    return tv.attack(*published, breach.adversary)


class Query(Question, ReleaseCommand):
    """Estimate from the release alone how many rows are in a window of time, or how many series match.

    Questions about values and about the shape of series may be combined. On patterns: how many people
    have one, how often a rule holds, or the strongest ones.

    Example: timeveil query published --between 2024-03-01 2024-04-01 --where zip=04103
    """

    def run(self, output: Output) -> None:
        release = tv.open_release(self.folder)
        with output.progress() as progress:
            progress("counting", 0.5)
            text, data = self.answer(release, output.say)
        output.result(text, data)


class Compare(Command):
    """Put releases of the same data side by side: what each promises, publishes, loses and risks.

    Exits with 1 if one of them does not keep its promise, or is not as it was written; `verify` says why.

    Example: timeveil compare k5 k10 --ledger k5.ledger --ledger k10.ledger --out compared.svg
    """

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

    def run(self, output: Output) -> int:
        from timeveil.compare import comparison_lines, comparison_picture

        folders = self.folders
        refuse_file(self.out, private=bool(self.ledger))
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
        ledgers = list(map(output.ledger, self.ledger or ())) or None
        with output.progress() as progress:
            comparison = tv.compare(releases, ledgers, progress=progress)
        if self.out is not None:
            write_file(self.out, comparison_picture(comparison).svg(), private=bool(ledgers))
        output.result("\n".join(comparison_lines(comparison, output.width)), comparison.as_dict())
        if ledgers:
            output.say("Losses and chances were measured with the ledgers: keep these numbers to yourself.")
        return 0 if comparison.holds else VIOLATED


def _damaged(names: Sequence[str], folders: Sequence[str]) -> tv.Comparison:
    """What is wrong, as `verify` says it, and no number that rests on damaged files."""
    from timeveil.folder.opening import judged

    judgements = [judged(folder) for folder in folders]
    models = ("" if j.evidence is None else str(j.evidence.release.manifest["model"]) for j in judgements)
    verdicts = (judgement.verdict for judgement in judgements)
    reason = "A release that is not as it was written is no choice, and nothing is compared."
    return tv.Comparison(tuple(names), tuple(models), tuple(verdicts), (), "assumed", (reason,))


class Plot(ReleaseCommand):
    """Draw a release: the envelopes and patterns of series, or the strongest patterns.

    Example: timeveil plot published --group 7 --out picture.svg
    """

    out: str = parameter("New SVG file to draw to.", example="picture.svg", metavar="FILE")
    group: int | None = optional(
        "Series: the group to draw; several, from narrow to wide, if not set.", 7, models=("series",)
    )
    ledger: str | None = optional(
        "Series: draw the originals, too, which makes the picture private.",
        "loads.ledger",
        "PATH",
        models=("series",),
    )
    top: int | None = optional("Patterns: the N strongest; 9 if not set.", 12, models=("patterns",))
    longer_than: int | None = optional("Patterns: only those of more than N items.", 3, models=("patterns",))

    def run(self, output: Output) -> None:
        from timeveil.judging import gather

        private = self.ledger is not None
        refuse_file(self.out, private=private)
        release = tv.open_release(self.folder)
        model = release.manifest["model"]
        if model not in ("series", "patterns"):
            hint = "name a folder that `anonymize-series` or `sanitize-patterns` wrote"
            raise ParameterError("only a release of series or of patterns can be drawn", hint=hint)
        refuse_other_models(type(self).table(), vars(self), model)
        pictures = part(model, "words.pictures")
        evidence = gather(release, None if self.ledger is None else output.ledger(self.ledger))
        if model == "series":
            picture = pictures.release_picture(evidence, self.group, private=private)
        else:
            top = pictures.SHOWN if self.top is None else self.top
            picture = pictures.release_picture(evidence, top, self.longer_than)
        write_file(self.out, picture.svg(), private=private)
        output.result(f"{self.out}: drawn", {"picture": self.out, "private": private})
        if private:
            output.say(f"`{self.out}` shows original series: keep it to yourself.")


class Report(Particulars, ReleaseCommand):
    """Write a report to keep with a release: what was published and promised, its cost and its limits.

    Without a ledger it is public. Exits with 1 if the promise is violated; the report is written all the
    same, and says so.

    Example: timeveil report published --ledger visits.ledger --out report.html
    """

    ledger: str | None = optional(
        "Private ledger; with it, the report shows risk, loss and attacks, and is private.",
        "visits.ledger",
        "PATH",
    )
    after: list[str] | None = earlier_ledgers()
    job: str | None = optional(
        "Saved job whose [report] table adds statements of your own.", "job.toml", "FILE"
    )
    out: str | None = optional("New HTML file; without it, text is printed.", "report.html", "FILE")

    def run(self, output: Output) -> int:
        out, private = self.out, self.ledger is not None
        refuse_file(out, "the report", private=private)
        from_job = {} if self.job is None else vars(particulars(Path(self.job)))
        stated = {
            n: from_job.get(n) if (typed := getattr(self, n)) is None else typed for n in Particulars.table()
        }
        ledger = None if self.ledger is None else output.ledger(self.ledger, self.after)
        with output.progress() as progress:
            filed = tv.report(self.folder, ledger, progress=progress, **stated)
        text = str(filed)
        if out is not None:
            write_file(out, filed.html, private=private)
            text = f"{out}: {filed.kind} report written. {filed.summary[0]}"
        output.result(text, filed.as_dict())
        if out is not None and private:
            output.say(f"`{out}` shows what the release hides: keep it to yourself.")
        return 0 if filed.holds else VIOLATED
