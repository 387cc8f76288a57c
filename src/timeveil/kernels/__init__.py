"""Hot loops: arrays in, arrays out. Compiled by numba on first use and cached; import them lazily."""
