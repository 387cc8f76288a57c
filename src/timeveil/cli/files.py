"""Small files that commands make on the side: written whole, and never over another."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from timeveil.bundle.trouble import said_plainly
from timeveil.bundle.writing import refuse_taken
from timeveil.cli.streams import note_written


def write_new(path: Path, content: str) -> None:
    """Write text to a new file, which appears whole or not at all."""
    refuse_taken(path)
    with said_plainly(path.name):
        hidden = path.parent / f".{path.name}.partial-{secrets.token_hex(4)}"
        try:
            with hidden.open("x", encoding="utf-8", newline="") as file:
                file.write(content)
            os.replace(hidden, path)  # noqa: PTH105
            note_written(path)
        finally:
            hidden.unlink(missing_ok=True)
