"""The first window as a program."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from tests.oracles.stream import offline

import timeveil as tv
from timeveil.models.stream.method.reposition import solve_window


def test_it_is_the_offline_optimum_of_its_slots() -> None:
    rng = np.random.default_rng(4)
    for _ in range(60):
        l, slots = int(rng.integers(2, 4)), int(rng.integers(1, 6))
        counts = [
            {v: int(n) for v, n in enumerate(rng.integers(0, 5, 5)) if n} if rng.random() < 0.8 else {}
            for _ in range(slots)
        ]
        move = [d * d for d in range(2 * slots + 1)]
        beta = rng.integers(1, 20, 5).tolist()
        published, withheld = solve_window(10, counts, l, move, beta.__getitem__)
        cost = sum(n * beta[v] for cells in withheld.values() for v, n in cells.items())
        for slot, cells in published.items():
            numbers = [sum(cell.values()) for cell in cells.values()]
            assert max(numbers, default=0) * l <= sum(numbers)
            cost += sum(n * move[slot - t] for cell in cells.values() for t, n in cell.items())
        assert cost == offline(counts, l, slots, move, beta.__getitem__)
        for origin, own in enumerate(counts):
            for value, count in own.items():
                went = sum(cells.get(value, {}).get(10 + origin, 0) for cells in published.values())
                assert went + withheld[10 + origin].get(value, 0) == count


def test_a_stream_shorter_than_its_window_is_solved_as_a_whole() -> None:
    rng = np.random.default_rng(6)
    table = pa.table(
        {"day": np.repeat(np.arange(4), 8), "value": rng.integers(0, 4, 32) * rng.integers(0, 2, 32)}
    )
    roles = tv.Roles(time="day", sensitive=["value"])
    _, ledger = tv.publish_stream(table, roles, l=2, window=9, seed=1, first_window="exact")
    days, values = table["day"].to_pylist(), table["value"].to_pylist()
    counts = [
        {v: sum(1 for d, x in zip(days, values, strict=True) if (d, x) == (day, v)) for v in range(4)}
        for day in range(4)
    ]
    found = [{v: n for v, n in own.items() if n} for own in counts]
    assert ledger.facts["information_loss"] == offline(found, 2, 9, list(range(20)), lambda _: 9)
