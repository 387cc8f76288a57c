"""Model 4: pattern release without inference channels (Revathi, Jeyalakshmi; channels after Atzori et al.).

| symbol | here | where | in words |
|---|---|---|---|
| D | `timeveil.patterns.transactions.Transactions` | §6.6 | rows of items, one per person |
| F(D, σ) | `timeveil.patterns.family.Family` | Atzori et al. | all frequent itemsets, the empty one too |
| Cl(D, σ) | `timeveil.patterns.family.Family.closed` | §6.6 | those that no longer one has the support of |
| sup_D(I) | `timeveil.patterns.family.Family.support` | Algorithm 4 | how many rows have all of it |
| σ | `timeveil.patterns.settings.least_support` | §6.6 | the smallest support of a published pattern |
| k | `timeveil.model.guarantee.NoInferenceChannel` | §6.6 | the smallest group that counts may give away |
| C_I^J | `timeveil.patterns.channels.Channels` | Algorithm 4 | what a few have, and what they lack |
| f_I^J | `timeveil.patterns.channels.Channels.size` | Algorithm 4 | how many they are |
| μCh(k, Cl(D, σ)) | `timeveil.patterns.channels.maximal_channels` | §6.6 | channels that no other says more than |
| ⋈ | `timeveil.patterns.sanitizing.mergers` | Algorithm 4 | two channels that agree become one |
| O^k | `timeveil.patterns.sanitizing.raised` | Algorithm 4 | the counts with the virtual rows in them |
"""  # noqa: E501

from timeveil.patterns.mining import mine
from timeveil.patterns.publishing import sanitize_patterns

__all__ = ["mine", "sanitize_patterns"]
