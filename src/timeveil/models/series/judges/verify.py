"""Is every envelope shared by k series, and every pattern by p?"""

from __future__ import annotations

from timeveil.domain.guarantee import KPAnonymity
from timeveil.domain.verdict import Verdict
from timeveil.errors import InternalError
from timeveil.models.series.evidence import Evidence
from timeveil.models.series.judges import kp_anonymity

SENTENCES = {
    "cell-below-p": "",
    "changed-values": "",
    "columns": "",
    "conservation": "",
    "counts": "",
    "envelope": "",
    "envelope-differs": "",
    "envelope-wide": "",
    "group": "",
    "group-below-k": "",
    "guarantee": "",
    "incomplete-rows": "",
    "ledger": "",
    "ledger-groups": "",
    "ledger-rows": "",
    "manifest": "",
    "outside-envelope": "",
    "pattern": "",
    "pattern-not-own": "",
    "person-twice": "",
    "rounding": "",
    "row-count": "",
    "row-order": "",
    "row-values": "",
    "statements": "",
    "suppressed": "",
    "tables": "",
    "values-below-l": "",
}


def check(evidence: Evidence) -> Verdict:
    """Every check of series."""
    promise = evidence.release.guarantee
    if not isinstance(promise, KPAnonymity):
        raise InternalError("series without their guarantee", hint="report it", code="internal")
    return kp_anonymity.check(evidence.release, promise, evidence.ledger)
