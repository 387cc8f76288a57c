"""What a stream release lost."""

from __future__ import annotations

from timeveil.evidence.published import mismatch
from timeveil.models.stream.evidence import Evidence
from timeveil.models.stream.judges.loss import StreamLoss, WindowError, measure_stream
from timeveil.models.stream.judges.measure_packets import PacketLoss

__all__ = ["PacketLoss", "StreamLoss", "WindowError", "measure"]


def measure(evidence: Evidence, *, windows: int, seed: int) -> StreamLoss:
    """Compare a stream release with the original records in its ledger."""
    if evidence.ledger is None:
        raise mismatch("there is no ledger")
    return measure_stream(evidence.release, evidence.ledger, windows, seed)
