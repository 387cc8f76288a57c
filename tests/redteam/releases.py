"""Random tables are published, and the folders counted again."""

from __future__ import annotations

import timeveil as tv
from tests.redteam.tables import MODELS
from tests.redteam.trial import Counted, Trial, must


def attack(trial: Trial) -> Counted:
    """One release of some model; none where the table cannot be published with such settings."""
    model = trial.chance.choice([*MODELS])
    try:
        made = MODELS[model](trial.chance)
    except (tv.InfeasibleError, tv.InputError, tv.ParameterError):
        return {}
    folder = tv.write(made.release, trial.folder / "out", format=trial.chance.choice(made.formats))
    made.recount(folder)
    opened = tv.open_release(folder)
    must(tv.verify(opened), "`verify` refuses an honest release")
    must(tv.verify(opened, made.ledger), "`verify` with the ledger refuses an honest release")
    return {model: 1}
