"""One parameter at several settings, each tried in memory and judged: what it costs and what it gives."""
