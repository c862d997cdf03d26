"""Check that numba works, and prepare arrays for compiled loops."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TypeAlias

import numpy as np
from numpy.typing import DTypeLike

# Weights of rows. None means ones.
Weights: TypeAlias = np.ndarray | None

# exp(-800) is zero. Without this bound, an infinite distance would give inf * 0.
FAR = 800.0
# What is compiled on tiles: exponentials, and the Stein kernels of two kernels.
DECAY, GAUSSIAN, IMQ = 0, 1, 2


def compiled(subject: str) -> ModuleType | None:
    """Return the module of compiled loops on a subject, or None without numba.

    The module is imported when it is first used, because numba takes longer to import
    than this package. A loop is compiled when it is first called.
    """
    if not numba_works():
        return None
    return import_module(f"skdiscrepancy._loops.compiled_{subject}")


@cache
def numba_works() -> bool:
    """Return whether numba is installed and can compile. Warn if it is broken."""
    try:
        loops = import_module("skdiscrepancy._loops.compiled_tiles")
        # The shortest loop shows whether numba can compile at all.
        loops.decay(np.ones(1), -1.0, np.empty(1))
    except (ImportError, OSError, SystemError, AttributeError, RuntimeError) as error:
        # OSError: a shared library is missing. RuntimeError: numba found no directory
        # for its cache.
        missing = isinstance(error, ModuleNotFoundError) and error.name == "numba"
        if not missing:
            warnings.warn(
                "numba is installed but does not work, so slower numpy code runs "
                f"instead: {type(error).__name__}: {error}",
                UserWarning,
                stacklevel=2,
            )
        return False
    return True


def ready(array: np.ndarray, dtype: DTypeLike | None = None) -> np.ndarray:
    """Return a contiguous, aligned and writable array for the compiled loops.

    A read-only array has another type in numba, so numba would compile the loop again.
    A copy takes less time.
    """
    if array.flags.carray and dtype in (None, array.dtype):
        return array
    return np.array(array, dtype=dtype, order="C")
