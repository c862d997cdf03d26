"""Models, gradients and samples of a KSD."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._data.arrays import (
    check_rows,
    kind_of_blocks,
    readable,
    refuse_blocks,
)
from skdiscrepancy._data.blocks import LazyRows, lazy_pair, spread_rows
from skdiscrepancy._data.checks import (
    RandomStateLike,
    draw_seeds,
    generator_of,
    shown,
    warn_user,
)
from skdiscrepancy._data.frames import as_table, find_column
from skdiscrepancy._gram.pieces import Blocks, LazyBlocks, paired_blocks
from skdiscrepancy._gram.run import Run
from skdiscrepancy._models.dispatch import (
    SampleGaussianScore,
    ScoreFunction,
    copyable,
    is_density_estimator,
    score_function_of,
    takes_nothing,
)
from skdiscrepancy.kernels._base import Kernel
from skdiscrepancy.kernels._names import KERNELS, check_kernel

# Number of rows to hash at a time, so that a memory-mapped sample is not copied.
HASHED_ROWS = 4096


def fit_model(
    model: Any, X: np.ndarray, y: Any = None, random_state: RandomStateLike = None
) -> tuple[Any, ScoreFunction]:
    """Fit the model if necessary, and return it with the gradient of its log-density.

    None is the Gaussian distribution with the mean and covariance of X. A fitted model
    is cloned and fitted again, as in scikit-learn. A model without a seed gets a seed
    from `random_state`, unless that is None.
    """
    if isinstance(X, LazyRows):
        _refuse_fit(model)
        return model, score_function_of(model)
    if model is None:
        score = SampleGaussianScore(X)
        return score, score
    if is_density_estimator(model):
        if is_fitted(model):
            warn_user(
                f"model == {model!r} is fitted already, but `fit` fits a clone of it "
                "to X. To keep the fitted model, pass FrozenEstimator(model) from "
                "sklearn.frozen."
            )
        model = clone(model)
        names = [] if random_state is None else unseeded(model)
        if names:
            [seed] = draw_seeds(generator_of(random_state), 1)
            model.set_params(**dict.fromkeys(names, seed))
        # A copy with the same memory layout: models that work in place must not change
        # the sample.
        try:
            with np.errstate(all="ignore"):
                model = model.fit(X.copy(order="K"), y)
        except ValueError as error:
            raise ValueError(
                f"model == {model!r} cannot be fitted to X of shape {X.shape}: {error}"
            ) from error
    return model, score_function_of(model)


def _refuse_fit(model: Any) -> None:
    """Refuse a model that must be fitted to a sample that is read by blocks."""
    if model is None:
        raise ValueError(
            "model == None, must be a model or a function if X is read by blocks. None "
            "is a Gaussian distribution with the moments of X, which needs all rows in "
            "memory. Pass a Gaussian distribution, such as "
            "scipy.stats.multivariate_normal(mean, cov)."
        )
    if is_density_estimator(model):
        raise ValueError(
            f"model == {model!r}, must not need a fit if X is read by blocks. Fit the "
            "model to a sample of the rows first, and pass FrozenEstimator(model) from "
            "sklearn.frozen."
        )


def unseeded(model: Any) -> list[str]:
    """Return the parameters of an estimator that are random states of None."""
    return [
        name
        for name, value in model.get_params().items()
        if name.rpartition("__")[2] == "random_state" and value is None
    ]


class GivenGradients:
    """The gradient of a log-density that is known only at the rows of one sample.

    Parameters
    ----------
    values : array-like of shape (n_samples, n_features)
        Gradients at the rows of the sample, in their order.
    """

    def __init__(self, values: Any):
        self.values = values

    def __call__(self, X: np.ndarray) -> Any:
        """Return the gradients. X must be the sample."""
        return self.values

    def __repr__(self) -> str:
        if kind_of_blocks(self.values) is not None:
            return f"gradients in {kind_of_blocks(self.values)}"
        return f"gradients of shape {np.shape(self.values)}"

    def take(self, X: np.ndarray, rows: np.ndarray) -> GivenGradients:
        """Return the gradients at some rows of the sample X."""
        return GivenGradients(check_gradients(self.values, X)[rows])


def as_given(model: Any) -> Any:
    """Prepare the model of a one-call function, which does not refit a fitted model.

    An array, or a function without arguments that returns blocks, holds the gradients
    at the rows of the sample.
    """
    given = hasattr(model, "__array__") or isinstance(model, (list, tuple))
    if given or takes_nothing(model):
        return GivenGradients(as_table(model))
    return freeze(model) if is_fitted(model) else copyable(model)


def freeze(model: Any) -> Any:
    """Return a model that `fit` does not change."""
    return FrozenEstimator(model) if is_density_estimator(model) else model


def in_scale(
    scale: np.ndarray | None, X: np.ndarray, gradients: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Divide columns by their scale, and multiply gradients by it. None is no scale."""
    return (X, gradients) if scale is None else (X / scale, gradients * scale)


def is_fitted(model: Any) -> bool:
    """Tell whether a model is a fitted density estimator."""
    if not is_density_estimator(model):
        return False
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def gradients_at(X: np.ndarray, score_function: ScoreFunction) -> np.ndarray:
    """Return the gradients of a log-density at the rows of X."""
    if isinstance(score_function, GivenGradients):
        return check_gradients(score_function.values, X)
    # Values that are not finite raise an error, so numpy need not warn about them.
    with np.errstate(all="ignore"):
        # A copy, because a model that works in place must not change the sample.
        values = score_function(X.copy())
    return check_gradients(values, X)


