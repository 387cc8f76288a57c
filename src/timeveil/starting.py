"""What a command settles before anything else is loaded: interrupts, pages of memory, threads, and pandas.

Imported first of all by `timeveil`. As a library it changes nothing. As a command, an interrupt is left to
the system until `timeveil.cli.main` takes over: it ends the process at once, without a traceback. NumPy and
Arrow use ordinary pages: large arrays come and go, and a virtual machine may take longer to provide huge
pages for them than the work in them takes. Matrices are multiplied in one thread: they are small, and threads
that wait for each other take many times as long as the product. And pandas is out of reach: where it is
installed, Arrow would load it, for longer than many commands take, to see whether a list is one of its
columns.
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import pairwise


def is_command() -> bool:
    """Whether this process is the script `timeveil`, or `python -m timeveil`."""
    script = sys.argv[0].replace("\\", "/").rpartition("/")[2] if sys.argv else ""
    module = sys.argv[:1] == ["-m"] and ("-m", "timeveil") in pairwise(sys.orig_argv)
    return script in ("timeveil", "timeveil.exe") or module


class _WithoutPandas:
    """A finder of modules that says that pandas is not installed."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("commands do without pandas", name=fullname)


if is_command():
    sys.meta_path.insert(0, _WithoutPandas())
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    for setting, number in (
        ("NUMPY_MADVISE_HUGEPAGE", "0"),
        ("MIMALLOC_ALLOW_THP", "0"),
        ("OPENBLAS_NUM_THREADS", "1"),
    ):
        os.environ.setdefault(setting, number)
