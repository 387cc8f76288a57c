"""Release folders and ledger files: written whole or not at all, opened with suspicion."""

from timeveil.bundle.folder import FORMAT_VERSION, damage, open_release
from timeveil.bundle.private import open_ledger
from timeveil.bundle.writing import write

__all__ = ["FORMAT_VERSION", "damage", "open_ledger", "open_release", "write"]
