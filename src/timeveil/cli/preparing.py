"""Commands about a table, its time and values: what to choose before a release is made, and `shift-dates`."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import timeveil as tv
from timeveil.cli import options
from timeveil.cli.options import Command
from timeveil.cli.output import Output, refuse_file, write_file
from timeveil.cli.publishing import VIOLATED
from timeveil.domain.lines import READING, ExploreParameters, FileForm, ShiftParameters
from timeveil.domain.parameter import Parameter, optional, parameter
from timeveil.domain.roles import REST
from timeveil.domain.run import DRY_RUN, NOT_WRITTEN, Columns
from timeveil.errors import InfeasibleError, ParameterError
from timeveil.jobs.request import (
    PROFILED,
    calendar_file,
    explorable,
    explored,
    run_to_explore,
    run_to_profile,
)
from timeveil.jobs.typed import plain_roles
from timeveil.models import method_of, tables
from timeveil.models.events.parameters import EventParameters
from timeveil.page.wording import aligned, counted, numbered, people, quoted, share, wrapped


def _profiled(name: str) -> Parameter:
    """A parameter that a risk depends on; none is needed by every model."""
    declared = next(table.table()[name] for table in tables().values() if name in table.table())
    return declared if declared.kind == "flag" else replace(declared, default=None)


@partial(
    options.Function,
    arguments=lambda: [
        options.source("Table to read, such as visits.csv or visits.xlsx, or a folder of such files."),
        *options.columns([name for name in Columns.table() if name not in ("event", "keep", "drop")]),
        *(options.argument(_profiled(name)) for name in (*PROFILED, *READING)),
    ],
)
def profile(output: Output, **typed: Any) -> int:
    """Show the risk of a table as it is; exit 0 if it could be published like that, 1 if not.

    Of events with --k, by granularity: how many people would be alone or in a group of fewer than k, and what
    a count of rows would claim. Then what each way of recoding would lose and risk, if there are at most
    50,000 rows. Of a stream with --sensitive and --l: which slots keep an l as they are. Of series: who is
    alone with known values. Of items: small groups that true counts reveal. Only the columns named are read.

    Example: timeveil profile visits.csv --respondent patient --time taken_at --quasi zip --k 5
    """
    from timeveil.jobs.publish import profile_run

    run = run_to_profile(typed["source"], typed)
    with output.progress() as progress:
        risk, page = profile_run(run, progress)
    output.result("\n".join(page.lines(output.width)), risk.as_dict())
    return 0 if risk.safe else VIOLATED


class Suggest(FileForm, Command):
    """Propose a role for every column of a table, with the reason, as a job file to edit.

    Nothing is decided: read every line, change what is wrong, and publish with `timeveil run`.

    Example: timeveil suggest visits.csv --out visits.toml
    """

    source: str = parameter(EventParameters.reads, metavar="IN", positional=True)
    out: str | None = optional(
        "New job file; without it, only the proposal is printed.", "visits.toml", "FILE"
    )
    method: str | None = optional(
        "Command to publish with; the one that fits best if not set.", "publish-stream", "COMMAND"
    )

    def run(self, output: Output) -> None:
        refuse_file(self.out, "the job file", private=True)
        with output.progress() as progress:
            progress("reading", 0.0)
            proposal = tv.suggest(self.source, command=self.method, **self.reading())
        rows, reasons = [("column", "type", "values", "people alone", "role")], []
        for column in proposal.columns:
            singled_out = share(column.singled_out)
            rows.append((column.name, column.type, f"{column.values:,}", singled_out, column.role))
            reasons += wrapped(f"{column.name}: {column.reason}.", output.width, "", "  ")
        head = [f"{self.source} -> {proposal.command}", proposal.reason]
        lines = [*head, "", *aligned(rows, left=2), "", *reasons]
        if self.out is not None:
            write_file(self.out, proposal.job_text(Path(self.out).parent), private=True)
            lines += ["", f"{self.out}: check every line, then run it: timeveil run {self.out}"]
        output.result("\n".join(lines), proposal.as_dict())


class ExploringOptions(ExploreParameters):
    """How `explore` judges settings, and what it draws."""

    knows: str | None = optional(
        "On a stream: slot an outsider knows.", "true-slot", "published-slot|true-slot|several-slots"
    )
    picture: str | None = optional("Draw the trade-off as SVG.", "explored.svg", "FILE")


@partial(
    options.Function,
    arguments=lambda: [
        options.source(
            "Table to read, such as visits.csv; a saved job, such as job.toml; or a series release folder."
        ),
        *(options.argument(declared, ranges=name in explored()) for name, declared in explorable().items()),
        *options.columns([name for name in Columns.table() if name != "cyclic"]),
        *map(options.argument, ExploringOptions.table().values()),
    ],
)
def explore(output: Output, **typed: Any) -> int:
    """Try several settings of a parameter in memory: what each loses and risks, and the best balance.

    Takes the options of `generalize-time`, `publish-stream`, `anonymize-series` or `sanitize-patterns`, one
    of them with a list, 2,5,10, or a range, 2..50, of which up to ten settings are tried. No release is
    written. Exits with 3 if no setting is possible, or none stays within the limits.

    Example: timeveil explore visits.csv --respondent patient --time taken_at --quasi zip --drop-rest
    --k 2..50 --max-risk 0.1 --picture explored.svg
    """
    from timeveil.explore.exploration import exploration_lines, exploration_picture
    from timeveil.jobs.publish import arguments, source_of

    refuse_file(typed["picture"], private=True)
    judging = {name: typed[name] for name in ExploreParameters.table()}
    run = run_to_explore(typed["source"], typed)
    if typed["knows"] is not None:
        if run.model != "stream":
            raise ParameterError("`--knows` applies to streams only", hint="leave --knows out")
        judging["adversary"] = tv.StreamAdversary(typed["knows"])
    with output.progress() as progress:
        exploration = tv.explore(
            method_of(run.table), source_of(run), run.roles, progress=progress, **judging, **arguments(run)
        )
    if typed["picture"] is not None:
        write_file(typed["picture"], exploration_picture(exploration).svg(), private=True)
    lines = exploration_lines(exploration, typed["source"], output.width)
    output.result("\n".join(lines), exploration.as_dict())
    met = exploration.feasible and (exploration.best is not None or not exploration.limited)
    return 0 if met else InfeasibleError.exit_code


class Granularities(Command):
    """List the granularities of time, and which is directly coarser than which.

    Example: timeveil granularities --graph order.svg
    """

    graph: str | None = optional("Draw which is finer than which, as SVG.", "order.svg", "FILE")
    calendar: str | None = optional("TOML file that defines further granularities.", "clinic.toml", "FILE")

    def run(self, output: Output) -> None:
        from timeveil.calendar.catalogue import CATALOGUE
        from timeveil.calendar.definitions import from_toml
        from timeveil.calendar.order import Order
        from timeveil.page.charts import order_picture

        defined = [] if self.calendar is None else from_toml(calendar_file(Path(self.calendar)))
        every = list({**CATALOGUE, **{g.name: g for g in defined}}.values())
        if self.graph is not None:
            write_file(self.graph, order_picture([g for g in every if g.clock in ("civil", "any")]).svg())
        order = Order(every)
        coarser = [[h.name for h in order.directly_coarser(g)] for g in every]
        rows, data = [("name", "what it is", "gaps", "directly coarser")], []
        for g, names in zip(every, coarser, strict=True):
            rows.append((g.name, g.title, "yes" if g.has_gaps else "", ", ".join(names)))
            data.append(g.as_dict() | {"has_gaps": g.has_gaps, "directly_coarser": names})
        output.result("\n".join(aligned(rows, left=4)), {"granularities": data})


class Hierarchy(FileForm, Command):
    """Write a hierarchy file for a column: one row per value, one column per level, for you to edit.

    Use it with `generalize-time --hierarchy age=age.csv`. It lists the values of the column, so only you can
    read it; treat it as you treat the table.

    Example: timeveil hierarchy visits.csv --column age --intervals 5,10,20 --out age.csv
    """

    source: str = parameter(EventParameters.reads, metavar="IN", positional=True)
    column: str = parameter("Column to make coarser.", example="age", metavar="C")
    out: str = parameter("New hierarchy file.", example="age.csv", metavar="FILE")
    intervals: str | None = optional("For numbers: widths from fine to coarse.", "5,10,20", "N,N")
    prefixes: str | None = optional("For codes: how many characters stay.", "3,2", "N,N")

    def run(self, output: Output) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        from timeveil.recoding import hierarchy_from

        column, out, prefixes = self.column, self.out, self.prefixes
        if (self.intervals is None) == (prefixes is None):
            hint = "--intervals 5,10,20 for numbers, --prefixes 3,2 for codes"
            raise ParameterError("give either --intervals or --prefixes", hint=hint)
        refuse_file(out, "the hierarchy", private=True)
        rule = hierarchy_from(f"intervals:{self.intervals}" if prefixes is None else f"prefixes:{prefixes}")
        roles = tv.Roles(keep=[column], drop=REST)
        values = tv.read(self.source, roles, needs=(), **self.reading()).table[column].unique().drop_null()
        levels = [rule.level(number, values)["published"].to_pylist() for number in range(1, rule.top + 1)]
        sorted_as = pa.float64() if prefixes is None else pa.string()
        order = pc.array_sort_indices(values.cast(sorted_as)).to_pylist()
        texts, target = values.cast(pa.string()).to_pylist(), io.StringIO()
        writer = csv.writer(target, delimiter=";", lineterminator="\n")
        writer.writerows((texts[row], *(level[row] for level in levels)) for row in order)
        write_file(out, target.getvalue(), private=True)
        names = ["the value itself", *("one value for all" if name == "*" else name for name in rule.names)]
        text = f"{out}: {len(values):,} values of `{column}`, {len(names)} levels: {', '.join(names)}"
        data = {"file": out, "column": column, "values": len(values), "levels": list(rule.names)}
        output.result(text, data)


class ShiftDates(ShiftParameters, Command):
    """Shift the dates of each person by a secret number of days. Promises nothing, and measures the risk.

    Intervals between the dates of a person stay, and pseudonyms replace the people: this is pseudonymisation.
    The measured risk is stated in FILE.json next to the table.

    Example: timeveil shift-dates visits.csv --respondent patient --time day --drop-rest --out new.csv
    """

    command = "shift_dates"

    source: str = parameter(EventParameters.reads, metavar="IN", positional=True)
    out: str = parameter("New CSV file, which only you can read.", example="shifted.csv", metavar="FILE")
    key: str | None = optional(
        "New private file with each person's pseudonym and shift; neither is kept if not set.",
        "key.csv",
        "FILE",
    )
    respondent: str = parameter(
        "Column that identifies the person a row is about; a pseudonym replaces it.",
        example="patient",
        metavar="C",
    )
    time: str = parameter("Time column.", example="taken_at", metavar="C")
    until: list[str] | None = optional(
        "Further column of dates or times, shifted by the same number of days.", ["discharged"], "C"
    )
    quasi: list[str] | None = optional("Column that an outsider may know; passed on unchanged.", ["zip"], "C")
    keep: list[str] | None = optional("Further column to pass on.", ["exam"], "C")
    drop: list[str] | None = optional("Column to leave out.", ["name"], "C")
    drop_rest: bool = parameter("Leave out every column that has no role.", default=False)
    dry_run: bool = parameter(DRY_RUN.meaning, default=False)

    def run(self, output: Output) -> None:
        stated = f"{self.out}.json"
        for path, what in ((self.out, "the shifted table"), (stated, "its statement"), (self.key, "the key")):
            refuse_file(path, what, private=True)
        if self.key in (self.out, stated):
            raise ParameterError("the key and the table have one name", hint="name another file with --key")
        columns = {name: getattr(self, name) for name in Columns.table() if getattr(self, name, None)}
        if self.drop_rest:
            columns["drop"] = REST
        options = {name: getattr(self, name) for name in ShiftParameters.table()}
        options["accept_risk"] = [name for name in self.accept_risk if name]
        with output.progress() as progress:
            progress("shifting", 0.2)
            shifted = tv.shift_dates(self.source, plain_roles(columns), **options)
        if not self.dry_run:
            write_file(self.out, _csv(shifted.table), private=True)
            write_file(
                stated, json.dumps(shifted.manifest, indent=2, ensure_ascii=False) + "\n", private=True
            )
            if self.key is not None:
                write_file(self.key, _csv(shifted.key), private=True)
        output.result("\n".join(_lines(shifted, self.out, output.width)), dict(shifted.manifest))
        if self.dry_run:
            output.say(NOT_WRITTEN)


def _lines(shifted: tv.Shifted, out: str, width: int) -> list[str]:
    manifest, risk, counts = shifted.manifest, shifted.risk, shifted.manifest["counts"]
    singled_out = {visits: share(part) for visits, part in risk["singled_out"].items()}
    within, preserve = manifest["parameters"]["within"], manifest["parameters"]["preserve"]
    withheld = f" Left out {counted(counts['withheld'], 'row')} without a person or a time."
    ways = {"weekday": ", in whole weeks", "season": ", to about the same time of the year"}
    sentences = [
        f"Shifted {quoted(manifest['shifted'])} of {counted(counts['rows'], 'row')} of "
        f"{people(counts['people'])}, each by a secret number of up to {within:,} days"
        f"{ways.get(preserve, '')}. Intervals between the dates of a person stay."
        f"{withheld if counts['withheld'] else ''}",
        manifest["statement"],
        f"Tried on {people(risk['people_tried'])}: an outsider who knows 1 visit exactly singles out "
        f"{singled_out['1']} of them, with 2 visits {singled_out['2']}, with 3 {singled_out['3']}, "
        f"and with all {singled_out['all']}.",
    ]
    if preserve:
        part = share(risk["unique_profile"])
        period = "quarter of the year" if preserve == "season" else preserve
        sentences.append(f"{part} of the people are the only ones with their number of visits per {period}.")
    sentences.append("For a promise, publish the table with `timeveil generalize-time`.")
    return [f"{out}: dates shifted, without a promise", *numbered(sentences, width)]


def _csv(table: Any) -> str:
    import pyarrow.csv

    target = io.BytesIO()
    pyarrow.csv.write_csv(table, target)
    return target.getvalue().decode()
