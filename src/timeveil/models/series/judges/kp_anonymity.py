"""Do k series share every envelope, and P of them every pattern in it? (Shou et al. 2013, Definition 5)

This shows in the table: whoever receives it can count the rows of every group and of every pattern in it.
Whoever has the ledger also sees that each row is one series, that the envelopes hold their series and are no
wider than they must be, that patterns are their own where that is stated, and that no value was lost,
made up or changed.
"""

from __future__ import annotations

from timeveil.domain.guarantee import KPAnonymity
from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.domain.verdict import Verdict
from timeveil.evidence.findings import Findings
from timeveil.models.series.judges.definition import check_definition
from timeveil.models.series.judges.manifest import check_columns, check_shape, check_statements
from timeveil.models.series.judges.tables import check_tables


def check(release: Release, promise: KPAnonymity, ledger: Ledger | None) -> Verdict:
    """All checks of the series model, as far as each makes sense after the one before."""
    findings = Findings("recipient" if ledger is None else "with ledger")
    if check_shape(release, findings) and check_columns(release, findings):
        check_statements(release, findings)
        stated = "statements" not in {violation.code for violation in findings.violations}
        cells = check_tables(release, promise, findings)
        if ledger is not None and cells is not None and stated:
            check_definition(release, ledger, cells, findings)
    return findings.verdict()
