"""What a command settles before anything else is loaded: interrupts, pages of memory, threads, and pandas.

Imported first of all by `timeveil`. As a library it changes nothing. As a command, an interrupt ends the
process at once, without a traceback, until `timeveil.cli.main` takes over. NumPy and Arrow use small pages:
a virtual machine may take longer to provide huge ones than the work in them takes. Freed memory is used
again, where the C library can: pages that the system provides anew cost much, too. Small matrices are
multiplied in one thread. And Arrow would load pandas, for longer than many commands take, to see whether a
list is one of its columns.
"""

import ctypes
import os
import signal
import sys
from contextlib import suppress
from itertools import pairwise

_MALLOC = {-8: 1, -3: 1 << 30, -1: 1 << 29}
"""Of glibc: one arena, no mapping of its own for an array below 1 GB, and 512 MB that are free stay."""


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
        ("ARROW_DEFAULT_MEMORY_POOL", "system"),
        ("OPENBLAS_NUM_THREADS", "1"),
    ):
        os.environ.setdefault(setting, number)
    with suppress(AttributeError, OSError, TypeError):
        for option, value in _MALLOC.items():
            ctypes.CDLL(None).mallopt(option, value)
