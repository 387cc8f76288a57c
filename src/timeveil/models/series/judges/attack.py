"""What an adversary finds out."""

from __future__ import annotations

from timeveil.evidence.published import mismatch
from timeveil.models.series.evidence import Evidence
from timeveil.models.series.judges.adversary import SeriesAdversary
from timeveil.models.series.judges.breach import SeriesBreach
from timeveil.models.series.judges.linkage import attack_series

__all__ = ["SeriesAdversary", "SeriesBreach", "attack"]


def attack(evidence: Evidence, adversary: SeriesAdversary | None = None) -> SeriesBreach:
    """Try what the adversary can find out."""
    if evidence.ledger is None:
        raise mismatch("there is no ledger")
    return attack_series(evidence.release, evidence.ledger, adversary or SeriesAdversary(pattern=True))
