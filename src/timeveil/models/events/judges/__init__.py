"""Independent judges of timestamped rows: verify, measure, attack, query and profile."""
