"""What a stream release lost, in words."""

from __future__ import annotations

from timeveil.measure import PacketLoss, StreamLoss
from timeveil.report.wording import aligned, counted, share


def described(loss: StreamLoss) -> list[str]:
    """The loss in sentences, and window counts as a table."""
    lines = [
        f"1. {loss.slots_not_eligible:,} of {counted(loss.slots, 'slot')} with records could not have been "
        "published as they were.",
        f"2. {counted(loss.rows, 'record')} published, {loss.suppressed:,} withheld "
        f"({share(loss.suppressed_share)}); without moving any it would have been {loss.suppress_only:,}.",
        f"3. {counted(loss.moved, 'record')} moved ({share(loss.moved_share)}), by {loss.mean_distance:.3g} "
        f"slots on average and {loss.largest_distance} at most.",
        f"4. All this cost {loss.information_loss:,.6g}: moves and withheld records together.",
        "5. Random window counts are off by, on average:",
        "",
    ]
    rows = [("   slots in the window", "this release", "withholding only", "merging slots")]
    for found in loss.window_errors:
        merge = "not possible" if found.merge is None else share(found.merge)
        rows.append((f"   {found.length}", share(found.release), share(found.suppress_only), merge))
    return [*lines, *aligned(rows), *([] if loss.packets is None else _packets(loss.packets))]


def _packets(found: PacketLoss) -> list[str]:
    small = f", {found.records_below:,} records in smaller ones than promised" if found.records_below else ""
    return [
        f"6. {counted(found.packets, 'packet')} of {found.mean_size:.3g} records on average, "
        f"{found.smallest} at least{small}.",
        f"7. {counted(found.left, 'record')} left their slot; by the counts of each slot alone at least "
        f"{found.least:,} must.",
    ]
