"""Model 4: pattern release without inference channels (Revathi, Jeyalakshmi; channels after Atzori et al.).

| symbol | here | where |
|---|---|---|
| D | `timeveil.patterns.transactions.Transactions` | §3 |
| F(D, σ) | `timeveil.patterns.family.Family` | §3 |
| Cl(D, σ) | `timeveil.patterns.family.Family.closed` | §3 |
| sup_D(X) | `timeveil.patterns.family.Family.support` | §3 |
| σ | `timeveil.patterns.settings.least_support` | §3 |
| k | `timeveil.model.guarantee.NoInferenceChannel.k` | §3 |
| C_I^J | `timeveil.patterns.channels.Channels` | §4 |
| f_I^J | `timeveil.patterns.channels.Channels.size` | §4 |
| MCh(k, Cl(D, σ)) | `timeveil.patterns.channels.maximal_channels` | §4 |
| channel merging | `timeveil.patterns.sanitizing.mergers` | Algorithm 4 |
| O^k | `timeveil.patterns.sanitizing.raised` | Algorithm 4 |
"""

from timeveil.patterns.mining import mine
from timeveil.patterns.publishing import sanitize_patterns

__all__ = ["mine", "sanitize_patterns"]
