"""Numbers and names about a release of timestamped rows, from which all of its texts are made.

Everything comes from the manifest and, where there is one, the ledger: column names and counts, never a
value.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from timeveil.calendar.catalogue import resolve
from timeveil.models.events.evidence import Evidence
from timeveil.models.events.judges.exposure import (
    commonest_sensitive,
    largest_share,
    similar_ids,
    tying_columns,
)
from timeveil.page.facts import ReleaseFacts

CHEAP_ROWS = 1_000_000
"""Above this many rows, a run does not look into every group."""
MOST_COMBINATIONS = 8
PSEUDONYM = 0.2
"""Share of rows from which on a column is called a pseudonym."""


@dataclass(frozen=True, slots=True)
class Exposure:
    """What stays visible inside groups: the largest share of a group's rows of one person or one value.

    `sensitive` gives per sensitive column the share of the commonest value in the worst group, `tying` per
    published column the share of rows whose value ties them to another row of the same person. `similar_ids`
    counts ids that differ from another only in case or surrounding blanks.
    """

    largest_share: float
    sensitive: Mapping[str, float]
    tying: Mapping[str, float] = field(default_factory=dict)
    similar_ids: int = 0

    @property
    def pseudonyms(self) -> dict[str, float]:
        """Columns that tie many rows of one person together."""
        return {column: part for column, part in self.tying.items() if part >= PSEUDONYM}

    def as_dict(self) -> dict[str, Any]:
        """The exposure as data."""
        return {
            "largest_share": self.largest_share,
            "commonest_sensitive": dict(self.sensitive),
            "tied_rows": dict(self.tying),
            "similar_ids": self.similar_ids,
        }


def exposure(evidence: Evidence) -> Exposure | None:
    """Look into the groups; None without a ledger, where that would take long, or nothing was published."""
    ledger, counts = evidence.ledger, evidence.release.manifest["counts"]
    if ledger is None or ledger.original.rows > CHEAP_ROWS or not counts["rows"]:
        return None
    commonest = commonest_sensitive(evidence)
    return Exposure(
        largest_share(evidence),
        {column: shares["worst"] for column, shares in commonest.items()},
        tying_columns(evidence),
        similar_ids(evidence),
    )


class Facts(ReleaseFacts):
    """What the templates of this model are filled with; the ledger adds what only the custodian knows."""

    def __init__(self, evidence: Evidence, hierarchies: Sequence[str] = ()) -> None:
        super().__init__(evidence.release, evidence.ledger)
        self.evidence = evidence
        self.granularity: str = self.manifest["granularity"]
        self.k: int = self.release.guarantee.as_dict()["k"]
        self.hierarchies = tuple(hierarchies)

    @property
    def title(self) -> str:
        """What the run made of its source."""
        return f"{self.source} -> {self.k}-anonymous by time"

    @cached_property
    def exposure(self) -> Exposure | None:
        """What stays visible inside groups, with the ledger."""
        return exposure(self.evidence)

    @property
    def people(self) -> int:
        """How many people the original is about."""
        return 0 if self.ledger is None else int(self.ledger.facts.get("people", 0))

    @property
    def read_at(self) -> str | None:
        """The granularity that times were read at."""
        return None if self.ledger is None else self.ledger.facts.get("read_at")

    @property
    def quasi(self) -> list[str]:
        """The quasi-identifiers besides the time."""
        return [column["name"] for column in self.manifest["columns"] if column["role"] == "quasi"]

    @property
    def levels(self) -> Mapping[str, Mapping[str, Any]]:
        """Quasi-identifiers that were generalised, and how far."""
        return self.manifest["levels"]  # type: ignore[no-any-return]

    @property
    def allowed(self) -> dict[str, Mapping[str, Any]]:
        """The granularities that were allowed, with their counts."""
        return {name: counts for name, counts in self.manifest["candidates"].items() if counts["allowed"]}

    @property
    def aliases(self) -> list[str]:
        """Granularities that group the data exactly as another one does."""
        return [alias for counts in self.allowed.values() for alias in counts["aliases"]]

    @cached_property
    def finer_than_data(self) -> list[str]:
        """Granularities of the default calendar that are finer than the times."""
        if self.ledger is None or self.parameters["granularities"] is not None:
            return []
        known = {*self.manifest["candidates"], *self.skipped}
        return [g.name for g in resolve(None, self.ledger.original.clock) if g.name not in known]

    @property
    def skipped(self) -> Mapping[str, str]:
        """Granularities that were skipped, and why."""
        return {} if self.ledger is None else self.ledger.facts.get("skipped", {})

    @property
    def search(self) -> dict[str, int]:
        """How many granularities were considered, combinations each has, and nodes tried and not tried."""
        distinct = max(len(self.allowed) - len(self.aliases), 1)
        ledger_facts = {} if self.ledger is None else self.ledger.facts
        tried, nodes = ledger_facts.get("tried", distinct), ledger_facts.get("nodes", distinct)
        considered = len(self.allowed) + len(self.finer_than_data) + len(self.skipped)
        combinations = nodes // distinct
        return {
            "considered": considered,
            "combinations": combinations,
            "tried": tried,
            "untried": nodes - tried,
        }

    @property
    def reason(self) -> str:
        """Why this granularity: the key of a sentence in the templates."""
        named, rule = self.parameters["granularities"], self.parameters["choose"]
        frontier = self.manifest["frontier"]
        if rule not in ("groups", "generality"):
            return "by name"
        if named is not None and len(named) == 1 and "nodes" not in self.manifest:
            return "no other"
        finest = {
            name for finest_name in frontier for name in (finest_name, *self.allowed[finest_name]["aliases"])
        }
        if self.granularity not in finest:
            return f"{rule}, not the finest"
        if len(self.manifest.get("nodes", frontier)) > 1:
            return str(rule)
        alone = sum(counts["feasible"] for counts in self.allowed.values()) == 1 < len(self.allowed)
        return "only" if alone else "finest"

    @property
    def equally_fine(self) -> dict[str, int]:
        """Other granularities that nothing finer beats, with their groups after withholding."""
        rivals = [
            name for name in self.manifest["frontier"] if self.granularity not in self._with_aliases(name)
        ]
        return {name: self.allowed[name]["groups"] - self.allowed[name]["groups_below_k"] for name in rivals}

    @property
    def coarser(self) -> list[str]:
        """Granularities that also keep the promise but are coarser than needed."""
        known = {
            alias
            for name in (self.granularity, *self.manifest["frontier"])
            for alias in self._with_aliases(name)
        }
        return [name for name, counts in self.allowed.items() if counts["feasible"] and name not in known]

    @property
    def closest_failure(self) -> dict[str, Any] | None:
        """The granularity that fails by the fewest rows, and the `suppress` that would allow it."""
        failed = [
            (counts["rows_below_k"], name) for name, counts in self.allowed.items() if not counts["feasible"]
        ]
        if not failed:
            return None
        rows, name = min(failed)
        counts = self.allowed[name]
        needed = math.ceil(rows / self._countable * 10_000) / 10_000
        possible = rows > 0 and needed < 1 and counts["groups"] > counts["groups_below_k"]
        groups = counts["groups_below_k"]
        return {"name": name, "rows": rows, "groups": groups, "suppress": f"{needed:g}" if possible else None}

    @property
    def combinations(self) -> list[tuple[str, int]]:
        """With hierarchies, the finest combinations of levels and time with their groups, the most first."""
        return [(self._described(node), _groups(node)) for node in self._nodes]

    @property
    def another_combination(self) -> str:
        """The options that select a combination other than the chosen one."""
        node = next(node for node in self._nodes if not self._is_chosen(node))
        options = ["--choose", node["granularity"]]
        for column in self._generalisable:
            level = node["levels"].get(column, {"level": 0})["level"]
            options += ["--level", f"{column}={level}"]
        return shlex.join(options)

    @property
    def withheld(self) -> list[tuple[int, str]]:
        """How many rows were withheld, and why."""
        chosen = self.chosen
        small = chosen.get("rows_below_k", 0)
        in_gaps = chosen.get("rows_in_gaps", 0) if self.parameters["gaps"] == "suppress" else 0
        incomplete = self.counts["withheld"] - small - in_gaps
        reasons = [
            (small, f"in groups below {self.k} people"),
            (in_gaps, "in gaps of the calendar"),
            (incomplete, "without a person or a time"),
        ]
        return [(rows, reason) for rows, reason in reasons if rows]

    @property
    def withheld_share(self) -> float:
        """Share of the rows that were withheld."""
        return float(self.counts["withheld"] / max(self.counts["rows_read"], 1))

    @property
    def moved_to_next(self) -> int:
        """Rows in gaps of the calendar that were moved to the next granule."""
        return int(self.chosen.get("rows_in_gaps", 0)) if self.parameters["gaps"] == "next" else 0

    @property
    def chosen(self) -> Mapping[str, Any]:
        """The counts of the chosen granularity."""
        return self.manifest["candidates"].get(self.granularity, {})  # type: ignore[no-any-return]

    @property
    def warnings(self) -> list[str]:
        """A run of this model has no warnings of its own; its limits carry the numbers."""
        return []

    def as_dict(self) -> dict[str, Any]:
        """The facts of a run as data."""
        ledger, manifest = self.ledger, self.manifest
        facts: dict[str, Any] = {
            "source": None if ledger is None else ledger.original.source,
            "guarantee": manifest["guarantee"],
            "granularity": self.granularity,
            "people": self.people,
            "read_at": self.read_at,
            "skipped": dict(self.skipped),
            "dropped": [] if ledger is None else list(ledger.original.dropped),
            **{name: manifest[name] for name in ("time", "counts", "levels", "frontier", "candidates")},
        }
        if "nodes" in manifest:
            facts["nodes"] = manifest["nodes"]
        if self.exposure is not None:
            facts["exposure"] = self.exposure.as_dict()
        return facts

    def _with_aliases(self, name: str) -> tuple[str, ...]:
        return (name, *self.allowed.get(name, {"aliases": ()})["aliases"])

    @property
    def _countable(self) -> int:
        """Rows with a person and a time, which `suppress` is a share of."""
        in_gaps = self.chosen["rows_in_gaps"] if self.parameters["gaps"] == "suppress" else 0
        return int(self.counts["rows"] + self.chosen["rows_below_k"] + in_gaps)

    @property
    def _nodes(self) -> list[Mapping[str, Any]]:
        nodes = sorted(self.manifest.get("nodes", ()), key=_groups, reverse=True)
        return nodes if len(nodes) > 1 else []

    @property
    def _generalisable(self) -> list[str]:
        """Columns with a hierarchy, also where no combination makes them coarser."""
        return list(
            dict.fromkeys((*self.hierarchies, *(name for node in self._nodes for name in node["levels"])))
        )

    def _described(self, node: Mapping[str, Any]) -> str:
        parts = [f"`{node['granularity']}`"]
        for column in self._generalisable:
            level = node["levels"].get(column)
            to = (
                "unchanged"
                if level is None
                else "as one value"
                if level["name"] == "*"
                else f"by `{level['name']}`"
            )
            parts.append(f"`{column}` {to}")
        return ", ".join(parts)

    def _is_chosen(self, node: Mapping[str, Any]) -> bool:
        same_time = node["granularity"] in (self.granularity, *self.chosen.get("aliases", ()))
        return same_time and node["levels"] == self.manifest["levels"]


def _groups(node: Mapping[str, Any]) -> int:
    return int(node["groups"] - node["groups_below_k"])
