"""The words about a release of timestamped rows: its facts, from which templates make all texts.

Everything comes from the manifest and, where there is one, the ledger: column names and counts, never a
value.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from timeveil.calendar.catalogue import resolve
from timeveil.models.events.evidence import Evidence
from timeveil.models.events.judges.measure import (
    commonest_sensitive,
    largest_share,
    similar_ids,
    tying_columns,
)
from timeveil.models.events.parameters import EventParameters
from timeveil.page.facts import ReleaseFacts
from timeveil.page.wording import name

CHEAP_ROWS = 1_000_000
"""Above this many rows, a run does not look into every group."""


def exposure(evidence: Evidence) -> dict[str, Any] | None:
    """What stays visible inside groups; None without a ledger, where it would take long, or of no rows.

    The largest share of a group's rows of one person, and per sensitive column that of one value; per
    published column the share of rows that its value ties to another row of the same person; and how many
    ids differ from another only in case or surrounding blanks.
    """
    ledger, counts = evidence.ledger, evidence.release.manifest["counts"]
    if ledger is None or ledger.original.rows > CHEAP_ROWS or not counts["rows"]:
        return None
    commonest = commonest_sensitive(evidence)
    return {
        "largest_share": largest_share(evidence),
        "commonest_sensitive": {column: shares["worst"] for column, shares in commonest.items()},
        "tied_rows": tying_columns(evidence),
        "similar_ids": similar_ids(evidence),
    }


class Facts(ReleaseFacts):
    """What the templates of this model are filled with; the ledger adds what only the custodian knows."""

    table = EventParameters

    def __init__(self, evidence: Evidence, hierarchies: Sequence[str] = ()) -> None:
        super().__init__(evidence, hierarchies)
        self.title = f"{self.source} -> {self.k}-anonymous by time"
        self.granularity: str = self.manifest["granularity"]
        self.levels: Mapping[str, Mapping[str, Any]] = self.manifest["levels"]
        self.quasi = [column["name"] for column in self.manifest["columns"] if column["role"] == "quasi"]
        candidates = self.manifest["candidates"]
        self.allowed = {name: counts for name, counts in candidates.items() if counts["allowed"]}
        self.aliases = [alias for counts in self.allowed.values() for alias in counts["aliases"]]
        self.skipped: Mapping[str, str] = self.run.get("skipped", {})
        self.chosen: Mapping[str, Any] = candidates.get(self.granularity, {})
        self.in_gaps: int = self.chosen.get("rows_in_gaps", 0)
        self.withheld_share: float = self.counts["withheld"] / max(self.counts["rows_read"], 1)

    @cached_property
    def exposure(self) -> dict[str, Any] | None:
        return exposure(self.evidence)

    @cached_property
    def finer_than_data(self) -> list[str]:
        """Granularities of the default calendar that are finer than the times."""
        if self.ledger is None or self.parameters["granularities"] is not None:
            return []
        known = {*self.manifest["candidates"], *self.skipped}
        return [g.name for g in resolve(None, self.ledger.original.clock) if g.name not in known]

    @property
    def search(self) -> dict[str, int]:
        """How many granularities were considered, combinations each has, and nodes tried and not tried."""
        distinct = max(len(self.allowed) - len(self.aliases), 1)
        tried, nodes = self.run.get("tried", distinct), self.run.get("nodes", distinct)
        return {
            "considered": len(self.allowed) + len(self.finer_than_data) + len(self.skipped),
            "combinations": nodes // distinct,
            "tried": tried,
            "untried": nodes - tried,
        }

    @property
    def reason(self) -> str:
        """Why this granularity: the key of a sentence in the templates."""
        named, rule = self.parameters["granularities"], self.parameters["choose"]
        if rule not in ("groups", "generality"):
            return "by name"
        if named is not None and len(named) == 1 and "nodes" not in self.manifest:
            return "no other"
        if self.granularity not in self._frontier:
            return f"{rule}, not the finest"
        if len(self.manifest.get("nodes", self.manifest["frontier"])) > 1:
            return str(rule)
        alone = sum(counts["feasible"] for counts in self.allowed.values()) == 1 < len(self.allowed)
        return "only" if alone else "finest"

    @property
    def equally_fine(self) -> dict[str, int]:
        """Other granularities that nothing finer beats, with their groups after withholding."""
        names = [name for name in self.manifest["frontier"] if self.granularity not in self._alike(name)]
        return {name: _groups(self.allowed[name]) for name in names}

    @property
    def coarser(self) -> list[str]:
        """Granularities that also keep the promise but are coarser than needed."""
        finest = {*self._frontier, *self._alike(self.granularity)}
        return [name for name, counts in self.allowed.items() if counts["feasible"] and name not in finest]

    @property
    def closest_failure(self) -> dict[str, Any] | None:
        """The granularity that fails by the fewest rows, and the `suppress` that would allow it."""
        failed = [
            (counts["rows_below_k"], name) for name, counts in self.allowed.items() if not counts["feasible"]
        ]
        if not failed:
            return None
        rows, name = min(failed)
        # `suppress` is a share of the rows with a person and a time.
        in_gaps = self.in_gaps if self.parameters["gaps"] == "suppress" else 0
        needed = (
            math.ceil(rows / (self.counts["rows"] + self.chosen["rows_below_k"] + in_gaps) * 10_000) / 10_000
        )
        possible = rows > 0 and needed < 1 and _groups(self.allowed[name]) > 0
        groups = self.allowed[name]["groups_below_k"]
        return {"name": name, "rows": rows, "groups": groups, "suppress": f"{needed:g}" if possible else None}

    @cached_property
    def combinations(self) -> list[Mapping[str, Any]]:
        """With hierarchies, the finest combinations of levels and time, those with the most groups first."""
        nodes = sorted(self.manifest.get("nodes", ()), key=_groups, reverse=True)
        return [{**node, "left": _groups(node)} for node in nodes] if len(nodes) > 1 else []

    @property
    def generalisable(self) -> list[str]:
        """Columns with a hierarchy, also where no combination makes them coarser."""
        levels = (column for node in self.combinations for column in node["levels"])
        return list(dict.fromkeys((*self.hierarchies, *levels)))

    @property
    def another_combination(self) -> str:
        """The options that select a combination other than the chosen one."""
        alike = (self.granularity, *self.chosen.get("aliases", ()))
        node = next(
            node
            for node in self.combinations
            if node["granularity"] not in alike or node["levels"] != self.levels
        )
        options = ["--choose", node["granularity"]]
        for column in self.generalisable:
            level = node["levels"].get(column, {"level": 0})["level"]
            options += ["--level", f"{column}={level}"]
        return shlex.join(options)

    @property
    def withheld(self) -> dict[str, int]:
        """How many rows were withheld, by reason."""
        small = self.chosen.get("rows_below_k", 0)
        in_gaps = self.in_gaps if self.parameters["gaps"] == "suppress" else 0
        return {
            f"in groups below {self.k} people": small,
            "in gaps of the calendar": in_gaps,
            "without a person or a time": self.counts["withheld"] - small - in_gaps,
        }

    def figures(self) -> list[tuple[str, Any]]:
        counts = self.counts
        return [
            ("rows published", counts["rows"]),
            ("rows withheld", f"{counts['withheld']:,} of {counts['rows_read']:,}"),
            ("granularity of time", name(self.granularity)),
            ("groups of the same quasi-identifiers and time", counts["groups"]),
            ("people in the smallest group", counts["smallest_group"]),
        ]

    @property
    def stated(self) -> dict[str, Any]:
        """The parameters to state, with the chosen levels."""
        levels = {column: level["level"] for column, level in self.levels.items()} or None
        return {**super().stated, "levels": levels}

    def as_dict(self, *entries: str) -> dict[str, Any]:
        nodes = ("nodes",) if "nodes" in self.manifest else ()
        return {
            **super().as_dict("granularity", "time", "levels", "frontier", "candidates", *nodes, *entries),
            "people": self.run.get("people", 0),
            "read_at": self.run.get("read_at"),
            "skipped": dict(self.skipped),
            **({} if self.exposure is None else {"exposure": self.exposure}),
        }

    @property
    def _frontier(self) -> set[str]:
        """Granularities that nothing finer beats, with those that group the data alike."""
        return {alike for name in self.manifest["frontier"] for alike in self._alike(name)}

    def _alike(self, name: str) -> tuple[str, ...]:
        return (name, *self.allowed.get(name, {"aliases": ()})["aliases"])


def _groups(counts: Mapping[str, Any]) -> int:
    """Groups that are left after withholding."""
    return int(counts["groups"] - counts["groups_below_k"])
