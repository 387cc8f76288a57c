"""Random questions about random releases: the truth, recounted from the rows, is within the bounds."""

from __future__ import annotations

from tests import questions
from tests.redteam.trial import Counted, Trial, must


def attack(trial: Trial) -> Counted:
    """Some questions about one release."""
    kind = trial.chance.choice([*questions.KINDS])
    tally = questions.campaign(kind, trial.chance.randrange(2**32), questions.PER_RELEASE)
    must(not tally.outside, f"outside the bounds: {'; '.join(tally.outside[:1])}")
    return {kind: tally.asked}
