"""Propose a role for every column, with the reason, by how a table looks; the user confirms or changes it.

Cells are only counted, and names of columns decide between roles that look alike. Where neither decides,
the safer role is proposed: a column that outsiders may know is protected, and one that would act as a
pseudonym is left out.
"""

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.civil import DAY, UNITS
from timeveil.domain.arrays import Floats
from timeveil.domain.judgement import PlainData
from timeveil.domain.lines import FileForm
from timeveil.domain.parameter import Parameters, literal
from timeveil.domain.roles import Roles
from timeveil.domain.run import Columns
from timeveil.errors import InputError, ParameterError
from timeveil.evidence.codes import Coded, distinct_pairs, encode
from timeveil.models import parameters_of, tables
from timeveil.page.wording import counted, name, share, visible
from timeveil.reading import looks
from timeveil.reading.columns import is_list, is_text, with_points
from timeveil.reading.database import is_address
from timeveil.reading.risks import FEWEST_ROWS, MOST
from timeveil.reading.sources import Form, open_source
from timeveil.reading.table import moments

FEW, LEAST_INSTANTS, OFTEN, MOST_QUASI = 60, 5, 1.5, 6
"""A column of more values is no category; fewer like columns are no series; rows per person of events; with
more quasi-identifiers little of each is left."""
MANY_ITEMS, MOST_SETS = 12, 500_000
"""People with more items than this have too many patterns in common; more sets of three are too many, too."""


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """What a column looks like, the role that is proposed for it, and why.

    `values` are different ones, `nulls` are empty cells, and `singled_out` is the share of people (of rows,
    if no column names people) who alone have one of their values. `role` is that of `Roles`.
    """

    name: str
    type: str
    values: int
    nulls: int
    singled_out: float
    role: str = "drop"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Suggestion(PlainData):
    """The roles of all columns, and the command that fits the table, each with its reason.

    `values` are parameters that follow from the columns, such as hierarchies of quasi-identifiers, and `form`
    is what was stated about the file.
    """

    source: str
    rows: int
    command: str
    reason: str
    columns: tuple[ColumnProfile, ...]
    values: Mapping[str, Any]
    form: Mapping[str, Any] = field(default_factory=dict)

    ALSO: ClassVar = ("named as roles",)

    @property
    def named(self) -> dict[str, Any]:
        """The columns of each role, as options and job files name them."""
        lines, named = Columns.table(), dict[str, Any]()
        for column in self.columns:
            if lines[column.role].kind == "names":
                named.setdefault(column.role, []).append(column.name)
            else:
                named[column.role] = column.name
        return named

    @property
    def roles(self) -> Roles:
        """The proposed roles."""
        return Roles(**self.named)

    def job_text(self, folder: str | Path = ".") -> str:
        """A job file to edit, for that folder; what is proposed and must be decided has a comment."""
        source = self.source if is_address(self.source) else os.path.relpath(self.source, folder)
        stem = re.sub(r"\W+", "-", Path(source.partition("#")[0]).name.split(".")[0]) or "table"
        lines = [
            "# Proposed by `timeveil suggest`: check every role, then publish with `timeveil run`.",
            f"# {visible(self.reason)}",
            f"command = {literal(self.command)}",
            f"in = {literal(source)}",
            f"out = {literal(f'{stem}-published')}",
            f"ledger = {literal(f'{stem}.ledger')}  # private: it shows who is in which group",
            "",
        ]
        for role, names in self.named.items():
            columns = [column for column in self.columns if column.role == role]
            if isinstance(names, str):
                lines.append(f"{role} = {literal(names)}  # {visible(columns[0].reason)}")
            else:
                listed = (f"  {literal(column.name)},  # {visible(column.reason)}" for column in columns)
                lines += [f"{role} = [", *listed, "]"]
        table = tables()[self.command].table()
        lines.append("")
        for key, value in {**required_values(tables()[self.command]), **self.form, **self.values}.items():
            meaning = f"  # {table[key].meaning}" if table[key].required else ""
            lines.append(f"{table[key].key} = {literal(value, toml=True)}{meaning}")
        return "\n".join(lines) + "\n"


def required_values(table: type[Parameters]) -> dict[str, Any]:
    """The parameters that a command cannot do without, each at its example."""
    return {name: line.example for name, line in table.table().items() if line.required}


