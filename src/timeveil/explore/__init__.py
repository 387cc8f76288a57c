"""One parameter at several settings, each tried in memory and judged: what it costs and what it gives."""

from timeveil.explore.exploration import Exploration, Setting
from timeveil.explore.sweep import explore

__all__ = ["Exploration", "Setting", "explore"]
