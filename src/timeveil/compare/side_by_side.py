"""Put releases of the same data side by side.

Every release is verified; with the ledgers each is also measured and attacked, by the same judges with the
same outsider, as `explore` does it. Where two numbers answer different questions, none is called better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

from timeveil.compare.compare_comparison import Cell, Comparison, Line, Part
from timeveil.compare.same_data import same_data
from timeveil.compare.told import NONE, Told, told_by_folder, told_by_judges
from timeveil.domain.guarantee import LDiversity
from timeveil.domain.ledger import Ledger
from timeveil.domain.progress import Progress, silent
from timeveil.domain.release import Release
from timeveil.errors import InputError, ParameterError
from timeveil.evidence.published import require_matching_ledger, require_release
from timeveil.judging.verify import verify

COMPOSES = (
    "Publish one of them. Each keeps its promise by itself; whoever has two of the same people can tell more "
    "from both together than either promises."
)
MODELS_DIFFER = (
    "These are releases of different models: what they publish, lose and promise is not the same thing, so "
    "only what all have is shown, and nothing is ranked."
)
UNLIKE = (
    "Losses and chances of these releases are about different columns, instants, slots or patterns, so they "
    "are shown and not ranked."
)
NO_LEDGERS = (
    "Without the ledgers, loss and risk are what the folders say; with them, what was lost and what an "
    "outsider finds is measured."
)
TRUE_SLOT = (
    "Some promise something also to whoever knows the slot that a record belongs to, and others do not: what "
    "that is worth is not on these lines. `timeveil attack --knows true-slot --beside-plain` shows it."
)
VIOLATED = "A release that does not keep its promise is no choice, so nothing is ranked."


def compare(
    releases: Mapping[str, Release] | Sequence[Release],
    ledgers: Mapping[str, Ledger] | Sequence[Ledger] | None = None,
    *,
    progress: Progress = silent,
) -> Comparison:
    """Put releases of the same data side by side: what each promises, publishes, loses and risks.

    `releases` are at least two, by name or in order. With `ledgers`, by the same names or in the same order,
    losses are measured and risks are those of the default attack; without, they are what the releases say.

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
    private = None if ledgers is None else _ordered(ledgers, names)
    _refuse_twice(names, opened)
    verdicts = tuple(
        verify(release, None if private is None else private[place]) for place, release in enumerate(opened)
    )
    if private is None:
        told = [told_by_folder(release) for release in opened]
    else:
        told = _judged(names, opened, private, progress)
    models = tuple(one.model for one in told)
    like = len({(one.model, one.basis) for one in told}) == 1
    lines = tuple(_lines(told, ranked=like and all(verdicts)))
    notes = [*_notes(models, like=like, ledgers=private is not None)]
    if not all(verdicts):
        notes.insert(0, VIOLATED)
    elif len({_promises_slot(release) for release in opened}) > 1 and len(set(models)) == 1:
        notes.insert(0, TRUE_SLOT)
    return Comparison(names, models, verdicts, lines, same_data(names, private), tuple(notes))


def _named(releases: Mapping[str, Release] | Sequence[Release]) -> tuple[tuple[str, ...], list[Release]]:
    found = releases if isinstance(releases, Mapping) else dict(_numbered(releases))
    if len(found) < 2:
        raise ParameterError(
            f"{'one release' if found else 'no release'} cannot be compared",
            hint="give two or more of the same data",
            code="bad-parameter",
        )
    for release in found.values():
        require_release(release)
    return tuple(found), list(found.values())


def _numbered(releases: Iterable[Release]) -> Iterable[tuple[str, Release]]:
    if isinstance(releases, str | Release):
        releases = [releases]
    return ((f"release {number}", release) for number, release in enumerate(releases, start=1))


def _ordered(ledgers: Mapping[str, Ledger] | Sequence[Ledger], names: Sequence[str]) -> list[Ledger]:
    """A ledger for each release."""
    known = ledgers if isinstance(ledgers, Mapping) else dict(zip(names, ledgers, strict=False))
    if len(ledgers) != len(names) or set(known) != set(names):
        raise ParameterError(
            f"there are {len(names)} releases and {len(ledgers)} ledgers, or they do not have the same names",
            hint="give one ledger for each release, in the same order, or none",
            code="bad-parameter",
        )
    return [known[name] for name in names]


def _refuse_twice(names: Sequence[str], releases: Sequence[Release]) -> None:
    pairs = list(zip(names, releases, strict=True))
    for (first, one), (second, other) in combinations(pairs, 2):
        if one is other or (one.manifest == other.manifest and one.tables == other.tables):
            raise ParameterError(
                f"`{first}` and `{second}` are the same release",
                hint="give releases that were made with different settings or methods",
                code="bad-parameter",
            )


def _judged(
    names: Sequence[str], releases: Sequence[Release], ledgers: Sequence[Ledger], progress: Progress
) -> list[Told]:
    """Measure and attack each, also from the true slot if all promise something about it."""
    slot = all(_promises_slot(release) for release in releases)
    told = []
    for place, (name, release, ledger) in enumerate(zip(names, releases, ledgers, strict=True)):
        doing = _part(progress, name, place, len(names))
        try:
            require_matching_ledger(release, ledger)
            told.append(told_by_judges(release, ledger, doing, true_slot=slot))
        except InputError as error:
            if error.code != "ledger-mismatch":
                raise
            raise InputError(
                f"`{name}`: {error.message}",
                hint="give one ledger for each release, in the same order",
                code=error.code,
            ) from None
    return told


def _promises_slot(release: Release) -> bool:
    return isinstance(release.guarantee, LDiversity) and release.guarantee.true_slot is not None


def _part(progress: Progress, name: str, place: int, every: int) -> Callable[[str, float], None]:
    return lambda doing, share: progress(f"{doing} {name}", (place + share) / every)


def _lines(told: Sequence[Told], *, ranked: bool) -> Iterable[Line]:
    one_model = len({one.model for one in told}) == 1
    yield Line("promise", "model", tuple(one.model for one in told))
    yield Line("promise", "guarantee", tuple(one.guarantee for one in told))
    every = dict.fromkeys(name for one in told for name in one.parameters) if one_model else {}
    for name in every:
        cells = tuple(one.parameters.get(name, NONE) for one in told)
        if len(set(cells)) > 1:
            yield Line("parameter", name, cells)
    yield from _part_lines("size", [one.sizes for one in told], share=False, ranked=False)
    yield from _part_lines("loss", [one.losses for one in told], share=True, ranked=ranked)
    yield from _part_lines("risk", [one.risks for one in told], share=True, ranked=ranked)


def _part_lines(
    part: Part, told: Sequence[Mapping[str, float]], *, share: bool, ranked: bool
) -> Iterable[Line]:
    for name in _common(told):
        cells: tuple[Cell, ...] = tuple(one[name] for one in told)
        yield Line(part, name, cells, share=share, ranked=ranked)


def _common(told: Sequence[Mapping[str, object]]) -> list[str]:
    """Names that all have, in the order of the first."""
    return [name for name in told[0] if all(name in one for one in told)]


def _notes(models: Sequence[str], *, like: bool, ledgers: bool) -> Iterable[str]:
    if len(set(models)) > 1:
        yield MODELS_DIFFER
    elif not like:
        yield UNLIKE
    if not ledgers:
        yield NO_LEDGERS
    yield COMPOSES
