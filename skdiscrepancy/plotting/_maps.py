"""Maps: heat maps of pairs, the entries that a design uses, and witness functions."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.sparse import issparse
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._data.arrays import SparseRows
from skdiscrepancy._data.checks import RandomStateLike, check_flag, check_number, shown
from skdiscrepancy._estimators.ksd import KSDEstimator
from skdiscrepancy._estimators.mmd import MMDEstimator
from skdiscrepancy._estimators.readers import layout_of
from skdiscrepancy.designs import Design, check_design
from skdiscrepancy.plotting._style import (
    BLUE,
    GREY,
    VERMILLION,
    Display,
    plain,
    whole_numbers,
)
from skdiscrepancy.tables import TableEncoder

# Heat maps of at most so many rows and columns have texts in their cells, and so do
# designs of at most so many samples.
MAX_WRITTEN, MAX_COUNTED = 12, 30
# Inches of a cell, and of a whole side.
CELL, LEAST, MOST = 0.5, 3.0, 9.0
# Inches of a letter of a name, and letters of a name at most.
LETTER, MAX_LETTERS = 0.08, 20
# Above this fraction of the colour scale, cells are light and need dark letters.
LIGHT = 0.6
# Names of rows or columns, at most.
MAX_NAMES = 30
# Colours go up to the largest CKA, but at least to this number.
LEAST_RANGE = 0.1


class HeatMap(Display):
    """Base class of the heat maps, with texts in the cells of small matrices."""

    def _draw(
        self,
        options: tuple[Any, Any, Any],
        matrix: np.ndarray,
        names: Sequence[Sequence[Any]],
        label: str,
        top: float,
        shown_as: str = "z.2f",
        values: np.ndarray | None = None,
        bold: ArrayLike = False,
    ) -> np.ndarray:
        """Draw a matrix with names, colours and texts, and return the light cells."""
        ax, cmap, include_values = options
        check_flag(include_values, "include_values")
        self._pyplot()
        from matplotlib.colors import Colormap

        if not (cmap is None or isinstance(cmap, (str, Colormap))):
            raise TypeError(
                f"cmap == {shown(cmap)}, must be a name or a Colormap of matplotlib."
            )
        labels = [[plain(name, MAX_LETTERS) for name in of_axis] for of_axis in names]
        room = LETTER * np.array([max(map(len, of_axis)) for of_axis in labels])
        height, width = np.clip(CELL * np.array(matrix.shape) + 1.2, LEAST, MOST)
        # Long names of columns are written at an angle, below the cells.
        figsize = (width + 1.2 + room[0], height + 0.7 * room[1])
        ax = self._begin(ax, *figsize, box=True)
        low, high = min(0.0, matrix.min()), max(top, matrix.max())
        self.image_ = ax.imshow(matrix, aspect="auto", cmap=cmap, vmin=low, vmax=high)
        self.colorbar_ = ax.figure.colorbar(self.image_, ax=ax, label=label)
        for axis, of_axis in zip((ax.yaxis, ax.xaxis), labels, strict=True):
            places = np.arange(len(of_axis))[:: -(-len(of_axis) // MAX_NAMES)]
            axis.set_ticks(places, [of_axis[i] for i in places])
        if any(len(str(name)) > 4 for name in names[1]):
            ax.tick_params(axis="x", rotation=45)
            for text in ax.get_xticklabels():
                text.set(ha="right", rotation_mode="anchor")
        elif len(names[1]) > MAX_WRITTEN:
            ax.tick_params(axis="x", rotation=90)
        light = np.asarray((matrix - low) / (high - low) > LIGHT)
        written = include_values and max(matrix.shape) <= MAX_WRITTEN
        values = matrix if values is None else values
        cells = np.argwhere(~np.ma.getmaskarray(matrix) & written)
        colors = np.where(light, "black", "white")
        weights = np.where(np.broadcast_to(bold, light.shape), "bold", "normal")
        style = {"ha": "center", "va": "center", "fontsize": "small"}
        self.texts_ = [
            ax.text(j, i, text, color=colors[i, j], fontweight=weights[i, j], **style)
            for i, j in cells
            for text in [format(values[i, j], shown_as)]
        ]
        return light


# Largest number of rows of a design that is drawn.
MOST_DRAWN = 10_000


class CKADisplay(HeatMap):
    """Display of the similarities of layers as a heat map.

    Rows are layers of X, and columns layers of Y. Light cells are similar. Use
    :meth:`from_result`.

    Read more in the :ref:`User Guide <cka>`.

    Parameters
    ----------
    matrix : array-like of shape (n_layers_X, n_layers_Y)
        CKA of each pair.
    x_layers, y_layers : list
        Names of the layers.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    image_, colorbar_ : matplotlib artists
        Heat map and colour bar.
    texts_ : list of matplotlib artists
        Numbers in the cells.

    See Also
    --------
    skdiscrepancy.cka_score : Computes the similarities.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import cka_score
    >>> from skdiscrepancy.plotting import CKADisplay
    >>> first = np.random.RandomState(0).normal(size=(50, 3))
    >>> layers = {"first": first, "second": np.tanh(first)}
    >>> display = CKADisplay.from_result(cka_score(layers, layers))
    >>> display.matrix.round(2).tolist()
    [[1.0, 0.94], [0.94, 1.0]]
    >>> [text.get_text() for text in display.texts_]
    ['1.00', '0.94', '0.94', '1.00']
    """

    matrix: ArrayLike
    x_layers: Sequence[Any]
    y_layers: Sequence[Any]

    def plot(
        self, ax: Any = None, *, cmap: Any = "viridis", include_values: bool = True
    ) -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in.
        cmap : str or matplotlib Colormap, default="viridis"
            Colours.
        include_values : bool, default=True
            Write numbers, up to 12 rows and columns.

        Returns
        -------
        display : CKADisplay
            The display.
        """
        names = self.x_layers, self.y_layers
        options = ax, cmap, include_values
        self._draw(options, np.asarray(self.matrix), names, "CKA", top=1.0)
        self.ax_.set(xlabel="Layer of Y", ylabel="Layer of X")
        return self._title("Similarity of layers")


