"""Every run explains itself: what was read, chosen, withheld and verified, and what is not protected."""

from __future__ import annotations

from typing import Any

from timeveil.domain.judgement import Verdict
from timeveil.domain.release import Ledger, Release
from timeveil.domain.run import Run
from timeveil.judging import Evidence, gather
from timeveil.models import part, words
from timeveil.page import templates
from timeveil.page.report import Explanation


def explain(
    release: Release | Evidence,
    ledger: Ledger | None = None,
    *,
    verdict: Verdict | None = None,
    run: Run | None = None,
) -> Explanation:
    """Explain what a method did, from what it returned, or from the evidence gathered of it.

    `verdict` adds what was verified, `run` how to do it again.
    """
    facts = facts_of(gather(release, ledger), run)
    sentences, warnings = sentences_of(facts)
    warnings += [] if run is None else run.unused()
    data, title = facts.as_dict(), facts.title
    if facts.manifest["model"] != "time":
        data["warnings"] = warnings
    if verdict is not None:
        sentences += templates.sentences("page/checked.j2", verdict=verdict)
        data["verified"] = verdict.as_dict()
    sentences += [f"Warning: {warning}" for warning in warnings]
    if run is not None:
        data |= {"out": run.out, "ledger": run.ledger}
        title = f"{title}, in `{run.out}`"
        sentences += facts.examples() if run.explain else []
    return Explanation(title, tuple(sentences), templates.for_a_run(limits_of(facts)), data, run)


def facts_of(evidence: Evidence, run: Run | None = None) -> Any:
    """The facts of a release of any model, which is linked with its original only once."""
    hierarchies = None if run is None else run.values.get("hierarchies")
    return part(evidence.release.manifest["model"], "words").Facts(evidence, tuple(hierarchies or ()))


def sentences_of(facts: Any) -> tuple[list[str], list[str]]:
    """What was done, in sentences, and warnings."""
    return templates.marked(f"{words(facts.manifest['model'])}/run.j2", f=facts)


def limits_of(facts: Any) -> list[templates.Limit]:
    """What a release does not protect, with numbers where the ledger gives them."""
    manifest = facts.manifest
    return templates.limits(
        words(manifest["model"]),
        guarantee=facts.guarantee,
        manifest=manifest,
        exposure=facts.exposure,
        measured=facts.ledger is not None and bool(manifest["counts"].get("rows", 1)),
    )
