"""Frequent patterns with counts from which no small group can be computed: the whole way.

Counts of patterns look harmless, but subtracted from each other they can point at two people. All frequent
patterns are mined, every small group that their counts give away is found, and counts are raised just enough
that none is left; or, to compare with, rows or patterns are left out instead.

Where we depart from the print
    Channels and their merging are defined (after Atzori et al. 2008); counts of all frequent patterns rise.
    Readers know that everybody has one symbol at every instant, so for series what follows from that is
    closed, too: what `completing` derives, and what adds up as symbols of one instant exclude each other.
Cost: mining, and what `channels` says of finding small groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.domain.guarantee import NoInferenceChannel
from timeveil.domain.ledger import Ledger
from timeveil.domain.progress import Progress, silent
from timeveil.domain.release import Release
from timeveil.domain.roles import Roles
from timeveil.errors import ParameterError
from timeveil.models.patterns.method.beside import refuse_same_people
from timeveil.models.patterns.method.channels import maximal_channels
from timeveil.models.patterns.method.family import mine_family
from timeveil.models.patterns.method.outcome import Sanitized, assemble, pattern_table
from timeveil.models.patterns.method.sanitizing import additive, clone, no_rows, raised, tight
from timeveil.models.patterns.method.settings import (
    CAP,
    Settings,
    as_count,
    least_support,
    nothing_frequent,
    search_from,
    settings_from,
)
from timeveil.models.patterns.method.sources import read_source
from timeveil.models.patterns.method.suppressing import suppress_patterns, suppress_rows
from timeveil.models.patterns.method.transactions import Transactions


KINDS = ("frequent", "closed", "maximal")


def sanitize_patterns(
    source: Any,
    roles: Roles | None = None,
    *,
    k: int = 10,
    min_support: float = 0.01,
    method: str = "additive",
    symbols: int = 6,
    structural: bool = True,
    center: str = "mean",
    instants: Sequence[str] | None = None,
    max_len: int | None = None,
    published: str = "frequent",
    cap: int = CAP,
    fill: str | None = None,
    zone: str | None = None,
    unit: str | None = None,
    beside: Release | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> tuple[Release, Ledger]:
    """Publish frequent patterns so that no group of fewer than k people follows from counts of its items.

    `source` is a table of series or of transactions with its `roles`, or a series release. `min_support` is a
    share if below 1, else a number of people, and not below k. `"additive"` raises counts by virtual rows, k
    for each small group; `"tight"` by as few as will do; `"clone"` by copies of real rows; none of them loses
    a pattern. `"suppressive"` leaves rows out, `"itemset"` patterns. With `structural`, what follows from
    everybody having one symbol at every instant is closed, too. `published` is `"frequent"` or `"closed"`.
    `beside` is a series release of the same people: it is refused unless the patterns are made from it or
    `force` is set.

    >>> import pyarrow as pa
    >>> rows = pa.table({"has": [["a", "b"], ["a", "b", "c", "d"], ["a", "d"], ["a", "d"], ["b", "c", "d"]]})
    >>> release, ledger = sanitize_patterns(rows, Roles(item="has"), k=2, min_support=2)
    >>> {"".join(row["pattern"]): row["support"] for row in release.table.to_pylist()}["ab"]
    4
    """
    settings = settings_from(
        NoInferenceChannel(k),
        search_from(
            min_support=min_support,
            symbols=symbols,
            center=center,
            instants=instants,
            max_len=max_len,
            cap=cap,
            fill=fill,
        ),
        method=method,
        structural=structural,
        published=published,
    )
    progress("reading", 0.0)
    found = read_source(source, roles, settings.search, k=k, zone=zone, unit=unit)
    if beside is not None and not force:
        refuse_same_people(source, beside)
    least = least_support(min_support, found.rows.rows, k)
    rows = found.rows.frequent(least)
    progress("mining", 0.1)
    done = sanitized(rows, settings, least, progress)
    progress("publishing", 0.9)
    pair = assemble(settings, found, rows, least, done)
    progress("done", 1.0)
    return pair


def sanitized(rows: Transactions, settings: Settings, least: int, progress: Progress = silent) -> Sanitized:
    """Mine, find the channels, and close them by the chosen method."""
    k, cap, structural = settings.promise.k, settings.search.cap, settings.structural
    longest = settings.search.max_len or rows.instants
    if rows.largest < least:
        raise nothing_frequent(least, rows.largest, k)
    before = mine_family(rows, least, longest, cap)
    progress("finding small groups", 0.4)
    channels = maximal_channels(before, rows, k, cap, structural=structural)
    progress("closing them", 0.6)
    match settings.method:
        case "additive":
            virtual = additive(channels, k)
        case "tight":
            virtual = tight(channels, rows, k)
        case "clone":
            virtual = clone(channels, rows, k)
        case "suppressive":
            fewer = suppress_rows(rows, channels, least, k, longest=longest, most=cap, structural=structural)
            return Sanitized(before, fewer.family, channels, no_rows(), fewer.withheld, fewer.rounds)
        case "itemset":
            fewer = suppress_patterns(rows, channels, k, most=cap, structural=structural)
            return Sanitized(before, fewer.family, channels, no_rows(), fewer.withheld, fewer.rounds)
    return Sanitized(before, raised(before, virtual), channels, virtual)


def mine(
    source: Any,
    roles: Roles | None = None,
    *,
    min_support: float = 0.01,
    kind: str = "frequent",
    symbols: int = 6,
    center: str = "mean",
    instants: Sequence[str] | None = None,
    max_len: int | None = None,
    cap: int = CAP,
    fill: str | None = None,
    zone: str | None = None,
    unit: str | None = None,
) -> pa.Table:
    """Mine frequent, closed or maximal patterns with exact supports, which promise nothing: keep them private.

    `kind` is `"frequent"`; `"closed"`, patterns that no longer one has the support of; or `"maximal"`, those
    that are part of no longer one. The other parameters are those of `sanitize_patterns`.

    >>> table = pa.table({"has": [["tea", "milk"], ["tea"], ["tea", "milk"]]})
    >>> mine(table, Roles(item="has"), min_support=2, kind="maximal").to_pylist()
    [{'pattern': ['milk', 'tea'], 'support': 2}]
    """
    if kind not in KINDS:
        raise ParameterError(
            f"`kind` is one of {', '.join(KINDS)}", hint="name one of these", code="bad-parameter"
        )
    search = search_from(
        min_support=min_support,
        symbols=symbols,
        center=center,
        instants=instants,
        max_len=max_len,
        cap=cap,
        fill=fill,
    )
    rows = read_source(source, roles, search, zone=zone, unit=unit).rows
    least = as_count(min_support, rows.rows)
    rows = rows.frequent(least)
    if rows.largest < least:
        raise nothing_frequent(least, rows.largest, 1)
    family = mine_family(rows, least, search.max_len or rows.instants, search.cap)
    nodes = np.arange(len(family))
    if kind != "frequent":
        nodes = np.flatnonzero(family.closed() if kind == "closed" else family.maximal)
    return pattern_table(family, nodes, rows.names)
