"""What is known about one release: from its folder alone, and by the judges who have its ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from timeveil.domain.guarantee import KPAnonymity, LDiversity
from timeveil.domain.release import Ledger, Release
from timeveil.domain.wording import Progress
from timeveil.explore.judgement import KNOWN, default_adversary, judge, promised
from timeveil.judging import attack
from timeveil.models.series.judges.attack import SeriesAdversary
from timeveil.models.stream.judges.attack import StreamAdversary

_SIZES: Mapping[str, tuple[str, ...]] = {
    "time": ("rows", "groups", "smallest_group"),
    "stream": ("rows", "slots", "buckets"),
    "series": ("rows", "groups", "cells"),
    "patterns": ("patterns", "transactions", "virtual"),
}
"""Counts of a manifest that show how much was published."""
NOT_SET = "-"
_IN_GUARANTEE = ("k", "l", "p", "protect_slot")


@dataclass(frozen=True, slots=True)
class ReleaseSummary:
    """Numbers and words by name; `losses` and `risks` are shares, `basis` is what they are about."""

    model: str
    guarantee: str
    parameters: Mapping[str, str]
    sizes: Mapping[str, float]
    losses: Mapping[str, float] = field(default_factory=dict)
    risks: Mapping[str, float] = field(default_factory=dict)
    basis: str = ""


def from_folder(release: Release) -> ReleaseSummary:
    """What anyone who has the release knows."""
    manifest, model = release.manifest, str(release.manifest["model"])
    counts, guarantee = manifest["counts"], release.guarantee
    risks = {"promised": promised(release, default_adversary(model, "", {}))}
    if isinstance(guarantee, LDiversity) and guarantee.true_slot is not None:
        risks["promised_true_slot"] = 1 / guarantee.true_slot
    if isinstance(guarantee, KPAnonymity):
        risks["envelopes_alone"] = 1 / guarantee.k  # not promised: patterns narrow it
    return ReleaseSummary(
        model,
        _short(guarantee.as_dict()),
        _parameters(manifest),
        {name: counts[name] for name in _SIZES[model] if name in counts},
        _withheld(model, counts),
        risks,
        _basis(manifest),
    )


def from_judges(release: Release, ledger: Ledger, progress: Progress, *, true_slot: bool) -> ReleaseSummary:
    """What `measure` and `attack` find as well; `true_slot` adds one more attack."""
    public = from_folder(release)
    judgement = judge(release, ledger, default_adversary(public.model, "", {}), progress)
    risks = {**public.risks, **{name: judgement.risks[name] for name in ("worst", "mean")}}
    if true_slot:
        slot = attack(release, ledger, StreamAdversary("true-slot"))
        risks |= {"worst_true_slot": slot.worst, "mean_true_slot": slot.mean}
    if public.model == "series":
        few = min(KNOWN, len(release.manifest["series"]["instants"]))
        values = attack(release, ledger, SeriesAdversary(values=few))
        risks |= {"worst_values": values.worst, "mean_values": values.mean}
    return replace(public, losses={**public.losses, **judgement.losses}, risks=risks)


def _withheld(model: str, counts: Mapping[str, Any]) -> dict[str, float]:
    """The share that the folder states was withheld; a stream does not state it."""
    if model == "time":
        return {"withheld": counts["withheld"] / max(counts["rows_read"], 1)}
    if model == "series":
        return {"withheld": counts["suppressed"] / max(counts["rows"] + counts["suppressed"], 1)}
    return {}


def _short(guarantee: Mapping[str, Any]) -> str:
    """A promise in few words.

    >>> _short({"name": "kp-anonymity", "k": 10, "p": 5, "l": None})
    'kp-anonymity k=10 p=5'
    """
    numbers = (f"{name}={value}" for name, value in guarantee.items() if name != "name" and value is not None)
    return " ".join([str(guarantee["name"]), *numbers])


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


def _basis(manifest: Mapping[str, Any]) -> str:
    """What losses and chances are about: with another basis, they answer other questions."""
    match manifest["model"]:
        case "series":
            return repr([manifest["series"][name] for name in ("instants", "values", "pattern")])
        case "patterns":
            parts = [manifest["patterns"][name] for name in ("kind", "instants", "symbols")]
            return repr([*parts, *(manifest["parameters"][name] for name in ("min_support", "max_len"))])
    roles = [(column["name"], column["role"]) for column in manifest["columns"]]
    return repr([roles, manifest["time"]["column"], manifest["time"].get("slot")])
