"""Does what a time manifest says about its choice agree with itself?

The candidates are numbers about the original, which nobody outside can count again. They must fit together,
though: with k and the share that may be withheld, with the granularity that was chosen, and with the counts
of what was published.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from timeveil.domain.release import Release
from timeveil.evidence.findings import Findings

_ROUNDING = 1e-9
_RULES = ("groups", "generality")


def check_choice(release: Release, findings: Findings) -> None:
    """The chosen granularity is a feasible candidate, and its numbers are those of the release."""
    findings.check("the chosen granularity is a feasible candidate with the numbers of the release")
    manifest = release.manifest
    candidates, chosen = manifest["candidates"], manifest["granularity"]
    if manifest["granularity_definition"].get("name") != chosen:
        findings.refuse("candidates", "the granularity and its definition have different names")
    if chosen not in candidates:
        findings.refuse("candidates", "the chosen granularity is not among the candidates")
        return
    if manifest["parameters"]["choose"] not in (*_RULES, chosen, *candidates[chosen]["aliases"]):
        findings.refuse(
            "candidates", "`parameters.choose` of the manifest is neither a rule nor the chosen granularity"
        )
    if not (candidates[chosen]["feasible"] and candidates[chosen]["allowed"]):
        findings.refuse("candidates", "the chosen granularity is stated not to be feasible or not allowed")
    _check_frontier(manifest, findings)
    if manifest["counts"]["rows"]:
        _check_chosen(manifest, candidates[chosen], findings)
        _check_feasible(manifest, candidates, chosen, findings)


def _check_frontier(manifest: Mapping[str, Any], findings: Findings) -> None:
    candidates, frontier = manifest["candidates"], manifest["frontier"]
    if any(not candidates[name]["feasible"] if name in candidates else True for name in frontier):
        findings.refuse("candidates", "the frontier names a granularity that is no feasible candidate")
    nodes = manifest.get("nodes")
    if nodes is not None:
        here = [node["granularity"] for node in nodes if node["levels"] == manifest["levels"]]
        if not nodes or here != list(frontier):
            findings.refuse("candidates", "the frontier is not that of the nodes at the published levels")
    elif manifest["counts"]["rows"] and not frontier:
        findings.refuse("candidates", "the frontier is empty")


def _check_chosen(manifest: Mapping[str, Any], chosen: Mapping[str, Any], findings: Findings) -> None:
    counts, k = manifest["counts"], manifest["parameters"]["k"]
    kept = chosen["groups"] - chosen["groups_below_k"]
    if kept != counts["groups"]:
        findings.refuse(
            "candidates",
            f"the chosen granularity is stated to keep {kept:,} groups, the release {counts['groups']:,}",
        )
    if (chosen["smallest_group"] < k) != (chosen["groups_below_k"] > 0):
        findings.refuse("candidates", "the smallest group and the groups below k do not fit together")
    if not chosen["groups_below_k"] and chosen["smallest_group"] != counts["smallest_group"]:
        findings.refuse(
            "candidates",
            f"the chosen granularity is stated with a smallest group of {chosen['smallest_group']:,}, "
            f"the release with {counts['smallest_group']:,}",
        )
    left_out = _left_out(manifest, chosen)
    exact = manifest["parameters"]["nulls"] == "error"
    if left_out > counts["withheld"] or (exact and left_out != counts["withheld"]):
        findings.refuse(
            "candidates",
            f"{left_out:,} rows are stated to be below k or in gaps, and {counts['withheld']:,} withheld",
        )


def _check_feasible(
    manifest: Mapping[str, Any], candidates: Mapping[str, Any], chosen: str, findings: Findings
) -> None:
    """Whether a candidate is feasible follows from its numbers."""
    suppress, k = manifest["parameters"]["suppress"], manifest["parameters"]["k"]
    countable = manifest["counts"]["rows"] + _left_out(manifest, candidates[chosen])
    wrong = 0
    for one in candidates.values():
        kept = one["groups"] > one["groups_below_k"]
        within = one["rows_below_k"] <= suppress * countable + _ROUNDING
        follows = kept and within if one["allowed"] else one["smallest_group"] >= k
        wrong += follows != one["feasible"]
    if wrong:
        findings.refuse(
            "candidates", f"{wrong} of {len(candidates)} candidates are not as feasible as their numbers say"
        )


def _left_out(manifest: Mapping[str, Any], chosen: Mapping[str, Any]) -> int:
    """Rows that the chosen granularity leaves out, those without a person or a time aside."""
    in_gaps = chosen["rows_in_gaps"] if manifest["parameters"]["gaps"] == "suppress" else 0
    return int(chosen["rows_below_k"] + in_gaps)
