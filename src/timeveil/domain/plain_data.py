"""Results as plain data, for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def as_dict(self: Any) -> dict[str, Any]:
    """The result as plain data: dicts, lists, text and numbers.

    Keys are the names of the fields, or those that `KEYS` of the class lists: fields and properties, each
    as "name" or as "name as key".

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Count:
    ...     people: int
    ...     pairs: tuple[float, float]
    >>> as_dict(Count(3, (0.5, 1.0)))
    {'people': 3, 'pairs': [0.5, 1.0]}
    """
    keys = getattr(type(self), "KEYS", None) or [field.name for field in fields(self)]
    pairs = ((name, key or name) for name, _, key in (entry.partition(" as ") for entry in keys))
    return {key: _plain(getattr(self, name)) for name, key in pairs}


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        # A class may name its keys itself.
        return value.as_dict() if hasattr(value, "as_dict") else as_dict(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
