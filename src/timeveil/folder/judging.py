"""A release folder, judged: its files, and what they say."""

from __future__ import annotations

from pathlib import Path

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.domain.verdict import Verdict, Violation
from timeveil.errors import BundleError
from timeveil.evidence.published import require_matching_ledger
from timeveil.folder.folder import damage, open_release
from timeveil.judging.verify import verify

FILES = "every file is there, as release.json states it, and holds nothing beside"

NOT_ITS_LEDGER = Violation(
    "ledger", "the ledger does not belong to this release, or the release was not made from it"
)
"""What is said first where a recipient finds nothing wrong and only the ledger disagrees."""


def judged(folder: Path, ledger: Ledger | None = None) -> tuple[Release | None, Verdict]:
    """The release, if it can be read, and what is wrong with its files and with what they say."""
    found = damage(folder)
    try:
        release = open_release(folder, check=False)
        verdict = verify(release, ledger)
        strange: tuple[Violation, ...] = ()
        if ledger is not None and not verdict and verify(release):
            require_matching_ledger(release, ledger)  # a mistake of who asks; the release is sound
            strange = () if found else (NOT_ITS_LEDGER,)
    except BundleError as error:
        if error.code != "folder-damaged":
            raise
        scope = "recipient" if ledger is None else "with ledger"
        return None, Verdict(scope, (FILES,), (*found, Violation("file-unreadable", error.message)))
    return release, Verdict(verdict.scope, (FILES, *verdict.checks), (*strange, *found, *verdict.violations))
