"""What one release lost and what it risks, as shares that settings can be compared by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from timeveil.domain.guarantee import KAnonymity, KPAnonymity, LDiversity, NoInferenceChannel
from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.errors import ParameterError
from timeveil.judging.attack import attack
from timeveil.judging.measure import measure
from timeveil.models.events.judges.attack import Adversary
from timeveil.models.events.judges.measure import Loss
from timeveil.models.patterns.judges.attack import PatternAdversary
from timeveil.models.patterns.judges.measure import PatternLoss
from timeveil.models.series.judges.attack import SeriesAdversary
from timeveil.models.series.judges.measure import SeriesLoss
from timeveil.models.stream.judges.attack import StreamAdversary
from timeveil.models.stream.judges.measure import StreamLoss

AnyAdversary = Adversary | StreamAdversary | SeriesAdversary | PatternAdversary
QUERIES = 1_000
"""Random questions of each kind that a release of series is asked, fewer than `measure` asks."""
SLOTS = 5
"""How many slots the windows are long that a stream is judged by."""
KNOWN = 3
"""Of how many instants the outsider knows the value where k of series is explored."""

LOSSES: Mapping[str, tuple[str, ...]] = {
    "time": ("window_error", "withheld"),
    "stream": ("window_error", "withheld", "moved"),
    "series": ("both", "values", "pattern", "withheld"),
    "patterns": ("count_error", "changed", "lost"),
}
"""What can be lost in each model; settings are judged by the first unless another is named."""
RISKS: tuple[str, ...] = ("worst", "mean", "promised")
"""How risk can be told."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Numbers by name."""

    losses: Mapping[str, float]
    risks: Mapping[str, float]
    facts: Mapping[str, Any] = field(default_factory=dict)


def default_adversary(model: str, name: str, options: Mapping[str, Any]) -> AnyAdversary:
    """The outsider that a parameter protects from; `name` is the one that is explored.

    Of series, k is about who knows values only, and everything else about who knows all there is.
    """
    if model == "time":
        return Adversary()
    if model == "stream":
        return StreamAdversary("true-slot" if options.get("protect_slot") else "published-slot")
    if model == "series":
        return SeriesAdversary(values=KNOWN) if name == "k" else SeriesAdversary(pattern=True)
    return PatternAdversary(bounds=False)


def check_adversary(model: str, adversary: AnyAdversary) -> None:
    """One of another model would be refused only when all the work is done."""
    wanted = type(default_adversary(model, "", {}))
    if not isinstance(adversary, wanted):
        raise ParameterError(
            f"`adversary` is not one of this model, but a `{type(adversary).__name__}`",
            hint=f"give one of type {wanted.__name__}, or leave it out",
            code="bad-parameter",
        )


def default_risk(adversary: AnyAdversary) -> str:
    """How risk is best told of an adversary.

    The worst chance, but not where it says nothing: a slot in which all have one value hides nothing from
    whoever knows it, and from counts that keep the promise no small group is computed at all.
    """
    if isinstance(adversary, PatternAdversary):
        return "promised"
    true_slot = isinstance(adversary, StreamAdversary) and adversary.knows == "true-slot"
    return "mean" if true_slot else "worst"


def judge(
    release: Release, ledger: Ledger, adversary: AnyAdversary, doing: Callable[[str, float], None]
) -> Judgement:
    """Measure and attack one release; `doing` is told how far it is."""
    doing("measuring", 0.0)
    loss = measure(release, ledger, queries=QUERIES)
    doing("attacking", 0.5)
    breach = attack(release, ledger, adversary)
    risks = {"worst": breach.worst, "mean": breach.mean, "promised": promised(release, adversary)}
    doing("judged", 1.0)
    return Judgement(_losses(loss), risks, _facts(release, loss))


def promised(release: Release, adversary: AnyAdversary) -> float:
    """The chance that the promise leaves to the adversary; 1 where it says nothing about this one."""
    match release.guarantee:
        case KAnonymity(k) | NoInferenceChannel(k):
            return 1 / k
        case KPAnonymity(_, p):  # whoever knows values reads the patterns, too
            return 1 / p
        case LDiversity(l, true_slot):
            if isinstance(adversary, StreamAdversary) and adversary.knows != "published-slot":
                return 1 / true_slot if true_slot and adversary.knows == "true-slot" else 1.0
            return 1 / l


def _losses(loss: Loss | StreamLoss | SeriesLoss | PatternLoss) -> dict[str, float]:
    match loss:
        case Loss():
            return {"window_error": loss.window_error_mean, "withheld": loss.suppressed_share}
        case StreamLoss():
            error = next(found.release for found in loss.window_errors if found.length == SLOTS)
            return {"window_error": error, "withheld": loss.suppressed_share, "moved": loss.moved_share}
        case SeriesLoss():
            return _series(loss)
        case PatternLoss():
            every = max(loss.patterns, 1)
            return {
                "count_error": loss.mean_error,
                "changed": loss.changed / every,
                "lost": loss.lost / every,
            }


def _series(loss: SeriesLoss) -> dict[str, float]:
    """Envelopes as a share of one around everybody, and patterns; both are weighed alike."""
    found = {}
    if loss.value_loss is not None:
        found["values"] = loss.value_loss / loss.value_span if loss.value_span else 0.0
    if loss.pattern_loss is not None:
        found["pattern"] = loss.pattern_loss
    both = sum(found.values()) / len(found) if found else 0.0
    return {"both": both, **found, "withheld": loss.suppressed_share}


def _facts(release: Release, loss: Any) -> dict[str, Any]:
    match loss:
        case Loss():
            return {"granularity": release.manifest["granularity"], "groups": loss.groups}
        case SeriesLoss():
            return {"groups": loss.groups}
        case PatternLoss():
            return {"patterns": loss.patterns, "virtual": loss.virtual}
    return {}
