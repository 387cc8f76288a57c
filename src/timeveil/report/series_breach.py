"""An attack on series in words."""

from __future__ import annotations

from timeveil.attack.breach import Risk
from timeveil.attack.series_breach import SeriesBreach
from timeveil.report.wording import WIDTH, aligned, people, share, wrapped


def described(breach: SeriesBreach, width: int = WIDTH) -> list[str]:
    """The attack as a page."""
    lines = [
        *wrapped(f"An outsider who knows {breach.adversary.words} of a series -> what they find", width),
        "",
    ]
    lines += [*aligned([("", "original", "release"), *_rows(breach.before, breach.after)]), ""]
    if breach.people < breach.everyone:
        lines += wrapped(
            f"{people(breach.people)} of {breach.everyone:,} were attacked, drawn at random.", width
        )
    above = breach.share_above(1 / breach.p + 1e-12)
    lines += wrapped(
        f"From the release the series of {share(above)} of the people is named with a chance above 1 in "
        f"{breach.p}."
        if above
        else f"From the release nobody's series is named with a chance above 1 in {breach.p}.",
        width,
    )
    if breach.told:
        lines += ["", "What it does not protect:"]
    for column, found in breach.told.items():
        whole = breach.homogeneous[column]
        certain = f"; of {share(whole)} it is certain, since all rows that fit agree" if whole else ""
        lines += wrapped(
            f"The true `{column}` is guessed with a chance of {share(found.mean)} on average and "
            f"{share(found.worst)} in the worst case{certain}.",
            width,
        )
    return lines


def _rows(before: Risk, after: Risk) -> list[tuple[str, str, str]]:
    shares = (
        ("people pinned down to one row", before.pinned, after.pinned),
        ("chance of naming the row, worst", before.worst, after.worst),
        ("chance of naming the row, mean", before.mean, after.mean),
    )
    sizes = (("fewest", 0.0), ("median", 0.5), ("most", 1.0))
    return [
        *((name, share(first), share(second)) for name, first, second in shares),
        *(
            (f"rows that fit, {name}", f"{before.quantile(at):,}", f"{after.quantile(at):,}")
            for name, at in sizes
        ),
    ]
