"""Is every (quasi-identifiers, time) value shared by k people? (Mascetti et al. 2006, Definition 3)

A recipient cannot count people, for the respondent is not in the release. What the tables alone can
show is necessary, not sufficient: every value stands in at least k rows, every granule is one of the
stated calendar, and the manifest agrees with the tables. Whoever has the ledger counts the people.
"""

from __future__ import annotations

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.domain.verdict import Verdict
from timeveil.evidence.findings import Findings
from timeveil.evidence.manifest import check_columns, check_shape, check_statements
from timeveil.models.events.judges.choice import check_choice
from timeveil.models.events.judges.definition import check_definition
from timeveil.models.events.judges.recipient import check_tables


def check(release: Release, ledger: Ledger | None) -> Verdict:
    """All checks of the time model, as far as each makes sense after the one before."""
    findings = Findings("recipient" if ledger is None else "with ledger")
    if check_shape(release, findings) and check_columns(release, findings):
        check_statements(release, findings)
        check_choice(release, findings)
        check_tables(release, findings)
        if ledger is not None:
            check_definition(release, ledger, findings)
    return findings.verdict()
