"""What an adversary finds out."""

from __future__ import annotations

from timeveil.evidence.published import mismatch
from timeveil.models.stream.evidence import Evidence
from timeveil.models.stream.judges.adversary import StreamAdversary
from timeveil.models.stream.judges.breach import StreamBreach
from timeveil.models.stream.judges.inference import attack_stream

__all__ = ["StreamAdversary", "StreamBreach", "attack"]


def attack(evidence: Evidence, adversary: StreamAdversary | None = None) -> StreamBreach:
    """Try what the adversary can find out."""
    if evidence.ledger is None:
        raise mismatch("there is no ledger")
    return attack_stream(evidence.release, evidence.ledger, adversary or StreamAdversary())
