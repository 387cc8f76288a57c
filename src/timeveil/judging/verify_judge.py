"""One place decides how each promise is checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from timeveil.domain.guarantee import KAnonymity, KPAnonymity, LDiversity, NoInferenceChannel
from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.domain.verdict import Verdict
from timeveil.evidence.given import refuse_no_ledger, refuse_no_release
from timeveil.evidence.shape import Shape, faults
from timeveil.models.events.judges import k_anonymity
from timeveil.models.events.judges.manifest import TIME_MANIFEST
from timeveil.models.patterns.judges import no_channel
from timeveil.models.patterns.judges.shape import PATTERN_MANIFEST
from timeveil.models.series.judges import kp_anonymity
from timeveil.models.series.judges.shape import SERIES_MANIFEST
from timeveil.models.stream.judges import l_diversity
from timeveil.models.stream.judges.shape import STREAM_MANIFEST

_SHAPES: Mapping[str, Shape] = {
    "time": TIME_MANIFEST,
    "stream": STREAM_MANIFEST,
    "series": SERIES_MANIFEST,
    "patterns": PATTERN_MANIFEST,
}


def verify(release: Release, ledger: Ledger | None = None) -> Verdict:
    """Check the promise of a release; the verdict is truthy if and only if every check passed.

    Without a ledger, only what any recipient can see is checked (`scope` is `recipient`). With the
    ledger, the definition itself is checked against the original rows (`scope` is `with ledger`).
    """
    refuse_no_release(release)
    if ledger is not None:
        refuse_no_ledger(ledger)
    match release.guarantee:
        case KAnonymity():
            return k_anonymity.check(release, ledger)
        case LDiversity():
            return l_diversity.check(release, ledger)
        case KPAnonymity():
            return kp_anonymity.check(release, release.guarantee, ledger)
        case NoInferenceChannel():
            return no_channel.check(release, ledger)


def is_whole(manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest has every section of its model, and nothing that its model does not know."""
    shape = _SHAPES.get(str(manifest.get("model")))
    return shape is not None and not any(faults(manifest, shape))
