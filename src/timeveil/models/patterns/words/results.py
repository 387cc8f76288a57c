"""What attacks find in pattern counts, what a pattern release lost, and answers, as tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyarrow as pa

from timeveil.domain.judgement import Estimate
from timeveil.models.patterns.evidence import Patterns
from timeveil.models.patterns.judges import measure
from timeveil.models.patterns.judges.attack import PatternBreach, SmallGroup, SolveAttack
from timeveil.models.patterns.judges.measure import PatternError, PatternLoss
from timeveil.page.markdown import Table
from timeveil.page.summary import Summary
from timeveil.page.wording import aligned, counted, joined, people, quoted, share

SHORT = 8
"""Up to this many counts of a sum are listed."""
_ALTERNATIVES = {
    "this release": "this release",
    "without people": "leaving people out",
    "without patterns": "leaving patterns out",
    "series table": "counting in the series table",
}


def attack_summary(breach: PatternBreach, *, examples: bool = False) -> Summary:
    """An attack as a page; with `examples`, it names some small groups of the original, which is private."""
    sentences = []
    if breach.traced < breach.channels_before:
        sentences.append(f"{breach.traced:,} of the groups were looked up, the smallest first.")
    return Summary(
        [*sentences, conclusion(breach)],
        risk_table(breach),
        f"An outsider {breach.adversary.words} -> what they find",
        [*beyond(breach), "Other releases about the same people, and who is among those counted."],
        [derivation(group) for group in breach.examples] if examples else (),
    )


def derivation(group: SmallGroup) -> str:
    """How anyone gets from counts to a few people.

    >>> derivation(SmallGroup(("bread",), ("milk",), 2, ((1, 31), (-1, 29))))
    'exactly 2 people have `bread` and not `milk`: 31 - 29 = 2.'
    >>> derivation(SmallGroup(("t0=c",), (), 1, ((1, 12), (-1, 7), (-1, 4)), (2,)))
    'exactly 1 person has `t0=c`: 12 - 7 - 4 = 1, where 4 is not published but follows from others.'
    """
    have = quoted(group.present) if group.present else "anything"
    without = ""
    if group.absent:
        without = (
            f" and not {quoted(group.absent)}"
            if len(group.absent) == 1
            else f" and none of {quoted(group.absent)}"
        )
    verb = "has" if group.people == 1 else "have"
    return f"exactly {people(group.people)} {verb} {have}{without}: {_sum(group)}{_unpublished(group)}."


def _sum(group: SmallGroup) -> str:
    if len(group.counts) > SHORT:
        return f"from {counted(len(group.counts), 'count')}"
    signs = {1: "+", -1: "-"}
    terms = " ".join(f"{signs[sign]} {number:,}" for sign, number in group.counts).removeprefix("+ ")
    return f"{terms} = {group.people:,}"


def _unpublished(group: SmallGroup) -> str:
    """Which counts are not published; of many, how many."""
    numbers = [f"{number:,}" for number in dict.fromkeys(group.counts[place][1] for place in group.follow)]
    if not numbers:
        return ""
    many = len(group.counts) > SHORT
    single = len(group.follow if many else numbers) == 1
    which = f"{len(group.follow):,} of which" if many else f"where {joined(numbers)}"
    return (
        f", {which} {'is' if single else 'are'} not published but follow{'s' if single else ''} from others"
    )


def beyond(breach: PatternBreach) -> list[str]:
    """What remains possible beyond the promise."""
    sentences, bounds = [], breach.beyond
    if bounds is None and breach.adversary.bounds:
        sentences.append(
            "Anyone who solves for all data with these counts may bound a small group; this release is too "
            "large to try."
        )
    elif bounds is not None:
        part = "" if bounds.tried == bounds.possible else f" of {bounds.possible:,} before time was up"
        tried = counted(
            bounds.tried, "pattern that is just not published", "patterns that are just not published"
        )
        groups = (
            f"{counted(bounds.pinned, 'group')} certain to have fewer than {breach.k} people and more than "
            f"nobody, {bounds.exact:,} of them with the exact number known"
            if bounds.pinned
            else f"no group is certain to have fewer than {breach.k} people"
        )
        sentences.append(
            f"Solving for all data with these counts, beyond the promise: tried {tried}{part}; {groups}."
        )
    if breach.solved is not None:
        sentences.append(_solved(breach.solved, breach.k))
    return sentences


def _solved(attack: SolveAttack, k: int) -> str:
    part = "" if attack.tried == attack.possible else f" of {attack.possible:,} before time was up"
    sets = f"{counted(attack.tried, 'set')} of at most {counted(attack.instants, 'instant')}{part}"
    verb = "follows" if attack.small == 1 else "follow"
    groups = (
        f"{counted(attack.small, 'group')} of fewer than {k} people {verb}; a larger min_support leaves fewer"
        if attack.small
        else f"no group of fewer than {k} people follows"
    )
    return f"Solving the counts as a system of equations, beyond the promise: tried {sets}; {groups}."


def conclusion(breach: PatternBreach) -> str:
    """What the attack comes to."""
    few = f"of fewer than {breach.k} people"
    if breach.channels_after:
        why = (
            "the promise is broken"
            if breach.broken
            else "every reader knows that each person has one symbol per instant; the promise leaves this out"
        )
        return f"From the release, {counted(breach.channels_after, 'group')} {few} can be computed: {why}."
    small = 0 if breach.solved is None else breach.solved.small
    pinned = 0 if breach.beyond is None else breach.beyond.pinned
    if not small and not pinned:
        return f"From the release, no group {few} can be computed."
    ways = [
        *([f"equations give {counted(small, 'group')}"] if small else []),
        *([f"bounds leave {counted(pinned, 'group')}"] if pinned else []),
    ]
    return f"No sum that the promise covers gives a group {few}. Beyond it, {' and '.join(ways)} {few}."


def risk_table(breach: PatternBreach) -> Table:
    """What is found in the original and in the release."""
    before, after = breach.before, breach.after
    smallest = [f"{risk.quantile(0.0):,}" if risk.worst else "none" for risk in (before, after)]
    rows = [
        (
            f"groups below {breach.k} that can be computed",
            f"{breach.channels_before:,}",
            f"{breach.channels_after:,}",
        ),
        ("people in one of them", share(breach.exposed_before), share(breach.exposed_after)),
        ("people alone in one", share(before.pinned), share(after.pinned)),
        ("smallest group", *smallest),
    ]
    return Table("What this outsider finds", ("", "original", "release"), rows)


def loss_summary(loss: PatternLoss) -> Summary:
    """The loss as numbered sentences and a table."""
    return Summary(loss_sentences(loss), alternative_table(loss) if loss.alternatives else None)


def loss_sentences(loss: PatternLoss) -> list[str]:
    """How many counts differ from the true ones, and by how much."""
    sentences = [
        f"{counted(loss.patterns, 'pattern')} of {people(loss.people)}: {loss.changed:,} published with "
        f"another count ({share(loss.changed / max(loss.patterns, 1))}), {loss.lost:,} not published.",
        f"The mean error of counts is {share(loss.mean_error)}, the worst {share(loss.worst_error)}; "
        f"{people(loss.virtual)} who do not exist were added, {loss.withheld:,} left out.",
    ]
    ways = ("without people", "without patterns")
    missing = [_ALTERNATIVES[way] for way in ways if loss.alternative(way) is None]
    if loss.patterns >= measure.MOST_PATTERNS:
        most = measure.MOST_PATTERNS
        sentences.append(f"Not compared with {' or '.join(missing)}: there are more than {most:,} patterns.")
    elif missing:
        sentences.append(f"Not compared with {' or '.join(missing)}: it would take too long.")
    return sentences


def alternative_table(loss: PatternLoss) -> Table:
    """This release and other ways to publish the same patterns."""
    head = ("", "patterns", "changed", "lost", "mean error", "worst error", "people left out")
    errors = (loss.mean_error, loss.worst_error)
    release = PatternError("this release", loss.patterns, loss.changed, loss.lost, *errors, loss.withheld)
    rows = [
        (
            _ALTERNATIVES[way.way],
            f"{way.patterns:,}",
            f"{way.changed:,}",
            f"{way.lost:,}",
            share(way.mean_error),
            share(way.worst_error),
            f"{way.withheld:,}",
        )
        for way in (release, *loss.alternatives)
    ]
    return Table("Other ways to publish the same patterns", head, rows)


def support_lines(count: Estimate, published: Patterns, items: Sequence[str]) -> list[str]:
    """How many people have a pattern, and what its symbols stand for."""
    if count.low == count.high:
        answer = f"{people(int(count.value))} exactly"
    elif math.isinf(count.high):
        answer = f"{people(int(count.low))} or more, because some were left out"
    elif count.low == 0:
        answer = f"not published: {people(int(count.high))} at most"
    else:
        answer = f"{people(int(count.value))}, between {count.low:,.0f} and {count.high:,.0f}"
        if published.virtual:
            answer += f", because {published.virtual:,} who do not exist were added"
    return [answer, *meaning_lines(published, items)]


def confidence_lines(confidence: Estimate, published: Patterns, items: Sequence[str]) -> list[str]:
    """How often a rule holds, and what its symbols stand for."""
    answer = f"{share(confidence.value)} of them"
    if confidence.low != confidence.high:
        answer += f", between {share(confidence.low)} and {share(confidence.high)}"
    return [answer, *meaning_lines(published, items)]


def top_lines(top: pa.Table, published: Patterns) -> list[str]:
    """The strongest patterns as a table."""
    patterns = top.to_pylist()
    if not patterns:
        return ["no pattern is that long"]
    rows = [(", ".join(row["pattern"]), f"{row['support']:,}", f"{row['low']:,.0f}") for row in patterns]
    items = list(dict.fromkeys(item for row in patterns for item in row["pattern"]))
    return [*aligned([("pattern", "people", "at least"), *rows]), *meaning_lines(published, items)]


def meaning_lines(published: Patterns, items: Sequence[str]) -> list[str]:
    """The values that each symbol covers, which are the same at every instant."""
    if not published.instants or not items:
        return []
    spans = {item.rpartition("=")[2]: published.range_of(item) for item in items}
    known = sorted((span, letter) for letter, span in spans.items() if span is not None)
    head = (
        f"in deviations of a series from its {published.center}, with {counted(published.kinds, 'symbol')}:"
    )
    return ["", head, *aligned([(f"  {letter}:", span_words(*span)) for span, letter in known], left=2)]


def span_words(low: float, high: float) -> str:
    """A range of z-normalised values.

    >>> span_words(-math.inf, -0.9674), span_words(0.0, 0.43)
    ('below -0.967', '0 to 0.43')
    """
    if math.isinf(low):
        return f"below {high:.3g}"
    return f"{low:.3g} and above" if math.isinf(high) else f"{low:.3g} to {high:.3g}"
