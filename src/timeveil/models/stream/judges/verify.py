"""Is every published slot l-diverse?"""

from __future__ import annotations

from timeveil.domain.verdict import Verdict
from timeveil.models.stream.evidence import Evidence
from timeveil.models.stream.judges import l_diversity

SENTENCES = {
    "bucket": "",
    "bucket-size": "",
    "bucket-values": "",
    "columns": "",
    "conservation": "",
    "counts": "",
    "guarantee": "",
    "incomplete-rows": "",
    "ledger": "",
    "ledger-rows": "",
    "manifest": "",
    "moved-back": "",
    "moved-too-far": "",
    "not-eligible": "",
    "origin": "",
    "packet": "",
    "packet-bucket": "",
    "packet-fate": "",
    "packet-origin": "",
    "packet-size": "",
    "packet-values": "",
    "parameters": "",
    "person-twice": "",
    "row-count": "",
    "row-order": "",
    "row-values": "",
    "slot": "",
    "slot-order": "",
    "slot-records": "",
    "tables": "",
    "tables-disagree": "",
    "value-counts": "",
    "value-missing": "",
    "value-too-frequent": "",
}


def check(evidence: Evidence) -> Verdict:
    """Every check of streams."""
    return l_diversity.check(evidence.release, evidence.ledger)
