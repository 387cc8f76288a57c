"""Releases and ledgers in folders and files, or in a database: written whole or not at all, opened warily."""

import os

from timeveil.domain.judgement import Verdict
from timeveil.domain.release import Ledger, Release
from timeveil.errors import ParameterError
from timeveil.evidence.published import Evidence
from timeveil.folder import writing
from timeveil.folder.manifest import FORMAT_VERSION
from timeveil.folder.opening import damage, judged, open_ledger, open_release
from timeveil.folder.writing import rewrite, write
from timeveil.judging import verify as verify_release

__all__ = ["FORMAT_VERSION", "damage", "open_ledger", "open_release", "rewrite", "verify", "write"]


def verify(
    release: Release | Evidence | str | os.PathLike[str],
    ledger: Ledger | None = None,
    *,
    rewrite: str | os.PathLike[str] | None = None,
) -> Verdict:
    """Check the promise of a release; the verdict is truthy if and only if every check passed.

    `release` is a release, the path of its folder or the address of its schema: then its files or tables are
    checked, too. Without a ledger, only
    what any recipient can see is checked (`scope` is `recipient`). With the ledger, the definition itself is
    checked against the original rows (`scope` is `with ledger`).

    The cells, the names and the manifest are judged, not the bytes of the files. `rewrite` names a new folder
    for a clean copy, made from the cells of a folder that keeps its promise.
    """
    if isinstance(release, str | os.PathLike):
        verdict = judged(release, ledger).verdict
        if rewrite is not None and verdict:
            writing.rewrite(release, rewrite)
        return verdict
    if rewrite is not None:
        hint = "pass the path of the folder, or write the release with `write`"
        raise ParameterError("only a release folder can be rewritten", hint=hint)
    return verify_release(release, ledger)
