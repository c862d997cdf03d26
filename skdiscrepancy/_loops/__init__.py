"""The compiled inner loops, and equivalent numpy code without numba.

On many processors, numpy has no vector instructions for exponentials in double
precision, and scipy has none for distances. Only this package changes if you install
the extra `fast`. Compiled loops and numpy code agree to a few units in the last place.
"""

# SPDX-License-Identifier: BSD-3-Clause
