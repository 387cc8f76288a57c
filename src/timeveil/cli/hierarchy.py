"""`timeveil hierarchy`."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from timeveil.cli import options as given
from timeveil.errors import ParameterError, RolesError

if TYPE_CHECKING:
    from timeveil.models.events.method import Hierarchy


def hierarchy(
    table: given.Table,
    column: Annotated[str, typer.Option(metavar="C", help="Column to make coarser: --column age")],
    out: Annotated[str, typer.Option(metavar="FILE", help="New hierarchy file: --out age.csv")],
    intervals: Annotated[
        str | None,
        typer.Option(metavar="N,N", help="For numbers: widths from fine to coarse: --intervals 5,10,20"),
    ] = None,
    prefixes: Annotated[
        str | None, typer.Option(metavar="N,N", help="For codes: how many characters stay: --prefixes 3,2")
    ] = None,
    as_json: given.Json = False,
    quiet: given.Quiet = False,
) -> int:
    """Write a hierarchy file for a column: one row per value, one column per level, for you to edit.

    Use it with `generalize-time --hierarchy age=age.csv`. It lists the values of the column, so only you can
    read it; treat it as you treat the table.

    Example: timeveil hierarchy visits.csv --column age --intervals 5,10,20 --out age.csv
    """
    from timeveil.cli.files import write_new
    from timeveil.cli.output import Output
    from timeveil.folder.new_files import refuse_taken
    from timeveil.recoding import hierarchy_from

    if (intervals is None) == (prefixes is None):
        raise ParameterError(
            "give either --intervals or --prefixes",
            hint="--intervals 5,10,20 for numbers, --prefixes 3,2 for codes",
        )
    refuse_taken(Path(out))
    rule = hierarchy_from(f"intervals:{intervals}" if prefixes is None else f"prefixes:{prefixes}")
    values = _values(table, column)
    write_new(Path(out), _as_csv(rule, values, numbers=prefixes is None), private=True)
    names = ["the value itself", *("one value for all" if name == "*" else name for name in rule.names)]
    text = f"{out}: {len(values):,} values of `{column}`, {len(names)} levels: {', '.join(names)}"
    data = {"file": out, "column": column, "values": len(values), "levels": list(rule.names)}
    Output(as_json=as_json, quiet=quiet).result(text, data)
    return 0


def _values(table: str, column: str) -> Any:
    """The distinct values of a column, nulls aside."""
    import pyarrow as pa

    from timeveil.domain.wording import listed
    from timeveil.reading.sources import open_source

    source = open_source(table)
    if column not in source.names:
        raise RolesError(
            f"the table has no column `{column}`",
            hint=f"the table has {listed(source.names)}",
            code="column-missing",
        )
    values = pa.concat_tables(source.batches([column])).column(0)
    return values.unique().drop_null()


def _as_csv(rule: Hierarchy, values: Any, *, numbers: bool) -> str:
    import pyarrow as pa
    import pyarrow.compute as pc

    levels = [rule.level(number, values)["published"].to_pylist() for number in range(1, rule.top + 1)]
    keys = values.cast(pa.float64()) if numbers else values.cast(pa.string())
    order: Sequence[int] = pc.array_sort_indices(keys).to_pylist()
    texts = values.cast(pa.string()).to_pylist()
    target = io.StringIO()
    writer = csv.writer(target, delimiter=";", lineterminator="\n")
    writer.writerows((texts[row], *(level[row] for level in levels)) for row in order)
    return target.getvalue()
