"""Paths of the memory engine that small inputs do not reach by themselves."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa

import timeveil as tv
from timeveil.engines import memory

ROLES = tv.Roles(respondent="who", time="when", quasi=["place"])


def events(rows: int = 300) -> pa.Table:
    rng = np.random.default_rng(2)
    when = rng.integers(0, 40 * 86_400, rows) + 1_136_073_600
    return pa.table(
        {
            "who": rng.integers(0, 12, rows),
            "when": pa.array(when, pa.timestamp("s")),
            "place": rng.choice(["x", "y", "z"], rows),
        }
    )


def test_keys_that_are_too_wide_to_pack_give_the_same_answer(monkeypatch):
    expected = tv.generalize_time(events(), ROLES, 3)
    monkeypatch.setattr(memory, "KEY_BITS", 1)
    found = tv.generalize_time(events(), ROLES, 3)
    assert found[0].manifest == expected[0].manifest
    assert found[0].table.equals(expected[0].table)
    assert found[1].table.equals(expected[1].table)


def test_groups_are_looked_up_where_a_table_would_be_too_large():
    """Many quasi values times many granules: rows find their group by search."""
    rows = 6_000
    rng = np.random.default_rng(1)
    pair = np.repeat(np.arange(rows // 2), 2)
    table = pa.table(
        {
            "who": np.arange(rows),
            "when": pa.array(
                [dt.date(1990, 1, 1) + dt.timedelta(days=int(d)) for d in rng.permutation(rows // 2)[pair]]
            ),
            "place": pair,
        }
    )
    release, ledger = tv.generalize_time(table, ROLES, 2)
    assert release.manifest["granularity"] == "day"
    assert release.manifest["counts"]["groups"] == rows // 2
    assert tv.verify(release, ledger)
