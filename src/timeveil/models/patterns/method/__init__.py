"""Model 4: pattern release without inference channels (Revathi, Jeyalakshmi; channels after Atzori et al.).

| symbol | here | where | in words |
|---|---|---|---|
| D | `timeveil.models.patterns.method.transactions.Transactions` | §6.6 | rows of items, one per person |
| F(D, σ) | `timeveil.models.patterns.method.family.Family` | Atzori et al. | all frequent itemsets, the empty one too |
| Cl(D, σ) | `timeveil.models.patterns.method.family.Family.closed` | §6.6 | patterns that no longer one has the support of |
| sup_D(I) | `timeveil.models.patterns.method.family.Family.support` | Algorithm 4 | number of rows with all of its items |
| σ | `timeveil.models.patterns.method.publishing.least_support` | §6.6 | the smallest support of a published pattern |
| k | `timeveil.domain.guarantee.NoInferenceChannel` | §6.6 | the smallest group that counts may reveal |
| C_I^J | `timeveil.models.patterns.method.channels.Channels` | Algorithm 4 | what a few rows have, and what they lack |
| f_I^J | `timeveil.models.patterns.method.channels.Groups.size` | Algorithm 4 | their number |
| μCh(k, Cl(D, σ)) | `timeveil.models.patterns.method.channels.maximal_channels` | §6.6 | channels that no other one dominates |
| ⋈ | `timeveil.models.patterns.method.sanitizing.mergers` | Algorithm 4 | channels that agree become one |
| O^k | `timeveil.models.patterns.method.sanitizing.raised` | Algorithm 4 | the counts with the virtual rows |
"""

from timeveil.models.patterns.method.publishing import mine, sanitize_patterns

__all__ = ["mine", "sanitize_patterns"]
