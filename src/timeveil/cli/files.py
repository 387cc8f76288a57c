"""Small files that commands make on the side: written whole, and never over another."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from timeveil.cli.output import Output
from timeveil.cli.stopping import raise_if_interrupted
from timeveil.cli.streams import note_written
from timeveil.domain.stored import hold_beside
from timeveil.folder import open_ledger
from timeveil.folder.new_files import refuse_taken, translate_os_errors

if TYPE_CHECKING:
    from timeveil.domain.release import Ledger


def write_new(path: Path, content: str, *, private: bool = False) -> None:
    """Write text to a new file, which appears whole or not at all; a private one only its owner may read."""
    raise_if_interrupted()
    refuse_taken(path)
    with translate_os_errors(path.name):
        _write(path, content, 0o600 if private else 0o666)


def _write(path: Path, content: str, mode: int) -> None:
    hidden, handle = hold_beside(path, mode)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(content)
            file.flush()
            os.replace(hidden, path)  # noqa: PTH105
        note_written(path)
    finally:
        hidden.unlink(missing_ok=True)


def private_ledger(path: str, output: Output) -> Ledger:
    """Open a ledger, and warn if others could, too."""
    ledger = open_ledger(path)
    if os.name == "posix" and stat.S_IMODE(Path(path).stat().st_mode) & 0o077:
        output.say(f"warning: others can read or change the ledger `{path}`; shut them out: chmod 600 {path}")
    return ledger
