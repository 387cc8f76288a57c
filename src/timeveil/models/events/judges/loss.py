"""What the release lost against the original."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.evidence.codes import distinct, distinct_pairs, fold
from timeveil.evidence.published import HIGHEST, LOWEST
from timeveil.models.events.judges.linked import Linked, link
from timeveil.models.events.judges.resolution import resolution
from timeveil.models.events.judges.workload import window_errors


@dataclass(frozen=True, slots=True)
class Loss:
    """What the release lost, in plain numbers.

    `rows` were published in `groups`; `suppressed` rows were withheld, and `suppressed_people` have no
    row left. `width_before` is the resolution of the original times and `width_after` the mean width
    of a published row's granule, in `width_unit` (`second`, or `month` on an axis of months); a
    granule without a start or an end counts as wide as the data. `window_error_median` and
    `window_error_mean` are relative errors of `windows` random window counts against all original
    rows, where a count below 0.1 % of the rows is judged as if it were that.
    """

    rows: int
    groups: int
    suppressed: int
    people: int
    suppressed_people: int
    rows_per_group: float
    people_per_group: float
    width_before: float
    width_after: float
    width_unit: str
    windows: int
    window_error_median: float
    window_error_mean: float

    @property
    def suppressed_share(self) -> float:
        """Share of all rows that were withheld."""
        return self.suppressed / max(self.rows + self.suppressed, 1)

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        return {**asdict(self), "suppressed_share": self.suppressed_share}


def measure_times(release: Release, ledger: Ledger, windows: int, seed: int) -> Loss:
    """Compare a release of timestamped rows with the original rows that its ledger holds."""
    linked = link(release, ledger)
    people, published = linked.people, linked.published
    group, groups = fold(
        [
            (linked.shown[published], int(linked.shown.max(initial=0)) + 1),
            (linked.place[published], len(linked.granules.start)),
        ],
        int(published.sum()),
    )
    members, _, _ = distinct_pairs(group, people.person[published], people.people)
    everyone = len(distinct(people.person[people.whole]))
    tick = resolution(people.axis, people.moment[people.whole])
    errors = window_errors(release, ledger, linked, windows, tick, np.random.default_rng(seed))
    return Loss(
        rows=len(group),
        groups=groups,
        suppressed=int((~linked.kept).sum()),
        people=everyone,
        suppressed_people=everyone - len(distinct(people.person[published])),
        rows_per_group=len(group) / groups if groups else 0.0,
        people_per_group=len(members) / groups if groups else 0.0,
        width_before=float(tick),
        width_after=_mean_width(linked, tick),
        width_unit="month" if people.axis.unit in ("month", "year") else "second",
        windows=len(errors),
        window_error_median=float(np.median(errors)) if len(errors) else 0.0,
        window_error_mean=float(errors.mean()) if len(errors) else 0.0,
    )


def _mean_width(linked: Linked, tick: int) -> float:
    """Mean width of a published row's granule; an endless one is cut to the extent of the data."""
    place = linked.place[linked.published]
    if not len(place):
        return 0.0
    moments = linked.people.moment[linked.people.whole]
    start = np.where(linked.granules.start == LOWEST, moments.min(), linked.granules.start)
    end = np.where(linked.granules.end == HIGHEST, moments.max() + tick, linked.granules.end)
    return float((end - start)[place].mean())
