"""How the tests run: examples are the same on every continuous-integration run, and no test is timed."""

from __future__ import annotations

import gc
import os
import sys

import pytest
from hypothesis import HealthCheck, settings

from tests.effort import some

# Compiled modules are kept where Python would write none: else each process that a test starts compiles all.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# As a command does: threads that wait for each other take longer than the small matrices they multiply.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
# No test cuts the power; processes of their own, which tests kill, do wait for the disk.
os.fsync = lambda _: None

settings.register_profile(
    "here", max_examples=some(300), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

# The collected tests live to the end, and the garbage collector would visit them again and again: a seventh
# of the run. It is off until all are there, never visits them, and then comes by less often.
gc.disable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests in Spark first: the process that begins with them keeps them, and no other starts a session."""
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # libraries that count what is left at the end would complain
