"""`timeveil demo`."""

from __future__ import annotations

from typing import Annotated

import typer


def demo(
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="New folder to leave the files in: --out demo")
    ] = None,
) -> int:
    """Make up a clinic, look at its risk, publish a year of visits, check and attack the release.

    Example: timeveil demo
    """
    return 0
