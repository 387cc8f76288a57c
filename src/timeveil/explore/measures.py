"""The losses and risks of one release, as shares by which settings can be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from timeveil.domain.guarantee import KAnonymity, KPAnonymity, LDiversity, NoInferenceChannel
from timeveil.domain.release import Ledger, Release
from timeveil.errors import ParameterError
from timeveil.judging import attack, measure
from timeveil.models.events.judges.attack import Adversary
from timeveil.models.events.judges.measure import Loss
from timeveil.models.patterns.judges.attack import PatternAdversary
from timeveil.models.patterns.judges.measure import PatternLoss
from timeveil.models.series.judges.attack import SeriesAdversary
from timeveil.models.series.judges.measure import SeriesLoss
from timeveil.models.stream.judges.attack import StreamAdversary
from timeveil.models.stream.judges.measure import StreamLoss

AnyAdversary = Adversary | StreamAdversary | SeriesAdversary | PatternAdversary
QUERIES = 1_000  # random questions of each kind asked of a series release, fewer than `measure` asks
SLOTS = 5  # length in slots of the windows by which a stream is judged
KNOWN = 3  # instants whose value the outsider knows when k of series is explored

LOSSES: Mapping[tuple[str, str], str] = {
    ("time", "window_error"): "the mean error of random counts over windows of time",
    ("time", "withheld"): "the share of rows that were withheld",
    ("stream", "window_error"): f"the mean error of random counts over windows of {SLOTS} slots",
    ("stream", "withheld"): "the share of records that were withheld",
    ("stream", "moved"): "the share of records that were published late",
    ("series", "both"): "the mean of the losses of values and patterns",
    ("series", "values"): "the width of envelopes, as a share of one envelope around everyone",
    ("series", "pattern"): "the distance of published patterns from true ones: 1 less their correlation",
    ("series", "withheld"): "the share of series that were withheld",
    ("patterns", "count_error"): "the mean error of published counts",
    ("patterns", "changed"): "the share of patterns with another count",
    ("patterns", "lost"): "the share of patterns that are not published",
}
"""What each loss of a model is; settings are compared by the first unless another is named."""
RISKS: tuple[str, ...] = ("worst", "mean", "promised")  # the ways to state a risk


def outsider_of(
    model: str, name: str = "", options: Mapping[str, Any] = {}, adversary: AnyAdversary | None = None
) -> AnyAdversary:
    """The adversary, or the one that the parameter `name`, which is explored, protects against.

    For series, k protects against outsiders who know values only, the others against those who know
    everything.
    """
    knows: Any = "true-slot" if options.get("protect_slot") else "published-slot"
    usual: dict[str, AnyAdversary] = {
        "time": Adversary(),
        "stream": StreamAdversary(knows),
        "series": SeriesAdversary(values=KNOWN) if name == "k" else SeriesAdversary(pattern=True),
        "patterns": PatternAdversary(bounds=False),
    }
    expected = type(usual[model])
    if adversary is not None and not isinstance(adversary, expected):
        message = f"`adversary` is a `{type(adversary).__name__}`, which belongs to another model"
        hint = f"give one of type {expected.__name__}, or leave {{adversary}} out"
        raise ParameterError(message, hint=hint)
    return adversary or usual[model]


def default_risk(adversary: AnyAdversary) -> str:
    """The way to state the risk from an adversary: the worst chance, unless it says nothing.

    A slot in which everyone has one value hides nothing from anyone who knows it, and from counts that keep
    the promise no small group can be computed at all.
    """
    if isinstance(adversary, PatternAdversary):
        return "promised"
    true_slot = isinstance(adversary, StreamAdversary) and adversary.knows == "true-slot"
    return "mean" if true_slot else "worst"


def judge(
    release: Release, ledger: Ledger, adversary: AnyAdversary, doing: Callable[[str, float], None]
) -> tuple[dict[str, float], dict[str, float], dict[str, Any]]:
    """Measure and attack one release: its losses, risks and other facts by name; `doing` reports progress."""
    doing("measuring", 0.0)
    loss = measure(release, ledger, queries=QUERIES)
    doing("attacking", 0.5)
    breach = attack(release, ledger, adversary)
    risks = {"worst": breach.worst, "mean": breach.mean, "promised": promised(release, adversary)}
    doing("judged", 1.0)
    losses, facts = _measured(release, loss)
    return losses, risks, facts


def promised(release: Release, adversary: AnyAdversary) -> float:
    """The chance that the promise leaves to the adversary; 1 if it does not cover this one."""
    match release.guarantee:
        case KAnonymity(k) | NoInferenceChannel(k):
            return 1 / k
        case KPAnonymity(_, p):  # an outsider who knows values also reads the patterns
            return 1 / p
        case LDiversity(l, true_slot):
            if isinstance(adversary, StreamAdversary) and adversary.knows != "published-slot":
                return 1 / true_slot if true_slot and adversary.knows == "true-slot" else 1.0
            return 1 / l


def _measured(
    release: Release, loss: Loss | StreamLoss | SeriesLoss | PatternLoss
) -> tuple[dict[str, float], dict[str, Any]]:
    match loss:
        case Loss():
            facts = {"granularity": release.manifest["granularity"], "groups": loss.groups}
            return {"window_error": loss.window_error_mean, "withheld": loss.suppressed_share}, facts
        case StreamLoss():
            error = next(window.release for window in loss.window_errors if window.length == SLOTS)
            return {"window_error": error, "withheld": loss.suppressed_share, "moved": loss.moved_share}, {}
        case SeriesLoss():
            # Envelopes as a share of one around everyone, patterns, and the mean of the two.
            parts = {}
            if loss.value_loss is not None:
                parts["values"] = loss.value_loss / loss.value_span if loss.value_span else 0.0
            if loss.pattern_loss is not None:
                parts["pattern"] = loss.pattern_loss
            mean = sum(parts.values()) / max(len(parts), 1)
            return {"both": mean, **parts, "withheld": loss.suppressed_share}, {"groups": loss.groups}
        case PatternLoss():
            every = max(loss.patterns, 1)
            shares = {"changed": loss.changed / every, "lost": loss.lost / every}
            return {"count_error": loss.mean_error, **shares}, {
                "patterns": loss.patterns,
                "virtual": loss.virtual,
            }
