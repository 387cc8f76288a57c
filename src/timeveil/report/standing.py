"""Does the release hold, and are its files those that were written: what `verify` says, with hashes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.domain.verdict import Verdict
from timeveil.evidence.published import require_matching_ledger
from timeveil.folder.opening import NOT_ITS_LEDGER, digest, judged
from timeveil.judging.verify import verify
from timeveil.page.tree import Block, Numbers, Sentences
from timeveil.page.wording import counted

MOST_FILES = 24
"""Of more files than that one hash over all is told."""
MOST_TOLD = 40
"""So many violations are told."""
_SCOPES = {
    ("time", "recipient"): "from the published table (people cannot be counted from the outside)",
    ("time", "with ledger"): "by counting the people of every group, with the ledger",
    ("stream", "recipient"): "from the published tables (whose record is whose cannot be seen)",
    ("stream", "with ledger"): "by following every record, with the ledger",
    ("series", "recipient"): "from the published table (whose series a row is cannot be seen)",
    ("series", "with ledger"): "by following every series, with the ledger",
    ("patterns", "recipient"): "by computing every group that the counts give (how many people are virtual "
    "is not checked)",
    ("patterns", "with ledger"): "by counting every pattern and computing every group, with the ledger",
}


@dataclass(frozen=True, slots=True)
class Standing:
    """What was found: the release, if it can be read, the verdict, and names and hashes of its files."""

    release: Release | None
    model: str
    verdict: Verdict
    hashes: tuple[tuple[str, str], ...] = ()
    sound: bool = False
    """Whether a recipient would find nothing wrong, although the ledger does not agree."""

    @property
    def head(self) -> tuple[str, ...]:
        """The verdict in a few sentences."""
        scope = _SCOPES.get((self.model, self.verdict.scope), self.verdict.scope)
        if not self.verdict:
            found = counted(len(self.verdict.violations), "violation")
            if self.sound:
                said = NOT_ITS_LEDGER.message
                return (
                    f"{said[:1].upper()}{said[1:]}.",
                    f"By this ledger the guarantee is VIOLATED. Checked {scope}: {found}. Without the ledger "
                    "nothing is found. Do not rely on this release before you know which of the two it is.",
                )
            return ("The guarantee is VIOLATED.", f"Checked {scope}: {found}. Do not rely on this release.")
        promise = "" if self.release is None else self.release.guarantee.sentence
        return (
            "The guarantee holds."
            if self.verdict.scope == "with ledger"
            else "The guarantee holds, as far as a recipient can see.",
            f"{promise[:1].upper()}{promise[1:]}.",
            f"Checked {scope}, by code that shares nothing with the method that made it.",
        )

    def blocks(self) -> list[Block]:
        """What was checked, what was violated, and the hashes."""
        verdict = self.verdict
        told: list[Block] = []
        if not verdict:
            found = [violation.message for violation in verdict.violations[:MOST_TOLD]]
            left = len(verdict.violations) - len(found)
            more = [f"And {counted(left, 'more violation')}."] if left else []
            told.append(Sentences((*found, *more), numbered=True))
        else:
            told.append(Sentences(("All of this was checked, and holds:",)))
            told.append(Sentences(verdict.checks, numbered=True))
        return [*told, *self._files()]

    def _files(self) -> list[Block]:
        if not self.hashes:
            return [Sentences(("The release was not read from a folder, so there are no files to name.",))]
        over_all = Sentences(
            (
                f"One hash for {counted(len(self.hashes), 'file')}: `{_together(self.hashes)}`. It is the "
                "SHA-256 of their list, each line a hash, two blanks and a name, in the order of the names.",
            )
        )
        if len(self.hashes) > MOST_FILES:
            return [over_all]
        rows = tuple((f"`{name}`", f"`{found}`") for name, found in self.hashes)
        return [Numbers("Files and their SHA-256", ("file", "SHA-256"), rows, words=2), over_all]


def standing_of(release: Release | str | Path, ledger: Ledger | None) -> Standing:
    """Judge a release; of a folder, its files, too."""
    if isinstance(release, Release):
        if ledger is not None:
            require_matching_ledger(release, ledger)
        verdict = verify(release, ledger)
        sound = _sound(release, verdict)
        if sound:
            verdict = replace(verdict, violations=(NOT_ITS_LEDGER, *verdict.violations))
        return Standing(release, _model(release), verdict, sound=sound)
    place = Path(release)
    opened, verdict, is_sound = judged(place, ledger)
    sound = is_sound and not verdict
    return Standing(opened, "" if opened is None else _model(opened), verdict, tuple(_hashes(place)), sound)


def _sound(release: Release, verdict: Verdict) -> bool:
    return not verdict and verdict.scope == "with ledger" and bool(verify(release))


def _model(release: Release) -> str:
    return str(release.manifest.get("model"))


def _hashes(place: Path) -> list[tuple[str, str]]:
    """Names and hashes of all files, in the order of the names; links are not followed."""
    files = sorted(path for path in place.rglob("*") if path.is_file() and not path.is_symlink())
    return [(path.relative_to(place).as_posix(), digest(path)) for path in files]


def _together(hashes: tuple[tuple[str, str], ...]) -> str:
    lines = "".join(f"{found}  {name}\n" for name, found in hashes)
    return hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()
