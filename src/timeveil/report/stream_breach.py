"""An attack on a stream in words."""

from __future__ import annotations

from timeveil.attack import Posterior, StreamBreach
from timeveil.model.release import Release
from timeveil.report.wording import aligned, people, quoted, share

_KNOWN = {
    "published-slot": "the slot that a record was published in",
    "true-slot": "the slot that a record belongs to",
    "several-slots": "every slot that a person was published in",
}


def described(breach: StreamBreach, release: Release) -> list[str]:
    """The attack as a page."""
    quasi = [column["name"] for column in release.manifest["columns"] if column["role"] == "quasi"]
    known = [*([quoted(quasi)] if quasi else []), _KNOWN[breach.adversary.knows]]
    rows = [("chance of telling the true value", "people", "mean", "worst", f"above 1 in {breach.l}")]
    rows += [
        _row("from the original", breach.before, breach.l),
        _row("from the release", breach.after, breach.l),
        *(_row(f"  {name}", part, breach.l) for name, part in breach.parts.items()),
    ]
    lines = [f"An outsider who knows {' and '.join(known)} -> what they find", "", *aligned(rows), ""]
    if breach.people < breach.everyone:
        left = breach.everyone - breach.people
        lines.append(
            f"{people(left)} of {breach.everyone:,} cannot be looked for so: nothing of theirs fits."
        )
    above = breach.share_above(1 / breach.l)
    lines.append(
        f"The value of {share(above)} of the people is told with a chance above 1 in {breach.l}."
        if above
        else f"Nobody's value is told with a chance above 1 in {breach.l}."
    )
    return lines


def _row(name: str, found: Posterior, l: int) -> tuple[str, str, str, str, str]:  # noqa: E741
    above = share(found.share_above(1 / l))
    return name, f"{found.people:,.6g}", share(found.mean), share(found.worst), above
