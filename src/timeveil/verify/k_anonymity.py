"""Is every (quasi-identifiers, time) value shared by k people? (Mascetti et al. 2006, Definition 3)

A recipient cannot count people, for the respondent is not in the release. What the tables alone can
show is necessary, not sufficient: every value stands in at least k rows, every granule is one of the
stated calendar, and the manifest agrees with the tables. Whoever has the ledger counts the people.
"""

from __future__ import annotations

from timeveil.model.ledger import Ledger
from timeveil.model.release import Release
from timeveil.model.verdict import Verdict
from timeveil.verify.choice import check_choice
from timeveil.verify.definition import check_definition
from timeveil.verify.findings import Findings
from timeveil.verify.manifest import check_columns, check_shape, check_statements
from timeveil.verify.recipient import check_tables


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
