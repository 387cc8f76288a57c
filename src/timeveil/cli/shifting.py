"""The command `shift-dates`: pseudonymisation with its risk, and without a promise."""

from __future__ import annotations

import io
import json
from typing import Any

import timeveil as tv
from timeveil.cli.options import Command
from timeveil.cli.output import Output, refuse_file, write_file
from timeveil.domain.parameter import optional, parameter
from timeveil.domain.roles import REST
from timeveil.domain.run import Columns
from timeveil.domain.shift import ShiftParameters
from timeveil.errors import ParameterError
from timeveil.jobs.columns import plain_roles
from timeveil.models.events.parameters import EventParameters

_WAYS = {None: "", "weekday": ", in whole weeks", "season": ", to about the same time of the year"}
_PERIODS = {"weekday": "weekday", "season": "quarter of the year"}


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
        write_file(self.out, _csv(shifted.table), private=True)
        write_file(stated, json.dumps(shifted.manifest, indent=2, ensure_ascii=False) + "\n", private=True)
        if self.key is not None:
            write_file(self.key, _csv(shifted.key), private=True)
        output.result("\n".join(_lines(shifted, self.out, output.width)), dict(shifted.manifest))


def _lines(shifted: tv.Shifted, out: str, width: int) -> list[str]:
    from timeveil.page.wording import counted, quoted, share, wrapped

    manifest, risk, counts = shifted.manifest, shifted.risk, shifted.manifest["counts"]
    singled_out = {known: share(part) for known, part in risk["singled_out"].items()}
    within, preserve = manifest["parameters"]["within"], manifest["parameters"]["preserve"]
    tried = counted(risk["people_tried"], "person", "people")
    left_out = (
        f" Left out {counted(counts['withheld'], 'row')} without a person or a time."
        if counts["withheld"]
        else ""
    )
    sentences = [
        f"Shifted {quoted(manifest['shifted'])} of {counted(counts['rows'], 'row')} of "
        f"{counted(counts['people'], 'person', 'people')}, each by a secret number of up to {within:,} days"
        f"{_WAYS[preserve]}. Intervals between the dates of a person stay.{left_out}",
        manifest["statement"],
        f"Tried on {tried}: an outsider who knows 1 visit exactly singles out {singled_out['1']} of them, "
        f"with 2 visits {singled_out['2']}, with 3 {singled_out['3']}, and with all {singled_out['all']}.",
    ]
    if preserve:
        part, period = share(risk["unique_profile"]), _PERIODS[preserve]
        sentences.append(f"{part} of the people are the only ones with their number of visits per {period}.")
    sentences.append("For a promise, publish the table with `timeveil generalize-time`.")
    lines = [f"{out}: dates shifted, without a promise"]
    for number, sentence in enumerate(sentences, 1):
        lines += wrapped(sentence, width, f"{number}. ")
    return lines


def _csv(table: Any) -> str:
    import pyarrow.csv

    target = io.BytesIO()
    pyarrow.csv.write_csv(table, target)
    return target.getvalue().decode()
