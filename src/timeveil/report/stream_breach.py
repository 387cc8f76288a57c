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
_LEFT = {
    "published-slot": "cannot be looked for so: no record of theirs was published",
    "true-slot": "cannot be looked for so: no record of theirs is complete",
    "several-slots": "stand in one published slot or none, so there is nothing to follow",
}
_PARTS = {"constant": "the same value every time", "changing": "not the same every time"}


def described(breach: StreamBreach, release: Release) -> list[str]:
    """The attack as a page."""
    quasi = [column["name"] for column in release.manifest["columns"] if column["role"] == "quasi"]
    known = [*([quoted(quasi)] if quasi else []), _KNOWN[breach.adversary.knows]]
    rows = [("chance of telling the true value", "people", "mean", "worst", f"above 1 in {breach.l}")]
    rows += [
        _row("from the original", breach.before, breach.l),
        _row("from the release", breach.after, breach.l),
        *(_row(f"  {_PARTS.get(name, name)}", part, breach.l) for name, part in breach.parts.items()),
    ]
    lines = [f"An outsider who knows {' and '.join(known)} -> what they find", "", *aligned(rows), ""]
    if any(part.people != round(part.people) for part in breach.parts.values()):
        lines.append(
            "Somebody with records on several of these lines is shared between them; counts are rounded."
        )
    if breach.people < breach.everyone:
        left = breach.everyone - breach.people
        lines.append(f"{people(left)} of {breach.everyone:,} {_LEFT[breach.adversary.knows]}.")
    return [*lines, *_conclusions(breach)]


def _conclusions(breach: StreamBreach) -> list[str]:
    one, constant = f"with a chance above 1 in {breach.l}", breach.parts.get("constant")
    if constant is not None and constant.people:
        number, above = people(round(constant.people)), share(constant.share_above(1 / breach.l))
        return [
            f"Of {number} with the same value every time, the value of {above} is told {one}.",
            "Those whose value changed lead this outsider astray.",
        ]
    above_any = breach.share_above(1 / breach.l)
    if not above_any:
        return [f"Nobody's value is told {one}."]
    return [f"The value of {share(above_any)} of the people is told {one}."]


def _row(name: str, found: Posterior, l: int) -> tuple[str, str, str, str, str]:  # noqa: E741
    above = share(found.share_above(1 / l))
    whole = f"{round(found.people):,}" if found.people >= 0.5 or not found.people else "under 1"
    return name, whole, share(found.mean), share(found.worst), above
