"""Independent judges of events: verify, measure, attack, query and profile."""
