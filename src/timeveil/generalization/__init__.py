"""Model 1: k-anonymity of timestamped tables (Mascetti, Bettini, Wang, Jajodia 2006).

| symbol | here | where |
|---|---|---|
| UID | `timeveil.model.roles.Roles.respondent` | §2 |
| f_R | `timeveil.engines.protocol.Events.tally` | Definition 2 |
| k-anonymous | `timeveil.model.guarantee.KAnonymity` | Definition 3 |
| gen_m | `timeveil.engines.protocol.Tally.smallest_group` | Definition 5 |
| gen_s | `timeveil.engines.protocol.Tally.group_total` | Definition 6 |
| gen_c, ≤_c | `timeveil.generalization.search.generality` | Definition 7 |
| G ⪯ H | `timeveil.calendar.order.is_finer_than` | Appendix A |
| ⌈i⌉_G^H | `timeveil.calendar.order.up` | Appendix A |
| 𝒢 with its edges | `timeveil.generalization.search.Order` | §4.2 |
| leastGeneralization | `timeveil.generalization.search.least_generalization` | Algorithm 1 |
| gen | `timeveil.kernels.occurrences.group_sizes` | Procedure 2 |
"""

from timeveil.generalization.hierarchy import Hierarchy
from timeveil.generalization.time import generalize_time

__all__ = ["Hierarchy", "generalize_time"]
