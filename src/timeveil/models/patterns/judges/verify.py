"""Can no small group be computed from the counts?"""

from __future__ import annotations

from timeveil.domain.verdict import Verdict
from timeveil.models.patterns.evidence import Evidence
from timeveil.models.patterns.judges import no_channel

SENTENCES = {
    "channel": "",
    "columns": "",
    "conservation": "",
    "counts": "",
    "guarantee": "",
    "item": "",
    "ledger": "",
    "ledger-rows": "",
    "lost": "",
    "manifest": "",
    "min-support": "",
    "missing-part": "",
    "not-closed": "",
    "pattern-twice": "",
    "person-twice": "",
    "row-count": "",
    "row-order": "",
    "statements": "",
    "support": "",
    "tables": "",
    "too-large": "",
    "unlike-any-data": "",
    "virtual": "",
    "wrong-support": "",
}


def check(evidence: Evidence) -> Verdict:
    """Every check of patterns."""
    return no_channel.check(evidence.release, evidence.ledger)