class HSICMatrixDisplay(HeatMap):
    """Display of the dependence of all pairs of columns as a heat map.

    Light cells are dependent pairs. Bold numbers, or dots in large matrices, are
    significant. Use :meth:`from_result`.

    Read more in the :ref:`User Guide <many_variables>`.

    Parameters
    ----------
    matrix, adjusted_pvalues : array-like of shape (n_columns_X, n_columns_y)
        CKA and adjusted p-values.
    x_names, y_names : list
        Names of the columns.
    symmetric : bool, default=False
        Whether X is compared with itself.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    image_, colorbar_ : matplotlib artists
        Heat map and colour bar.
    texts_, dots_ : list of matplotlib artists
        Numbers, or dots of significant pairs.
    x_order_, y_order_ : ndarray
        Order of rows and columns.

    See Also
    --------
    skdiscrepancy.hsic_matrix : Computes the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import hsic_matrix
    >>> from skdiscrepancy.plotting import HSICMatrixDisplay
    >>> X = np.random.RandomState(0).normal(size=(100, 3))
    >>> X[:, 2] = X[:, 0] ** 2
    >>> display = HSICMatrixDisplay.from_result(hsic_matrix(X))
    >>> display.ax_.get_title(loc="left").splitlines()
    ['1 of 3 pairs significant', '(bold: adjusted p-value at most 0.05)']
    """

    matrix: ArrayLike
    adjusted_pvalues: ArrayLike
    x_names: Sequence[Any]
    y_names: Sequence[Any]
    symmetric: bool = False

    def plot(
        self,
        ax: Any = None,
        *,
        level: float = 0.05,
        cluster: bool = True,
        include_values: bool = True,
        cmap: Any = "viridis",
    ) -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in.
        level : float, default=0.05
            Significance level.
        cluster : bool, default=True
            Put dependent columns side by side.
        include_values : bool, default=True
            Write numbers, up to 12 rows and columns.
        cmap : str or matplotlib Colormap, default="viridis"
            Colours.

        Returns
        -------
        display : HSICMatrixDisplay
            The display.
        """
        level = check_number(level, "level", strict=True, most=1)
        check_flag(cluster, "cluster")
        matrix, symmetric = np.asarray(self.matrix), self.symmetric
        rows, columns = map(np.arange, matrix.shape)
        if cluster:
            rows, columns = cluster_orders(matrix, symmetric)
        self.x_order_, self.y_order_ = rows, columns
        # The columns with themselves have CKA 1, which would hide all other colours.
        same = np.equal.outer(rows, columns) & symmetric
        matrix = np.ma.masked_array(matrix[np.ix_(rows, columns)], mask=same)
        small = np.asarray(self.adjusted_pvalues)[np.ix_(rows, columns)] <= level
        small &= ~same
        both = (self.x_names, rows.tolist()), (self.y_names, columns.tolist())
        names = [[own[i] for i in order] for own, order in both]
        options = ax, cmap, include_values
        light = self._draw(options, matrix, names, "CKA", LEAST_RANGE, bold=small)
        self.dots_ = []
        if not self.texts_:
            size = float(np.clip(400 / max(matrix.shape), 2, 20))
            marked = ((small & light, "black"), (small & ~light, "white"))
            self.dots_ = [
                self.ax_.scatter(*np.nonzero(cells.T), s=size, color=color, lw=0)
                for cells, color in marked
            ]
        share = 2 if symmetric else 1
        marks = "bold" if self.texts_ else "dots"
        return self._title(
            f"{small.sum() // share} of {np.sum(~same) // share} pairs significant\n"
            f"({marks}: adjusted p-value at most {level:g})"
        )


def cluster_orders(
    matrix: np.ndarray, symmetric: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the orders of rows and columns that put similar ones side by side."""
    if symmetric:
        distances = 1 - np.clip(matrix, 0, 1)
        np.fill_diagonal(distances, 0)
        order = _leaves(squareform((distances + distances.T) / 2, checks=False))
        return order, order
    return _leaves(pdist(matrix)), _leaves(pdist(matrix.T))


