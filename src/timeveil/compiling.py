"""How kernels are compiled. Everybody waits for it once, so no more is made than is called for.

What Python calls is a `kernel`: kept on disk, with a wrapper for Python. What only kernels call is a `part`:
without a wrapper, and kept within the kernels that call it. Neither makes arrays; callers bring room to work
in, so that nothing has to be compiled that counts who holds an array.

What else keeps it short: loops instead of slices on the left of `=` and of sorting; one place that calls a
part; numbers that are no literals where a part is called (a literal 0 is a type of its own).
"""

from __future__ import annotations

from numba import njit

LEAN = {"nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy", "_nrt": False}

kernel = njit(**LEAN, cache=True)
part = njit(**LEAN, no_cpython_wrapper=True)
summing_part = njit(**LEAN, no_cpython_wrapper=True, fastmath={"reassoc", "contract"})
"""A part that may add up in any order."""
