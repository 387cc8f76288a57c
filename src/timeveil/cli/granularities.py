"""`timeveil granularities`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from timeveil.cli import options as given

if TYPE_CHECKING:
    from timeveil.calendar.granularity import Granularity
    from timeveil.calendar.order import Order


def granularities(
    graph: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw which is finer than which, as SVG: --graph order.svg"),
    ] = None,
    calendar: given.Calendar = None,
    as_json: given.Json = False,
    quiet: given.Quiet = False,
) -> int:
    """List the granularities of time, and which is directly coarser than which.

    Example: timeveil granularities --graph order.svg
    """
    from timeveil.calendar.catalogue import CATALOGUE
    from timeveil.calendar.definitions import from_toml
    from timeveil.calendar.order import Order, order_svg
    from timeveil.cli.files import write_new
    from timeveil.cli.output import Output
    from timeveil.jobs.toml import calendar_file

    defined = [] if calendar is None else from_toml(calendar_file(Path(calendar)))
    every = list({**CATALOGUE, **{g.name: g for g in defined}}.values())
    if graph is not None:
        write_new(Path(graph), order_svg([g for g in every if g.clock in ("civil", "any")]))
    order = Order(every)
    data = [
        g.as_dict()
        | {"has_gaps": g.has_gaps, "directly_coarser": [h.name for h in order.directly_coarser(g)]}
        for g in every
    ]
    Output(as_json=as_json, quiet=quiet).result("\n".join(listed(every, order)), {"granularities": data})
    return 0


def listed(every: list[Granularity], order: Order) -> list[str]:
    """One line each."""
    from timeveil.page.wording import aligned

    rows = [("name", "what it is", "gaps", "directly coarser")]
    rows += [
        (g.name, g.title, "yes" if g.has_gaps else "", ", ".join(h.name for h in order.directly_coarser(g)))
        for g in every
    ]
    return aligned(rows, left=4)
