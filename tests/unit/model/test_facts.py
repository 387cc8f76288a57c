"""Facts about a run that are computed when they are first read."""

import threading
from concurrent.futures import ThreadPoolExecutor

from timeveil.domain.release import Facts


def test_one_reader_waits_for_what_another_computes() -> None:
    """A ledger is written while the run is explained: both read what is computed later."""
    started, go_on, times = threading.Event(), threading.Event(), []

    def computed() -> float:
        times.append(1)
        started.set()
        assert go_on.wait(10)
        return 2.5

    facts = Facts({"bits": None}, {"bits": computed})
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(facts.__getitem__, "bits")
        assert started.wait(10)
        second = pool.submit(facts.__getitem__, "bits")
        assert not second.done()
        go_on.set()
        assert (first.result(10), second.result(10), len(times)) == (2.5, 2.5, 1)
