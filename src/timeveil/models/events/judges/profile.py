"""The risk of a table before anything is done to it, and what its releases are compared by.

For each granularity: if times were published as its granules, without the respondent, how many people would
share each (quasi-identifiers, granule)? Next to it is the number that counting rows would claim: a person
with many rows makes a small group look safe.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from timeveil.calendar.catalogue import resolve
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import at_least
from timeveil.domain.arrays import Ints
from timeveil.domain.guarantee import KAnonymity
from timeveil.domain.judgement import PlainData
from timeveil.domain.relation import Relation
from timeveil.domain.release import Release
from timeveil.domain.wording import counted
from timeveil.evidence import risk
from timeveil.evidence.codes import column_of, encode, example_of, fold, ranked
from timeveil.evidence.published import require
from timeveil.models.events.evidence import observed, people_of
from timeveil.models.events.judges.measure import Loss
from timeveil.models.events.judges.recount import Visits, visits_of
from timeveil.models.events.parameters import Adversary

SPREAD: Mapping[str, Callable[[Ints], Any]] = {
    "min": np.min,
    "median": np.median,
    "mean": np.mean,
    "p90": lambda rows: np.quantile(rows, 0.9),
    "max": np.max,
}
UNCHANGED = "unchanged"
READ: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class GranularityRisk:
    """How large the groups of a table would be at one granularity.

    `smallest_group` counts people; `claimed_by_rows` is the smallest group by rows, which a tool that counts
    rows would call k. `people_unique` are alone in a group, `people_below_k` are in a group of fewer than k
    people, and `rows_below_k` are in such groups. Rows in a gap of the calendar are in no group.
    """

    granularity: str
    groups: int
    smallest_group: int
    claimed_by_rows: int
    people_unique: int
    people_below_k: int
    share_below_k: float
    rows_below_k: int
    rows_in_gaps: int


@dataclass(frozen=True, slots=True)
class Way(PlainData):
    """What a row would lose, in bits, with one way to `recode`, and whom known visits would single out.

    `singled_out` has, by the number of visits that are known, the share of people with a single candidate.
    """

    recode: str
    bits: float
    singled_out: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Profile(PlainData):
    """The risk of a table, unchanged and at every granularity.

    `rows_incomplete` lack the respondent or the time and are in no other count. `rows_per_person` has the
    smallest, median, mean, 90 % and largest number of rows of a person. `ways` has what each way of recoding
    would lose and risk where they were tried, and `ways_left_out` the reason where they could not be.
    """

    ALSO: ClassVar = ("already_anonymous",)

    k: int
    rows: int
    rows_incomplete: int
    people: int
    rows_per_person: dict[str, float]
    as_it_stands: GranularityRisk
    granularities: tuple[GranularityRisk, ...]
    ways: tuple[Way, ...] = ()
    ways_left_out: str = ""

    @property
    def already_anonymous(self) -> bool:
        """Whether every (quasi-identifiers, time) value of the unchanged table is shared by k people."""
        return not self.as_it_stands.rows_below_k

    safe = already_anonymous


def profile(
    relation: Relation,
    k: int,
    granularities: Iterable[str | Granularity] | str | Granularity | None = None,
    definitions: Iterable[Granularity] | None = None,
) -> Profile:
    """Count people and rows per group, at the table's resolution and at each granularity that is no finer."""
    require(Relation, relation)
    k = KAnonymity(k).k
    people = people_of(relation)
    complete = np.flatnonzero(people.complete)
    columns = [encode(column_of(relation.data, name)) for name in relation.roles.quasi_columns]
    quasi, _ = fold([(coded.codes[complete], coded.size) for coded in columns], len(complete))
    identities, owner = ranked(people.person[complete])
    times, time = ranked(people.tick[complete])
    visits, rows = visits_of(quasi, owner, time, len(times)), np.bincount(owner, minlength=len(identities))
    levels = resolve(granularities, people.axis, definitions)
    timeline, position = observed(people, levels, "skip")
    position_of_time = position[example_of(time, len(times))]
    risks = [_risk(UNCHANGED, k, visits, rows)]
    for level in at_least(levels, timeline.base):
        groups = visits.at(timeline.firsts(level)[position_of_time])
        risks.append(_risk(level.name, k, groups, rows))
    spread = rows if len(rows) else np.zeros(1, np.int64)
    return Profile(
        k=k,
        rows=relation.rows,
        rows_incomplete=relation.rows - len(complete),
        people=len(identities),
        rows_per_person={name: float(measure(spread)) for name, measure in SPREAD.items()},
        as_it_stands=risks[0],
        granularities=tuple(risks[1:]),
    )


def _risk(name: str, k: int, groups: Visits, rows_of_person: Ints) -> GranularityRisk:
    people, visitor = groups.people, groups.person[groups.owner]
    crowds = people[groups.cell]
    alone, below = (np.count_nonzero(np.bincount(visitor[crowds < least])) for least in (2, k))
    return GranularityRisk(
        granularity=name,
        groups=len(groups.rows),
        smallest_group=int(people.min()) if len(people) else 0,
        claimed_by_rows=int(groups.rows.min()) if len(groups.rows) else 0,
        people_unique=int(alone),
        people_below_k=int(below),
        share_below_k=int(below) / max(len(rows_of_person), 1),
        rows_below_k=int(groups.rows[people < k].sum()),
        rows_in_gaps=int(rows_of_person.sum() - groups.rows.sum()),
    )


class Tradeoff(risk.Tradeoff):
    """Losses are about rows, columns and windows of time; the outsider knows one visit."""

    goal = "names the right person"
    losses: ClassVar = {
        "bits": "the information that a published row loses on average",
        "window_error": "the mean error of random counts over windows of time",
        "withheld": "the share of rows that were withheld",
    }

    def known(self, adversary: Mapping[str, Any]) -> str:
        return f"the quasi-identifiers and the time of {counted(adversary['visits'], 'visit')}"

    def outsider(self, _explored: str = "", _options: Mapping[str, Any] = {}) -> Adversary:
        return Adversary()

    def stated(self, counts: Mapping[str, Any]) -> dict[str, float]:
        return {"withheld": counts["withheld"] / max(counts["rows_read"], 1)}

    def measured(self, release: Release, loss: Loss) -> tuple[dict[str, float], dict[str, Any]]:
        by = "row by row" if release.manifest.get("steps") else release.manifest["granularity"]
        facts = {"granularity": by, "groups": loss.groups}
        losses = {"bits": loss.bits_per_row, "window_error": loss.window_error_mean}
        return losses | {"withheld": loss.suppressed_share}, facts
