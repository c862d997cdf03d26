"""Random states: what a parameter may be, and seeds of independent streams."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from skdiscrepancy._data._checks import shown

# What a parameter `random_state` may be.
RandomStateLike: TypeAlias = int | np.random.RandomState | np.random.Generator | None
LARGEST_SEED = 2**32 - 1
GENERATORS = (np.random.RandomState, np.random.Generator)


def check_seed(random_state: Any) -> None:
    """Refuse what cannot seed a draw; nothing is drawn."""
    if random_state is None or isinstance(random_state, GENERATORS):
        return
    message = (
        f"random_state == {shown(random_state)}, must be None, an integer from 0 to "
        "2**32 - 1, a numpy RandomState or a numpy Generator."
    )
    if not isinstance(random_state, Integral) or isinstance(random_state, bool):
        raise TypeError(message)
    if not 0 <= int(random_state) <= LARGEST_SEED:
        raise ValueError(message)


def generator_of(random_state: RandomStateLike) -> np.random.RandomState:
    """Return the RandomState of a parameter.

    None is a fresh one, not the global one. A Generator draws the seed of the
    RandomState, so that it goes on from call to call.

    Parameters
    ----------
    random_state : int, RandomState instance, Generator or None
        Value of the parameter.

    Returns
    -------
    generator : RandomState
        The one that was given, or a new one.
    """
    check_seed(random_state)
    if isinstance(random_state, np.random.RandomState):
        return random_state
    if isinstance(random_state, np.random.Generator):
        seed = int(random_state.integers(LARGEST_SEED, endpoint=True))
        return np.random.RandomState(seed)
    return np.random.RandomState(random_state)


def draw_seeds(generator: np.random.RandomState, n: int) -> list[int]:
    """Draw the seeds of n streams, independent of what the generator draws next."""
    return generator.randint(np.iinfo(np.int32).max, size=n).tolist()
