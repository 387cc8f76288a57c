"""An attack in words."""

from __future__ import annotations

from timeveil.domain.release import Release
from timeveil.evidence.risk import Risk
from timeveil.models.events.judges.attack import Breach
from timeveil.page.wording import WIDTH, aligned, counted, people, share, wrapped


def described(breach: Breach, release: Release, width: int = WIDTH) -> list[str]:
    """The attack as a page."""
    lines = [*wrapped(f"{outsider(breach, release)} -> what they find", width), ""]
    rows = [("", "original", "release"), *compared(breach.before, breach.after)]
    lines += [*aligned(rows), ""]
    if breach.people < breach.everyone:
        lines += wrapped(
            f"{people(breach.people)} of {breach.everyone:,} were attacked, drawn at random.", width
        )
    above = breach.share_above(1 / breach.k + 1e-12)
    lines += wrapped(
        f"From the release {share(above)} of the people are named with a chance above 1 in {breach.k}."
        if above
        else f"From the release nobody is named with a chance above 1 in {breach.k}, guessing blindly.",
        width,
    )
    lines += ["", "What it does not protect:"]
    return lines + [line for limit in limits(breach) for line in wrapped(limit, width)]


def limits(breach: Breach) -> list[str]:
    """What stays visible inside groups."""
    lines = [f"One person has up to {share(breach.largest_share)} of the rows of a group."]
    for column, found in breach.commonest_sensitive.items():
        lines.append(
            f"The commonest `{column}` makes up {share(found['mean'])} of a group on average, "
            f"{share(found['worst'])} in the worst."
        )
    return lines


def outsider(breach: Breach, release: Release) -> str:
    """What the outsider knows."""
    adversary = breach.adversary
    quasi = [column["name"] for column in release.manifest["columns"] if column["role"] == "quasi"]
    known = "".join(f"`{name}`, " for name in quasi[:-1]) + "".join(f"`{name}` and " for name in quasi[-1:])
    known += f"the time of {counted(adversary.visits, 'visit')}"
    within = adversary.within(release.manifest["time"]["unit"] or "second")
    return f"An outsider who knows {known}{within}"


def compared(before: Risk, after: Risk) -> list[tuple[str, str, str]]:
    """What is found in the original and in the release, a line each."""
    shares = (
        ("people pinned down to one candidate", before.pinned, after.pinned),
        ("chance of naming a person, worst", before.worst, after.worst),
        ("chance of naming a person, mean", before.mean, after.mean),
        ("people out of reach, all withheld", before.out_of_reach, after.out_of_reach),
    )
    sizes = (("fewest", 0.0), ("median", 0.5), ("most", 1.0))
    return [
        *((name, share(first), share(second)) for name, first, second in shares),
        *(
            (f"candidates, {name}", f"{before.quantile(at):,}", f"{after.quantile(at):,}")
            for name, at in sizes
        ),
    ]
