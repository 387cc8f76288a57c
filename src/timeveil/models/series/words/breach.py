"""An attack on series in words."""

from __future__ import annotations

from timeveil.evidence.risk import Risk
from timeveil.models.series.judges.attack import SeriesBreach
from timeveil.page.wording import WIDTH, aligned, people, share, wrapped


def described(breach: SeriesBreach, width: int = WIDTH) -> list[str]:
    """The attack as a page."""
    lines = [*wrapped(f"An outsider who knows {breach.adversary.words} -> what they find", width), ""]
    lines += [*aligned([("", "original", "release"), *compared(breach.before, breach.after)]), ""]
    if breach.people < breach.everyone:
        lines += wrapped(
            f"{people(breach.people)} of {breach.everyone:,} were attacked, drawn at random.", width
        )
    above = breach.share_above(1 / breach.p + 1e-12)
    lines += wrapped(
        f"From the release {share(above)} of the people are named with a chance above 1 in {breach.p}."
        if above
        else f"From the release nobody is named with a chance above 1 in {breach.p}, guessing blindly.",
        width,
    )
    if breach.adversary.pattern and not breach.own_patterns:
        lines += wrapped(
            "Patterns of this release are not each record's own: the outsider bets on the nearest, and is "
            f"wrong about {share(breach.after.out_of_reach)} of the people.",
            width,
        )
    lines += ["", "What it does not protect:"]
    return lines + [line for limit in limits(breach) for line in wrapped(limit, width)]


def limits(breach: SeriesBreach) -> list[str]:
    """What stays visible to this outsider all the same."""
    lines = []
    for column, told in breach.told.items():
        lines.append(
            f"All rows that fit have one and the same `{column}` for {share(breach.homogeneous[column])} "
            f"of the people; the true one is told with a chance of {share(told.mean)} on average, "
            f"{share(told.worst)} in the worst."
        )
    if breach.own_patterns and not breach.adversary.pattern:
        lines.append(
            "Values were held against envelopes alone. Who knows many of them can also rule out patterns: "
            f"what is promised is 1 in {breach.p}."
        )
    if not breach.own_patterns:
        lines.append("Who knows all but one member of a pattern can work out much of the last one's shape.")
    return [*lines, "Who is in the release at all, and whatever the kept columns tell."]


def compared(before: Risk, after: Risk) -> list[tuple[str, str, str]]:
    """What is found in the original and in the release, a line each."""
    shares = (
        ("people pinned down to one row", before.pinned, after.pinned),
        ("chance of naming the row, worst", before.worst, after.worst),
        ("chance of naming the row, mean", before.mean, after.mean),
        ("people out of reach", before.out_of_reach, after.out_of_reach),
    )
    sizes = (("fewest", 0.0), ("median", 0.5), ("most", 1.0))
    return [
        *((name, share(first), share(second)) for name, first, second in shares),
        *(
            (f"candidates, {name}", f"{before.quantile(at):,}", f"{after.quantile(at):,}")
            for name, at in sizes
        ),
    ]
