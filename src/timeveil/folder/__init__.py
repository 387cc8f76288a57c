"""Release folders and ledger files: written completely or not at all, opened with suspicion."""

from timeveil.folder.ledger_file import open_ledger
from timeveil.folder.manifest import FORMAT_VERSION
from timeveil.folder.opening import damage, open_release
from timeveil.folder.verifying import verify
from timeveil.folder.writing import rewrite, write

__all__ = ["FORMAT_VERSION", "damage", "open_ledger", "open_release", "rewrite", "verify", "write"]
