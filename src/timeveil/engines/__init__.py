"""Where counting runs. An engine speaks a handful of domain operators, not a dataframe language."""

from timeveil.engines.protocol import Events, Extent, Levels, Published, Tally
from timeveil.engines.registry import ENGINES, open_events

__all__ = ["ENGINES", "Events", "Extent", "Levels", "Published", "Tally", "open_events"]