def check_gradients(gradients: Any, X: np.ndarray) -> np.ndarray:
    """Return gradients as an array of the shape and type of the sample."""
    refuse_blocks(gradients, "model")
    with readable(gradients, "gradients of model", X.dtype):
        shape = np.shape(gradients)
    if shape != X.shape:
        raise ValueError(
            f"model gives gradients of shape {shape}, must give {X.shape}, the "
            "gradient of the log-density at each row of X."
        )
    gradients = check_rows(gradients, "gradients of model")
    return gradients.astype(X.dtype, copy=False)


def check_differentiable(kernel: Any) -> list[Any]:
    """Return the kernels of a parameter, and refuse kernels that KSD cannot use."""
    works = [name for name, make in KERNELS.items() if make().differentiable]
    given = list(kernel) if isinstance(kernel, (tuple, list)) else [kernel]
    kernels = []
    for item in given:
        known = not isinstance(item, str) or item in works
        [checked] = check_kernel([item]) if known else [None]
        if not (isinstance(checked, Kernel) and checked.differentiable):
            raise ValueError(
                f"kernel == {shown(item)}, must be one of {works} for KSD, or a kernel "
                "object of these kinds with p=2 and metric=None, because KSD needs two "
                "derivatives of the kernel."
            )
        kernels.append(checked)
    return kernels or check_kernel(kernel)


def refuse_without_density(X: Any) -> None:
    """Refuse a table with columns that are not numbers, or with missing values."""
    if found := find_column(X, "X", ("number",)):
        raise ValueError(
            f"X has {found[0]} in column {found[1]!r}, must have known numbers. KSD "
            "compares rows with the density of a model, so each column must be a "
            "number. Drop or convert the column, or pass a transformer as `encoder`."
        )


def fingerprint(X: np.ndarray) -> tuple[tuple[int, ...], bytes]:
    """Return a hash of a set of rows that does not depend on their order or precision.

    Each row becomes one number, a combination of its columns in float32. The hash is
    taken of the sorted numbers. Rows that are read by blocks have the hash of no rows.
    """
    if isinstance(X, LazyRows):
        return X.shape, b""
    weights = np.asarray(np.random.RandomState(0).uniform(1, 2, size=X.shape[1]))
    numbers = np.zeros(len(X))
    with np.errstate(all="ignore"):
        for start in range(0, len(X), HASHED_ROWS):
            part = numbers[start : start + HASHED_ROWS]
            rows = np.asarray(X[start : start + HASHED_ROWS], dtype=np.float32)
            # Column by column, because the rounding of a matrix product may depend on
            # the position of a row.
            for weight, column in zip(weights, rows.T, strict=True):
                part += weight * column.astype(np.float64)
    numbers.sort()
    return X.shape, hashlib.blake2b(numbers.tobytes(), digest_size=16).digest()


def standardized(X: Any) -> tuple[np.ndarray, Any]:
    """Return the standard deviations of the columns, and X divided by them."""
    if isinstance(X, LazyRows):
        deviations, largest = _deviations(X)
    else:
        deviations, largest = X.std(axis=0, dtype=np.float64), np.abs(X).max(axis=0)
    refuse_constant(deviations, largest)
    scale = deviations.astype(X.dtype)
    return scale, X / scale


def refuse_constant(deviations: np.ndarray, largest: np.ndarray) -> None:
    """Refuse columns that are constant up to rounding, from their largest numbers."""
    constant = deviations <= 1e-13 * largest
    if np.any(constant):
        raise ValueError(
            f"standardize == True, must be False here: column "
            f"{int(np.argmax(constant))} of X is constant."
        )


def _deviations(X: LazyRows) -> tuple[np.ndarray, np.ndarray]:
    """Return the standard deviations of columns, and their largest absolute values.

    Takes one pass over the rows. Values are measured from the median of some rows,
    because small numbers lose fewer digits.
    """
    centre = np.median(spread_rows(X), axis=0).astype(np.float64)
    n, sums, squares, largest = X.reduce(partial(_moments, centre), _merge_moments)
    with np.errstate(all="ignore"):
        variances = np.maximum(squares / n - np.square(sums / n), 0)
    return np.sqrt(variances), largest


def _moments(centre: np.ndarray, block: np.ndarray, extra: Any) -> Any:
    rows = block - centre
    with np.errstate(all="ignore"):
        squares = np.square(rows).sum(axis=0)
    return len(rows), rows.sum(axis=0), squares, np.abs(block).max(axis=0)


def _merge_moments(a: Any, b: Any) -> Any:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], np.maximum(a[3], b[3])


def lazy_stein_blocks(
    score_function: Any, scale: np.ndarray | None, *samples: Any, run: Run
) -> Blocks:
    """Return the rows and gradients, in a scale, of samples that are read by blocks.

    The gradients of a block are computed where the block is, in every pass.
    """
    if not isinstance(score_function, GivenGradients):
        view = partial(_with_gradients, score_function, scale)
        return LazyBlocks(*samples, view=view, run=run)
    if len(samples) > 1:
        raise ValueError(
            "model is an array of gradients, must be a model here, because the "
            "gradients at other rows are needed too."
        )
    X, G = lazy_pair(samples[0], score_function.values, ("X", "gradients"))
    if G.shape[1] != X.shape[1]:
        raise ValueError(
            f"model gives gradients of {G.shape[1]} columns, must give {X.shape[1]} "
            "as X."
        )
    blocks = paired_blocks(X, G, run=run)
    blocks.view = partial(_with_given, scale, blocks.view)
    return blocks


def _with_gradients(
    score_function: Any, scale: np.ndarray | None, block: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    return in_scale(scale, block, gradients_at(block, score_function))


def _with_given(
    scale: np.ndarray | None, columns: Any, block: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    return in_scale(scale, *columns(block))
