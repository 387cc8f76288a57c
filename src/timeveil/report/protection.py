"""What a release does not protect, model by model; the documentation's threat models say it at length."""

from __future__ import annotations

from timeveil.domain.guarantee import Guarantee, KAnonymity, KPAnonymity, LDiversity, NoInferenceChannel
from timeveil.domain.release import Release

_ONE_RELEASE = (
    "More than one release. The promise is about this release alone: two releases of the same people, a "
    "correction, or an edition with other settings can be held against each other, and tell more than each."
)
_THERE = "Being there. A release does not hide that a person may be in it."
_NO_LAW = (
    "What it is not. The promise bounds what a recipient can single out, not all that they can learn. It is "
    "not differential privacy and not a legal opinion."
)


def not_protected(release: Release) -> list[tuple[str, str]]:
    """What the promise of a release does not cover: a name for it, and what it comes to."""
    told = [*_own(release.guarantee, release), _ONE_RELEASE, _THERE, _NO_LAW]
    return [(name, why) for name, _, why in (one.partition(". ") for one in told)]


def _own(promise: Guarantee, release: Release) -> list[str]:
    match promise:
        case KAnonymity():
            return _of_times(promise.k)
        case LDiversity():
            return _of_stream(promise)
        case KPAnonymity():
            return _of_series(promise, release)
        case NoInferenceChannel():
            return _of_patterns(promise, release)


def _of_times(k: int) -> list[str]:
    return [
        f"Rows. One of {k} people is not 1 in {k} rows: one person may own most rows of a group, and whoever "
        "picks a row picks that person more often.",
        "A value that everyone shares. Where all rows of a group have the same sensitive value, it is known "
        "of everybody in the group.",
        "Several visits. Whoever knows two visits of a person intersects two groups, and one person may be "
        "left. Whoever knows how often somebody came looks for as many rows.",
        "Other columns. What is kept is published as it is. A column that outsiders know and that was not "
        "named a quasi-identifier splits the groups; a second name, such as a case number, joins the rows of "
        "a person; free text and rare values may name somebody.",
        f"What is missing. A combination that is not there was had by fewer than {k} people or by nobody, "
        "and `release.json` tells how many rows were below k at each granularity.",
    ]


def _of_stream(promise: LDiversity) -> list[str]:
    size = promise.true_slot
    if size is None:
        when = (
            "When it happened. Whoever knows the true slot of a record, and finds it in a later one or "
            "nowhere, learns that it was moved or withheld; such records mostly have the value that was too "
            "common. They are not protected."
        )
    else:
        when = (
            f"When it happened. 1 in {size} for whoever knows the true slot holds as far as no value takes "
            f"more than 1 in {size} of that slot's records; less is promised where one does, and nothing "
            "where it takes more than half. It does not hold for somebody with several records in a slot."
        )
    return [
        when,
        "Coming back. Whoever recognises a person in several slots intersects the buckets; a value that "
        "stays the same is what they have in common.",
        "Values that follow from something else. A kept column that goes with the value, a value that the "
        "person cannot have, or the known values of others in the bucket leave fewer to choose from.",
        "Rare quasi-identifiers. They show that such a person was there. Do not publish a stream where being "
        "in it is the secret.",
        "Counts. Records are missing where one value was too common: an outbreak looks smaller and a little "
        "later than it was.",
    ]


def _of_series(promise: KPAnonymity, release: Release) -> list[str]:
    series, rounded = release.manifest["series"], release.manifest["parameters"]["round_outward"]
    bounds = (
        "Bounds were not rounded: each is the exact value of somebody in the group."
        if rounded is None
        else "Rounding leaves a bound somebody's exact value where values have no more digits than it keeps."
    )
    near = "" if promise.l is None else " Different values may still lie close together, and tell as much."
    own = (
        ""
        if series["own_patterns"]
        else " Patterns stand for a mean: whoever knows all but one who share it gets near the last one's "
        "shape."
    )
    return [
        f"Knowing some values. {promise.k} or more share an envelope, but whoever knows values can also ask "
        f"which patterns they leave possible. What is promised to them is 1 in {promise.p}.",
        f"One value for all. Where the {promise.p} or more who share a pattern have the same sensitive "
        f"value, it is known of each of them.{near}",
        f"Exact values. {bounds}",
        "Members. Whoever is in a group, or knows others in it, leaves those out and is nearer to the "
        f"rest.{own}",
        "Kept columns. They stand beside every row as they are, and the promise does not count what an "
        "outsider knows of them.",
        "Several series. Two of one person, or one that follows from another, count as those of two people.",
    ]


def _of_patterns(promise: NoInferenceChannel, release: Release) -> list[str]:
    series = release.manifest["patterns"]["kind"] == "series"
    letters = (
        "Everybody has a letter. Readers of series know that everybody has one letter at every instant, "
        "and the promise does not take that into account: they may compute smaller groups."
        if promise.counts_alone
        else "Systems of equations. That everybody has one letter at every instant is taken into account. "
        "Where instants have three letters or more, a smaller group may follow all the same when counts of "
        "other letters, too, are solved as a system of equations."
    )
    return [
        "Bounds. Adding and subtracting is not all one can do: whoever solves for all tables that have these "
        f"counts may bound a group below {promise.k}.",
        *([letters] if series else []),
        "Other sums. Not every number of people is a group. How many have all or none of some items, for "
        f"example, may follow from the counts and be below {promise.k}.",
        "The method run backwards. Method, support and the number of virtual people are published. On tiny "
        "tables only one true table may lead to what is published.",
        "Members. Whoever knows some of the people takes them off a count, and is nearer to the rest.",
        "A table of the same people. With a series release or a table of them the counts can tell more than "
        "either does.",
        "What a pattern says of all. If nearly everybody with a pattern has one more item, it can be guessed "
        "of whoever has the pattern. That is what patterns are for; no count hides it.",
        "Virtual people. A count may be above the truth by as many as were added; near the smallest support "
        "that can be much of it.",
    ]
