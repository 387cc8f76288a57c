"""Results that a notebook shows as HTML."""

from __future__ import annotations

from importlib import import_module


class Shown:
    """What has a representation in notebooks; how it looks is decided where tables and pictures are made."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        # By name, when a notebook asks: what is shown is made by layers above this one.
        html: str = import_module("timeveil.report.notebook").html(self)
        return html
