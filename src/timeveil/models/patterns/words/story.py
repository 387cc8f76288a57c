"""The report on patterns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from timeveil.domain.ledger import Ledger
from timeveil.domain.progress import Progress
from timeveil.domain.release import Release
from timeveil.domain.run import Run
from timeveil.evidence.published import promised
from timeveil.judging.attack import attack
from timeveil.judging.measure import measure
from timeveil.models.patterns.evidence import Evidence
from timeveil.models.patterns.evidence.table import Patterns
from timeveil.models.patterns.judges.attack import PatternAdversary, PatternBreach
from timeveil.models.patterns.judges.measure import PatternLoss
from timeveil.models.patterns.parameters import PatternParameters
from timeveil.models.patterns.words.breach import compared, limits
from timeveil.models.patterns.words.loss import sentences, table
from timeveil.models.patterns.words.picture import pattern_svg
from timeveil.models.patterns.words.report import explain_patterns, told_to_all
from timeveil.page.bars import Bar, bars_svg
from timeveil.page.tree import Block, Numbers, Picture, Sentences
from timeveil.page.wording import counted, share
from timeveil.report.story import WITHOUT_LEDGER, Story, fitting, typed_roles

_MOST = 20


def pattern_story(release: Release, ledger: Ledger | None, progress: Progress) -> Story:
    """What was done to counts, what it costs, and what an outsider finds."""
    counts, k = release.manifest["counts"], promised(release, "k")
    known = Evidence(release).patterns
    public = Story(
        what="patterns",
        promise=(
            "A group is all who have some items and none of some others. Whoever adds and subtracts the "
            f"published counts of patterns of these items never gets a group of somebody and fewer than {k} "
            "people.",
        ),
        figures=(
            ("patterns published, the empty one included", f"{counts['patterns']:,}"),
            ("people counted, virtual ones included", f"{counts['transactions']:,}"),
            ("virtual people among them", f"{counts['virtual']:,}"),
            ("people who have a pattern, at least", f"{release.manifest['parameters']['min_support']:,}"),
        ),
        done=tuple(told_to_all(release)),
        risk=(
            Sentences(
                (
                    f"No group of fewer than {k} people can be computed from the counts of its items.",
                    WITHOUT_LEDGER,
                )
            ),
        ),
        loss=(*_exactness(known), *_picture(known, release), *_lengths(known)),
        attacks=_for_all(k),
        limits=(),
    )
    return public if ledger is None else _private(public, release, ledger, progress)


def _private(public: Story, release: Release, ledger: Ledger, progress: Progress) -> Story:
    progress("explaining", 0.1)
    told = explain_patterns(release, ledger)
    progress("attacking", 0.3)
    breach = attack(release, ledger, PatternAdversary())
    progress("measuring", 0.7)
    loss = measure(release, ledger)
    lost = _lost(loss) if isinstance(loss, PatternLoss) else ()
    return replace(
        public,
        done=told.sentences,
        risk=(
            Sentences((f"An outsider who {breach.adversary.words}, was given the true counts, then these.",)),
            Picture(_before_and_after(breach)),
            Numbers("What this outsider finds", ("", "original", "release"), tuple(compared(breach))),
        ),
        loss=(*lost, *public.loss),
        attacks=(_attacks(breach), Sentences(_verdict(breach))),
        limits=_beyond(breach),
        again=_again(release, ledger),
    )


def _before_and_after(breach: PatternBreach) -> str:
    told = (("original", breach.channels_before), ("release", breach.channels_after))
    bars = [Bar(name, (float(number),), (f"{number:,}",)) for name, number in told]
    below = f"Groups of fewer than {breach.k} people that anyone can compute from the counts."
    return bars_svg("Small groups before and after", below, bars)


def _attacks(breach: PatternBreach) -> Numbers:
    head = ("the outsider", "promised", "groups below k", "people in one", "result")
    after = "above the bound" if breach.broken else "within the bound"
    if breach.channels_after and not breach.broken:
        after = "beyond the promise"
    rows = [
        (
            breach.adversary.words,
            "none",
            f"{breach.channels_after:,}",
            share(breach.exposed_after),
            after,
        )
    ]
    found = breach.beyond
    if found is not None and found.tried == found.possible:
        result = "none is sure to be small" if not found.pinned else f"{found.exact:,} known exactly"
        rows.append(
            (
                "solves for all data that have these counts",
                "nothing is promised",
                f"{found.pinned:,}",
                "",
                result,
            )
        )
    return Numbers("Attacks on the release", head, tuple(rows), words=2)


def _verdict(breach: PatternBreach) -> tuple[str, ...]:
    said = "The attack that the promise is about found nothing."
    if breach.broken:
        said = "The attack that the promise is about found small groups: do not publish this release."
    elif breach.channels_after:
        said = (
            "Small groups follow for every reader, who knows that everybody has one symbol at every instant. "
            "The promise leaves that out: do not publish this release, it is to compare only."
        )
    found = breach.beyond
    if found is None or found.tried < found.possible:
        return said, "To solve for all data that have these counts takes too long here: not all was tried."
    return (said,)


def _beyond(breach: PatternBreach) -> tuple[str, ...]:
    """What equations give, and bounds where all were tried or a small group was found before time was up."""
    found, (bounds, *equations) = breach.beyond, limits(breach)[:-1]
    told = found is not None and (found.tried == found.possible or found.pinned > 0)
    return (bounds, *equations) if told else tuple(equations)


def _exactness(known: Patterns) -> list[Block]:
    if known.virtual:
        said = f"A true count lies between the published one less {known.virtual:,} and the published one."
    elif known.method == "suppressive":
        said = "A true count is the published one or more, for some people were left out."
    else:
        said = "Counts are exact."
    return [Sentences((said,))]


def _picture(known: Patterns, release: Release) -> list[Block]:
    return fitting(lambda: pattern_svg(release)) if int(known.lengths.max(initial=0)) else []


def _lengths(known: Patterns) -> list[Block]:
    numbers = np.bincount(known.lengths)[1:][:_MOST]
    if not len(numbers):
        return []
    bars = [
        Bar(counted(size, "item"), (float(number),), (f"{number:,}",))
        for size, number in enumerate(numbers.tolist(), start=1)
    ]
    return [Picture(bars_svg("Patterns by their length", "How many patterns have so many items.", bars))]


def _lost(loss: PatternLoss) -> tuple[Block, ...]:
    said = Sentences(tuple(sentences(loss)))
    head, *rows = table(loss)
    errors = [loss.mean_error, *(found.mean_error for found in loss.alternatives)]
    bars = [Bar(row[0], (error,), (share(error),)) for row, error in zip(rows, errors, strict=True)]
    below = "Mean relative error of counts; a pattern that is lost counts as wholly off."
    return (
        said,
        Picture(bars_svg("How far off counts are, beside other ways", below, bars)),
        Numbers("This release beside other ways to publish the same", head, tuple(rows)),
    )


def _for_all(k: int) -> tuple[Block, ...]:
    return (
        Sentences(
            (
                "The bound: no sum or difference of the counts of a group's own items gives somebody and "
                f"fewer than {k} people. Every recipient can try that with `timeveil verify`, which computes "
                "every such group.",
                "Whoever has the release alone cannot tell which counts were raised, nor what could be "
                "computed before: the true counts are in the ledger.",
                "For an outsider who solves for all tables that fit the counts, or adds up counts of other "
                "items, nothing is promised.",
            )
        ),
    )


def _again(release: Release, ledger: Ledger) -> str:
    stated, original = dict(release.manifest["parameters"]), ledger.original
    released = ledger.facts.get("origin") == "release"
    instants = release.manifest["patterns"]["instants"]
    for name in () if instants else ("symbols", "center", "structural"):
        stated.pop(name, None)
    stated["instants"] = instants if instants and tuple(instants) != original.roles.series else None
    roles = None if released else typed_roles(ledger)
    return Run.of_release(PatternParameters, roles, stated).command()
