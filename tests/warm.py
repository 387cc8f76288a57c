"""Compile the kernels once, before the workers of a test run each do so: `python -m tests.warm`."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pyarrow as pa

import timeveil as tv
from timeveil import datasets

ROWS = 30_000


def stream(**options: int) -> None:
    """Enough records for the kernel to take over from the readable steps."""
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "slot": np.repeat(np.arange(ROWS // 100), 100),
            "value": pa.array([f"v{code}" for code in rng.integers(0, 40, ROWS)]),
            "age": rng.integers(20, 90, ROWS),
        }
    )
    roles = tv.Roles(time="slot", quasi=["age"], sensitive=["value"])
    tv.publish_stream(table, roles, l=4, window=5, seed=1, **options)


def packets() -> None:
    stream(protect_slot=3)


def series() -> None:
    for method in ("adaptive", "representative", "kapra", "naive"):
        tv.anonymize_series(_curves(), _columns(), k=6, p=3, method=method, effort=2)


def patterns() -> None:
    for method in ("additive", "tight", "clone", "suppressive", "itemset"):
        tv.sanitize_patterns(_curves(), _columns(), k=3, min_support=9, method=method)


def rows() -> None:
    roles = tv.Roles(respondent="patient", time="taken_at", quasi=["zip"], drop="rest")
    tv.generalize_time(datasets.clinic_visits(), roles, k=5, suppress=0.05)


def _curves() -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table({f"t{place}": rng.normal(size=300) for place in range(6)})


def _columns() -> tv.Roles:
    return tv.Roles(series=[f"t{place}" for place in range(6)])


JOBS: tuple[Callable[[], None], ...] = (stream, series, packets, patterns, rows)

if __name__ == "__main__":
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for done in [pool.submit(job) for job in JOBS]:
            done.result()