def _leaves(distances: np.ndarray) -> np.ndarray:
    """Return the order of the leaves of a tree of average linkage."""
    if not len(distances):
        return np.arange(1)
    return leaves_list(linkage(distances, method="average", optimal_ordering=True))


class KSampleDisplay(HeatMap):
    """Display of the tests of all pairs of samples as a heat map.

    Colours are statistics in standard deviations of their permutations. Numbers are
    adjusted p-values, bold if significant. Use :meth:`from_result`.

    Read more in the :ref:`User Guide <many_variables>`.

    Parameters
    ----------
    pairs : list of tuple of int
        Positions of the samples of each pair.
    statistics, adjusted_pvalues : array-like of shape (n_pairs,)
        Statistic and p-value of each pair.
    sample_names : list of length n_samples
        Names of the samples.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    image_, colorbar_ : matplotlib artists
        Heat map and colour bar.
    texts_ : list of matplotlib artists
        Adjusted p-values.

    See Also
    --------
    skdiscrepancy.k_sample_test : Computes the tests.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import k_sample_test
    >>> from skdiscrepancy.plotting import KSampleDisplay
    >>> a, b, c = np.random.RandomState(0).normal(size=(3, 60, 2))
    >>> result = k_sample_test(a, b, c + 1, random_state=0)
    >>> display = KSampleDisplay.from_result(result)
    >>> display.ax_.get_title(loc="left").splitlines()
    ['2 of 3 pairs differ', '(bold: adjusted p-value at most 0.05)']
    """

    pairs: Sequence[tuple[int, int]]
    statistics: ArrayLike
    adjusted_pvalues: ArrayLike
    sample_names: Sequence[Any]

    def plot(
        self,
        ax: Any = None,
        *,
        level: float = 0.05,
        include_values: bool = True,
        cmap: Any = "viridis",
    ) -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in.
        level : float, default=0.05
            Significance level.
        include_values : bool, default=True
            Write p-values, up to 12 samples.
        cmap : str or matplotlib Colormap, default="viridis"
            Colours.

        Returns
        -------
        display : KSampleDisplay
            The display.
        """
        level = check_number(level, "level", strict=True, most=1)
        k, pvalues = len(self.sample_names), np.asarray(self.adjusted_pvalues)
        matrix, written = np.ma.masked_all((2, k, k))
        for a, b in (np.transpose(self.pairs), np.transpose(self.pairs)[::-1]):
            matrix[a, b], written[a, b] = self.statistics, pvalues
        names, label = (self.sample_names,) * 2, "Statistic (standard deviations)"
        options, bold = (ax, cmap, include_values), written.filled(np.inf) <= level
        self._draw(options, matrix, names, label, 1.0, ".2g", written, bold)
        marks = "bold: " if self.texts_ else ""
        return self._title(
            f"{np.sum(pvalues <= level)} of {len(pvalues)} pairs differ\n"
            f"({marks}adjusted p-value at most {level:g})"
        )


class DesignDisplay(Display):
    """Display of the entries of the core matrix that a design uses.

    Used entries h(Z_i, Z_j) are blue, and darker if random pairs use them several
    times. Use :meth:`from_design` or :meth:`from_estimator`.

    Read more in the :ref:`User Guide <plotting>`.

    Parameters
    ----------
    mask : array-like of shape (n_samples, n_samples)
        How often entries are used.
    design_name : str or None, default=None
        First line of the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    cells_ : matplotlib artist
        The used entries.
    texts_ : list of matplotlib artists
        Counts, if some are above 1.

    See Also
    --------
    skdiscrepancy.designs.check_design : Turns a letter into a design.

    Examples
    --------
    >>> from skdiscrepancy.designs import Subdiagonals
    >>> from skdiscrepancy.plotting import DesignDisplay
    >>> display = DesignDisplay.from_design(Subdiagonals(n_subdiagonals=2), 10)
    >>> int(display.mask.sum())
    34
    """

    mask: ArrayLike
    design_name: str | None = None

    @classmethod
    def from_design(
        cls,
        design: str | Design,
        n_samples: int,
        *,
        random_state: RandomStateLike = None,
        ax: Any = None,
    ) -> Self:
        """Draw a design.

        Parameters
        ----------
        design : {"v", "u", "l", "d", "b", "x", "r"} or Design
            Design to draw.
        n_samples : int
            Number of rows of the core matrix.
        random_state : int, RandomState instance, Generator or None, default=None
            Seeds all random draws.
        ax : matplotlib Axes, default=None
            Axes to draw in.

        Returns
        -------
        display : DesignDisplay
            The display.
        """
        design = check_design(design)
        check_number(n_samples, "n_samples", integer=True, least=1, most=MOST_DRAWN)
        mask = design.mask(n_samples, random_state=random_state)
        return cls(mask=mask, design_name=repr(design)).plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, n_samples: int, *, ax: Any = None) -> Self:
        """Draw the design of an estimator, which need not be fitted.

        Parameters
        ----------
        estimator : MMDEstimator, HSICEstimator or KSDEstimator
            Its `design` and `random_state` are used.
        n_samples : int
            Rows (KSD) or pairs of rows (MMD, HSIC).
        ax : matplotlib Axes, default=None
            Axes to draw in.

        Returns
        -------
        display : DesignDisplay
            The display.
        """
        options = {"random_state": estimator.random_state, "ax": ax}
        return cls.from_design(estimator.design, n_samples, **options)

    def plot(self, ax: Any = None) -> Self:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in.

        Returns
        -------
        display : DesignDisplay
            The display.
        """
        ax = self._begin(ax, 4.2, 4.4, box=True)
        from matplotlib.colors import LinearSegmentedColormap

        mask = np.asarray(self.mask)
        n, most = len(mask), int(mask.max())
        several = most > 1
        # Entries used once are blue, or light blue if others are used more often.
        shades = ["#9CCBE6", BLUE, "#00375A"] if several else [BLUE, BLUE]
        cmap = LinearSegmentedColormap.from_list("counts", shades)
        edge = "white" if n <= MAX_COUNTED else "none"
        style: dict[str, Any] = {"cmap": cmap, "edgecolors": edge, "shading": "nearest"}
        style |= {"vmin": 1, "vmax": max(most, 2)}
        cells, places = np.ma.masked_equal(mask, 0), np.arange(n)
        self.cells_ = ax.pcolormesh(places, places, cells, linewidth=0.5, **style)
        self.texts_ = []
        if several and n <= MAX_COUNTED:
            style = {"ha": "center", "va": "center", "fontsize": min(10.0, 200 / n)}
            for i, j in np.argwhere(mask):
                color = "white" if 2 * mask[i, j] > most else "black"
                self.texts_.append(ax.text(j, i, str(mask[i, j]), color=color, **style))
        elif several:
            label = "Number of times used"
            ax.figure.colorbar(self.cells_, ax=ax, label=label, shrink=0.7)
        # The first sample on top, as in a matrix.
        ax.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), aspect="equal")
        ax.set(xlabel="Sample j", ylabel="Sample i")
        whole_numbers(ax.xaxis, ax.yaxis)
        used = f"{np.count_nonzero(mask)} of {mask.size} entries"
        name = "" if self.design_name is None else f"{self.design_name}\n"
        ax.set_title(f"{name}{used}", fontsize="medium")
        return self


