"""How shapes are written down: one symbol per instant, and envelopes of values."""
