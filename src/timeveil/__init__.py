"""Publish temporal data about people without giving them away."""
