"""Whether a release keeps its promise, and whether its files are unchanged: the verdict, in words."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from timeveil.domain.judgement import Verdict
from timeveil.domain.release import Ledger, Release
from timeveil.evidence.published import require_matching_ledger
from timeveil.folder.opening import NOT_ITS_LEDGER, digest, judged
from timeveil.judging import Evidence, gather, verify
from timeveil.page.markdown import Table
from timeveil.page.wording import capital, counted, name

MOST_FILES = 24
"""More files than this are listed by one hash over all of them."""
MOST_VIOLATIONS = 40
_SCOPES = {
    ("time", "recipient"): "from the published table (people cannot be counted from outside)",
    ("time", "with ledger"): "with the ledger, by counting the people of every group",
    ("stream", "recipient"): "from the published tables (nobody outside can see whose record is whose)",
    ("stream", "with ledger"): "with the ledger, by following every record",
    ("series", "recipient"): "from the published table (nobody outside can see whose series a row is)",
    ("series", "with ledger"): "with the ledger, by following every series",
    ("patterns", "recipient"): "by computing every group that the counts give (the number of virtual people "
    "cannot be checked from outside)",
    ("patterns", "with ledger"): "with the ledger, by counting every pattern and computing every group",
}


@dataclass(frozen=True, slots=True)
class VerificationSummary:
    """The evidence, if the release can be read, the verdict, and names and hashes of its files.

    `sound` says that a recipient would find nothing wrong, although the ledger does not agree.
    """

    evidence: Evidence | None
    model: str
    verdict: Verdict
    hashes: tuple[tuple[str, str], ...] = ()
    sound: bool = False

    @property
    def release(self) -> Release | None:
        """The release, if it can be read."""
        return None if self.evidence is None else self.evidence.release

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdict in a few sentences."""
        scope = _SCOPES.get((self.model, self.verdict.scope), self.verdict.scope)
        if self.verdict:
            seen = "" if self.verdict.scope == "with ledger" else ", as far as a recipient can see"
            promise = "" if self.release is None else self.release.guarantee.sentence
            verified = f"Verified {scope}, by code that shares nothing with the method."
            return f"The guarantee holds{seen}.", f"{capital(promise)}.", verified
        result = f"Verified {scope}: {counted(len(self.verdict.violations), 'violation')}."
        if not self.sound:
            return "The guarantee is VIOLATED.", f"{result} Do not rely on this release."
        return (
            f"{capital(NOT_ITS_LEDGER.message)}.",
            f"According to this ledger, the guarantee is VIOLATED. {result} Without the ledger, no violation "
            "is found. Do not rely on this release before you know which of the two is wrong.",
        )

    @property
    def findings(self) -> list[str]:
        """The violations, or else the checks that passed."""
        if self.verdict:
            return list(self.verdict.checks)
        messages = [violation.message for violation in self.verdict.violations[:MOST_VIOLATIONS]]
        more = len(self.verdict.violations) - len(messages)
        return [*messages, *([f"And {counted(more, 'more violation')}."] if more else [])]

    @property
    def files(self) -> Table | None:
        """The files and their hashes, if they are few."""
        rows = [(name(file), name(sha256)) for file, sha256 in self.hashes]
        few = 0 < len(rows) <= MOST_FILES
        return Table("Files and their SHA-256", ("file", "SHA-256"), rows, words=2) if few else None

    @property
    def hash_of_all(self) -> str:
        """One hash over the names and hashes of all files."""
        lines = "".join(f"{sha256}  {file}\n" for file, sha256 in self.hashes)
        return hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()


def verification(release: Release | str | Path, ledger: Ledger | None) -> VerificationSummary:
    """Verify a release; if it is a folder, its files as well."""
    if isinstance(release, Release):
        if ledger is not None:
            require_matching_ledger(release, ledger)
        evidence = gather(release, ledger)
        verdict = verify(evidence)
        sound = verdict.ledger_only
        if sound:
            verdict = replace(verdict, violations=(NOT_ITS_LEDGER, *verdict.violations))
        return VerificationSummary(evidence, str(release.manifest.get("model")), verdict, sound=sound)
    folder = Path(release)
    opened, verdict, sound = judged(folder, ledger)
    model = "" if opened is None else str(opened.release.manifest.get("model"))
    return VerificationSummary(opened, model, verdict, tuple(_hashes(folder)), sound and not verdict)


def _hashes(folder: Path) -> list[tuple[str, str]]:
    """Names and hashes of all files, sorted by name; links are not followed."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return [(path.relative_to(folder).as_posix(), digest(path)) for path in files]
