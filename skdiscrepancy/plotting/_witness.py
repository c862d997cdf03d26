"""Where two samples, or a model and a sample, differ."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._data.arrays import SparseRows
from skdiscrepancy._data.checks import check_number, shown
from skdiscrepancy._estimators.ksd import KSDEstimator
from skdiscrepancy._estimators.mmd import MMDEstimator
from skdiscrepancy.plotting._style import BLUE, GREY, VERMILLION, Display, plain
from skdiscrepancy.tables import TableEncoder, layout_of

# Points of the grid on each axis, for one and two features.
RESOLUTION = {1: 200, 2: 50}
# Margin of the grid on each side, as a fraction of the range of the samples.
MARGIN = 0.1
# Levels of the filled contours on each side of zero.
N_LEVELS = 8


class WitnessDisplay(Display):
    """Display of a witness function over one or two features.

    The witness function shows where two samples, or a sample and a model, differ. It is
    positive, in red, where the sample has more mass than the reference or the model. It
    is negative, in blue, where the sample has less mass. For MMD,
    :meth:`MMDEstimator.witness <skdiscrepancy.MMDEstimator.witness>` [1]_ compares the
    new sample with the reference sample. For KSD, the Stein witness
    :meth:`KSDEstimator.witness <skdiscrepancy.KSDEstimator.witness>` [2]_ compares the
    sample with the model.

    Use :meth:`from_estimator` to draw the function of a fitted estimator.

    Read more in the :ref:`User Guide <plotting>`.

    Parameters
    ----------
    grid : list of ndarray
        Points on the axis of each feature.
    values : array-like of shape (n_points,) or (n_points_1, n_points_0)
        Witness function on the grid. For two features, the rows belong to the second
        feature.
    sample : array-like of shape (n_samples, n_axes)
        New sample, or the sample of KSD.
    reference : array-like of shape (n_reference, n_axes), default=None
        Reference sample of MMD, None for KSD.
    feature_names : list of str, default=None
        Labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the figure.
    figure_ : matplotlib Figure
        The figure.
    curve_ : matplotlib Line2D or None
        The function of one feature.
    contours_ : matplotlib QuadContourSet or None
        The function of two features.
    sample_ : matplotlib Line2D
        The sample: its points, or marks along the upper edge for one feature.
    reference_ : matplotlib Line2D or None
        The reference: its points, or marks along the lower edge for one feature.

    See Also
    --------
    skdiscrepancy.MMDEstimator.witness : Computes the function for two samples.
    skdiscrepancy.KSDEstimator.witness : Computes the function for a model.

    References
    ----------
    .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012.
    .. [2] W. Jitkrittum et al., "A linear-time kernel goodness-of-fit test", NeurIPS
       2017.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import MMDEstimator
    >>> from skdiscrepancy.plotting import WitnessDisplay
    >>> X = np.random.RandomState(0).normal(size=(100, 3))
    >>> mmd = MMDEstimator().fit(X)
    >>> display = WitnessDisplay.from_estimator(mmd, X + [0, 1, 0], features=1)
    >>> round(float(display.values.max()), 2)
    0.18
    """

    grid: list[np.ndarray]
    values: ArrayLike
    sample: ArrayLike
    reference: ArrayLike | None = None
    feature_names: list[str] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        features: Any = None,
        grid_resolution: int | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the witness function of an estimator and a sample.

        Parameters
        ----------
        estimator : MMDEstimator or KSDEstimator
            Fitted estimator.
        X : array-like of shape (n_samples, n_features)
            Sample to compare with the reference sample (MMD) or the model (KSD).
        features : int, str, or list of one or two of them, default=None
            One or two columns to draw, by index or by name. None draws all columns, of
            which there must be at most two. If you choose fewer columns than there are,
            a clone of the MMDEstimator is fitted to these columns alone. Columns of a
            table must hold numbers. They are drawn in their own units, without missing
            values. If you pass your own transformer as `encoder`, choose columns of its
            output. KSD needs all columns, because the model is a distribution of all
            columns.
        grid_resolution : int or None, default=None
            Number of points on each axis. None is 200 for one feature and 50 for two.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : WitnessDisplay
            The display, already drawn.

        Examples
        --------
        >>> import numpy as np
        >>> from skdiscrepancy import KSDEstimator
        >>> from skdiscrepancy.plotting import WitnessDisplay
        >>> X = np.random.RandomState(0).normal(size=(100, 2))
        >>> ksd = KSDEstimator(lambda X: -X).fit(X)
        >>> WitnessDisplay.from_estimator(ksd, X + 1).values.shape
        (50, 50)
        """
        check_is_fitted(estimator)
        columns, names = _check_features(features, estimator)
        if grid_resolution is None:
            grid_resolution = RESOLUTION[len(columns)]
        check_number(grid_resolution, "grid_resolution", integer=True, least=2)
        reference = None
        if isinstance(estimator, MMDEstimator):
            if estimator.reference_.dtype.kind != "f":
                raise ValueError("The reference has labels, must have numbers.")
            rows = estimator._reader(estimator.kernels_, 1).rows(X, reset=False)
            if isinstance(rows, SparseRows) or issparse(estimator.reference_):
                raise TypeError("X or the reference is sparse, must be dense to draw.")
            axes, kept = _axes(estimator, columns, names)
            if len(kept) < rows.shape[1]:
                some = estimator.reference_[:, kept]
                weights = estimator.reference_weight_
                estimator = clone(estimator)
                # The columns are encoded already.
                estimator.encoder_ = None
                # Not `fit`, because the function needs no sums over the reference.
                estimator._learn([some], estimator._check_params(), some, weights)
                rows = rows[:, kept]
            reference = np.column_stack([a.read(estimator.reference_) for a in axes])
        else:
            rows = estimator._validate(X, reset=False, least=1)
            axes = [_Axis(column) for column in columns]
        sample = np.column_stack([axis.read(rows) for axis in axes])
        drawn = sample if reference is None else np.vstack((reference, sample))
        grid = [_axis_points(column, grid_resolution) for column in drawn.T]
        mesh = np.meshgrid(*grid)
        # No value on the grid is missing.
        points = np.zeros((mesh[0].size, rows.shape[1]), dtype=rows.dtype)
        for axis, coordinates in zip(axes, mesh, strict=True):
            points[:, axis.column] = (coordinates.ravel() - axis.origin) / axis.unit
        values = estimator._witness(points, rows).reshape(mesh[0].shape)
        samples: dict[str, Any] = {"sample": sample, "reference": reference}
        return cls(grid=grid, values=values, feature_names=names, **samples).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the function and the samples.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : WitnessDisplay
            The display itself.
        """
        ax = self._begin(ax, 6.4, 4.8, box=len(self.grid) > 1)
        from matplotlib.ticker import MaxNLocator

        values, is_ksd = np.asarray(self.values), self.reference is None
        witness = "Stein witness" if is_ksd else "MMD witness"
        new, other = ("sample", "model") if is_ksd else ("new sample", "reference")
        scale = f"{witness} (> 0: {new} has more)"
        self.curve_ = self.contours_ = self.reference_ = None
        if len(self.grid) == 1:
            [self.curve_] = ax.plot(*self.grid, values, color="black", label=witness)
            for colour, side in ((VERMILLION, values > 0), (BLUE, values < 0)):
                style = {"interpolate": True, "color": colour, "alpha": 0.3}
                ax.fill_between(*self.grid, values, where=side, **style)
            ax.axhline(0, color=GREY, linewidth=0.8)
            ax.margins(x=0, y=0.12)
            ax.set_ylabel(scale)
        else:
            largest = float(np.abs(values).max()) or 1.0
            ticks = MaxNLocator(2 * N_LEVELS, symmetric=True)
            # The darkest shades are left out, because markers must stand out.
            style = {"cmap": "RdBu_r", "vmin": -1.8 * largest, "vmax": 1.8 * largest}
            style["levels"] = ticks.tick_values(-largest, largest)
            self.contours_ = ax.contourf(*self.grid, values, **style)
            ax.figure.colorbar(self.contours_, ax=ax, label=scale)
        if self.reference is not None:
            # Marks are below, because the function is negative where the reference has
            # more mass.
            self.reference_ = _draw_rows(ax, self.reference, 0.02, "o", BLUE, other)
        self.sample_ = _draw_rows(ax, self.sample, 0.98, "^", VERMILLION, new)
        names = self.feature_names or [f"x{j}" for j in range(len(self.grid))]
        for set_label, name in zip((ax.set_xlabel, ax.set_ylabel), names, strict=False):
            set_label(plain(name))
        return self._legend(f"Where the {new} differs from the {other}", ncols=3)


def _draw_rows(
    ax: Any, rows: ArrayLike, height: float, marker: str, colour: str, label: str
) -> Any:
    """Draw a sample as points, or as marks at a height of the axes for one feature."""
    columns = np.asarray(rows).T
    n = columns.shape[1]
    if len(columns) == 1:
        # Overlapping transparent marks of many rows show their density.
        style: dict[str, Any] = {"alpha": float(np.clip(50 / n, 0.05, 0.8))}
        style |= {"color": colour, "transform": ax.get_xaxis_transform()}
        # In the legend, the mark is not transparent.
        ax.plot([], [], "|", color=colour, label=label)
        return ax.plot(*columns, np.full(n, height), "|", **style)[0]
    # Many rows have small points without an edge.
    size = float(np.clip(4.5 * np.sqrt(200 / n), 1.5, 4.5))
    edge = {"markeredgecolor": "white", "markeredgewidth": 0.4 if size == 4.5 else 0}
    style = {"color": colour, "markersize": size, "label": label, **edge}
    return ax.plot(*columns, marker, **style)[0]


class _Axis(NamedTuple):
    """A column of the rows of an estimator, and the units in which it is drawn."""

    column: int
    origin: float = 0.0
    unit: float = 1.0
    # Column that is 1 where the value is missing.
    missing: int | None = None

    def read(self, rows: np.ndarray) -> np.ndarray:
        """Return the values in the units of the axis, NaN where they are missing."""
        values = self.origin + self.unit * rows[:, self.column]
        if self.missing is not None:
            values[rows[:, self.missing] != 0] = np.nan
        return values


def _axes(
    estimator: MMDEstimator, columns: list[int], names: list[str]
) -> tuple[list[_Axis], list[int]]:
    """Return the axis of each column of a table, and the encoded columns behind them.

    The positions of the axes are positions among these encoded columns.
    """
    encoder = estimator.encoder_
    axes: dict[int, _Axis] = {}
    kept: list[int] = []
    for column, name in sorted(zip(columns, names, strict=True)):
        if not isinstance(encoder, TableEncoder):
            axes[column] = _Axis(len(kept))
            kept.append(column)
            continue
        kind, block = encoder.kinds_[column], cast(Any, encoder._blocks[column])
        if kind != "number" or not np.isfinite(block.scale):
            what = "only missing values" if kind == "number" else f"{kind} values"
            raise ValueError(
                f"features has the column {name!r} of {what}, must have columns of "
                "numbers."
            )
        origin, unit = np.ldexp((block.median, block.scale), block.exponent)
        axes[column] = _Axis(len(kept), origin, unit, missing=len(kept) + 1)
        where = encoder.output_slices_[column]
        kept += range(where.start, where.stop)
    return [axes[column] for column in columns], kept


def _check_features(features: Any, estimator: Any) -> tuple[list[int], list[str]]:
    """Return the indices and the names of the columns to draw."""
    if not isinstance(estimator, (MMDEstimator, KSDEstimator)):
        raise TypeError(
            f"estimator == {estimator!r}, must be an MMDEstimator or a KSDEstimator."
        )
    n_features = estimator.n_features_in_
    encoder = getattr(estimator, "encoder_", None)
    known = getattr(estimator, "feature_names_in_", None)
    if encoder is not None and not isinstance(encoder, TableEncoder):
        # Columns of the output, which need not belong to columns of the table.
        layout, n_features = layout_of(encoder, None), estimator.reference_.shape[1]
        known = None if layout is None else layout.names
    names = (
        [f"x{j}" for j in range(n_features)] if known is None else [*map(str, known)]
    )
    chosen = range(n_features) if features is None else features
    if isinstance(chosen, (str, Integral)) or not isinstance(chosen, Iterable):
        chosen = [chosen]
    columns = [_column_index(item, names) for item in chosen]
    valid = None not in columns and len(set(columns)) == len(columns)
    if not valid or len(columns) not in (1, 2):
        raise ValueError(
            f"features == {shown(features)}, must be one or two different columns of "
            f"{names}, by name or by index."
        )
    if isinstance(estimator, KSDEstimator) and len(columns) < n_features:
        raise ValueError(
            f"features == {features!r}, must be all {n_features} columns for KSD, "
            "because the model is a distribution of all columns."
        )
    indices = cast(list[int], columns)
    return indices, [names[j] for j in indices]


def _column_index(item: Any, names: list[str]) -> int | None:
    """Return the index of a column given by name or index, or None if unknown."""
    if isinstance(item, Integral) and not isinstance(item, bool):
        return int(item) if 0 <= int(item) < len(names) else None
    return names.index(item) if isinstance(item, str) and item in names else None


def _axis_points(column: np.ndarray, resolution: int) -> np.ndarray:
    """Return points over the range of a column, with a margin."""
    low, high = float(np.nanmin(column)), float(np.nanmax(column))
    margin = MARGIN * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, resolution)
