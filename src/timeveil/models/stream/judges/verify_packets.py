"""Is every packet closed? What protects somebody from those who know the true slot, with the ledger.

A packet is closed if its records belong to one slot, met one fate (published in one slot, or all withheld)
in one bucket, and have different values. It is large enough if it has as many records as promised, or
where a slot's commonest value leaves no room for that, floor(records of the slot / records of that value).

This is all that the ledger can show. That records were drawn by chance alone cannot be read off any outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.domain.wording import counted
from timeveil.evidence.codes import Integers, distinct_pairs
from timeveil.evidence.findings import Findings
from timeveil.models.stream.judges.journeys import Journeys
from timeveil.models.stream.judges.query_packets import NONE, least_sizes, packets_of, true_slot_promise

PACKET_PARAMETERS = ("protect_slot", "spread", "fillers")
_FIXED = {"filler": "never", "jitter": 0, "first_window": "grow", "buckets": "anatomy", "late": "refuse"}


def check_packet_statements(release: Release, findings: Findings) -> None:
    """What the manifest says of packets goes with its promise and with its other parameters."""
    parameters, promise = release.manifest["parameters"], true_slot_promise(release)
    stated = [name for name in PACKET_PARAMETERS if name in parameters]
    if promise is None:
        if stated:
            findings.refuse(
                "guarantee", "the manifest has parameters of packets and promises nothing that they are for"
            )
        return
    findings.check(
        "what is promised to whoever knows the true slot is what records were put in packets for "
        "(packets cannot be seen from the outside)"
    )
    if len(stated) < len(PACKET_PARAMETERS):
        missing = ", ".join(name for name in PACKET_PARAMETERS if name not in parameters)
        findings.refuse("parameters", f"the parameters of packets are not all there: {missing}")
    elif parameters["protect_slot"] != promise:
        findings.refuse(
            "guarantee", "`parameters.protect_slot` of the manifest is not the `true_slot` of the guarantee"
        )
    wrong = [name for name, value in _FIXED.items() if parameters[name] != value]
    if wrong:
        findings.refuse("parameters", f"parameters that packets do not go with: {', '.join(wrong)}")
    if not _fits_window(parameters):
        findings.refuse("parameters", "`parameters.spread` of the manifest does not lie below the window")


def _fits_window(parameters: Mapping[str, Any]) -> bool:
    return bool(1 <= parameters.get("spread", 1) < parameters["window"])


def check_packets(release: Release, ledger: Ledger, journeys: Journeys, findings: Findings) -> None:
    """Every complete record stands in a packet that is closed and large enough for its slot."""
    promise = true_slot_promise(release)
    if promise is None:
        return
    packet = packets_of(ledger)
    findings.check("every complete record stands in a packet, and no other does")
    if packet is None:
        findings.refuse("packet", "the ledger lacks the packets that the promise is kept by")
        return
    astray = int((journeys.whole != (packet != NONE)).sum())
    if astray:
        findings.refuse(
            "packet", f"{counted(astray, 'record')} without a packet, or in one without being whole"
        )
    whole = journeys.whole
    least = np.zeros(len(packet), dtype=np.int64)
    least[whole] = least_sizes(journeys.origin[whole], journeys.value.codes[whole], promise)
    rows = np.flatnonzero(whole & (packet != NONE))
    _, group = np.unique(packet[rows], return_inverse=True)
    _Packets(rows, group.ravel(), journeys, least).check(promise, findings)


class _Packets:
    """The records that stand in packets; `group` numbers the packets from 0."""

    def __init__(self, rows: Integers, group: Integers, journeys: Journeys, least: Integers) -> None:
        self.group, self.size = group, np.bincount(group)
        self.origin, self.slot = journeys.origin[rows], journeys.slot[rows]
        self.bucket, self.value = journeys.bucket[rows], journeys.value.codes[rows]
        self.values, self.least = journeys.value.size, least[rows]

    def check(self, promise: int, findings: Findings) -> None:
        """All checks, one after the other."""
        self._same("packet-origin", "belong to one slot", self.origin, findings)
        self._same("packet-fate", "are published in one slot, or all withheld", self.slot, findings)
        self._same("packet-bucket", "stand in one bucket", self.bucket, findings)
        self._different(findings)
        self._large(promise, findings)

    def _same(self, code: str, words: str, column: Integers, findings: Findings) -> None:
        findings.check(f"all records of a packet {words}")
        one = np.zeros(len(self.size), dtype=np.int64)
        one[self.group] = column
        apart = len(np.unique(self.group[column != one[self.group]]))
        if apart:
            findings.refuse(code, f"{counted(apart, 'packet')} of which not all records {words}")

    def _different(self, findings: Findings) -> None:
        findings.check("all records of a packet have different values")
        owner, _, _ = distinct_pairs(self.group, self.value, self.values)
        again = int((np.bincount(owner, minlength=len(self.size)) < self.size).sum())
        if again:
            findings.refuse("packet-values", f"{counted(again, 'packet')} with a value more than once")

    def _large(self, promise: int, findings: Findings) -> None:
        findings.check(
            f"every packet has {promise} records or more, or as many as its slot's commonest value allows"
        )
        short = self.size[self.group] < self.least
        small = np.unique(self.group[short])
        if len(small):
            findings.refuse(
                "packet-size",
                f"{counted(len(small), 'packet')} with fewer records than its slot allows and the promise "
                f"asks for; the smallest has {self.size[small].min()}",
            )
