"""Why a table cannot be published as it was asked for, and what would help."""

from __future__ import annotations

import math
from typing import Any

from timeveil.domain.lines import LARGEST_LOSS
from timeveil.errors import InfeasibleError
from timeveil.models.events.method.search import Counts, Node


def too_few_people(people: int, k: int) -> InfeasibleError:
    """A group would need more people than there are."""
    who, hint = "one person", "a single person cannot be hidden; wait for more people"
    if people > 1:
        who = f"{people:,} different people"
        hint = f"choose a {{k}} well below {people:,}: every group must have that many people"
    return InfeasibleError(
        f"the table is about {who}, so no group can have {k:,} people",
        hint=hint,
        code="too-few-people",
        facts={"people": people, "k": k, "best_k": people},
    )


def infeasible(counts: Counts) -> InfeasibleError:
    """The best that was reached, and how many rows prevent more."""
    order, named, rows, k = counts.order, counts.plan.named, counts.rows, counts.k
    reached = [
        (counts(Node(levels, name)), Node(levels, name))
        for levels, tallies in counts.scanned.items()
        for name in tallies
        if not named or name == order.representative(named)
    ]
    # Reversed, so that of equally good nodes the coarsest is named.
    best, node = min(reversed(reached), key=lambda pair: (pair[0].rows_spent, -pair[0].smallest_group))
    at = node.granularity
    best_k = max(tally.smallest_group for tally, _ in reached)
    share = best.rows_spent / rows
    if "all" in order.aliases.get(at, ()):
        at = "all"
    everything = ", even with no time at all" if at == "all" else ""
    hint = "make a quasi-identifier coarser with a hierarchy, or drop one"
    if not best.kept_groups:
        hint = "make a quasi-identifier coarser with a hierarchy, drop one, or choose a smaller k"
    elif share <= LARGEST_LOSS:
        rounded = min(math.ceil(share * 10_000) / 10_000, 0.9999)
        hint = f"withhold those {best.rows_spent:,} rows with {{suppress={rounded:g}}}, or {hint}"
    short = best.groups_below_k + best.groups_short
    missed = f"up to `{at}` gives {k}-anonymity{everything}; best reached: {best_k}"
    if counts.guard and best.groups_short:
        # Promises about values may hold at a granularity and not at a coarser one.
        missed = f"gives {k}-anonymity and keeps what else is promised; `{at}` comes closest"
        hint = f"weaken the promise, or {hint}"
        if share > LARGEST_LOSS and not counts.keeps_as_one():
            hint = "weaken the promise: all people of the table together do not keep it either"
    in_groups = f", in {short:,} of {best.groups:,} groups, prevent it"
    facts: dict[str, Any] = {}
    if counts.earlier:
        group, _, _ = counts.groups(node)
        number, alone = counts.earlier.in_the_way(counts.cells, counts.classes, group, counts.content, k)
        missed = f"gives {k}-anonymity together with what was published before; `{at}` comes closest"
        most = "" if counts.earlier.labels.shape[1] == 1 else "mostly "
        in_groups = f" would have to be withheld, {most}because of earlier release {number}"
        facts = {"earlier_release": number, "rows_short": alone}
    return InfeasibleError(
        f"no granularity {missed}. {best.rows_spent:,} of {rows:,} rows{in_groups}",
        hint=hint,
        code="no-granularity",
        facts={
            "best_k": best_k,
            "granularity": at,
            "rows_below_k": best.rows_below_k,
            "groups_below_k": best.groups_below_k,
            **({"rows_short": best.rows_short} if counts.guard else {}),
            "rows": rows,
            "suppress_needed": share,
            **facts,
        },
    )
