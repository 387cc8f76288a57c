"""Write the option tables of docs/reference/cli.md: `python docs/options.py`.

The tables of commands that publish, profile, explore and attack are made from the tables of parameters; a
test keeps the page as this writes it. A table is between `<!-- options NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from timeveil.cli import options
from timeveil.cli.releases import AttackOptions, adversary_options
from timeveil.domain.parameter import Parameter
from timeveil.domain.run import DRY_RUN, Columns, Files
from timeveil.errors import spell
from timeveil.jobs.request import explorable, service_table
from timeveil.models import tables

PAGE = Path(__file__).parent / "reference" / "cli.md"
_TABLE = re.compile(r"(<!-- options ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def with_tables(page: str) -> str:
    """The page with every marked table as it follows from the code."""
    return _TABLE.sub(lambda match: f"{match[1]}{table_of(match[2])}{match[3]}", page)


def table_of(command: str) -> str:
    """The options of a command as a Markdown table."""
    lines = []
    for declared in _declared(command):
        lines.append(_row(declared))
        if declared.name == "drop":
            lines.append("| `--drop-rest` | Leave out every column without a role |")
    return "\n".join(["| option | meaning |", "|---|---|", *lines]) + "\n"


def _declared(command: str) -> list[Parameter]:
    columns, files = Columns.table(), Files.table()
    if command == "attack":
        return [*AttackOptions.table().values(), *adversary_options().values()]
    if command == "explore":
        return [*explorable().values(), *(columns[name] for name in columns if name != "cyclic")]
    table = tables()[command]
    return [
        files["out"],
        *(columns[name] for name in (*table.needs, *table.roles)),
        *table.table().values(),
        *service_table(table).values(),
        *(declared for name, declared in files.items() if name != "out"),
        DRY_RUN,
    ]


def _row(declared: Parameter) -> str:
    names = ", ".join(f"`{name}`" for name in options.names_of(declared))
    meaning = spell(declared.off or declared.meaning, "command").rstrip(".")
    notes = [meaning]
    if declared.kind in ("whole", "number") and str(declared.range):
        notes.append(declared.takes)
    if declared.choices:
        notes.append(f"one of {', '.join(f'`{choice}`' for choice in declared.choices)}")
    if declared.kind in ("names", "list", "mapping"):
        notes.append("repeatable")
    if not declared.required and declared.kind != "flag" and declared.default not in (None, ()):
        notes.append(f"default `{declared.default}`")
    if declared.kind == "flag":
        return f"| {names} | {'; '.join(notes)} |"
    if declared.positional:
        return f"| `{declared.metavar}` | {'; '.join(notes)} |"
    example = shlex.join(options.option_words(declared, declared.example))
    return f"| {names} | {'; '.join(notes)}: `{example}` |"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text("utf-8")), "utf-8")
