"""The report on series."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from timeveil.domain.ledger import Ledger
from timeveil.domain.progress import Progress
from timeveil.domain.release import Release
from timeveil.domain.run import Run
from timeveil.evidence.codes import Integers
from timeveil.evidence.published import promised
from timeveil.judging.attack import attack
from timeveil.judging.measure import QUERIES, measure
from timeveil.models.series.evidence import Evidence, Published
from timeveil.models.series.judges.attack import SeriesAdversary, SeriesBreach
from timeveil.models.series.judges.measure import SeriesLoss, widths
from timeveil.models.series.parameters import SeriesParameters
from timeveil.models.series.words.attack_picture import series_svg as attack_svg
from timeveil.models.series.words.breach import compared, limits
from timeveil.models.series.words.groups import overview
from timeveil.models.series.words.loss import asked, sentences, table
from timeveil.models.series.words.report import explain_series, told_to_all
from timeveil.models.series.words.report_picture import series_svg
from timeveil.page.bars import Bar, bars_svg, by_size
from timeveil.page.tree import Block, Numbers, Picture, Sentences
from timeveil.page.wording import share
from timeveil.report.story import WITHOUT_LEDGER, Attempt, Story, attempts, fitting, typed_roles

QUESTIONS = 1_000
"""So many random questions of each kind are asked."""
SAMPLE = 2_000
"""So many people are tried by the outsiders beside the one that knows everything."""
_STEPS = 8


def series_story(release: Release, ledger: Ledger | None, progress: Progress) -> Story:
    """What was done to series, what it costs, and what an outsider finds."""
    counts, k, p = release.manifest["counts"], promised(release, "k"), promised(release, "p")
    known = Evidence(release).published
    groups = np.bincount(np.unique(known.group, return_inverse=True)[1].ravel(), weights=known.rows)
    public = Story(
        what="series",
        promise=(
            f"Whoever knows values of somebody's series, some or all, or its shape, finds at least {p} rows "
            f"that could be theirs. Naming one blindly is right with a chance of at most 1 in {p}.",
            f"By envelopes alone it is {k} rows or more, which is not promised: who knows values may rule "
            "out patterns, too.",
        ),
        figures=(
            ("series published", f"{counts['rows']:,}"),
            ("series suppressed", f"{counts['suppressed']:,}"),
            ("instants", f"{known.size:,}"),
            ("groups of one envelope", f"{counts['groups']:,}"),
            ("patterns in them", f"{counts['cells']:,}"),
        ),
        done=tuple(told_to_all(release)),
        risk=(
            Sentences((f"By the guarantee no row is named with a chance above 1 in {p}.", WITHOUT_LEDGER)),
            *_sizes(groups.astype(np.int64), known, k, p),
        ),
        loss=(*_picture(release), *_widths(known)),
        attacks=_for_all(k, p),
        limits=(),
    )
    if ledger is None or not counts["rows"]:
        return public
    return _private(public, release, ledger, progress)


def _private(public: Story, release: Release, ledger: Ledger, progress: Progress) -> Story:
    progress("explaining", 0.1)
    told = explain_series(release, ledger)
    progress("attacking", 0.3)
    breach = attack(release, ledger, SeriesAdversary(pattern=True))
    tried = [_attempt(breach, breach.p), *_others(release, ledger)]
    progress("measuring", 0.6)
    loss = measure(release, ledger, queries=QUESTIONS)
    lost = _lost(loss) if isinstance(loss, SeriesLoss) else ()
    rows = tuple(compared(breach.before, breach.after))
    return replace(
        public,
        done=told.sentences,
        risk=(
            Sentences((f"An outsider who knows {breach.adversary.words} was let loose on {_whom(breach)}.",)),
            Picture(attack_svg(breach)),
            Numbers("What this outsider finds", ("", "original", "release"), rows),
            public.risk[1],
        ),
        loss=(*lost, *public.loss),
        attacks=(attempts("Attacks on the release", tried), Sentences(_verdict(tried))),
        limits=tuple(limits(breach)[:-1]),
        again=_again(release, ledger),
    )


def _whom(breach: SeriesBreach) -> str:
    if breach.people == breach.everyone:
        return "everybody"
    return f"{breach.people:,} of {breach.everyone:,} people, drawn at random"


def _others(release: Release, ledger: Ledger) -> list[Attempt]:
    shown, p = release.manifest["series"], promised(release, "p")
    some, found = len(shown["instants"]) // 4, []
    if some and shown["values"]:
        found.append(_attempt(attack(release, ledger, SeriesAdversary(some, sample=SAMPLE)), p))
    if shown["pattern"]:
        shape = SeriesAdversary(None, pattern=True, sample=SAMPLE)
        found.append(_attempt(attack(release, ledger, shape), p))
    return found


def _attempt(breach: SeriesBreach, bound: int) -> Attempt:
    above = breach.share_above(1 / bound + 1e-12)
    return Attempt(breach.adversary.words, breach.people, bound, breach.worst, breach.mean, above)


def _verdict(tried: list[Attempt]) -> tuple[str, ...]:
    broken = any(one.worst > 1 / (one.bound or 1) + 1e-9 for one in tried)
    first = (
        "An attack that the promise covers went above its bound: do not publish this release."
        if broken
        else "Every attack stayed within its bound."
    )
    return first, "Chances are those of naming a person's row, guessing blindly among all that fit."


def _sizes(groups: Integers, known: Published, k: int, p: int) -> list[Block]:
    if not len(groups):
        return []
    below = f"How many groups have so many series. At least {k} share every envelope, {p} every pattern."
    cells = int(known.rows.min()), int(known.rows.max())
    return [
        Picture(bars_svg("Groups by their size", below, by_size(groups, k, "series", "series"))),
        Sentences((f"A pattern is shared by {cells[0]:,} to {cells[1]:,} series.",)),
    ]


def _picture(release: Release) -> list[Block]:
    shown = release.manifest["series"]
    if not (shown["values"] and shown["pattern"] and release.manifest["counts"]["rows"]):
        return []
    groups = overview(release)
    return fitting(lambda: series_svg(release), lambda: series_svg(release, groups[len(groups) // 2]))


def _widths(known: Published) -> list[Block]:
    """How many series stand in envelopes of which width."""
    wide = widths(known.low, known.high)
    if not len(wide) or not np.isfinite(wide).all():
        return []
    top = float(wide.max()) or 1.0
    counts, edges = np.histogram(wide, bins=_STEPS, range=(0.0, top), weights=known.rows)
    bars = [
        Bar(f"{low:.3g} to {high:.3g}", (float(count),), (f"{count:,.0f}",))
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    below = "How many series lie in an envelope so wide on average, in the units of the values."
    return [Picture(bars_svg("How closely values are told", below, bars))]


def _lost(loss: SeriesLoss) -> tuple[Block, ...]:
    said = Sentences(tuple(sentences(loss)))
    if not loss.query_errors:
        return (said,)
    head, *rows = table(loss)
    bars = [
        Bar(row[0], (found.mean,), (share(found.mean),))
        for row, found in zip(rows, loss.query_errors, strict=True)
    ]
    below = f"Mean error of {QUESTIONS:,} random counts of each kind, relative to the true count."
    return (
        said,
        Picture(bars_svg("How far off answers are", below, bars)),
        Numbers(asked(loss), head, tuple(rows)),
        Sentences((f"`timeveil measure` asks {QUERIES:,} of each kind, so its numbers differ a little.",)),
    )


def _for_all(k: int, p: int) -> tuple[Block, ...]:
    return (
        Sentences(
            (
                f"The bound is 1 in {p}, for an outsider who knows values, the pattern, or both. Every "
                f"recipient can count that {p} rows or more share every pattern, and {k} or more every "
                "envelope.",
                "Whoever has the release alone cannot try the attack on everybody: it takes the ledger to "
                "know whose series is whose.",
            )
        ),
    )


def _again(release: Release, ledger: Ledger) -> str:
    stated, axis = release.manifest["parameters"], ledger.original.axis
    clock = {} if axis is None else {"zone": axis.zone, "unit": axis.unit}
    return Run.of_release(SeriesParameters, typed_roles(ledger), stated, **clock).command()
