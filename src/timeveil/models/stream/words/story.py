"""The report on a stream."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from timeveil.domain.ledger import Ledger
from timeveil.domain.progress import Progress
from timeveil.domain.release import Release
from timeveil.domain.run import Run
from timeveil.evidence.published import promised
from timeveil.judging.attack import attack
from timeveil.judging.measure import measure
from timeveil.models.stream.evidence import Evidence
from timeveil.models.stream.judges.attack import StreamAdversary, StreamBreach
from timeveil.models.stream.judges.measure import StreamLoss
from timeveil.models.stream.parameters import StreamParameters
from timeveil.models.stream.words.breach import cells
from timeveil.models.stream.words.loss import packets, sentences, table
from timeveil.models.stream.words.picture import stream_svg
from timeveil.models.stream.words.report import explain_stream, told_to_all
from timeveil.page.bars import Bar, bars_svg, by_size, columns_svg
from timeveil.page.tree import Block, Numbers, Picture, Sentences
from timeveil.page.wording import share
from timeveil.report.story import WITHOUT_LEDGER, Attempt, Story, attempts, typed_roles

_KNOWS = {
    "published-slot": "the quasi-identifiers and the published slot",
    "true-slot": "the quasi-identifiers and the slot it happened in",
    "several-slots": "the quasi-identifiers and every published slot",
}


def stream_story(release: Release, ledger: Ledger | None, progress: Progress) -> Story:
    """What was done to records, what it costs, and what an outsider finds."""
    counts, l = release.manifest["counts"], promised(release, "l")
    size, bucketed = Evidence(release).true_slot, Evidence(release).bucketed
    span = f"{counts['first_slot']} to {counts['last_slot']}" if counts["rows"] else "none"
    public = Story(
        what="a stream",
        promise=(
            "Whoever knows the quasi-identifiers of a person and the slot that their record was published "
            f"in finds its {'bucket' if bucketed else 'slot'}; no value in it belongs to more than "
            f"1 in {l} records. So nobody's value is told with a chance above 1 in {l}.",
            *([] if size is None else [_also(size)]),
        ),
        figures=(
            ("records published", f"{counts['rows']:,}"),
            ("slots", f"{counts['slots']:,}"),
            ("from and to", span),
            ("buckets", f"{counts['buckets']:,}"),
        ),
        done=tuple(told_to_all(release)),
        risk=(
            Sentences(
                (f"No value of a published record is told with a chance above 1 in {l}.", WITHOUT_LEDGER)
            ),
            *_buckets(release),
        ),
        loss=(
            *_over_time(release),
            Sentences(
                ("How many records were moved or withheld is not published: it would help to tell whose.",)
            ),
        ),
        attacks=_for_all(l, size),
        limits=(),
    )
    if ledger is None or not counts["rows"]:
        return public
    return _private(public, release, ledger, progress)


def _also(size: int) -> str:
    return (
        f"Whoever also knows the slot that the record belongs to learns no value with a chance above 1 in "
        f"{size}, as far as no value takes more than 1 in {size} of that slot's records."
    )


def _private(public: Story, release: Release, ledger: Ledger, progress: Progress) -> Story:
    progress("explaining", 0.1)
    told = explain_stream(release, ledger)
    progress("attacking", 0.3)
    knows = ["published-slot", "true-slot"]
    if ledger.original.roles.respondent is not None:
        knows.append("several-slots")
    breaches = [attack(release, ledger, StreamAdversary(one)) for one in knows]  # type: ignore[arg-type]
    tried = [_attempt(breach) for breach in breaches]
    progress("measuring", 0.6)
    loss = measure(release, ledger)
    lost = _lost(loss) if isinstance(loss, StreamLoss) else ()
    return replace(
        public,
        done=told.sentences,
        risk=(
            Sentences(
                (
                    f"An outsider who knows {_KNOWS['published-slot']} of a person guesses the value. The "
                    "same, with the original in place of the release, is the risk before.",
                )
            ),
            Picture(stream_svg(breaches[0])),
            _compared(breaches[0]),
            *_buckets(release),
        ),
        loss=(*lost, *_over_time(release)),
        attacks=(
            attempts("Attacks on the release", tried),
            Sentences(_verdict(breaches)),
            Picture(stream_svg(breaches[1])),
            _fates(breaches[1]),
        ),
        limits=told.limits[:1],
        again=_again(release, ledger),
    )


def _attempt(breach: StreamBreach) -> Attempt:
    bound = {"published-slot": breach.l, "true-slot": breach.true_slot}.get(breach.adversary.knows)
    above = breach.share_above(1 / (bound or 2))
    return Attempt(_KNOWS[breach.adversary.knows], breach.people, bound, breach.worst, breach.mean, above)


def _verdict(breaches: list[StreamBreach]) -> tuple[str, ...]:
    first = breaches[0]
    within = first.share_above(1 / first.l) == 0
    said = [
        "The attack that the promise is about stayed within its bound."
        if within
        else "The attack that the promise is about went above its bound: do not publish this release.",
        "Chances are those given to a person's true value.",
    ]
    if first.true_slot is not None and breaches[1].share_above(1 / first.true_slot):
        said.append(
            "To whoever knows the true slot less is promised where a value takes too much of it; those who "
            "stand above the bound are in such slots."
        )
    return tuple(said)


def _compared(breach: StreamBreach) -> Numbers:
    rows = [
        (
            name,
            share(found.mean),
            share(found.worst),
            share(found.certain),
            share(found.share_above(1 / breach.l)),
        )
        for name, found in (("original", breach.before), ("release", breach.after))
    ]
    head = ("told from the", "mean chance", "worst chance", "known for sure", f"above 1 in {breach.l}")
    return Numbers("Chance that this outsider gives to a person's true value", head, tuple(rows))


def _fates(breach: StreamBreach) -> Numbers:
    rows = tuple((name, *cells(part)) for name, part in breach.parts.items())
    head = ("what became of the record", "people", "mean chance", "worst chance")
    return Numbers("To whoever knows the slot it happened in, by what became of the record", head, rows)


def _lost(loss: StreamLoss) -> tuple[Block, ...]:
    head, *rows = table(loss)
    kinds = head[1:] if all(found.merge is not None for found in loss.window_errors) else head[1:3]
    bars = []
    for found in loss.window_errors:
        lengths = (found.release, found.suppress_only, found.merge)[: len(kinds)]
        known = tuple(0.0 if one is None else one for one in lengths)
        name = f"{found.length} slot{'s' * (found.length != 1)}"
        bars.append(Bar(name, known, tuple(share(one) for one in known)))
    below = "Mean error of random counts over so many slots, relative to the true count."
    return (
        Sentences((*sentences(loss), *packets(loss.packets))),
        Picture(bars_svg("How far off window counts are", below, bars, kinds)),
        Numbers("Random window counts are off by, on average", head, tuple(rows)),
    )


def _for_all(l: int, size: int | None) -> tuple[Block, ...]:
    known = "nothing is promised" if size is None else f"the bound is 1 in {size}, with the exception above"
    return (
        Sentences(
            (
                f"The bound is 1 in {l}, for an outsider who knows the quasi-identifiers and the published "
                "slot. Every recipient can count that, though not whether somebody stands in a slot twice.",
                f"For an outsider who knows the slot that a record belongs to, {known}. Whoever has the "
                "release alone cannot try that attack: what was moved and withheld is in the ledger.",
                "For an outsider who follows a person over several slots nothing is promised.",
            )
        ),
    )


def _buckets(release: Release) -> list[Block]:
    """Buckets, or slots without them, by how many records they hold."""
    data = release.table
    if not data.num_rows:
        return []
    keys = ["slot", "bucket"] if Evidence(release).bucketed else ["slot"]
    sizes = data.group_by(keys).aggregate([([], "count_all")])["count_all"]
    what = "buckets" if Evidence(release).bucketed else "slots"
    bars = by_size(np.asarray(sizes).astype(np.int64), promised(release, "l"), "record", "records")
    below = f"How many {what} have so many records; in none does a value stand for more than 1 in "
    below += f"{promised(release, 'l')}."
    return [Picture(bars_svg(f"{what.capitalize()} by their size", below, bars))]


def _over_time(release: Release) -> list[Block]:
    slots = release.table["slot"].combine_chunks()
    if not len(slots):
        return []
    counts = pc.value_counts(slots)
    labels, numbers = counts.field("values"), np.asarray(counts.field("counts")).astype(np.int64)
    places = Evidence(release).line.numbers(labels)
    ends = f"{labels[0]}", f"{labels[-1]}"
    below = f"Records by slot; {len(numbers):,} of {release.manifest['counts']['slots']:,} slots have some."
    return [Picture(columns_svg("What was published when", below, places, numbers, ends, "slot"))]


def _again(release: Release, ledger: Ledger) -> str:
    stated, clock = release.manifest["parameters"], ledger.original.clock
    return Run.of_release(
        StreamParameters, typed_roles(ledger), stated, zone=clock.zone, unit=clock.unit
    ).command()
