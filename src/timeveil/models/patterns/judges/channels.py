"""Which groups follow from the published counts? All are computed anew, on every box there is.

In series everybody has one symbol at every instant: what follows from that is worked out first, and must not
contradict itself. A cell of a box tells how many people have some items and none of others. If all cells of
all maximal boxes are empty or of k people or more, so are those of all boxes (cell theorem). If one is below
0, there are no data at all that have these counts.
"""

from __future__ import annotations

import numpy as np

from timeveil.domain.release import Release
from timeveil.domain.wording import counted
from timeveil.evidence.findings import Findings
from timeveil.evidence.published import promised
from timeveil.models.patterns.judges.boxes import TooManyBoxesError, boxes_of
from timeveil.models.patterns.judges.cells import cells_of, channels_of, pieces
from timeveil.models.patterns.judges.completion import known_from
from timeveil.models.patterns.judges.family import Family


def check_channels(release: Release, family: Family, findings: Findings) -> None:
    """Compute every cell."""
    said = release.manifest["patterns"]
    k, structural = promised(release, "k"), bool(said["structural"])
    findings.check(
        f"no group of fewer than {k} people follows from sums and differences of the counts of its items"
        f"{_assumed(series=said['kind'] == 'series', structural=structural)}"
    )
    add_up = ", and letters of an instant add up" if structural else ""
    findings.check(f"no group would have fewer than no people{add_up}")
    known = known_from(family, structural=structural)
    if known.off:
        findings.refuse(
            "unlike-any-data",
            f"{counted(known.off, 'sum')} of all symbols of an instant differ from what they are part of: no "
            "data have these counts",
        )
        return
    family = known.family
    try:
        small, below, least = _looked(family, k, structural=structural)
        if small:
            small = max(1, len(channels_of(family, k, structural=structural)))
    except TooManyBoxesError:
        findings.refuse("too-large", "symbols of one instant can be combined in too many ways to look at all")
        return
    if small:
        findings.refuse(
            "channel",
            f"{counted(small, 'group')} of fewer than {k} people can be computed; the smallest has {least:,}",
        )
    if below:
        findings.refuse(
            "unlike-any-data",
            f"{counted(below, 'group')} would have fewer than no people: no data have these counts",
        )


def _assumed(*, series: bool, structural: bool) -> str:
    """What the reader is taken to know besides the counts."""
    if structural:
        return ", nor with what is left for the only unpublished symbol of an instant"
    return " by someone who does not know that everybody has one symbol at every instant" if series else ""


def _looked(family: Family, k: int, *, structural: bool) -> tuple[int, int, int]:
    """How many cells are too small, how many below 0, and the smallest of the former."""
    small, below, least = 0, 0, k
    for boxes in boxes_of(family, structural=structural):
        for some in pieces(boxes):
            cells = cells_of(family, some)
            below += int(np.count_nonzero(cells < 0))
            few = cells[(cells > 0) & (cells < k)]
            if len(few):
                small, least = small + len(few), min(least, int(few.min()))
    return small, below, least
