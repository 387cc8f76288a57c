"""Parts of kernels have no wrapper for Python; here they run as Python."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any


def in_python(part: Any) -> Callable[..., Any]:
    """The same function, and the parts it calls, not compiled."""
    plain = part.py_func
    called = {
        name: in_python(found)
        for name in plain.__code__.co_names
        if hasattr(found := plain.__globals__.get(name), "py_func")
    }
    return FunctionType(plain.__code__, {**plain.__globals__, **called})