def suggest(table: Any, *, command: str | None = None, **form: Any) -> Suggestion:
    """Propose a role for every column of a table, with the reason.

    `command` is what it is to be published with; the one that fits best if it is not set. `form` says how a
    file is written, as for `read`: `decimal`, `delimiter`, `encoding`, `sheet`.

    >>> rows = {"patient": ["a", "b", "a"] * 30, "day": ["2024-01-31", "2024-02-01", "2024-02-02"] * 30}
    >>> proposal = suggest(pa.table(rows))
    >>> proposal.command, proposal.roles.respondent, proposal.roles.time
    ('generalize-time', 'patient', 'day')
    """
    if command is not None and command not in tables():
        raise ParameterError("`command` is not one that publishes", hint=f"use one of {', '.join(tables())}")
    stated = FileForm(**form)
    source = open_source(table, Form(stated.delimiter, stated.encoding, stated.sheet))
    data = pa.concat_tables(source.batches(source.names))
    if data.num_rows == 0:
        subject = "the table" if source.name is None else f"`{source.name}`"
        hint = "check that it is the right file"
        raise InputError(f"{subject} has no rows", hint=hint, code="file-unreadable")
    path = str(table) if isinstance(table, str | os.PathLike) else (source.name or "IN")
    stated_form = {name: value for name, value in stated.reading().items() if value is not None}
    return _Look(data, stated_form).proposal(path, command)


class _Spread(NamedTuple):
    """Share of people who alone have a value of a column; rows of such; whether people keep or repeat one."""

    people: float
    rows: int
    constant: bool
    repeated: bool


