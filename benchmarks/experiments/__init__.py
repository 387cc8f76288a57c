"""Experiments on the methods: what they cost and what they still tell, on generated and on public data."""
