"""An attack on a stream in words."""

from __future__ import annotations

from timeveil.domain.release import Release
from timeveil.evidence.risk import Posterior
from timeveil.models.stream.judges.attack import StreamBreach
from timeveil.page.wording import aligned, people, quoted, share

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


def described(breach: StreamBreach, release: Release, plain: StreamBreach | None = None) -> list[str]:
    """The attack as a page; `plain` is the same attack on what the paper's method makes of the records."""
    quasi = [column["name"] for column in release.manifest["columns"] if column["role"] == "quasi"]
    known = [*([quoted(quasi)] if quasi else []), _KNOWN[breach.adversary.knows]]
    sizes = _sizes(breach)
    rows = [
        ("chance of telling the true value", "people", "mean", "worst", *map("above 1 in {}".format, sizes))
    ]
    rows += [
        _row("from the original", breach.before, sizes),
        *([] if plain is None else _rows("from the paper's method", plain, sizes)),
        *_rows("from the release", breach, sizes),
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


def _sizes(breach: StreamBreach) -> tuple[int, ...]:
    """What chances are held against: 1 in l, and 1 in l' for whom that was promised."""
    if breach.true_slot is None or breach.adversary.knows != "true-slot":
        return (breach.l,)
    return breach.l, breach.true_slot


def _conclusions(breach: StreamBreach) -> list[str]:
    one, constant = f"with a chance above 1 in {_sizes(breach)[-1]}", breach.parts.get("constant")
    if constant is not None and constant.people:
        number, above = people(round(constant.people)), share(constant.share_above(1 / breach.l))
        return [
            f"Of {number} with the same value every time, the value of {above} is told {one}.",
            "Those whose value changed lead this outsider astray.",
        ]
    above_any = breach.share_above(1 / _sizes(breach)[-1])
    if not above_any:
        return [f"Nobody's value is told {one}."]
    said = [f"The value of {share(above_any)} of the people is told {one}."]
    if len(_sizes(breach)) > 1:
        said.append("They stand in slots whose commonest value leaves no room for so many different ones.")
    return said


def _rows(name: str, breach: StreamBreach, sizes: tuple[int, ...]) -> list[tuple[str, ...]]:
    parts = [_row(f"  {_PARTS.get(part, part)}", found, sizes) for part, found in breach.parts.items()]
    return [_row(name, breach.after, sizes), *parts]


def _row(name: str, found: Posterior, sizes: tuple[int, ...]) -> tuple[str, ...]:
    return name, *cells(found, sizes)


def cells(found: Posterior, sizes: tuple[int, ...] = ()) -> tuple[str, ...]:
    """How many people, the mean and the worst chance, and who stands above 1 in each of `sizes`.

    Of nobody there is no chance, which is not a chance of 0.
    """
    if not found.people:
        return "0", *["–"] * (2 + len(sizes))
    whole = f"{round(found.people):,}" if found.people >= 0.5 else "under 1"
    above = (share(found.share_above(1 / size)) for size in sizes)
    return whole, share(found.mean), share(found.worst), *above
