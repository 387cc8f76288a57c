"""What an adversary finds out."""

from __future__ import annotations

from timeveil.evidence.published import mismatch
from timeveil.models.patterns.evidence import Evidence
from timeveil.models.patterns.judges.adversary import PatternAdversary
from timeveil.models.patterns.judges.breach import BoundAttack, PatternBreach, SmallGroup, SolveAttack
from timeveil.models.patterns.judges.inference import attack_patterns

__all__ = ["BoundAttack", "PatternAdversary", "PatternBreach", "SmallGroup", "SolveAttack", "attack"]


def attack(evidence: Evidence, adversary: PatternAdversary | None = None) -> PatternBreach:
    """Try what the adversary can find out."""
    if evidence.ledger is None:
        raise mismatch("there is no ledger")
    return attack_patterns(evidence.release, evidence.ledger, adversary or PatternAdversary())
