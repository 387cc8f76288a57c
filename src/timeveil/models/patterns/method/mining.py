"""Frequent patterns with their supports, on their own: exact counts, which promise nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.domain.roles import Roles
from timeveil.errors import ParameterError
from timeveil.models.patterns.method.family import mine_family
from timeveil.models.patterns.method.outcome import pattern_table
from timeveil.models.patterns.method.settings import CAP, as_count, nothing_frequent, search_from
from timeveil.models.patterns.method.sources import read_source

KINDS = ("frequent", "closed", "maximal")


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
    """All frequent, closed or maximal patterns with their supports, the empty one first. Keep it to yourself.

    `kind` is `"frequent"`; `"closed"`, those that no longer one has the support of; or `"maximal"`, those
    that are part of no longer one. The rest is as for `sanitize_patterns`.

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
    shown = np.arange(len(family.item))
    if kind != "frequent":
        shown = np.flatnonzero(family.closed() if kind == "closed" else family.maximal)
    return pattern_table(family, shown, rows.names)
