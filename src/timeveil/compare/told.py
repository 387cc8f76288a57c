"""What is told of one release: by its folder alone, and by the judges who have its ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from timeveil.domain.guarantee import KPAnonymity, LDiversity
from timeveil.domain.ledger import Ledger
from timeveil.domain.progress import Progress
from timeveil.domain.release import Release
from timeveil.explore.judging import KNOWN, default_adversary, judge, promised
from timeveil.judging.attack import attack
from timeveil.models.series.judges.attack import SeriesAdversary
from timeveil.models.stream.judges.attack import StreamAdversary

_SIZES: Mapping[str, tuple[str, ...]] = {
    "time": ("rows", "groups", "smallest_group"),
    "stream": ("rows", "slots", "buckets"),
    "series": ("rows", "groups", "cells"),
    "patterns": ("patterns", "transactions", "virtual"),
}
"""Counts of a manifest that tell how much was published."""
NONE = "-"
"""What is shown of a parameter that was not given."""
_IN_GUARANTEE = ("k", "l", "p", "protect_slot")


@dataclass(frozen=True, slots=True)
class Told:
    """Numbers and words by name; `losses` and `risks` are shares, `basis` is what they are about."""

    model: str
    guarantee: str
    parameters: Mapping[str, str]
    sizes: Mapping[str, float]
    losses: Mapping[str, float] = field(default_factory=dict)
    risks: Mapping[str, float] = field(default_factory=dict)
    basis: str = ""


def told_by_folder(release: Release) -> Told:
    """What anyone who has the release knows."""
    manifest, model = release.manifest, str(release.manifest["model"])
    counts = manifest["counts"]
    sizes = {name: counts[name] for name in _SIZES[model] if name in counts}
    risks = {"promised": promised(release, default_adversary(model, "", {}))}
    guarantee = release.guarantee
    if isinstance(guarantee, LDiversity) and guarantee.true_slot is not None:
        risks["promised_true_slot"] = 1 / guarantee.true_slot
    if isinstance(guarantee, KPAnonymity):
        risks["envelopes_alone"] = 1 / guarantee.k  # no promise: patterns narrow it
    losses = _withheld(model, counts)
    return Told(
        model, _short(guarantee.as_dict()), _parameters(manifest), sizes, losses, risks, _basis(manifest)
    )


def told_by_judges(release: Release, ledger: Ledger, progress: Progress, *, true_slot: bool) -> Told:
    """The same, and what `measure` and `attack` find; `true_slot` asks for one attack more."""
    known = told_by_folder(release)
    found = judge(release, ledger, default_adversary(known.model, "", {}), progress)
    risks = {**known.risks, **{name: found.risks[name] for name in ("worst", "mean")}}
    if true_slot:
        slot = attack(release, ledger, StreamAdversary("true-slot"))
        risks |= {"worst_true_slot": slot.worst, "mean_true_slot": slot.mean}
    if known.model == "series":
        few = min(KNOWN, len(release.manifest["series"]["instants"]))
        values = attack(release, ledger, SeriesAdversary(values=few))
        risks |= {"worst_values": values.worst, "mean_values": values.mean}
    losses = {**known.losses, **found.losses}
    return Told(known.model, known.guarantee, known.parameters, known.sizes, losses, risks, known.basis)


def _withheld(model: str, counts: Mapping[str, Any]) -> dict[str, float]:
    """What the folder says was left out; of a stream it says nothing."""
    if model == "time":
        return {"withheld": counts["withheld"] / max(counts["rows_read"], 1)}
    if model == "series":
        return {"withheld": counts["suppressed"] / max(counts["rows"] + counts["suppressed"], 1)}
    return {}


def _short(stated: Mapping[str, Any]) -> str:
    """A promise in few words.

    >>> _short({"name": "kp-anonymity", "k": 10, "p": 5, "l": None})
    'kp-anonymity k=10 p=5'
    """
    numbers = (f"{name}={value}" for name, value in stated.items() if name != "name" and value is not None)
    return " ".join([str(stated["name"]), *numbers])


def _parameters(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Everything that was chosen besides the promise, in words; names of columns, never a value."""
    chosen = {name: value for name, value in manifest["parameters"].items() if name not in _IN_GUARANTEE}
    if "granularity" in manifest:
        chosen = {"granularity": manifest["granularity"], **chosen}
    if manifest.get("levels"):
        chosen["levels"] = [f"{name}: {level['name']}" for name, level in manifest["levels"].items()]
    columns = [column["name"] for column in manifest["columns"]]
    if manifest["model"] != "patterns":
        chosen["columns"] = columns
    return {name: _worded(value) for name, value in chosen.items()}


def _worded(value: Any) -> str:
    match value:
        case None:
            return NONE
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
        case list() | tuple():
            return ",".join(map(_worded, value))
        case Mapping():
            return ",".join(f"{name}={_worded(one)}" for name, one in value.items())
    return str(value)


def _basis(manifest: Mapping[str, Any]) -> str:
    """What losses and chances are about; of two releases with another basis they answer other questions."""
    roles = [(column["name"], column["role"]) for column in manifest["columns"]]
    match manifest["model"]:
        case "series":
            said = manifest["series"]
            return repr([said[name] for name in ("instants", "values", "pattern")])
        case "patterns":
            said, asked = manifest["patterns"], manifest["parameters"]
            parts = [said[name] for name in ("kind", "instants", "symbols")]
            return repr([*parts, asked["min_support"], asked["max_len"]])
        case _:
            return repr([roles, manifest["time"]["column"], manifest["time"].get("slot")])
