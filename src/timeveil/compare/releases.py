"""Put releases of the same data side by side.

Every release is verified; with the ledgers each is also measured and attacked, by the same judges with the
same outsider, as in `explore`. Where two numbers answer different questions, neither is called better.

Folders cannot show whether releases are of the same data. A ledger holds the original: ledgers of releases of
the same table have equally many rows, and the same values in every column that they share, in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np

from timeveil.compare.comparison import Comparison, Line, Part
from timeveil.domain.guarantee import KPAnonymity, LDiversity
from timeveil.domain.judgement import Verdict
from timeveil.domain.release import Ledger, Release
from timeveil.domain.wording import Progress, counted, silent
from timeveil.errors import InputError, ParameterError
from timeveil.evidence.codes import align, column_of, encode_values, plain_type
from timeveil.evidence.published import Evidence, require
from timeveil.explore.sweep import judge
from timeveil.judging import attack, gather, verify
from timeveil.models import part

_NO_SIZE = ("withheld", "rows_read", "suppressed", "first_slot", "last_slot")
"""Counts of a manifest that do not show how much was published."""
NOT_SET = "-"
_IN_GUARANTEE = ("k", "l", "p", "protect_slot")

COMPOSES = (
    "Publish only one of them. Each keeps its promise alone; anyone who has two releases of the same people "
    "can learn more from both together than either promises."
)
MODELS_DIFFER = (
    "These releases belong to different models. What they publish, lose and promise differs in kind, so only "
    "what all have is shown, and nothing is ranked."
)
UNLIKE = (
    "Losses and chances of these releases are about different columns, instants, slots or patterns, so they "
    "are shown but not ranked."
)
NO_LEDGERS = (
    "Without the ledgers, loss and risk are what the folders state. With them, the loss is measured and the "
    "release is attacked."
)
TRUE_SLOT = (
    "Some also promise something about outsiders who know the true slot of a record, and others do not. "
    "These lines do not show what that is worth; `timeveil attack --knows true-slot --beside-plain` does."
)
VIOLATED = "A release that does not keep its promise is not a choice, so nothing is ranked."


@dataclass(frozen=True, slots=True)
class _Summary:
    """One release in words and numbers by name; `basis` is what its losses and risks are about."""

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
    private = [] if ledgers is None else _ordered(ledgers, names)
    beside: Sequence[Ledger | None] = private or [None] * len(names)
    verdicts, summaries = _judged(names, opened, beside, progress)
    models = tuple(summary.model for summary in summaries)
    comparable = len({(summary.model, summary.basis) for summary in summaries}) == 1
    lines = tuple(_lines(summaries, ranked=comparable and all(verdicts)))
    same_model = len(set(models)) == 1
    same_slot_promise = len({_true_slot(release) is None for release in opened}) == 1
    notes = {
        VIOLATED: not all(verdicts),
        TRUE_SLOT: all(verdicts) and same_model and not same_slot_promise,
        MODELS_DIFFER: not same_model,
        UNLIKE: same_model and not comparable,
        NO_LEDGERS: ledgers is None,
        COMPOSES: True,
    }
    applying = tuple(note for note, applies in notes.items() if applies)
    # Of every pair, so that any other original is refused.
    agree = [_agree(names[0], private[0], *pair) for pair in zip(names[1:], private[1:], strict=False)]
    same_data: Literal["agrees", "assumed"] = "agrees" if agree and all(agree) else "assumed"
    return Comparison(names, models, verdicts, lines, same_data, applying)


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


def _ordered(ledgers: Mapping[str, Ledger] | Sequence[Ledger], names: Sequence[str]) -> list[Ledger]:
    named = ledgers if isinstance(ledgers, Mapping) else dict(zip(names, ledgers, strict=False))
    if len(ledgers) != len(names) or set(named) != set(names):
        message = f"there are {len(names)} releases and {len(ledgers)} ledgers, or their names differ"
        raise ParameterError(message, hint="give one ledger for each release, in the same order, or none")
    return [named[name] for name in names]


def _judged(
    names: Sequence[str], releases: Sequence[Release], ledgers: Sequence[Ledger | None], progress: Progress
) -> tuple[tuple[Verdict, ...], list[_Summary]]:
    """Each release, one after the other: what is read and linked of it is not kept for the next."""
    verdicts: list[Verdict] = []
    summaries: list[_Summary] = []
    for name, release, ledger in zip(names, releases, ledgers, strict=True):

        def doing(step: str, share: float, name: str = name) -> None:
            progress(f"{step} {name}", (len(summaries) + share) / len(names))

        try:
            evidence = gather(release, ledger)
            verdicts.append(verify(evidence))
            summaries.append(_summary(evidence, doing))
        except InputError as error:
            if error.code != "ledger-mismatch":
                raise
            hint = "give one ledger for each release, in the same order"
            raise InputError(f"`{name}`: {error.message}", hint=hint, code=error.code) from None
    return tuple(verdicts), summaries


def _summary(evidence: Evidence, doing: Progress) -> _Summary:
    """What anyone who has the release knows; with its ledger, also what `measure` and `attack` find."""
    release = evidence.release
    manifest, guarantee = release.manifest, release.guarantee
    model, counts = str(manifest["model"]), manifest["counts"]
    tradeoff = part(model, "judges.tradeoff")
    outsider = tradeoff.outsider()
    losses = tradeoff.stated(counts)
    risks = {"promised": tradeoff.promised(guarantee, outsider)}
    if (slot := _true_slot(release)) is not None:
        risks["promised_true_slot"] = 1 / slot
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
    promise = guarantee.as_dict()
    words = [
        promise.pop("name"),
        *(f"{name}={value}" for name, value in promise.items() if value is not None),
    ]
    return _Summary(model, " ".join(words), _parameters(manifest), numbers, tradeoff.basis(manifest))


def _true_slot(release: Release) -> int | None:
    """What a release promises about outsiders who know the true slot of a record: 1 in N."""
    return release.guarantee.true_slot if isinstance(release.guarantee, LDiversity) else None


def _parameters(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Everything that was chosen besides the promise, in words; names of columns, never a value."""
    chosen = {name: value for name, value in manifest["parameters"].items() if name not in _IN_GUARANTEE}
    if "granularity" in manifest:
        chosen = {"granularity": manifest["granularity"], **chosen}
    if manifest.get("levels"):
        chosen["levels"] = [f"{column}: {level['name']}" for column, level in manifest["levels"].items()]
    if manifest["model"] != "patterns":
        chosen["columns"] = [column["name"] for column in manifest["columns"]]
    return {name: _setting(value) for name, value in chosen.items()}


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
                cells = tuple(named[name] for named in numbers)
                yield Line(kind, name, cells, share=kind != "size", ranked=ranked and kind != "size")


def _agree(first_name: str, first: Ledger, second_name: str, second: Ledger) -> bool:
    """Whether two ledgers hold the same; of two kinds of table it may be unknown, of one it is demanded."""
    schemas = (ledger.original.data.schema for ledger in (first, second))
    types, other_types = ({field.name: plain_type(field.type) for field in schema} for schema in schemas)
    columns = [name for name, kind in types.items() if other_types.get(name) == kind]
    same_rows = first.original.rows == second.original.rows
    different = sum(not _same_values(first, second, name) for name in columns) if same_rows else len(columns)
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


def _same_values(first: Ledger, second: Ledger, name: str) -> bool:
    """Whether both have every value of a column equally often."""
    columns = (encode_values(column_of(ledger.original.data, name)) for ledger in (first, second))
    left, right = align(*columns)
    counts = np.bincount(left.codes, minlength=left.size)
    return np.array_equal(counts, np.bincount(right.codes, minlength=left.size))
