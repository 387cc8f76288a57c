"""Releases of the same data side by side: what each promises, publishes, loses and risks.

Where two numbers answer different questions, neither is called better.

Folders cannot show whether releases are of the same data. A ledger holds the original: ledgers of releases of
the same table have equally many rows, and the same values in every column that they share, in any order.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

from timeveil.domain.guarantee import KPAnonymity, LDiversity
from timeveil.domain.judgement import Verdict
from timeveil.domain.release import Ledger, Release
from timeveil.domain.wording import Progress, silent
from timeveil.errors import InputError, ParameterError
from timeveil.evidence.codes import column_of, plain_type, same_values
from timeveil.evidence.published import Evidence, require
from timeveil.explore.sweep import judge
from timeveil.judging import attack, gather, verify
from timeveil.models import part
from timeveil.page.charts import Bar, grouped_bars
from timeveil.page.svg import LOSS, RISK, Picture
from timeveil.page.templates import sentences
from timeveil.page.wording import UNITS, WIDTH, aligned, amount, cell, counted, numbered, percent, shortened

Part = Literal["promise", "parameter", "size", "loss", "risk"]
_NAMES = {
    "bits": "bits per row",
    "both": "values and pattern",
    "promised": "chance promised",
    "promised_true_slot": "chance promised (true slot)",
    "worst": "worst chance found",
    "mean": "mean chance found",
    "worst_true_slot": "worst chance (true slot)",
    "mean_true_slot": "mean chance (true slot)",
    "envelopes_alone": "chance by envelopes alone",
    "worst_values": "worst chance (few values)",
    "mean_values": "mean chance (few values)",
    "transactions": "people counted",
    "virtual": "virtual people",
}
_LONGEST_CELL, _LONGEST_NAME = 30, 20
_COLOURS = {"loss": LOSS, "risk": RISK}
_NO_SIZE = ("withheld", "rows_read", "suppressed", "first_slot", "last_slot")
"""Counts of a manifest that do not show how much was published."""
_IN_GUARANTEE = ("k", "l", "p", "protect_slot", "recurring", "forget_after")
NOT_SET = "-"


@dataclass(frozen=True, slots=True)
class Line:
    """One property of every release: a cell for each.

    `share` means that cells are shares. `ranked` means that less is better and that cells may be compared,
    because they answer the same question.

    >>> Line("loss", "withheld", (0.0, 0.05, 0.0), share=True, ranked=True).best
    (0, 2)
    >>> Line("loss", "withheld", (0.05, 0.05), share=True, ranked=True).best
    ()
    """

    part: Part
    name: str
    cells: tuple[float | str, ...]
    share: bool = False
    ranked: bool = False

    @property
    def title(self) -> str:
        """Its name in words."""
        return _NAMES.get(self.name, self.name.replace("_", " "))

    @property
    def best(self) -> tuple[int, ...]:
        """Places of the best releases on this line; none if all are equal or the line is not ranked."""
        numbers = [cell for cell in self.cells if isinstance(cell, int | float)]
        if not self.ranked or len(numbers) < len(self.cells) or max(numbers) == min(numbers):
            return ()
        return tuple(column for column, number in enumerate(numbers) if number == min(numbers))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Releases side by side, by `names` and in their order.

    `verdicts` holds the verdict of `verify` on each. `same_data` is `agrees` if the ledgers hold the same
    original, and `assumed` if nothing shows it. `notes` explain what cannot be compared, and why.
    """

    names: tuple[str, ...]
    models: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    lines: tuple[Line, ...]
    same_data: Literal["agrees", "assumed"]
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every release keeps its promise."""
        return all(self.verdicts)

    def line(self, name: str) -> Line:
        """A line by its name."""
        return next(line for line in self.lines if line.name == name)

    def best_in(self, name: str) -> tuple[str, ...]:
        """The lines on which one release is best, or among the best."""
        column = self.names.index(name)
        return tuple(line.name for line in self.lines if column in line.best)

    def as_dict(self) -> dict[str, Any]:
        """The comparison as data."""
        verdicts, lines = zip(self.models, self.verdicts, strict=True), []
        for line in self.lines:
            best = [self.names[column] for column in line.best]
            lines.append({"part": line.part, "name": line.name, "cells": list(line.cells), "best": best})
        return {
            "releases": list(self.names),
            "models": list(self.models),
            "verified": [{"model": model, **verdict.as_dict()} for model, verdict in verdicts],
            "same_data": self.same_data,
            "lines": lines,
            "best_in": {name: list(self.best_in(name)) for name in self.names},
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class _Summary:
    """One release in words and numbers by name; `basis` is what its losses and risks are about."""

    verdict: Verdict
    model: str
    guarantee: str
    parameters: Mapping[str, str]
    numbers: Mapping[str, Mapping[str, float]]
    basis: str


def compare(
    releases: Mapping[str, Release] | Sequence[Release],
    ledgers: Mapping[str, Ledger] | Sequence[Ledger] | None = None,
    *,
    progress: Progress = silent,
) -> Comparison:
    """Put releases of the same data side by side: what each promises, publishes, loses and risks.

    `releases` are at least two, by name or in order. With `ledgers`, by the same names or in the same order,
    losses are measured and risks are those of the default attack; without, they are what the releases state.

    >>> import pyarrow as pa
    >>> from timeveil import generalize_time
    >>> from timeveil.domain.roles import Roles
    >>> visits = pa.table({"who": ["u1", "u2", "u1", "u4", "u3"],
    ...                    "when": ["2006-01-03", "2006-01-03", "2006-01-11", "2006-01-12", "2006-02-01"]})
    >>> roles = Roles(respondent="who", time="when")
    >>> pairs = [generalize_time(visits, roles, k=k, suppress=0.2) for k in (2, 3)]
    >>> found = compare({"two": pairs[0][0], "three": pairs[1][0]})
    >>> found.line("granularity").cells, found.best_in("three"), found.holds
    (('week', 'quarter'), ('withheld', 'promised'), True)
    """
    names, opened = _named(releases)
    private: list[Ledger] = []
    if ledgers is not None:
        hint = "give one ledger for each release, in the same order, or none"
        if len(ledgers) != len(names):
            message = f"there are {len(names)} releases and {len(ledgers)} ledgers"
            raise ParameterError(message, hint=hint)
        named = ledgers if isinstance(ledgers, Mapping) else dict(zip(names, ledgers, strict=True))
        if set(named) != set(names):
            raise ParameterError("the releases and the ledgers have different names", hint=hint)
        private = [named[name] for name in names]
    summaries = list(_judged(names, opened, private or [None] * len(names), progress))
    verdicts = tuple(summary.verdict for summary in summaries)
    models = tuple(summary.model for summary in summaries)
    comparable = len({(summary.model, summary.basis) for summary in summaries}) == 1
    lines = tuple(_lines(summaries, ranked=comparable and all(verdicts)))
    candidates = [release.manifest.get("candidates", {}).items() for release in opened]
    if len({frozenset(name for name, each in named if each["allowed"]) for named in candidates}) > 1:
        # Bits are counted from the finest granularity that was allowed.
        lines = tuple(line for line in lines if line.name != "bits")
    slot_promises = {"promised_true_slot" in summary.numbers["risk"] for summary in summaries}
    context = {"same_model": len(set(models)) == 1, "comparable": comparable, "ledgers": ledgers}
    context |= {"holds": all(verdicts), "same_slot_promise": len(slot_promises) == 1}
    # Of every pair, so that any other original is refused.
    agree = [_agree(names[0], private[0], *pair) for pair in zip(names[1:], private[1:], strict=False)]
    same_data: Literal["agrees", "assumed"] = "agrees" if agree and all(agree) else "assumed"
    notes = tuple(sentences("compare/notes.j2", **context))
    return Comparison(names, models, verdicts, lines, same_data, notes)


def _named(releases: Mapping[str, Release] | Sequence[Release]) -> tuple[tuple[str, ...], list[Release]]:
    if isinstance(releases, str | Release):
        releases = [releases]
    if not isinstance(releases, Mapping | Sequence):
        raise ParameterError(f"a {type(releases).__name__} cannot be compared", hint="give releases by name")
    if not isinstance(releases, Mapping):
        releases = {f"release {number}": release for number, release in enumerate(releases, start=1)}
    if len(releases) < 2:
        message = f"{'one release' if releases else 'no release'} cannot be compared"
        raise ParameterError(message, hint="give two or more of the same data")
    for release in releases.values():
        require(Release, release)
    for (name, release), (other_name, other) in combinations(releases.items(), 2):
        if release is other or (release.manifest == other.manifest and release.tables == other.tables):
            hint = "give releases that were made with different settings or methods"
            raise ParameterError(f"`{name}` and `{other_name}` are the same release", hint=hint)
    return tuple(releases), list(releases.values())


def _judged(
    names: Sequence[str], releases: Sequence[Release], ledgers: Sequence[Ledger | None], progress: Progress
) -> Iterator[_Summary]:
    """Each release, one after the other: what is read and linked of it is not kept for the next."""
    for number, (name, release, ledger) in enumerate(zip(names, releases, ledgers, strict=True)):

        def doing(step: str, share: float, name: str = name, number: int = number) -> None:
            progress(f"{step} {name}", (number + share) / len(names))

        try:
            yield _summary(gather(release, ledger), doing)
        except InputError as error:
            if error.code != "ledger-mismatch":
                raise
            hint = "give one ledger for each release, in the same order"
            raise InputError(f"`{name}`: {error.message}", hint=hint, code=error.code) from None


def _summary(evidence: Evidence, doing: Progress) -> _Summary:
    """What anyone who has the release knows; with its ledger, also what `measure` and `attack` find."""
    release, verdict = evidence.release, verify(evidence)
    manifest, guarantee = release.manifest, release.guarantee
    model, counts = str(manifest["model"]), manifest["counts"]
    tradeoff = part(model, "judges.profile").Tradeoff()
    outsider, losses = tradeoff.outsider(), tradeoff.stated(counts)
    risks = {"promised": tradeoff.promised(evidence, outsider)}
    if isinstance(guarantee, LDiversity) and guarantee.true_slot is not None:
        risks["promised_true_slot"] = 1 / guarantee.true_slot
    if isinstance(guarantee, KPAnonymity):
        risks["envelopes_alone"] = 1 / guarantee.k  # not promised: patterns narrow it
    if evidence.ledger is not None:
        measured, chances, _ = judge(evidence, outsider, doing)
        losses |= measured
        risks |= {chance: chances[chance] for chance in ("worst", "mean")}
        for name, further in tradeoff.further_outsiders(release).items():
            breach = attack(evidence, None, further)
            risks |= {f"worst_{name}": breach.worst, f"mean_{name}": breach.mean}
    sizes = {name: count for name, count in counts.items() if name not in _NO_SIZE}
    numbers = {"size": sizes, "loss": losses, "risk": risks}
    promise = {key: value for key, value in guarantee.as_dict().items() if value is not None}
    words = " ".join([promise.pop("name"), *(f"{key}={value}" for key, value in promise.items())])
    # Everything that was chosen besides the promise; names of columns, never a value.
    chosen = {name: value for name, value in manifest["parameters"].items() if name not in _IN_GUARANTEE}
    if "granularity" in manifest:
        chosen = {"granularity": manifest["granularity"], **chosen}
    if manifest.get("steps"):
        chosen["granularity"] = chosen["levels"] = "row by row"
    elif manifest.get("levels"):
        chosen["levels"] = [f"{column}: {level['name']}" for column, level in manifest["levels"].items()]
    if manifest["model"] != "patterns":
        chosen["columns"] = [column["name"] for column in manifest["columns"]]
    parameters = {name: _setting(value) for name, value in chosen.items()}
    return _Summary(verdict, model, words, parameters, numbers, tradeoff.basis(manifest))


def _setting(value: Any) -> str:
    match value:
        case None:
            return NOT_SET
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
        case list() | tuple():
            return ",".join(map(_setting, value))
        case Mapping():
            return ",".join(f"{name}={_setting(part)}" for name, part in value.items())
    return str(value)


def _lines(summaries: Sequence[_Summary], *, ranked: bool) -> Iterable[Line]:
    yield Line("promise", "model", tuple(summary.model for summary in summaries))
    yield Line("promise", "guarantee", tuple(summary.guarantee for summary in summaries))
    if len({summary.model for summary in summaries}) == 1:
        for name in dict.fromkeys(name for summary in summaries for name in summary.parameters):
            chosen = tuple(summary.parameters.get(name, NOT_SET) for summary in summaries)
            if len(set(chosen)) > 1:
                yield Line("parameter", name, chosen)
    # Numbers that all have, in the order of the first.
    parts: tuple[Part, ...] = ("size", "loss", "risk")
    for kind in parts:
        numbers = [summary.numbers[kind] for summary in summaries]
        for name in numbers[0]:
            if all(name in named for named in numbers):
                cells, judged = tuple(named[name] for named in numbers), kind != "size"
                yield Line(kind, name, cells, judged and name not in UNITS, judged and ranked)


def _agree(first_name: str, first: Ledger, second_name: str, second: Ledger) -> bool:
    """Whether two ledgers hold the same; of two kinds of table it may be unknown, of one it is demanded."""
    schemas = (ledger.original.data.schema for ledger in (first, second))
    types, other_types = ({field.name: plain_type(field.type) for field in schema} for schema in schemas)
    columns = [name for name, kind in types.items() if other_types.get(name) == kind]
    same_rows = first.original.rows == second.original.rows
    pairs = ((column_of(each.original.data, name) for each in (first, second)) for name in columns)
    different = sum(not same_values(*pair) for pair in pairs) if same_rows else len(columns)
    # Patterns made from a series release have an original that was published itself.
    kinds = {(ledger.model, ledger.facts.get("origin") == "release") for ledger in (first, second)}
    if not columns or len(kinds) > 1 or not different:
        return bool(columns) and not different
    shared, rows = counted(len(columns), "shared column"), counted(first.original.rows, "row")
    fault = f"the originals of `{first_name}` and `{second_name}` differ in {different:,} of {shared}"
    if not same_rows:
        fault = f"the original of `{first_name}` has {rows}, that of `{second_name}` {second.original.rows:,}"
    hint = "compare releases that were made from one table"
    raise InputError(f"{fault}: these are not releases of the same data", hint=hint, code="other-data")


def comparison_lines(comparison: Comparison, width: int = WIDTH) -> list[str]:
    """The comparison as a page of text."""
    title = f"{counted(len(comparison.names), 'release')} side by side"
    tables = [line for table in _tables(comparison, width) for line in (*table, "")]
    # What the table cannot show.
    words = []
    if any(line.best for line in comparison.lines):
        words.append(f"* marks the best on its line, where less is better. {_best_sentence(comparison)}")
    for name, verdict in zip(comparison.names, comparison.verdicts, strict=True):
        words += (f"`{name}` is violated: {violation.message}." for violation in verdict.violations[:3])
    agree = "The ledgers hold the same original: as many rows, and the same values in shared columns."
    assumed = "That these are releases of the same data is assumed; nothing here shows it."
    words.append(agree if comparison.same_data == "agrees" else assumed)
    return [title, "", *tables, *numbered([*words, *comparison.notes], width)]


def _best_sentence(comparison: Comparison) -> str:
    """Which release is best in what: `a` is best in withheld; `b` in nothing."""
    parts: list[str] = []
    for name in comparison.names:
        lines = [line.title for line in comparison.lines if line.name in comparison.best_in(name)]
        parts.append(f"`{name}` {'' if parts else 'is best '}in {', '.join(lines) or 'nothing'}")
    return f"{'; '.join(parts)}."


def _tables(comparison: Comparison, width: int) -> Iterator[list[str]]:
    """The table, with as many releases side by side as fit the width."""
    verdicts = [f"violated ({len(v.violations)})" if v.violations else "holds" for v in comparison.verdicts]
    # Where there is a best, the other cells keep the width of its mark.
    other = "  " if any(line.best for line in comparison.lines) else ""
    rows = []
    for line in comparison.lines:
        texts = [line.title]
        for column, number in enumerate(line.cells):
            if isinstance(number, str):
                text = shortened(number, _LONGEST_CELL)
            else:
                text = cell(line.name, number) if line.part in _COLOURS else f"{number:,}"
            texts.append(text + (" *" if column in line.best else other))
        rows.append(texts)
    heads = [["", *(name + other for name in comparison.names)], ["verified", *(v + other for v in verdicts)]]
    labels, *columns = zip(*[heads[0], *rows[:2], heads[1], *rows[2:]], strict=True)
    while columns:
        used = max(map(len, labels))
        fitting: list[tuple[str, ...]] = []
        while columns and (not fitting or used + 2 + max(map(len, columns[0])) <= width):
            used += 2 + max(map(len, columns[0]))
            fitting.append(columns.pop(0))
        yield aligned(list(zip(labels, *fitting, strict=True)))


def comparison_picture(comparison: Comparison) -> Picture:
    """A group of bars for every loss and risk known of all releases, a bar per release, the best starred."""
    lines = [line for line in comparison.lines if line.part in _COLOURS]
    ranked = any(line.best for line in lines)
    title = f"{counted(len(comparison.names), 'release')} side by side"
    order = "Less is better; ★ is the best" if ranked else "Shown, not ranked"
    groups = {}
    for line in lines:
        bars = []
        for index, (name, number) in enumerate(zip(comparison.names, line.cells, strict=True)):
            length = number if isinstance(number, int | float) else 0.0
            label = amount(line.name, length, percent) + " ★" * (index in line.best)
            colours, is_best = (_COLOURS[line.part],), index in line.best
            bars.append(Bar(shortened(name, _LONGEST_NAME), (length,), (label,), is_best, colours))
        groups[line.title] = bars
    picture = grouped_bars(title, f"{order}. Each group has its own scale from 0.", groups)
    best = f" {_best_sentence(comparison)}" if ranked else ""
    return replace(picture, description=picture.description + best)
