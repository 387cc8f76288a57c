"""Verify, measure, attack and answer: each looks up the judge of the release's model."""
