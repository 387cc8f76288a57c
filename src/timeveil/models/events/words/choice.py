"""Which granularities were considered, and why this one was chosen, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from timeveil.calendar.catalogue import resolve
from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.evidence.published import promised
from timeveil.page.wording import counted, quoted

_RULES = {
    "groups": "Of the least general ones{allowed} that keep the promise it has the most groups.",
    "generality": "Of those{allowed} that keep the promise it is the least general by the measure of "
    "the paper.",
}

_BY_RULE = {
    "groups": "Of all{allowed} that keep the promise it has the most groups left after withholding",
    "generality": "Of all{allowed} that keep the promise it is the least general by the measure of the "
    "paper, after withholding",
}


def considered(release: Release, ledger: Ledger) -> Iterator[str]:
    """How many granularities were allowed and tried, and why the others were not."""
    allowed = _allowed(release)
    if not allowed or not ledger.facts["people"]:
        yield "Nothing to choose from: no row with a person and a time came in."
        return
    aliases = [alias for counts in allowed.values() for alias in counts["aliases"]]
    distinct = len(allowed) - len(aliases)
    tried, nodes = ledger.facts.get("tried", distinct), ledger.facts.get("nodes", distinct)
    finer, skipped = _finer_than_data(release, ledger), ledger.facts.get("skipped", {})
    total = counted(len(allowed) + len(finer) + len(skipped), "granularity", "granularities")
    combinations = nodes // distinct
    levels = f", each with {combinations:,} combinations of levels" if combinations > 1 else ""
    reasons = [f"{total} allowed{levels}, {tried:,} tried"]
    if tried < nodes:
        reasons.append(f"{nodes - tried:,} not tried because a finer one already sufficed")
    if finer:
        reasons.append(f"{quoted(finer)} left out as finer than the data")
    if aliases:
        reasons.append(f"{quoted(aliases)} cut{'s' * (len(aliases) == 1)} the data as another does")
    reasons += [f"`{name}` skipped because {why}" for name, why in skipped.items()]
    yield "; ".join(reasons) + "."


def chosen(release: Release) -> Iterator[str]:
    """The granularity chosen, why, what else would have done, and what failed closest to it."""
    counts = release.manifest["counts"]
    if not counts["rows"]:
        return
    yield (
        f"Chose `{release.manifest['granularity']}`: {counted(counts['groups'], 'group')}, "
        f"the smallest of {counts['smallest_group']:,} people. {_why(release)}"
    )
    others = "; ".join(_others(release))
    if others:
        yield f"{others[0].upper()}{others[1:]}."


def limited(release: Release) -> Iterator[str]:
    """How many granularities were allowed, where not all were."""
    named = release.manifest["parameters"]["granularities"]
    if named is not None:
        yield f"Only {counted(len(named), 'granularity', 'granularities')} allowed."


def _why(release: Release) -> str:
    """Why this one; where granularities were named, a finer one may keep the promise, too."""
    manifest, allowed = release.manifest, _allowed(release)
    frontier, stated = manifest["frontier"], manifest["parameters"]
    named, rule = stated["granularities"], stated["choose"]
    if rule not in _RULES:
        return "It was asked for by name."
    if named is not None and len(named) == 1 and "nodes" not in manifest:
        return "No other was allowed."
    some = "" if named is None else " allowed"
    least = {name for kept in frontier for name in (kept, *allowed[kept]["aliases"])}
    if manifest["granularity"] not in least:
        return f"{_BY_RULE[rule].format(allowed=some)}, though {quoted(frontier)} would be finer."
    if len(manifest.get("nodes", frontier)) > 1:
        return _RULES[rule].format(allowed=some)
    alone = sum(counts["feasible"] for counts in allowed.values()) == 1 < len(allowed)
    return f"It is the {'only' if alone else 'least general'} one{some} that keeps the promise."


def _others(release: Release) -> Iterator[str]:
    manifest, allowed = release.manifest, _allowed(release)
    name, frontier = manifest["granularity"], manifest["frontier"]
    also = [other for other in frontier if other != name and name not in allowed[other]["aliases"]]
    if also:
        said = ", ".join(f"`{other}` ({_kept_groups(allowed[other])})" for other in also)
        yield f"{said} would have done as well"
    known = {name, *frontier}
    known |= {alias for other in known for alias in allowed[other]["aliases"]}
    coarser = [other for other, counts in allowed.items() if counts["feasible"] and other not in known]
    if coarser:
        yield f"{quoted(coarser)} would have done, more general than needed"
    yield from _closest_failure(release)


def _closest_failure(release: Release) -> Iterator[str]:
    """What stands in the way of the finer one that failed by the fewest rows."""
    allowed = _allowed(release)
    failed = [(counts["rows_below_k"], other) for other, counts in allowed.items() if not counts["feasible"]]
    if not failed:
        return
    rows, other = min(failed)
    needed = math.ceil(rows / _countable(release) * 10_000) / 10_000
    allows = rows > 0 and needed < 1 and allowed[other]["groups"] > allowed[other]["groups_below_k"]
    yield (
        f"`{other}` would have left {counted(rows, 'row')} in "
        f"{counted(allowed[other]['groups_below_k'], 'group')} below {promised(release, 'k')} people"
        + (f" (`--suppress {needed:g}` would allow it)" if allows else "")
    )


def _countable(release: Release) -> int:
    """Rows with a person and a time, which `suppress` is a share of."""
    manifest = release.manifest
    here = manifest["candidates"][manifest["granularity"]]
    in_gaps = here["rows_in_gaps"] if manifest["parameters"]["gaps"] == "suppress" else 0
    return int(manifest["counts"]["rows"] + here["rows_below_k"] + in_gaps)


def _kept_groups(counts: Mapping[str, Any]) -> str:
    return counted(counts["groups"] - counts["groups_below_k"], "group")


def _allowed(release: Release) -> dict[str, Mapping[str, Any]]:
    return {name: counts for name, counts in release.manifest["candidates"].items() if counts["allowed"]}


def _finer_than_data(release: Release, ledger: Ledger) -> list[str]:
    """Those of the default calendar that the times cannot be told apart by."""
    manifest = release.manifest
    if manifest["parameters"]["granularities"] is not None:
        return []
    known = {*manifest["candidates"], *ledger.facts.get("skipped", {})}
    return [g.name for g in resolve(None, ledger.original.clock) if g.name not in known]
