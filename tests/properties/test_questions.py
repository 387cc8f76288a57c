"""The truth is within the bounds: random questions of random releases, recounted row by row."""

from __future__ import annotations

import pytest
from tests.effort import some
from tests.questions import KINDS, campaign


@pytest.mark.parametrize("kind", KINDS)
def test_no_truth_is_outside_the_bounds(kind):
    """`python -m tests.questions --number 100000` asks more."""
    tally = campaign(kind, seed=1, number=some(1_500))
    assert tally.outside == []
    assert tally.exact > 0
    assert tally.refused < tally.asked / 2
