"""Verify, measure, attack and answer: each looks up the judge of the release's model.

Judges know a release from what was published and its ledger, and share no code with the methods. A model's
judges are loaded when they are first needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast, overload

from timeveil.domain.lines import AnyAdversary
from timeveil.domain.parameter import Parameter, Range
from timeveil.domain.release import Ledger, Release
from timeveil.domain.wording import Progress, silent
from timeveil.errors import ParameterError
from timeveil.evidence.checks import Findings, in_order
from timeveil.evidence.published import Evidence, require, require_matching_ledger
from timeveil.models import FOLDERS, adversary_of, parameters_of, part

if TYPE_CHECKING:
    import pyarrow as pa

    from timeveil.domain.judgement import Estimate, Verdict
    from timeveil.evidence.published import WindowCount
    from timeveil.models import AnyBreach, AnyLoss
    from timeveil.models.patterns.judges.query import PatternQuery, TopPatterns
    from timeveil.models.series.judges.query import SeriesQuery

WINDOWS = 1_000
QUERIES = 10_000
B = TypeVar("B")
_MOST = {"windows": 10_000_000, "queries": 10_000_000, "seed": 2**128 - 1}
Case: TypeAlias = Release | Evidence


def gather(release: Case, ledger: Ledger | None = None, progress: Progress = silent) -> Evidence:
    """The evidence of a release; pass it to several judges to read and link the release only once.

    Evidence that was gathered before is returned as it is, and has its ledger already. Judges report to
    `progress` what they do.
    """
    if isinstance(release, Evidence):
        if ledger is not None and ledger is not release.ledger:
            hint = "leave {ledger} out, or gather the evidence with it: gather(release, ledger)"
            raise ParameterError("this evidence was gathered without this ledger", hint=hint)
        return release
    require(Release, release)
    if ledger is not None:
        require(Ledger, ledger)
    for earlier in () if ledger is None else ledger.after:
        require(Ledger, earlier)
    model = release.guarantee.model
    if ledger is not None and ledger.after and not hasattr(release.guarantee, "after"):
        message = f"nothing is promised over several releases of {parameters_of(model).contents}"
        raise ParameterError(message, hint="leave {after} out")
    evidence = cast("Evidence", part(model, "evidence").Evidence(release, ledger))
    evidence.progress = progress
    return evidence


def verify(release: Case, ledger: Ledger | None = None) -> Verdict:
    """Check the promise of a release; the verdict is truthy if and only if every check passed.

    Without a ledger, only what any recipient can see is checked (`scope` is `recipient`). With the ledger,
    the definition itself is checked against the original rows (`scope` is `with ledger`).
    """
    evidence = gather(release, ledger)
    verdict: Verdict = part(evidence.release.guarantee.model, "judges.verify").check(evidence)
    return verdict


def is_well_formed(release: Release) -> bool:
    """Whether a manifest has every section of its model alone, fits its columns and agrees with itself."""
    if (model := str(release.manifest.get("model"))) not in FOLDERS:
        return False
    judge = part(model, "judges.verify")
    findings = Findings("recipient", judge.SENTENCES)
    if not (judge.check_shape(release, findings) and judge.check_columns(release, findings)):
        return False
    judge.check_statements(gather(release), findings)
    return not findings.violations


def canonical(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """A manifest with its keys in the order of its model."""
    if (model := str(manifest.get("model"))) not in FOLDERS:
        return manifest
    return cast("Mapping[str, Any]", in_order(manifest, part(model, "judges.manifest").MANIFEST))


def measure(
    release: Case,
    ledger: Ledger | None = None,
    *,
    windows: int = WINDOWS,
    queries: int = QUERIES,
    seed: int = 0,
    against: Release | None = None,
    progress: Progress = silent,
) -> AnyLoss:
    """Compare a release with the original rows that its ledger holds.

    A release of events answers `windows` random window counts, drawn with `seed`; a stream that
    many for each length of window. A release of series answers `queries` random questions of each kind. A
    release of patterns is compared with leaving out people or patterns and, if `against` is given, with what
    can be read off a release of the same series. The result is a `Loss` for events, a `StreamLoss`
    for a stream, a `SeriesLoss` for series and a `PatternLoss` for patterns.
    """
    evidence, model = _private(release, ledger, progress)
    judge = part(model, "judges.measure").measure
    declared = signature(judge).parameters
    options = {"windows": windows, "queries": queries, "seed": seed, "against": against, "progress": progress}
    for name, most in _MOST.items():
        Parameter(name, "whole", "Random questions.", range=Range(0, most), example=100).check(options[name])
    for name, usual in (("windows", WINDOWS), ("queries", QUERIES), ("against", None)):
        if name not in declared and options[name] != usual:
            message = f"`{name}` does not apply to a release of {parameters_of(model).contents}"
            raise ParameterError(message, hint=f"leave {{{name}}} out")
    loss: AnyLoss = judge(evidence, **{name: option for name, option in options.items() if name in declared})
    return loss


@overload
def attack(release: Case, ledger: Ledger | None, adversary: AnyAdversary[B]) -> B: ...
@overload
def attack(release: Case, ledger: Ledger | None = None, adversary: None = None) -> AnyBreach: ...
def attack(release: Case, ledger: Ledger | None = None, adversary: AnyAdversary[Any] | None = None) -> object:
    """Try what an adversary can find out about everyone; the ledger shows who is who.

    On events an `Adversary` looks for people, which gives a `Breach`. On a stream a
    `StreamAdversary` guesses sensitive values, which gives a `StreamBreach`. On series a `SeriesAdversary`
    looks for people's rows, which gives a `SeriesBreach`; the default one knows all values and the pattern.
    On patterns a `PatternAdversary` computes small groups from the counts, which gives a `PatternBreach`.
    """
    evidence, model = _private(release, ledger)
    refuse_foreign(model, adversary)
    breach: object = part(model, "judges.attack").attack(evidence, adversary)
    return breach


def refuse_foreign(model: str, adversary: object) -> None:
    """Refuse the adversary of another model."""
    kind = adversary_of(model)
    if adversary is not None and not isinstance(adversary, kind):
        message = f"`{type(adversary).__name__}` cannot attack a release of {parameters_of(model).contents}"
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise ParameterError(message, hint=f"give {article} `{kind.__name__}`")


@overload
def answer(
    release: Case, query: WindowCount | SeriesQuery | PatternQuery, *, rows: bool = False
) -> Estimate: ...
@overload
def answer(release: Case, query: TopPatterns, *, rows: bool = False) -> pa.Table: ...
def answer(
    release: Case, query: WindowCount | SeriesQuery | PatternQuery | TopPatterns, *, rows: bool = False
) -> Estimate | pa.Table:
    """Estimate the answer to `query` from what was published, as anyone who receives the release can.

    `value` is the best guess about the published rows. On events, `low` and `high` bound the truth
    about the original table: `high` includes every withheld row. On a stream they bound the truth about the
    published slots; how many records were withheld or moved is not published. On series they bound the truth
    about the original; nothing is certain about shapes where a published pattern need not be the series'
    own. On patterns they bound the truth about the original, without virtual people, unless letters are those
    of a series release; `TopPatterns` gives a table of patterns. With `rows` the estimate has the published
    rows that may fit: of events, of a stream (with their bucket), or of series.
    """
    evidence = gather(release)
    judge = part(_model_of(evidence), "judges.query")
    if not isinstance(query, judge.QUERIES):
        names = [f"`{kind.__name__}`" for kind in judge.QUERIES]
        choice = " or ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
        message = f"this release cannot answer a `{type(query).__name__}`"
        raise ParameterError(message, hint=f"ask for a {choice}")
    estimate: Estimate | pa.Table = judge.answer(evidence, query, rows=rows)
    return estimate


def _private(release: Case, ledger: Ledger | None, progress: Progress = silent) -> tuple[Evidence, str]:
    """Evidence for a judge who needs the ledger, which must be of the release's model, and the model."""
    evidence = gather(release, ledger, progress)
    require_matching_ledger(evidence.release, evidence.ledger)
    return evidence, _model_of(evidence)


def _model_of(evidence: Evidence) -> str:
    """The model of a release; one whose manifest names another model is refused."""
    model = evidence.release.guarantee.model
    if evidence.release.manifest.get("model") != model:
        message = "the manifest does not describe a release with this guarantee"
        raise ParameterError(message, hint="run verify to see what is wrong with it")
    return model
