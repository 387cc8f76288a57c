"""The command line. Commands are thin: they read options, call the library and print what came out.

Nothing but the option parser is imported here; each command imports what it needs when it runs.
"""

from timeveil.cli.app import app
from timeveil.cli.frame import main

__all__ = ["app", "main"]
