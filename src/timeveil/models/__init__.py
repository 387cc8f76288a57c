"""The four models, each in a folder of its own: parameters, evidence, method, judges, words."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

FOLDERS = {"time": "events", "stream": "stream", "series": "series", "patterns": "patterns"}
"""Name of a model in a release's manifest, and its folder."""


def part(model: str, name: str) -> ModuleType:
    """A module of a model, imported when first needed: `part("time", "judges.verify")`."""
    return import_module(f"timeveil.models.{FOLDERS[model]}.{name}")


def words(model: str) -> str:
    """The folder of a model's templates, inside the package."""
    return f"models/{FOLDERS[model]}/words"
