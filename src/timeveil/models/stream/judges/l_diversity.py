"""Is every published slot l-diverse? (Wang et al. 2010, with the buckets of Xiao and Tao 2006)

Unlike a count of people, this shows in the tables: whoever receives them can see that every bucket has l
records and that no value stands for more than one in l. Whoever has the ledger also sees that every record
went forward and not too far, and that none was lost, made up or changed.
"""

from __future__ import annotations

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.domain.verdict import Verdict
from timeveil.evidence.findings import Findings
from timeveil.models.stream.judges.definition import check_records
from timeveil.models.stream.judges.manifest import check_shape, check_statements, check_tables
from timeveil.models.stream.judges.tables import check_slots_and_buckets


def check(release: Release, ledger: Ledger | None) -> Verdict:
    """All checks of the stream model, as far as each makes sense after the one before."""
    findings = Findings("recipient" if ledger is None else "with ledger")
    if check_shape(release, findings) and check_tables(release, findings):
        check_statements(release, findings)
        readable = check_slots_and_buckets(release, findings)
        if ledger is not None and readable:
            check_records(release, ledger, findings)
    return findings.verdict()
