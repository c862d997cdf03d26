"""Numbers that compiled loops and numpy code share."""

# SPDX-License-Identifier: BSD-3-Clause

# exp(-800) is zero. Without this bound, an infinite distance would give inf * 0.
FAR = 800.0
# Number of values after which an exponential is computed from the whole distance. If
# neighbours are equally spaced, all factors have the same rounding error, so the error
# of their product would grow with the number of values.
CHUNK = 512
# Size of the first blocks of a compiled merge sort, of which all pairs are computed.
LEAF = 16
# Number of levels, and of rows, that are merged block by block to fit the cache.
CACHED_LEVELS = 9
CACHED = LEAF * 2**CACHED_LEVELS
# What is compiled on tiles: exponentials, and the Stein kernels of two kernels.
DECAY, GAUSSIAN, IMQ = 0, 1, 2
