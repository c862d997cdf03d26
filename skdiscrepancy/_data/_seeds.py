"""Checks of random states, and seeds for independent streams."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from skdiscrepancy._data._checks import shown

# Allowed types of the parameter `random_state`.
RandomStateLike: TypeAlias = int | np.random.RandomState | np.random.Generator | None
LARGEST_SEED = 2**32 - 1
GENERATORS = (np.random.RandomState, np.random.Generator)


def check_seed(random_state: Any) -> None:
    """Raise an error for an invalid `random_state`, without drawing from it."""
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
    """Return the RandomState for a parameter `random_state`.

    None gives a new RandomState, never the global one. A Generator draws the seed of a
    new RandomState, so that two calls give different numbers.

    Parameters
    ----------
    random_state : int, RandomState instance, Generator or None
        Value of the parameter.

    Returns
    -------
    generator : RandomState
        The RandomState that was passed, or a new one.
    """
    check_seed(random_state)
    if isinstance(random_state, np.random.RandomState):
        return random_state
    if isinstance(random_state, np.random.Generator):
        seed = int(random_state.integers(LARGEST_SEED, endpoint=True))
        return np.random.RandomState(seed)
    return np.random.RandomState(random_state)


def draw_seeds(generator: np.random.RandomState, n: int) -> list[int]:
    """Draw seeds for n streams that are independent of later draws."""
    return generator.randint(np.iinfo(np.int32).max, size=n).tolist()
