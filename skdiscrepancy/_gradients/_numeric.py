"""Gradients of log-densities by finite differences and automatic differentiation."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skdiscrepancy._gradients._scores import ModelScore

# Numbers of the shifted rows that a log-density computes at once.
BLOCK_NUMBERS = 2**22
# Step of the difference quotient, as a fraction of the standard deviation of a column.
STEP = 1e-3
# Shifts and weights of the four-point difference quotient.
SHIFTS = np.array([-2.0, -1.0, 1.0, 2.0])
WEIGHTS = np.array([1.0, -8.0, 8.0, -1.0]) / 12


def deviations_of(X: np.ndarray) -> np.ndarray:
    """Return the standard deviations of columns, even if their squares overflow."""
    with np.errstate(all="ignore"):
        deviations = X.std(axis=0)
        if np.all((deviations > 1e-150) & (deviations < 1e150)):
            return deviations
        # Divided by the largest number, squares neither overflow nor underflow.
        largest = np.abs(X).max(axis=0)
        unit = np.where(largest > 0, largest, 1)
        return np.where(largest > 0, (X / unit).std(axis=0) * unit, 0)


def widths(X: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each column, 1 for a constant column."""
    deviations = deviations_of(X)
    # Rounding gives equal numbers a tiny standard deviation.
    constant = deviations <= 1e-13 * np.abs(X).max(axis=0)
    return np.where(constant, 1.0, deviations)


class FiniteDifferences(ModelScore):
    """Gradient of a log-density by four-point differences of its values.

    Parameters
    ----------
    log_density : callable
        Function that takes rows and returns one log-density for each row.
    n_features : int or None, default=None
        Number of variables of the density, if it is known.
    """

    def __init__(
        self,
        log_density: Callable[[np.ndarray], Any],
        n_features: int | None = None,
    ):
        self.log_density = log_density
        self.n_features = n_features

    def gradients_at(self, X: np.ndarray) -> np.ndarray:
        """Return the gradients at the rows of X; the shifts of many columns at once."""
        X = X.astype(np.float64)
        n, d = X.shape
        steps = STEP * widths(X)
        at_once = max(1, BLOCK_NUMBERS // (4 * n * d))
        columns = np.array_split(np.arange(d), range(at_once, d, at_once))
        parts = [self._derivatives(X, column, steps[column]) for column in columns]
        return np.concatenate(parts, axis=1)

    def _derivatives(
        self, X: np.ndarray, column: np.ndarray, steps: np.ndarray
    ) -> np.ndarray:
        """Return the derivatives by some columns."""
        (n, d), m = X.shape, len(column)
        shifted = np.repeat(X[np.newaxis], 4 * m, axis=0).reshape(4, m, n, d)
        shifted[:, np.arange(m), :, column] += np.multiply.outer(steps, SHIFTS)[
            ..., np.newaxis
        ]
        values = np.asarray(self.log_density(shifted.reshape(-1, d)), dtype=np.float64)
        if values.shape != (4 * m * n,):
            raise ValueError(
                f"model gives log-densities of shape {values.shape} for {4 * m * n} "
                f"rows, must give {(4 * m * n,)}."
            )
        quotients = np.tensordot(WEIGHTS, values.reshape(4, m, n), axes=1)
        return (quotients / steps[:, np.newaxis]).T


class TorchScore(ModelScore):
    """Gradient of a log-density written in torch."""

    def __init__(self, log_density: Callable[[Any], Any]):
        self.log_density = log_density

    def gradients_at(self, X: np.ndarray) -> np.ndarray:
        """Return the gradients at the rows of X."""
        torch = _import("torch")
        with torch.enable_grad():
            x = torch.tensor(np.asarray(X), requires_grad=True)
            values = self.log_density(x)
            check_values(tuple(values.shape), len(X))
            [gradients] = torch.autograd.grad(values.sum(), x)
        return gradients.detach().cpu().numpy()


class JaxScore(ModelScore):
    """Gradient of a log-density written in jax."""

    def __init__(self, log_density: Callable[[Any], Any]):
        self.log_density = log_density

    def gradients_at(self, X: np.ndarray) -> np.ndarray:
        """Return the gradients at the rows of X, in the precision set in jax."""
        jax = _import("jax")

        def total(x: Any) -> Any:
            values = self.log_density(x)
            check_values(tuple(values.shape), len(X))
            return values.sum()

        return np.asarray(jax.grad(total)(jax.numpy.asarray(X)))


BACKENDS: dict[str, Callable[[Any], Callable[[np.ndarray], Any]]] = {
    "torch": TorchScore,
    "jax": JaxScore,
}


def check_values(shape: tuple[int, ...], n: int) -> None:
    """Raise an error unless there is one log-density for each row."""
    if shape != (n,):
        raise ValueError(
            f"model gives log-densities of shape {shape}, must give {(n,)}, one number "
            "for each row of X."
        )


def _import(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError as error:
        raise ImportError(
            f"backend == {name!r} needs the package {name}, which is not installed."
        ) from error