class _Look:
    """The columns of a table, counted once."""

    def __init__(self, data: pa.Table, form: Mapping[str, Any]) -> None:
        self.rows, self.names, self.form = data.num_rows, data.column_names, form
        self.coded: dict[str, Coded] = {}
        self.values: dict[str, pa.Array] = {}
        self.nulls: dict[str, int] = {}
        self.kinds: dict[str, str] = {}
        for column in self.names:
            cells = data[column]
            if is_text(cells.type):
                cells = pc.if_else(pc.equal(cells, ""), pa.nulls(len(cells), cells.type), cells)
            self.nulls[column] = cells.null_count
            if is_list(cells.type):
                self.kinds[column] = "list"
                cells = pa.array([None if cell is None else str(cell) for cell in cells.to_pylist()])
            self.coded[column] = encode(cells)
            values = self.coded[column].values.drop_null()
            if form.get("decimal") == "comma" and is_text(values.type):
                values = with_points(values)
            self.values[column] = values
            self.kinds.setdefault(column, looks.kind_of(values, form.get("decimal")))
        self.person = self._person()
        self.owner = np.arange(self.rows) if self.person is None else self.coded[self.person].codes
        self.people = self.rows if self.person is None else self.size(self.person)
        self.spread = {column: self._spread(column) for column in self.names}

    def size(self, column: str) -> int:
        return len(self.coded[column].values.drop_null())

    def commonest(self, column: str) -> float:
        """The share of the filled rows that have the commonest value."""
        coded = self.coded[column]
        counts = np.bincount(coded.codes)[np.asarray(coded.values.is_valid())]
        return float(counts.max(initial=0) / max(counts.sum(), 1))

    def proposal(self, source: str, command: str | None) -> Suggestion:
        dated = [c for c in self.names if self.kinds[c] in ("date", "time")]
        counts = [c for c in self.names if self.kinds[c] == "whole number" and c.lower() in UNITS]
        series, times = self._series(), [c for c in dated if not looks.words_of(c) & looks.BORN]
        times = times or counts[:1]
        fitting, reason = self._command(series, times)
        table = tables()[command or fitting]
        if command not in (None, fitting):
            reason = f"Set to {command}."
        proposed = dict(self._roles(table, series, times))
        if table.model == "time":
            self._limit_quasi(proposed)
        # One column each; others that look like it are left out.
        for role in ("respondent", "time", "value", "item", *["sensitive"] * (table.model == "stream")):
            columns = [column for column, (proposal, _) in proposed.items() if proposal == role]
            for column in columns[1:]:
                reason_to_drop = f"looks like {name(columns[0])}, which has the role {role}"
                if role == "sensitive":
                    reason_to_drop = f"a stream protects one sensitive column, here {name(columns[0])}"
                proposed[column] = ("drop", reason_to_drop)
        profiles = tuple(
            ColumnProfile(c, self.kinds[c], self.size(c), self.nulls[c], self.spread[c].people, *proposed[c])
            for c in self.names
        )
        values = self._values(table, proposed)
        return Suggestion(source, self.rows, table.command, reason, profiles, values, self.form)

    def _person(self) -> str | None:
        """The column that names people best: by its name, else by many values that come again."""
        ranks = {}
        for column in self.names:
            words, size = looks.words_of(column), self.size(column)
            plain = self.kinds[column] in ("text", "whole number") and size > 1
            if not plain or words & (looks.KNOWN - looks.WHO):
                continue
            rank = 3 * bool(words & looks.WHO) + 2 * bool(words & looks.NUMBERED)
            repeated = self.kinds[column] == "text" and max(FEW, self.rows // 200) < size <= self.rows // 2
            if rank or (repeated and not words & (looks.SECRET | looks.ITEM)):
                ranks[column] = rank
        return max(ranks, key=ranks.__getitem__) if ranks else None

    def _series(self) -> list[str]:
        """The longest run of neighbouring columns of numbers whose names differ in digits alone."""
        runs: list[list[str]] = []
        stem = None
        for column in self.names:
            number = self.kinds[column] in ("number", "whole number") and column != self.person
            pattern = re.sub(r"\d+", "#", column) if number and re.search(r"\d", column) else None
            if pattern is None or pattern != stem:
                runs.append([])
            runs[-1] += [column] if pattern else []
            stem = pattern
        longest = max(runs, key=len, default=[])
        return longest if len(longest) >= LEAST_INSTANTS else []

    def _command(self, series: Sequence[str], times: Sequence[str]) -> tuple[str, str]:
        models = ("time", "series", "patterns", "stream")
        time, series_of, patterns, stream = (parameters_of(model).command for model in models)
        rows_each = self.rows / max(self.people, 1)
        if series:
            return series_of, f"One series per row: {len(series)} columns of numbers, one for each instant."
        if not times:
            has_items = self.person is not None and rows_each > 1
            common = f"No time, and {rows_each:.1f} rows per person: what people have in common."
            nothing = (time, "No column reads as a time; name one before you publish.")
            return (patterns, common) if has_items else nothing
        instants = self.size(times[0])
        is_grid = instants * self.people == self.rows and instants >= LEAST_INSTANTS
        if is_grid and self._values_of_series(times):
            return series_of, f"A reading of each of {self.people:,} people at each of {instants:,} times."
        secret = next((c for c in self.names if looks.words_of(c) & looks.SECRET and self.size(c) > 1), None)
        if secret is None or rows_each >= OFTEN or self.kinds[times[0]] != "date":
            return time, f"{rows_each:.1f} rows per person, each with a time: events."
        why = f"About one record per person ({rows_each:.2g}), each with a day"
        commonest = self.commonest(secret)
        if commonest <= 1 / 2:
            return stream, f"{why}: snapshots of a stream."
        why += f"; {share(commonest)} have the same {name(secret)}, too many for a stream"
        return time, f"{why}: events, in which it is not protected."

    def _values_of_series(self, times: Sequence[str]) -> list[str]:
        return [c for c in self.names if self.kinds[c] == "number" and c not in (*times, self.person)]

    def _roles(
        self, table: type[Parameters], series: Sequence[str], times: Sequence[str]
    ) -> Iterator[tuple[str, tuple[str, str]]]:
        """The role of each column, and why; a role that the command does not have becomes `drop`."""
        wide = bool(series) and "series" in table.roles
        long = "value" in table.roles and not wide and bool(times)
        items: list[str] = []
        if "item" in table.roles and not wide and not long:
            candidates = [c for c in self.names if c != self.person and self.kinds[c] != "number"]
            items = sorted(candidates, key=lambda c: (not looks.words_of(c) & looks.ITEM, -self.size(c)))[:1]
        roles = {*table.needs, *table.roles}
        for column in self.names:
            role, reason = next(self._readings(column, times))
            if wide and column in series:
                reason = "one of the neighbouring columns of numbers: an instant of the series"
                role = "series"
            elif long and self._values_of_series(times)[:1] == [column]:
                role, reason = "value", "numbers: the reading of a person at a time"
            elif column in items:
                role, reason = "item", f"{self.size(column):,} different things that people have"
            elif role == "time" and wide:
                role, reason = "drop", "a table with one series per row has no time column"
            if role not in roles:
                role, reason = "drop", f"{reason}; {table.command} publishes no such column"
            yield column, (role, reason)

    def _limit_quasi(self, proposed: dict[str, tuple[str, str]]) -> None:
        """Leave out the quasi-identifiers that are the least likely to be known, if there are many."""
        quasi = [column for column, (role, _) in proposed.items() if role == "quasi"]
        quasi.sort(key=lambda c: (not looks.words_of(c) & looks.KNOWN, not self.spread[c].constant))
        for column in quasi[MOST_QUASI:]:
            reason = f"{len(quasi)} columns may be known; each further one leaves the others coarser"
            proposed[column] = ("drop", reason)

    def _readings(self, column: str, times: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Roles that fit a column by itself, whatever the command is, the best first."""
        words, size, kind = looks.words_of(column), self.size(column), self.kinds[column]
        sole_rows, filled_rows = self.spread[column].rows, self.rows - self.nulls[column]
        if column == self.person:
            values = f"{size:,} values, {'repeated' if size < filled_rows else 'each once'}"
            yield "respondent", f"looks like a person: {counted(self.rows, 'row')}, {values}"
        if column in times[:1]:
            counts = f"whole numbers called {name(column)}, taken as a time"
            yield "time", "reads as a time" if kind in ("date", "time") else counts
        if column in times and self._follows(times[0], column):
            yield "until", f"a date that follows {name(times[0])}: published as the duration since"
        if kind in ("date", "time"):
            yield "drop", f"a further {kind}: it would show when a row happened, however coarse the time is"
        if size < 2:
            yield "keep", "one value in every row: it shows nothing about anybody"
        if filled_rows >= FEWEST_ROWS and sole_rows > MOST * filled_rows:
            share = f"{sole_rows:,} of {filled_rows:,} rows"
            alone = f"{share} have a value that only one {'person' if self.person else 'row'} has"
            yield "drop", f"kept, it would act as a pseudonym: {alone}"
        if words & looks.SECRET:
            yield "sensitive", "its name says that it must not be learnt about a person"
        if words & looks.KNOWN:
            yield "quasi", "its name says that neighbours, colleagues or newspapers may know it"
        if size > FEW:
            yield "drop", f"{size:,} values, and nothing says that recipients need it"
        if self.person is not None and self.spread[column].constant:
            yield "quasi", "the same in all rows of a person: others may know it"
        yield "quasi", "not recognised, so protected like what outsiders know; keep it if they cannot know it"

    def _spread(self, column: str) -> _Spread:
        coded = self.coded[column]
        present = np.asarray(coded.values.is_valid())[coded.codes]
        owner, people = self.owner[present].astype(np.int64), int(self.owner.max(initial=0)) + 1
        value, person, rows = distinct_pairs(coded.codes[present], owner, people)
        alone = np.bincount(value)[value] == 1
        several = np.bincount(person, weights=rows) > 1
        changing = np.bincount(person)[several] > 1
        constant = bool(len(changing)) and bool(changing.mean() < 0.1)
        singled_out = len(np.unique(person[alone])) / max(self.people, 1)
        return _Spread(singled_out, int(rows[alone].sum()), constant, len(value) < len(owner))

    def _follows(self, time: str, column: str) -> bool:
        """Whether a second time is nearly always at or after the first."""
        first, second = self._seconds(time), self._seconds(column)
        stated = ~np.isnan(first + second)
        follows = second[stated] >= first[stated] // DAY * DAY
        return bool(len(follows)) and bool(follows.mean() > 0.95)

    def _seconds(self, column: str) -> Floats:
        """The time of each row, NaN where it is missing; everywhere, if some cell is no time."""
        coded = self.coded[column]
        read = moments(coded.values) or moments(coded.values, "UTC")
        if read is None:
            return np.full(self.rows, np.nan)
        seconds, missing = read
        return np.where(missing, np.nan, seconds)[coded.codes]

    def _values(self, table: type[Parameters], proposed: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
        """What follows from the columns: a unit, what empty cells mean, how coarse columns may become."""
        values, hierarchies, lines = dict[str, Any](), dict[str, str](), table.table()
        needed = {"respondent", "time", "item", *["sensitive"] * (table.model == "stream")}
        for column, (role, _) in proposed.items():
            if role == "time" and self.kinds[column] == "whole number" and table.model == "time":
                values["unit"] = column.lower()
            if role == "sensitive" and "l" in required_values(table):
                most = min(lines["l"].example, self.size(column), int(1 / self.commonest(column)))
                values["l"] = max(2, most)
            if role == "item":
                values |= {"repeats": "once"} if self.spread[column].repeated else {}
                each = int((self.rows - self.nulls[column]) / max(self.people, 1))
                if each > MANY_ITEMS:
                    support = lines["min_support"].example
                    values["max_len"] = 3 if math.comb(each, 3) / support <= MOST_SETS else 2
            if role in needed and self.nulls[column] and "nulls" in lines:
                values["nulls"] = lines["nulls"].example
            if role == "quasi" and table.model == "time":
                how = looks.hierarchy_of(self.values[column], self.kinds[column])
                hierarchies[column] = how or "suppression"
        return values | ({"recode": "local", "hierarchies": hierarchies} if hierarchies else {})
