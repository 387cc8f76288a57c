"""An attack on pattern counts in words."""

from __future__ import annotations

from timeveil.models.patterns.judges.attack import PatternBreach, SmallGroup, SolveAttack
from timeveil.page.wording import WIDTH, aligned, counted, joined, people, quoted, share, wrapped

SHORT = 8
"""Of so many counts and fewer each is told."""


def described(breach: PatternBreach, width: int = WIDTH, *, told: bool = False) -> list[str]:
    """The attack as a page; with `told`, some of the small groups of the original, which is private."""
    lines = [*wrapped(f"An outsider who {breach.adversary.words} -> what they find", width), ""]
    lines += [*aligned([("", "original", "release"), *compared(breach)]), ""]
    if breach.traced < breach.channels_before:
        lines += wrapped(f"Of the groups {breach.traced:,} were looked up, the smallest first.", width)
    lines += wrapped(_found(breach), width)
    if told and breach.examples:
        lines += ["", "From the true counts anyone could have computed (private):"]
        lines += [
            line
            for number, group in enumerate(breach.examples, start=1)
            for line in wrapped(sentence(group), width, f"{number}. ")
        ]
    lines += ["", "What it does not protect:"]
    return lines + [line for limit in limits(breach) for line in wrapped(limit, width)]


def sentence(group: SmallGroup) -> str:
    """How anyone gets from counts to a few people.

    >>> sentence(SmallGroup(("bread",), ("milk",), 2, ((1, 31), (-1, 29))))
    'exactly 2 people have `bread` and not `milk`: 31 - 29 = 2.'
    >>> sentence(SmallGroup(("t0=c",), (), 1, ((1, 12), (-1, 7), (-1, 4)), (2,)))
    'exactly 1 person has `t0=c`: 12 - 7 - 4 = 1, where 4 is not published but follows from others.'
    """
    have = quoted(group.present) if group.present else "anything"
    lack = quoted(group.absent) if len(group.absent) == 1 else f"none of {quoted(group.absent)}"
    but = f" and not {lack}" if len(group.absent) == 1 else f" and {lack}" if group.absent else ""
    if len(group.counts) > SHORT:
        sums = f"from {counted(len(group.counts), 'count')}"
    else:
        signs = {1: "+", -1: "-"}
        sums = " ".join(f"{signs[sign]} {number:,}" for sign, number in group.counts).removeprefix("+ ")
        sums += f" = {group.people:,}"
    verb = "has" if group.people == 1 else "have"
    return f"exactly {people(group.people)} {verb} {have}{but}: {sums}{_following(group)}."


def _following(group: SmallGroup) -> str:
    """Which counts are not published; of many, how many."""
    many = len(group.counts) > SHORT
    which = [f"{number:,}" for number in dict.fromkeys(group.counts[place][1] for place in group.follow)]
    if not which:
        return ""
    one = len(group.follow if many else which) == 1
    said = f"{len(group.follow):,} of which" if many else f"where {joined(which)}"
    return f", {said} {'is' if one else 'are'} not published but follow{'s' if one else ''} from others"


def limits(breach: PatternBreach) -> list[str]:
    """What stays possible all the same."""
    lines = []
    found = breach.beyond
    if found is None and breach.adversary.bounds:
        lines.append(
            "Whoever solves for all data that have these counts may bound a small group; this release is too "
            "large to try that on."
        )
    elif found is not None:
        part = "" if found.tried == found.possible else f" of {found.possible:,}, then time was up"
        what = counted(found.tried, "pattern that is just not published", "patterns just not published")
        told = (
            f"{counted(found.pinned, 'group')} sure to have fewer than {breach.k} people and more than "
            f"nobody, of {found.exact:,} the exact number"
            if found.pinned
            else f"no group is sure to have fewer than {breach.k} people"
        )
        lines.append(
            f"Solving for all data that have these counts, beyond the promise: {what}{part}; {told}."
        )
    if breach.solved is not None:
        lines.append(_solved(breach.solved, breach.k))
    return [*lines, "Who else releases what about the same people, and who is among those that are counted."]


def _solved(found: SolveAttack, k: int) -> str:
    part = "" if found.tried == found.possible else f" of {found.possible:,}, then time was up"
    what = f"{counted(found.tried, 'set')} of at most {counted(found.instants, 'instant')}{part}"
    verb = "follows" if found.small == 1 else "follow"
    told = (
        f"{counted(found.small, 'group')} of fewer than {k} people {verb}; a larger min_support leaves fewer"
        if found.small
        else f"no group of fewer than {k} people follows"
    )
    return f"Solving the counts as a system of equations, beyond the promise: {what}; {told}."


def _found(breach: PatternBreach) -> str:
    few = f"of fewer than {breach.k} people"
    if breach.channels_after:
        how = (
            "the promise is broken"
            if breach.broken
            else "every reader knows that everybody has one symbol at every instant, and the promise leaves "
            "that out"
        )
        return f"From the release {counted(breach.channels_after, 'group')} {few} can be computed: {how}."
    small = 0 if breach.solved is None else breach.solved.small
    pinned = 0 if breach.beyond is None else breach.beyond.pinned
    if not small and not pinned:
        return f"From the release no group {few} can be computed."
    ways = [
        *([f"equations give {counted(small, 'group')}"] if small else []),
        *([f"bounds leave {counted(pinned, 'group')}"] if pinned else []),
    ]
    return f"No sum that the promise is about gives a group {few}. Beyond it, {' and '.join(ways)} {few}."


def compared(breach: PatternBreach) -> list[tuple[str, str, str]]:
    """What is found in the original and in the release, a line each."""
    before, after = breach.before, breach.after
    least = [f"{risk.quantile(0.0):,}" if risk.worst else "none" for risk in (before, after)]
    number = f"{breach.channels_before:,}", f"{breach.channels_after:,}"
    return [
        (f"groups below {breach.k} that can be computed", *number),
        ("people in one of them", share(breach.exposed_before), share(breach.exposed_after)),
        ("people alone in one", share(before.pinned), share(after.pinned)),
        ("smallest group", least[0], least[1]),
    ]
