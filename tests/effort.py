"""How many random cases a test tries: a fifth of them in `make test`, all of them in `make thorough`."""

from __future__ import annotations

import os

THOROUGH = bool(os.environ.get("THOROUGH"))


def some(cases: int) -> int:
    """So many cases if thorough, else a fifth."""
    return cases if THOROUGH else max(cases // 5, 20)
