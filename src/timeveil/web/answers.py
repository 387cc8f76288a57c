"""What a page answers: a template with data, another address, or an error in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import RedirectResponse, Response

from timeveil.errors import TimeveilError, spell


@dataclass(frozen=True)
class Page:
    """A template and the data it shows; the same data is the page's JSON."""

    template: str
    data: Mapping[str, Any]
    status: int = 200


def to(path: str) -> Response:
    """Go on there."""
    return RedirectResponse(path, 303)


def told(error: TimeveilError) -> dict[str, Any]:
    """An error as pages show it, parameters as a form names them."""
    return {"message": error.message, "hint": spell(error.template, "job"), "code": error.code}
