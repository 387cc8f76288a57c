"""Time as granularities: the catalogue, the user's own, their order, and tables laid out along them.

| symbol in the paper | here | where |
|---|---|---|
| G(z) | `Granularity`, `start`, `end` | Definition 9 |
| ⌈z⌉ from G to H | `order.up(z, g, h)` | §3 |
| G ⪯ H | `order.is_finer_than(g, h)` | §3 |
"""
