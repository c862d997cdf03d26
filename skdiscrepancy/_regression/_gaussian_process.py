"""Regression by a Gaussian process, with leave-one-out residuals in closed form."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skdiscrepancy._regression._marginal_likelihood import (
    choose_noise_ratios,
    choose_parameters,
    eigenpairs,
    gaussian_covariance,
)

# Length scales are chosen from at most this many rows.
MAX_FIT_ROWS = 500
# Up to this many rows, the covariance is exact.
MAX_EXACT_ROWS = 1000
# Rows whose covariances with all rows span the covariance of more rows.
N_LANDMARKS = 500
# Length scales are chosen for the first targets.
MAX_FIT_TARGETS = 8
# Eigenvalues that are smaller, relative to the largest, are rounding errors.
ROUNDING = 1e-10


@dataclass(frozen=True)
class Smoother:
    """The eigenvectors of a covariance of rows, and its eigenvalues.

    Attributes
    ----------
    vectors : ndarray of shape (n_samples, n_values)
        Orthonormal eigenvectors.
    values : ndarray of shape (n_values,)
        Eigenvalues. All others are zero.
    """

    vectors: np.ndarray
    values: np.ndarray

    def noise_ratios(self, F: np.ndarray) -> np.ndarray:
        """Choose the noise ratio of each target by marginal likelihood."""
        squares = np.square(self.vectors.T @ F)
        rest = np.maximum(np.square(F).sum(axis=0) - squares.sum(axis=0), 0)
        return choose_noise_ratios(self.values, squares, rest, len(F))

    def residuals(self, F: np.ndarray, ratios: np.ndarray) -> np.ndarray:
        """Return the targets minus the predictions from all rows."""
        shrinkage = self.values[:, np.newaxis] / (self.values[:, np.newaxis] + ratios)
        return F - self.vectors @ (shrinkage * (self.vectors.T @ F))

    def leverages(self, ratios: np.ndarray) -> np.ndarray:
        """Return the derivative of each prediction by its own target.

        The array has shape (n_samples, n_targets).
        """
        shrinkage = self.values[:, np.newaxis] / (self.values[:, np.newaxis] + ratios)
        return np.square(self.vectors) @ shrinkage

    def held_out(self, F: np.ndarray, ratios: np.ndarray) -> np.ndarray:
        """Return the targets minus the predictions from all other rows.

        A fit without row i, with the same covariance and noise, has the residual
        r_i / (1 - h_ii) at row i.
        """
        free = np.maximum(1 - self.leverages(ratios), np.finfo(float).eps)
        return self.residuals(F, ratios) / free


def smoother_of(Z: np.ndarray, scales: np.ndarray, landmarks: np.ndarray) -> Smoother:
    """Return the smoother of a Gaussian covariance.

    The covariance is exact if all rows are landmarks. Otherwise it is the Nystroem
    approximation from the landmarks, in O(n n_landmarks) memory.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_columns)
        Columns.
    scales : ndarray of shape (n_columns,)
        Length scales.
    landmarks : ndarray of shape (n_landmarks,), of int
        Rows that span the covariance.

    Returns
    -------
    smoother : Smoother
        Smoother.
    """
    if len(landmarks) == len(Z):
        values, vectors = eigenpairs(gaussian_covariance(Z, Z, scales))
        return Smoother(vectors, values)
    basis = Z[landmarks]
    values, vectors = eigenpairs(gaussian_covariance(basis, basis, scales))
    kept = values > ROUNDING * values[-1]
    whitening = vectors[:, kept] / np.sqrt(values[kept])
    features = gaussian_covariance(Z, basis, scales) @ whitening
    values, rotation = eigenpairs(features.T @ features)
    kept = values > ROUNDING * values[-1]
    vectors = features @ (rotation[:, kept] / np.sqrt(values[kept]))
    return Smoother(vectors, values[kept])


def fit_gaussian_process(
    Z: np.ndarray, F: np.ndarray, generator: np.random.RandomState
) -> tuple[Smoother, np.ndarray, np.ndarray]:
    """Fit a Gaussian process to several targets, which share the length scales.

    Time is O(n^3) up to 1000 rows and linear in n above. Then the length scales come
    from 500 random rows, and the covariance from its values at 500 rows.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_columns)
        Columns of unit standard deviation, at least one.
    F : ndarray of shape (n_samples, n_targets)
        Targets with a mean of zero. The length scales are chosen for the first ones.
    generator : RandomState
        Draws the rows.

    Returns
    -------
    smoother : Smoother
        The covariance of the rows.
    ratios : ndarray of shape (n_targets,)
        Noise ratio of each target.
    scales : ndarray of shape (n_columns,)
        Length scales.
    """
    n = len(Z)
    order = np.sort(generator.permutation(n)[:MAX_FIT_ROWS])
    targets = F[order, :MAX_FIT_TARGETS]
    targets = targets - targets.mean(axis=0)
    sizes = np.sqrt(np.square(targets).mean(axis=0))
    varies = sizes > 0
    scales = np.ones(Z.shape[1])
    if varies.any():
        scales, _ = choose_parameters(Z[order], targets[:, varies] / sizes[varies])
    landmarks = np.arange(n)
    if n > MAX_EXACT_ROWS:
        landmarks = np.sort(generator.permutation(n)[:N_LANDMARKS])
    smoother = smoother_of(Z, scales, landmarks)
    return smoother, smoother.noise_ratios(F), scales
