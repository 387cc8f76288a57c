"""Release folders and ledger files: written whole or not at all, opened with suspicion."""

from timeveil.folder.folder import FORMAT_VERSION, damage, open_release
from timeveil.folder.private import open_ledger
from timeveil.folder.writing import write

__all__ = ["FORMAT_VERSION", "damage", "open_ledger", "open_release", "write"]
