"""The risk of a table of events, and what each way of recoding would make of it.

The risk is counted by a judge, which sees no method. A way of recoding is a run of the method itself, in
memory and with nothing withheld, measured and attacked by the judges; only the numbers are kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from timeveil.calendar.granularity import Granularity
from timeveil.domain.relation import Relation
from timeveil.errors import InfeasibleError, ParameterError
from timeveil.models.events.evidence import Evidence
from timeveil.models.events.judges import profile as judge
from timeveil.models.events.judges.attack import attack
from timeveil.models.events.judges.measure import measure
from timeveil.models.events.method import generalize_time
from timeveil.models.events.parameters import Adversary

MOST_ROWS = 50_000  # up to here, all ways together take some seconds
OUTSIDER = Adversary(visits=2, sample=2_000)
_RECODES: tuple[Literal["global", "tiling", "refined", "local"], ...] = (
    "global",
    "tiling",
    "refined",
    "local",
)


def profile(
    relation: Relation,
    k: int,
    granularities: Iterable[str | Granularity] | str | Granularity | None = None,
    definitions: Iterable[Granularity] | None = None,
    *,
    ways: bool = False,
) -> judge.Profile:
    """Count people and rows per group, at the table's resolution and at each granularity.

    Granularities finer than the resolution of the times are left out: they separate nothing. With `ways`,
    every way of recoding is tried as well, unless the table has more than 50,000 rows.
    """
    named = [granularities] if isinstance(granularities, str | Granularity) else granularities
    allowed = None if named is None else list(named)
    defined = None if definitions is None else list(definitions)
    risk = judge.profile(relation, k, allowed, defined)
    if not ways:
        return risk
    if relation.rows > MOST_ROWS:
        return replace(risk, ways_left_out=f"the table has more than {MOST_ROWS:,} rows")
    results = []
    try:
        for recode in _RECODES:
            release, ledger = generalize_time(
                relation,
                relation.roles,
                k,
                granularities=allowed,
                definitions=defined,
                recode=recode,
                gaps="skip",
            )
            evidence = Evidence(release, ledger)
            bits, breach = measure(evidence, windows=0, seed=0).bits_per_row, attack(evidence, OUTSIDER)
            results.append(judge.Way(recode, bits, breach.pinned_after))
    except (InfeasibleError, ParameterError) as error:
        return replace(risk, ways_left_out=error.message)
    return replace(risk, ways=tuple(results))
