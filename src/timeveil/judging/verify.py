"""Does a release keep its promise? Judged from what was published, by none of the method's own code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from timeveil.domain.judgement import Verdict
from timeveil.domain.release import Ledger, Release
from timeveil.evidence.manifest import faults
from timeveil.judging.gather import Evidence, gather
from timeveil.models import FOLDERS, part


def verify(release: Release | Evidence, ledger: Ledger | None = None) -> Verdict:
    """Check the promise of a release; the verdict is truthy if and only if every check passed.

    Without a ledger, only what any recipient can see is checked (`scope` is `recipient`). With the ledger,
    the definition itself is checked against the original rows (`scope` is `with ledger`).
    """
    evidence = gather(release, ledger)
    verdict: Verdict = part(evidence.release.guarantee.model, "judges.verify").check(evidence)
    return verdict


def is_well_formed(manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest has every section of its model, and nothing else."""
    model = str(manifest.get("model"))
    return model in FOLDERS and not any(faults(manifest, part(model, "judges.manifest").MANIFEST))


def violation_codes(model: str) -> tuple[str, ...]:
    """Every code that a violation of a model's promise can have."""
    sentences = part(model, "judges.verify").SENTENCES
    return tuple(sorted({name.partition(":")[0] for name in sentences}))
