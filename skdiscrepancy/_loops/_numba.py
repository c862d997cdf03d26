"""Whether numba is there, and the modules that it compiles."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType


def compiled(subject: str) -> ModuleType | None:
    """Return the module of compiled loops on a subject, None without numba.

    Imported when first used: numba takes longer to import than this package.

    Parameters
    ----------
    subject : {"tiles", "scans"}
        Loops over tiles of pairs, or over sorted columns.

    Returns
    -------
    module : module or None
        The compiled loops.
    """
    if not numba_works():
        return None
    return import_module(f"skdiscrepancy._loops._compiled_{subject}")


@cache
def numba_works() -> bool:
    """Tell whether numba is installed and can compile."""
    try:
        import_module("skdiscrepancy._loops._compiled_tiles")
    except (ImportError, RuntimeError):
        # RuntimeError: numba found no place to keep what it compiles.
        return False
    return True
