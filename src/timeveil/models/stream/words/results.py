"""What attacks find in a stream, and what a stream release lost, as tables and sentences."""

from __future__ import annotations

from timeveil.domain.release import Release
from timeveil.evidence.risk import Posterior
from timeveil.models.stream.judges.attack import StreamBreach
from timeveil.models.stream.judges.measure import PacketLoss, StreamLoss
from timeveil.page.markdown import Table
from timeveil.page.summary import Summary
from timeveil.page.wording import counted, people, quoted, share

KNOWLEDGE = {
    "published-slot": "the slot in which a record was published",
    "true-slot": "the slot to which a record belongs",
    "several-slots": "every slot in which a person was published",
}
_NOT_TRIED = {
    "published-slot": "have no published record to look for",
    "true-slot": "have no complete record to look for",
    "several-slots": "are in at most one published slot, so there is nothing to follow",
}
_PARTS = {"constant": "the same value every time", "changing": "not the same every time"}


def attack_summary(breach: StreamBreach, release: Release, plain: StreamBreach | None = None) -> Summary:
    """An attack as a page; `plain` is the same attack on what the paper's method makes of the records."""
    quasi = [column["name"] for column in release.manifest["columns"] if column["role"] == "quasi"]
    knowledge = " and ".join([*([quoted(quasi)] if quasi else []), KNOWLEDGE[breach.adversary.knows]])
    sizes = _bounds(breach)
    head = ("chance of knowing the true value", "people", "mean", "worst")
    rows = [
        ("from the original", *cells(breach.before, sizes)),
        *([] if plain is None else _rows("with the paper's method", plain, sizes)),
        *_rows("from the release", breach, sizes),
    ]
    table = Table("What this outsider finds", (*head, *(f"above 1 in {size}" for size in sizes)), rows)
    sentences = []
    if any(part.people != round(part.people) for part in breach.parts.values()):
        sentences.append(
            "A person with records on several of these lines is split between them; counts are rounded."
        )
    if breach.people < breach.everyone:
        untried = breach.everyone - breach.people
        sentences.append(f"{people(untried)} of {breach.everyone:,} {_NOT_TRIED[breach.adversary.knows]}.")
    title = f"An outsider knows {knowledge} -> what they find"
    return Summary([*sentences, *_conclusions(breach)], table, title)


def _bounds(breach: StreamBreach) -> tuple[int, ...]:
    """The chances to compare with: 1 in l, and 1 in l' where the promise covers the true slot."""
    if breach.true_slot is None or breach.adversary.knows != "true-slot":
        return (breach.l,)
    return breach.l, breach.true_slot


def _conclusions(breach: StreamBreach) -> list[str]:
    bound, constant = _bounds(breach)[-1], breach.parts.get("constant")
    if constant is not None and constant.people:
        number, above = people(round(constant.people)), share(constant.share_above(1 / breach.l))
        return [
            f"Of {number} with the same value every time, {above} have it known with a chance above 1 in "
            f"{bound}.",
            "People whose value changed mislead this outsider.",
        ]
    above_bound = breach.share_above(1 / bound)
    if not above_bound:
        return [f"Nobody's value is known with a chance above 1 in {bound}."]
    sentences = [
        f"The value of {share(above_bound)} of the people is known with a chance above 1 in {bound}."
    ]
    if len(_bounds(breach)) > 1:
        sentences.append("Their slots have a value too common for packets of that many different values.")
    return sentences


def _rows(name: str, breach: StreamBreach, sizes: tuple[int, ...]) -> list[tuple[str, ...]]:
    parts = [
        (f"  {_PARTS.get(part, part)}", *cells(chances, sizes)) for part, chances in breach.parts.items()
    ]
    return [(name, *cells(breach.after, sizes)), *parts]


def cells(chances: Posterior, sizes: tuple[int, ...] = ()) -> tuple[str, ...]:
    """How many people, the mean and the worst chance, and the share above 1 in each of `sizes`.

    Of nobody there is no chance, which is not a chance of 0.
    """
    if not chances.people:
        return "0", *["–"] * (2 + len(sizes))
    number = f"{round(chances.people):,}" if chances.people >= 0.5 else "under 1"
    above = (share(chances.share_above(1 / size)) for size in sizes)
    return number, share(chances.mean), share(chances.worst), *above


def loss_summary(loss: StreamLoss) -> Summary:
    """The loss as numbered sentences and a table."""
    return Summary([*loss_sentences(loss), *packet_sentences(loss.packets)], window_table(loss))


def loss_sentences(loss: StreamLoss) -> list[str]:
    """What was published, withheld and moved, and what it cost."""
    return [
        f"{loss.slots_not_eligible:,} of {counted(loss.slots, 'slot')} with records could not be published "
        "as they were.",
        f"{counted(loss.rows, 'record')} published, {loss.suppressed:,} withheld "
        f"({share(loss.suppressed_share)}); without moving records, {loss.suppress_only:,} would be "
        "withheld.",
        f"{counted(loss.moved, 'record')} moved ({share(loss.moved_share)}), by {loss.mean_distance:.3g} "
        f"slot{'s' * (loss.mean_distance != 1)} on average and {loss.largest_distance} at most.",
        f"The total cost of moving and withholding is {loss.information_loss:,.6g}.",
    ]


def window_table(loss: StreamLoss) -> Table:
    """The error of random window counts, by the length of the window."""
    head = ("slots in the window", "this release", "withholding only", "merging slots")
    rows = []
    for error in loss.window_errors:
        merge = "not possible" if error.merge is None else share(error.merge)
        rows.append((f"{error.length}", share(error.release), share(error.suppress_only), merge))
    return Table("Mean error of random window counts", head, rows)


def packet_sentences(packets: PacketLoss | None) -> list[str]:
    """About closed packets, where there are any."""
    if packets is None:
        return []
    small = ""
    if packets.records_below:
        small = f"; {counted(packets.records_below, 'record')} in packets smaller than promised"
    return [
        f"{counted(packets.packets, 'packet')} of {packets.mean_size:.3g} records on average and "
        f"{packets.smallest} at least{small}.",
        f"{counted(packets.left, 'record')} left their slot; the counts of each slot alone require at least "
        f"{packets.least:,}.",
    ]
