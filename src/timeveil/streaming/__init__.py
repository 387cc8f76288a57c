"""Model 2: streams of small snapshots made l-diverse (Wang, Xu, Wong, Fu 2010).

| symbol | here | where |
|---|---|---|
| D[i] | `timeveil.streaming.placing.Snapshot` | §II |
| r.TS, r.TS' | `timeveil.streaming.placing.Snapshot.slot` | §II.C |
| l-eligible | `timeveil.model.guarantee.LDiversity` | Definition 1 |
| Level(T) | `timeveil.streaming.reposition.level` | §II.A |
| P_i | `timeveil.streaming.window.Window.counts` | §II.C |
| S_i | `timeveil.streaming.window.Window.waiting` | §II.C |
| μ | `timeveil.streaming.costs.Costs.move` | §II.C |
| β_s | `timeveil.streaming.costs.Costs.of_value` | §II.C |
| IL | `timeveil.streaming.window.Window.loss` | eqs. 1, 2 |
| the initial solution | `timeveil.streaming.reposition.least_suppression` | §III |
| the relay of r | `timeveil.streaming.window.Window.relay` | eqs. 3, 4 |
| IG(r), ψ(r) | `timeveil.streaming.window.Relay.gain` | eqs. 5, 6 |
| LP-Reposition | `timeveil.streaming.reposition.fill_level` | §V.A |
| LL-Reposition | `timeveil.streaming.reposition.lift_level` | §V.A |
| OptimalReposition | `timeveil.streaming.reposition.reposition` | Figure 4 |
"""

from timeveil.streaming.published import PublishedSlot
from timeveil.streaming.publisher import StreamPublisher
from timeveil.streaming.whole import publish_stream

__all__ = ["PublishedSlot", "StreamPublisher", "publish_stream"]
