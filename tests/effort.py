"""How many random cases a test tries: a quarter of them in `make test`, all of them in `make thorough`."""

from __future__ import annotations

import os

THOROUGH = bool(os.environ.get("THOROUGH"))
_FEWEST = 12


def some(cases: int) -> int:
    """All cases if thorough, else a quarter, but at least a few."""
    return cases if THOROUGH else min(cases, max(cases // 4, _FEWEST))
