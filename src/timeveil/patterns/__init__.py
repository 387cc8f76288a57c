"""Model 4: pattern release without inference channels (Revathi, Jeyalakshmi; channels after Atzori et al.).

| symbol | here | where |
|---|---|---|
| D | `timeveil.patterns.transactions.Transactions` | §6.6 |
| F(D, σ) | `timeveil.patterns.family.Family` | Atzori et al. |
| Cl(D, σ) | `timeveil.patterns.family.Family.closed` | §6.6 |
| sup_D(I) | `timeveil.patterns.family.Family.support` | Algorithm 4 |
| σ | `timeveil.patterns.settings.least_support` | §6.6 |
| k | `timeveil.model.guarantee.NoInferenceChannel` | §6.6 |
| C_I^J | `timeveil.patterns.channels.Channels` | Algorithm 4 |
| f_I^J | `timeveil.patterns.channels.Channels.size` | Algorithm 4 |
| μCh(k, Cl(D, σ)) | `timeveil.patterns.channels.maximal_channels` | §6.6 |
| ⋈ | `timeveil.patterns.sanitizing.mergers` | Algorithm 4 |
| O^k | `timeveil.patterns.sanitizing.raised` | Algorithm 4 |
"""

from timeveil.patterns.mining import mine
from timeveil.patterns.publishing import sanitize_patterns

__all__ = ["mine", "sanitize_patterns"]
