"""Put releases of the same data side by side.

Every release is verified; with the ledgers each is also measured and attacked, by the same judges with the
same outsider, as in `explore`. Where two numbers answer different questions, neither is called better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

from timeveil.compare.comparison import Cell, Comparison, Line, Part
from timeveil.compare.profile import NOT_SET, ReleaseSummary, from_folder, from_judges
from timeveil.compare.same_data import same_data
from timeveil.domain.guarantee import LDiversity
from timeveil.domain.release import Ledger, Release
from timeveil.domain.wording import Progress, silent
from timeveil.errors import InputError, ParameterError
from timeveil.evidence.published import require_matching_ledger, require_release
from timeveil.judging import verify

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
    "Some also promise something about outsiders who know the slot to which a record belongs, and others do "
    "not. These lines do not show what that is worth; `timeveil attack --knows true-slot --beside-plain` "
    "does."
)
VIOLATED = "A release that does not keep its promise is not a choice, so nothing is ranked."


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
    private = None if ledgers is None else _ordered(ledgers, names)
    _refuse_twice(names, opened)
    verdicts = tuple(
        verify(release, None if private is None else private[number]) for number, release in enumerate(opened)
    )
    if private is None:
        summaries = [from_folder(release) for release in opened]
    else:
        summaries = _judged(names, opened, private, progress)
    models = tuple(summary.model for summary in summaries)
    comparable = len({(summary.model, summary.basis) for summary in summaries}) == 1
    lines = tuple(_lines(summaries, ranked=comparable and all(verdicts)))
    notes = [*_notes(models, comparable=comparable, ledgers=private is not None)]
    if not all(verdicts):
        notes.insert(0, VIOLATED)
    elif len({_promises_slot(release) for release in opened}) > 1 and len(set(models)) == 1:
        notes.insert(0, TRUE_SLOT)
    return Comparison(names, models, verdicts, lines, same_data(names, private), tuple(notes))


def _named(releases: Mapping[str, Release] | Sequence[Release]) -> tuple[tuple[str, ...], list[Release]]:
    named = releases if isinstance(releases, Mapping) else dict(_numbered(releases))
    if len(named) < 2:
        raise ParameterError(
            f"{'one release' if named else 'no release'} cannot be compared",
            hint="give two or more of the same data",
        )
    for release in named.values():
        require_release(release)
    return tuple(named), list(named.values())


def _numbered(releases: Iterable[Release]) -> Iterable[tuple[str, Release]]:
    if isinstance(releases, str | Release):
        releases = [releases]
    return ((f"release {number}", release) for number, release in enumerate(releases, start=1))


def _ordered(ledgers: Mapping[str, Ledger] | Sequence[Ledger], names: Sequence[str]) -> list[Ledger]:
    """A ledger for each release."""
    named = ledgers if isinstance(ledgers, Mapping) else dict(zip(names, ledgers, strict=False))
    if len(ledgers) != len(names) or set(named) != set(names):
        raise ParameterError(
            f"there are {len(names)} releases and {len(ledgers)} ledgers, or their names differ",
            hint="give one ledger for each release, in the same order, or none",
        )
    return [named[name] for name in names]


def _refuse_twice(names: Sequence[str], releases: Sequence[Release]) -> None:
    pairs = list(zip(names, releases, strict=True))
    for (name, release), (other_name, other) in combinations(pairs, 2):
        if release is other or (release.manifest == other.manifest and release.tables == other.tables):
            raise ParameterError(
                f"`{name}` and `{other_name}` are the same release",
                hint="give releases that were made with different settings or methods",
            )


def _judged(
    names: Sequence[str], releases: Sequence[Release], ledgers: Sequence[Ledger], progress: Progress
) -> list[ReleaseSummary]:
    """Measure and attack each, also by someone who knows the true slot if all promise something about it."""
    slot = all(_promises_slot(release) for release in releases)
    summaries = []
    for number, (name, release, ledger) in enumerate(zip(names, releases, ledgers, strict=True)):
        doing = _part(progress, name, number, len(names))
        try:
            require_matching_ledger(release, ledger)
            summaries.append(from_judges(release, ledger, doing, true_slot=slot))
        except InputError as error:
            if error.code != "ledger-mismatch":
                raise
            raise InputError(
                f"`{name}`: {error.message}",
                hint="give one ledger for each release, in the same order",
                code=error.code,
            ) from None
    return summaries


def _promises_slot(release: Release) -> bool:
    return isinstance(release.guarantee, LDiversity) and release.guarantee.true_slot is not None


def _part(progress: Progress, name: str, index: int, every: int) -> Callable[[str, float], None]:
    return lambda doing, share: progress(f"{doing} {name}", (index + share) / every)


def _lines(summaries: Sequence[ReleaseSummary], *, ranked: bool) -> Iterable[Line]:
    same_model = len({summary.model for summary in summaries}) == 1
    yield Line("promise", "model", tuple(summary.model for summary in summaries))
    yield Line("promise", "guarantee", tuple(summary.guarantee for summary in summaries))
    names = dict.fromkeys(name for summary in summaries for name in summary.parameters) if same_model else {}
    for name in names:
        cells = tuple(summary.parameters.get(name, NOT_SET) for summary in summaries)
        if len(set(cells)) > 1:
            yield Line("parameter", name, cells)
    yield from _numbers("size", [summary.sizes for summary in summaries], share=False, ranked=False)
    yield from _numbers("loss", [summary.losses for summary in summaries], share=True, ranked=ranked)
    yield from _numbers("risk", [summary.risks for summary in summaries], share=True, ranked=ranked)


def _numbers(
    part: Part, numbers: Sequence[Mapping[str, float]], *, share: bool, ranked: bool
) -> Iterable[Line]:
    """A line for every name that all have, in the order of the first."""
    for name in numbers[0]:
        if all(name in named for named in numbers):
            cells: tuple[Cell, ...] = tuple(named[name] for named in numbers)
            yield Line(part, name, cells, share=share, ranked=ranked)


def _notes(models: Sequence[str], *, comparable: bool, ledgers: bool) -> Iterable[str]:
    if len(set(models)) > 1:
        yield MODELS_DIFFER
    elif not comparable:
        yield UNLIKE
    if not ledgers:
        yield NO_LEDGERS
    yield COMPOSES
