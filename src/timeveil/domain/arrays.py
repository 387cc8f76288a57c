"""The types of numpy's arrays that are passed around: one name each, by what an array holds."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Codes = NDArray[np.int32]
Words = NDArray[np.uint64]
