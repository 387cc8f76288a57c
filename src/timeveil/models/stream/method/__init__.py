"""Model 2: streams of small snapshots made l-diverse (Wang, Xu, Wong, Fu 2010).

| symbol | here | where | in words |
|---|---|---|---|
| D[i] | `timeveil.models.stream.method.placing.Snapshot` | §II | the records that arrived in a slot |
| r.TS, r.TS' | `timeveil.models.stream.method.reposition.Slot.published` | §II.C | records by origin and by the slot they are published in |
| l-eligible | `timeveil.domain.guarantee.LDiversity` | Definition 1 | no value is held by more than 1 in l |
| Level(T) | `timeveil.models.stream.method.reposition.level` | §II.A | how often the commonest value occurs |
| P_i | `timeveil.models.stream.method.reposition.Slot.counts` | §II.C | what is published in a slot |
| S_i | `timeveil.models.stream.method.reposition.Slot.withheld` | §II.C | what is withheld of a slot, so far |
| μ | `timeveil.models.stream.method.settings.Costs.of_distance` | §II.C | what moving by d slots costs |
| β_s | `timeveil.models.stream.method.settings.Costs.of_value` | §II.C | what withholding a record costs |
| IL | `timeveil.models.stream.judges.measure.information_loss` | eqs. 1, 2 | information loss |
| the initial solution | `timeveil.models.stream.method.reposition.least_suppression` | §III | as few withheld as possible |
| the relay of r | `timeveil.models.stream.method.reposition.Window.relay` | eqs. 3, 4 | each record enters the slot that the next one leaves |
| IG(r), ψ(r) | `timeveil.models.stream.method.reposition.Relay.gain` | eqs. 5, 6 | what a relay saves |
| LP-Reposition | `timeveil.models.stream.method.reposition.fill_level` | §V.A | relays that do not raise the level |
| LL-Reposition | `timeveil.models.stream.method.reposition.lift_level` | §V.A | relays that raise it by one |
| OptimalReposition | `timeveil.models.stream.method.reposition.reposition` | Figure 4 | the whole step |
"""

from timeveil.models.stream.method.publisher import StreamPublisher, publish_stream
from timeveil.models.stream.method.tables import PublishedSlot

__all__ = ["PublishedSlot", "StreamPublisher", "publish_stream"]
