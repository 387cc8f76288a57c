"""Write the tables of the method packages into the page on notation: `make notation`."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

METHODS = tuple(f"timeveil.models.{model}.method" for model in ("events", "stream", "series", "patterns"))
PAGE = Path(__file__).parent / "explanation" / "notation.md"


def filled(page: str) -> str:
    """The page with the table of each package between the two lines that name it."""
    for method in METHODS:
        place = re.compile(rf"(<!-- table: {re.escape(method)} -->\n).*?(\n<!-- end -->)", re.DOTALL)
        table = f"\n{table_of(method)}\n"
        page, count = place.subn(lambda found, table=table: f"{found[1]}{table}{found[2]}", page)
        if count != 1:
            raise LookupError(f"{PAGE.name} has {count} places for the table of {method}")
    return page


def table_of(method: str) -> str:
    """The table in the docstring of a package."""
    lines = (importlib.import_module(method).__doc__ or "").splitlines()
    return "\n".join(line for line in lines if line.startswith("|"))


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")
