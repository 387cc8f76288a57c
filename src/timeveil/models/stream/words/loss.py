"""What a stream release lost, in words."""

from __future__ import annotations

from timeveil.models.stream.judges.measure import PacketLoss, StreamLoss
from timeveil.page.wording import aligned, counted, share


def described(loss: StreamLoss) -> list[str]:
    """The loss in sentences, and window counts as a table."""
    lines = [f"{number}. {told}" for number, told in enumerate(sentences(loss), start=1)]
    lines += [f"{len(lines) + 1}. Random window counts are off by, on average:", ""]
    lines += aligned([(f"   {row[0]}", *row[1:]) for row in table(loss)])
    told = packets(loss.packets)
    return [*lines, *(f"{number}. {sentence}" for number, sentence in enumerate(told, start=6))]


def sentences(loss: StreamLoss) -> list[str]:
    """What was published, withheld and moved, and what it cost."""
    return [
        f"{loss.slots_not_eligible:,} of {counted(loss.slots, 'slot')} with records could not have been "
        "published as they were.",
        f"{counted(loss.rows, 'record')} published, {loss.suppressed:,} withheld "
        f"({share(loss.suppressed_share)}); without moving any it would have been {loss.suppress_only:,}.",
        f"{counted(loss.moved, 'record')} moved ({share(loss.moved_share)}), by {loss.mean_distance:.3g} "
        f"slots on average and {loss.largest_distance} at most.",
        f"All this cost {loss.information_loss:,.6g}: moves and withheld records together.",
    ]


def table(loss: StreamLoss) -> list[tuple[str, ...]]:
    """How far off random window counts are, a head and a line for each length of window."""
    rows = [("slots in the window", "this release", "withholding only", "merging slots")]
    for found in loss.window_errors:
        merge = "not possible" if found.merge is None else share(found.merge)
        rows.append((f"{found.length}", share(found.release), share(found.suppress_only), merge))
    return [*rows]


def packets(found: PacketLoss | None) -> list[str]:
    """About closed packets, where there are any."""
    if found is None:
        return []
    small = f", {found.records_below:,} records in smaller ones than promised" if found.records_below else ""
    return [
        f"{counted(found.packets, 'packet')} of {found.mean_size:.3g} records on average, "
        f"{found.smallest} at least{small}.",
        f"{counted(found.left, 'record')} left their slot; by the counts of each slot alone at least "
        f"{found.least:,} must.",
    ]
