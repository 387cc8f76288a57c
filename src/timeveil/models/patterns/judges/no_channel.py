"""Can a group of fewer than k people be computed from published counts? (Atzori et al. 2008; Revathi)

Counts are there for all to see, so all of the promise can be checked by whoever receives them. Whoever has
the ledger also sees that every count is that of the original and the virtual people together, that no virtual
one is hidden, and that nothing is lost where nothing may be.
"""

from __future__ import annotations

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.domain.verdict import Verdict
from timeveil.evidence.findings import Findings
from timeveil.models.patterns.judges.channels import check_channels
from timeveil.models.patterns.judges.definition import check_definition
from timeveil.models.patterns.judges.manifest import check_columns, check_shape, check_statements
from timeveil.models.patterns.judges.verify_table import check_table


def check(release: Release, ledger: Ledger | None) -> Verdict:
    """All checks of the pattern model, as far as each makes sense after the one before."""
    findings = Findings("recipient" if ledger is None else "with ledger")
    if (
        check_shape(release, findings)
        and check_columns(release, findings)
        and check_statements(release, findings)
    ):
        found = check_table(release, findings)
        if found is not None:
            check_channels(release, found[1], findings)
            findings.check("the stated number of virtual people is possible (more only the ledger shows)")
            if ledger is not None:
                check_definition(release, ledger, *found, findings)
    return findings.verdict()
