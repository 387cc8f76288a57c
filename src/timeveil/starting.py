"""An interrupt while the command line is still loading ends it at once, without a traceback.

Imported first of all by `timeveil`. As a library it changes nothing; as a command the interrupt is left to
the system until `timeveil.cli.main` takes over.
"""

from __future__ import annotations

import signal
import sys
from itertools import pairwise


def is_command() -> bool:
    """Whether this process is the script `timeveil`, or `python -m timeveil`."""
    script = sys.argv[0].replace("\\", "/").rpartition("/")[2] if sys.argv else ""
    module = sys.argv[:1] == ["-m"] and ("-m", "timeveil") in pairwise(sys.orig_argv)
    return script in ("timeveil", "timeveil.exe") or module


if is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
