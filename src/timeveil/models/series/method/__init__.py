"""Model 3: series with k to an envelope and P to a pattern (Shou, Shang, Chen, Chen, Zhang 2013).

| symbol | here | where | in words |
|---|---|---|---|
| QI, A_1 ... A_n | `timeveil.reading.collection.Collection.matrix` | §3 | the values of a series, one per instant |
| A_S | `timeveil.domain.roles.Roles.sensitive` | §3 | what nobody may learn |
| (k,P)-anonymity | `timeveil.domain.guarantee.KPAnonymity` | Definition 5 | k share an envelope, P of them a pattern |
| k-group | `timeveil.models.series.method.partition.Partition.group` | §3 | the series of one envelope |
| P-subgroup | `timeveil.models.series.method.partition.Partition.subgroup` | §4.1 | those of them with one pattern |
| AE, R_i | `timeveil.symbols.envelopes` | §3 | the lowest and highest value at each instant |
| PR[r] | `timeveil.symbols.symbols_at` | §5.1 | one symbol per instant |
| level | `timeveil.models.series.method.partition.Partition.levels` | §5.1 | how many symbols there are |
| β_b | `timeveil.symbols.borders` | §6.2 | the borders between symbols |
| VL | `timeveil.models.series.method.partition.envelope_widths` | eq. 2 | how wide an envelope is |
| PL | `timeveil.symbols.pattern_distance` | eq. 3 | how far a pattern is from the shape |
| create-tree | `timeveil.models.series.method.paper.splitting_tree` | Algorithm 1 | split by pattern, level by level |
| bad-leaf, good-leaf | `timeveil.models.series.method.paper.Leaves.undersized` | §5.2 | fewer than P series, or enough |
| recycle bad-leaves | `timeveil.models.series.method.paper.recycle` | §5.3 | find them a pattern at a lower level |
| group formation | `timeveil.models.series.method.paper.form_groups` | §5.3 | join subgroups to groups of k |
| EC(v_i), x_i | `timeveil.models.series.method.diversity.diversified` | §5.4 | rows of one sensitive value, how many to change |
| QI_ae, QI_pr | `timeveil.models.series.method.publishing.published_instants` | Definition 6 | the instants whose values and whose pattern are published |
"""

from timeveil.models.series.method.publishing import anonymize_series

__all__ = ["anonymize_series"]
