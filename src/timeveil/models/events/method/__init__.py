"""Model 1: k-anonymity of timestamped tables (Mascetti, Bettini, Wang, Jajodia 2006).

| symbol | here | where | in words |
|---|---|---|---|
| UID | `timeveil.domain.roles.Roles.respondent` | §2 | the person a row is about |
| f_R | `timeveil.engines.Events.tally` | Definition 2 | different people per published value |
| k-anonymous | `timeveil.domain.guarantee.KAnonymity` | Definition 3 | every combination of quasi-identifiers and time is shared by k people |
| gen_m | `timeveil.engines.Tally.smallest_group` | Definition 5 | people in the smallest group |
| gen_s | `timeveil.engines.Tally.group_total` | Definition 6 | people per group, summed over groups |
| gen_c, ≤_c | `timeveil.models.events.method.search.generality` | Definition 7 | smallest group first, then the total, larger first |
| G ⪯ H | `timeveil.calendar.order.is_finer_than` | Appendix A | every granule of G is inside one of H |
| ⌈i⌉_G^H | `timeveil.calendar.order.up` | Appendix A | the granule of H that holds G's granule i |
| 𝒢 with its edges | `timeveil.models.events.method.search.Order` | §4.2 | the granularities and which is directly coarser |
| leastGeneralization | `timeveil.models.events.method.search.least_generalization` | Algorithm 1 | the least general granularity that is safe |
| gen | `timeveil.engines.memory.Visits.groups` | Procedure 2 | people per group in one scan |
"""

from timeveil.models.events.method.generalize import generalize_time
from timeveil.recoding import Hierarchy

__all__ = ["Hierarchy", "generalize_time"]
