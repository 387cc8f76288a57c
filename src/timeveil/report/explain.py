"""Every run explains itself: what was read, chosen, withheld and verified, and what is not protected."""

from __future__ import annotations

from typing import Any

from timeveil.domain.judgement import Verdict
from timeveil.domain.release import Ledger, Release
from timeveil.domain.run import Run
from timeveil.judging import Evidence, gather
from timeveil.models import FOLDERS, part
from timeveil.page import templates
from timeveil.page.explanation import Explanation, for_a_run
from timeveil.page.templates import Limit


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
    sentences = sentences_of(facts, verdict)
    unused = [] if run is None else list(run.unused())
    warnings = [*facts.warnings, *unused]
    sentences += [f"Warning: {warning}" for warning in warnings]
    data = {**facts.as_dict()}
    if facts.release.manifest["model"] != "time":
        data["warnings"] = warnings
    if verdict is not None:
        data["verified"] = verdict.as_dict()
    title = facts.title
    if run is not None:
        data |= {"out": run.out, "ledger": run.ledger}
        title = f"{title}, in `{run.out}`"
        if run.explain:
            sentences += facts.examples()
    return Explanation(title, tuple(sentences), for_a_run(limits_of(facts)), data, run)


def facts_of(evidence: Evidence, run: Run | None = None) -> Any:
    """The facts of a release of any model, which is linked with its original only once."""
    facts = part(evidence.release.manifest["model"], "words.facts").Facts
    hierarchies = None if run is None else run.values.get("hierarchies")
    return facts(evidence, tuple(hierarchies)) if hierarchies else facts(evidence)


def sentences_of(facts: Any, verdict: Verdict | None = None) -> list[str]:
    """What was done, in sentences."""
    sentences = templates.sentences(f"{words_of(facts.release)}/run.j2", f=facts)
    if verdict is not None:
        sentences += templates.sentences("page/checked.j2", verdict=verdict)
    return sentences


def limits_of(facts: Any) -> list[Limit]:
    """What a release does not protect, with numbers where the ledger gives them."""
    release = facts.release
    return templates.limits(
        f"{words_of(release)}/limits.j2",
        guarantee=release.guarantee,
        manifest=release.manifest,
        exposure=facts.exposure,
        measured=facts.ledger is not None and bool(release.manifest["counts"].get("rows", 1)),
    )


def words_of(release: Release) -> str:
    """The folder of a model's templates."""
    return f"models/{FOLDERS[release.manifest['model']]}/words"
