"""Numbers that the compiled loops and their numpy twins share."""

# SPDX-License-Identifier: BSD-3-Clause

# exp(-800) is zero; without the bound an infinite distance would give inf * 0.
FAR = 800.0
# Values between two exponentials that are taken over the whole distance: the factors
# between are rounded, where neighbours are all at one distance all in the same way.
CHUNK = 512
# Blocks of a compiled merge sort that begin as all pairs.
LEAF = 16
# Rows that are merged one block after the other: they fit the cache.
CACHED_LEVELS = 9
CACHED = LEAF * 2**CACHED_LEVELS
# Kernels whose Stein kernel is compiled.
GAUSSIAN, IMQ = 0, 1
