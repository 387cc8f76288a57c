"""The same rows in another order give the same release, where nothing is drawn."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.properties.test_input_order import baskets, eligible_slots, loads, published, visits
from tests.redteam.trial import Counted, Trial, must

TABLES = {"events": visits, "series": loads, "patterns": baskets, "stream": eligible_slots}
PER_CASE = 10


def attack(trial: Trial) -> Counted:
    """Some tables of one model, each in two orders."""
    model = trial.chance.choice([*TABLES])
    compared = 0

    @seed(trial.chance.randrange(2**32))
    @settings(
        max_examples=PER_CASE,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
        report_multiple_bugs=False,
        print_blob=False,
    )
    @given(st.data())
    def compare(data: st.DataObject) -> None:
        nonlocal compared
        table, other, run = data.draw(TABLES[model]())
        must(published(run, table) == published(run, other), f"{model}: the release shows the order of rows")
        compared += 1

    compare()
    return {model: compared}
