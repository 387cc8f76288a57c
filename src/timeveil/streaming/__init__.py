"""Model 2: streams of small snapshots made l-diverse (Wang, Xu, Wong, Fu 2010).

| symbol | here | where | in words |
|---|---|---|---|
| D[i] | `timeveil.streaming.placing.Snapshot` | §II | the records that came in a slot |
| r.TS, r.TS' | `timeveil.streaming.placing.Snapshot.slot` | §II.C | where a record came, and where it is published |
| l-eligible | `timeveil.model.guarantee.LDiversity` | Definition 1 | no value is held by more than 1 in l |
| Level(T) | `timeveil.streaming.reposition.level` | §II.A | how often the commonest value occurs |
| P_i | `timeveil.streaming.window.Window.counts` | §II.C | what is published in a slot |
| S_i | `timeveil.streaming.window.Window.waiting` | §II.C | what is withheld, so far |
| μ | `timeveil.streaming.costs.Costs.move` | §II.C | what moving by d slots costs |
| β_s | `timeveil.streaming.costs.Costs.of_value` | §II.C | what withholding a record costs |
| IL | `timeveil.streaming.window.Window.loss` | eqs. 1, 2 | information loss |
| the initial solution | `timeveil.streaming.reposition.least_suppression` | §III | as few withheld as can be |
| the relay of r | `timeveil.streaming.window.Window.relay` | eqs. 3, 4 | each record takes the place of the one before |
| IG(r), ψ(r) | `timeveil.streaming.window.Relay.gain` | eqs. 5, 6 | what a relay saves |
| LP-Reposition | `timeveil.streaming.reposition.fill_level` | §V.A | relays that do not raise the level |
| LL-Reposition | `timeveil.streaming.reposition.lift_level` | §V.A | relays that raise it by one |
| OptimalReposition | `timeveil.streaming.reposition.reposition` | Figure 4 | the whole step |
"""  # noqa: E501

from timeveil.streaming.published import PublishedSlot
from timeveil.streaming.publisher import StreamPublisher
from timeveil.streaming.whole import publish_stream

__all__ = ["PublishedSlot", "StreamPublisher", "publish_stream"]
