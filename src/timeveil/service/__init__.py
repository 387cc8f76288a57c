"""Streams in service: a folder of snapshots in, a folder per final slot out, whatever happens between.

    inbox -> one transaction (state, files taken, slots to publish) -> slot folders -> marked as published

A slot is stored in the state file in the same transaction as the state that made it final, then written to
its folder, then marked. A run that starts after a crash first writes what was stored and not marked.
"""

from timeveil.service.parameters import Parameters
from timeveil.service.running import Service
from timeveil.service.status import Status, Tally, status

__all__ = ["Parameters", "Service", "Status", "Tally", "status"]