# Points of the grid on each axis, for one and two features.
RESOLUTION = {1: 200, 2: 50}
# Margin of the grid on each side, as a fraction of the range of the samples.
MARGIN = 0.1
# Levels of the filled contours on each side of zero.
N_LEVELS = 8


class WitnessDisplay(Display):
    """Display of a witness function over one or two features.

    Positive values (orange or red) mean that the sample has more mass than the
    reference (MMD) or the model (KSD). Use :meth:`from_estimator`.

    Read more in the :ref:`User Guide <plotting>`.

    Parameters
    ----------
    grid : list of ndarray
        Points on each axis.
    values : array-like
        Values of the function on the grid.
    sample : array-like of shape (n_samples, n_drawn)
        The sample.
    reference : array-like of shape (n_reference, n_drawn) or None, default=None
        The reference sample of MMD.
    feature_names : list of str or None, default=None
        Labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    curve_, contours_, sample_, reference_ : matplotlib artist or None
        Function (curve or contours), samples.

    See Also
    --------
    skdiscrepancy.MMDEstimator.witness : Compares two samples.
    skdiscrepancy.KSDEstimator.witness : Compares sample and model.

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
        """Draw the witness function of an estimator.

        Parameters
        ----------
        estimator : MMDEstimator or KSDEstimator
            Fitted estimator.
        X : array-like of shape (n_samples, n_features)
            Sample to compare.
        features : int, str, or list of one or two of them, default=None
            One or two columns of numbers; None draws all. For fewer columns than there
            are, a clone of the MMDEstimator is fitted to them alone. KSD needs all
            columns.
        grid_resolution : int or None, default=None
            Points on each axis; None is 200, or 50 for two features.
        ax : matplotlib Axes, default=None
            Axes to draw in.

        Returns
        -------
        display : WitnessDisplay
            The display.
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
            rows = estimator._validate(X, 1)
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
            Axes to draw in.

        Returns
        -------
        display : WitnessDisplay
            The display.
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
    unnamed = [f"x{j}" for j in range(n_features)]
    names = unnamed if known is None else [*map(str, known)]
    chosen = range(n_features) if features is None else features
    if isinstance(chosen, (str, Integral)) or not isinstance(chosen, Iterable):
        chosen = [chosen]
    columns: list[Any] = [_column_index(item, names) for item in chosen]
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
    return columns, [names[j] for j in columns]


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
