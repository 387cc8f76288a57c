"""Model 3: series with k to an envelope and P to a pattern (Shou, Shang, Chen, Chen, Zhang 2013).

| symbol | here | where |
|---|---|---|
| QI, A_1 ... A_n | `timeveil.intake.collection.Collection.matrix` | §3 |
| A_S | `timeveil.model.roles.Roles.sensitive` | §3 |
| (k,P)-anonymity | `timeveil.model.guarantee.KPAnonymity` | Definition 5 |
| k-group | `timeveil.series.partition.Partition.group` | §3 |
| P-subgroup | `timeveil.series.partition.Partition.subgroup` | §4.1 |
| AE, R_i | `timeveil.symbols.envelope.envelopes` | §3 |
| PR[r] | `timeveil.symbols.sax.symbols_at` | §5.1 |
| level | `timeveil.series.partition.Partition.levels` | §5.1 |
| β_b | `timeveil.symbols.sax.breakpoints` | §6.2 |
| PL | `timeveil.symbols.shape.pattern_distance` | eq. 3 |
| create-tree | `timeveil.series.splitting.splitting_tree` | Algorithm 1 |
| bad-leaf, good-leaf | `timeveil.series.splitting.Leaves.undersized` | §5.2 |
| recycle bad-leaves | `timeveil.series.recycling.recycle` | §5.3 |
| group formation | `timeveil.series.formation.form_groups` | §5.3 |
| EC(v_i), x_i | `timeveil.series.diversity.diversified` | §5.4 |
| QI_ae, QI_pr | `timeveil.series.settings.parts` | Definition 6 |
"""

from timeveil.series.publishing import anonymize_series

__all__ = ["anonymize_series"]
