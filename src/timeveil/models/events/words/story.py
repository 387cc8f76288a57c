"""The report on a release of timestamped rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from timeveil.domain.ledger import Ledger
from timeveil.domain.progress import Progress
from timeveil.domain.release import Release
from timeveil.domain.run import Run
from timeveil.evidence.codes import Integers
from timeveil.evidence.published import classes_of, columns_of, promised
from timeveil.judging.attack import attack
from timeveil.judging.measure import measure
from timeveil.models.events.judges.attack import Adversary, Breach
from timeveil.models.events.judges.measure import Loss
from timeveil.models.events.parameters import EventParameters
from timeveil.models.events.words.breach import compared, limits, outsider
from timeveil.models.events.words.explanation import explain, told_to_all
from timeveil.models.events.words.exposure import exposure
from timeveil.models.events.words.loss import described
from timeveil.models.events.words.picture import breach_svg
from timeveil.page.bars import Bar, bars_svg, by_size
from timeveil.page.tree import Block, Numbers, Picture, Sentences
from timeveil.page.wording import share
from timeveil.report.story import WITHOUT_LEDGER, Attempt, Story, attempts, typed_roles

SAMPLE = 2_000
"""So many people are tried by the outsiders beside the one that the promise is about."""
_SEVERAL = (2, 3)
"""So many visits are known to outsiders to whom nothing is promised."""
_MOST = 40


def time_story(release: Release, ledger: Ledger | None, progress: Progress) -> Story:
    """What was done to rows, what it costs, and what an outsider finds."""
    counts, k = release.manifest["counts"], promised(release, "k")
    public = Story(
        what="timestamped rows",
        promise=(
            f"People were counted, not rows. Whoever knows the quasi-identifiers of a person and the time of "
            f"one visit finds at least {k} people whom it could be; naming one of them blindly is right with "
            f"a chance of at most 1 in {k}.",
        ),
        figures=(
            ("rows published", f"{counts['rows']:,}"),
            ("rows withheld", f"{counts['withheld']:,} of {counts['rows_read']:,}"),
            ("time is told by", f"`{release.manifest['granularity']}`"),
            ("groups of the same quasi-identifiers and time", f"{counts['groups']:,}"),
            ("people in the smallest group", f"{counts['smallest_group']:,}"),
        ),
        done=tuple(told_to_all(release)),
        risk=(Sentences((_bound(release), WITHOUT_LEDGER)), *_sizes(release)),
        loss=(Sentences((_withheld(release),)), *_detail(release)),
        attacks=_for_all(k),
        limits=(),
    )
    if ledger is None or not counts["rows"]:
        return public
    return _private(public, release, ledger, progress)


def _private(public: Story, release: Release, ledger: Ledger, progress: Progress) -> Story:
    progress("explaining", 0.1)
    exposed = exposure(release, ledger)
    told = explain(release, ledger, exposed=exposed)
    progress("attacking", 0.3)
    breach = attack(release, ledger, Adversary())
    unit = release.manifest["time"]["unit"] or "second"
    tried = [_attempt(breach, release, breach.k), *_others(release, ledger)]
    progress("measuring", 0.7)
    loss = measure(release, ledger)
    table = Numbers(
        "What this outsider finds", ("", "original", "release"), tuple(compared(breach.before, breach.after))
    )
    return replace(
        public,
        done=told.sentences,
        risk=(
            Sentences((f"{outsider(breach, release)} was let loose on everybody.",)),
            Picture(breach_svg(breach, unit)),
            table,
            *_sizes(release),
        ),
        loss=(Sentences(tuple(described(loss) if isinstance(loss, Loss) else ())), *public.loss[1:]),
        attacks=(attempts("Attacks on the release", tried), Sentences(_verdict(tried))),
        limits=tuple(limits(breach)) if exposed is None else told.limits,
        again=_again(release, ledger),
    )


def _bound(release: Release) -> str:
    k, smallest = promised(release, "k"), release.manifest["counts"]["smallest_group"]
    return (
        "By the guarantee nobody who knows one visit can name the person, guessing blindly, with a chance "
        f"above 1 in {k}; by the stated smallest group, of {smallest:,} people, it is at most 1 in "
        f"{max(smallest, 1):,}."
    )


def _for_all(k: int) -> tuple[Block, ...]:
    return (
        Sentences(
            (
                f"The bound is 1 in {k}, for an outsider who knows the quasi-identifiers and one visit.",
                "Whoever has the release alone cannot try that attack on everybody: it takes the ledger to "
                "know who is who. Neither can they tell how many people a group holds, only how many rows.",
                "For an outsider who knows several visits of the same person nothing is promised.",
            )
        ),
    )


def _others(release: Release, ledger: Ledger) -> list[Attempt]:
    near = 1 if release.manifest["time"]["kind"] == "relative" else 86_400
    close = attack(release, ledger, Adversary(tolerance=near, sample=SAMPLE))
    several = [visits for visits in _SEVERAL if visits <= max(2, _most_rows(ledger))]
    found = [attack(release, ledger, Adversary(visits=visits, sample=SAMPLE)) for visits in several]
    return [_attempt(close, release, close.k), *(_attempt(breach, release, None) for breach in found)]


def _most_rows(ledger: Ledger) -> int:
    """How many rows the person with the most has."""
    original = ledger.original
    people = pa.Table.from_batches(original.batches([original.respondent]))
    found = people.group_by(original.respondent).aggregate([([], "count_all")])["count_all"]
    return int(np.asarray(found).max(initial=0))


def _attempt(breach: Breach, release: Release, bound: int | None) -> Attempt:
    above = breach.share_above((1 / 2 if bound is None else 1 / bound) + 1e-12)
    knows = outsider(breach, release).removeprefix("An outsider who knows ")
    return Attempt(knows, breach.people, bound, breach.worst, breach.mean, above)


def _verdict(tried: list[Attempt]) -> tuple[str, ...]:
    broken = [one for one in tried if one.bound is not None and one.worst > 1 / one.bound + 1e-9]
    first = (
        "Every attack that the promise covers stayed within its bound."
        if not broken
        else "An attack that the promise covers went above its bound: do not publish this release."
    )
    return first, "Chances are those of naming the right person, guessing blindly among all who fit."


def _sizes(release: Release) -> list[Block]:
    """Groups by how many rows they have, which everybody can count."""
    sizes, k = _rows_to_a_group(release), promised(release, "k")
    if not len(sizes):
        return []
    bars = by_size(sizes, k, "row", "rows")
    below = f"How many groups have so many rows. Each holds at least {k} people."
    return [Picture(bars_svg("Groups by their size", below, bars))]


def _rows_to_a_group(release: Release) -> Integers:
    found = classes_of(release, [*columns_of(release, "quasi"), *columns_of(release, "time")])
    return np.asarray(found["rows"]).astype(np.int64)


def _detail(release: Release) -> list[Block]:
    """What the granularities that were looked at would have given."""
    allowed = {name: one for name, one in release.manifest["candidates"].items() if one["allowed"]}
    shown = dict(list(allowed.items())[:_MOST])
    if not shown:
        return []
    own = release.manifest["granularity"]
    bars = [
        Bar(name, (float(one["groups"]),), (f"{one['groups']:,}",), marked=name == own)
        for name, one in shown.items()
    ]
    rows = tuple(
        (
            f"`{name}`" + (" (chosen)" if name == own else ""),
            f"{one['groups']:,}",
            f"{one['smallest_group']:,}",
            f"{one['groups_below_k']:,}",
            f"{one['rows_below_k']:,}",
            "yes" if one["feasible"] else "no",
        )
        for name, one in shown.items()
    )
    head = ("time told by", "groups", "smallest group", "groups below k", "rows below k", "would do")
    below = "Groups of the same quasi-identifiers and time; the more, the finer. In bold: the one chosen."
    return [
        Picture(bars_svg("How finely time could be told", below, bars)),
        Numbers("What each granularity gives, before anything is withheld", head, rows),
    ]


def _withheld(release: Release) -> str:
    counts = release.manifest["counts"]
    part = counts["withheld"] / counts["rows_read"] if counts["rows_read"] else 0.0
    return f"{counts['withheld']:,} of {counts['rows_read']:,} rows were withheld ({share(part)})."


def _again(release: Release, ledger: Ledger) -> str:
    levels = {name: choice["level"] for name, choice in release.manifest["levels"].items()}
    clock = ledger.original.clock
    stated = {
        **release.manifest["parameters"],
        "zone": clock.zone,
        "unit": clock.unit,
        "levels": levels or None,
    }
    return Run.of_release(EventParameters, typed_roles(ledger), stated).command()
