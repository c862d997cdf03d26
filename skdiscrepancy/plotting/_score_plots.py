"""Scores of batches, candidates, subsets and selections of columns."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skdiscrepancy._data.checks import RandomStateLike, check_number, shown
from skdiscrepancy._estimators.mmd import MMDEstimator
from skdiscrepancy.plotting._style import (
    BLUE,
    GREY,
    VERMILLION,
    Display,
    from_result_with,
    plain,
    whole_numbers,
)

# Height of the bars of one selected column, of which there are two.
HEIGHT = 0.4
# Number of batch sizes for which a band is computed, at most.
MOST_SIZES = 5
# Number of labels on the axis, at most.
MOST_LABELS = 12


class ComparisonDisplay(Display):
    """Display of the difference of each candidate to the best one, with intervals.

    Each line is a confidence interval of a difference of two scores. Filled markers
    show candidates that cannot be distinguished from the best one, after Holm's
    correction for the number of comparisons [1]_. Open markers show candidates that are
    significantly worse than some other candidate.

    Use :meth:`from_result`, or the method `plot` of
    :class:`~skdiscrepancy.ComparisonResult`.

    Read more in the :ref:`User Guide <uncertainty>`.

    Parameters
    ----------
    names : list of length n_candidates
        Names of the candidates, the best first.
    differences : array-like of shape (n_candidates,)
        Score of each candidate minus the score of the best one.
    widths : array-like of shape (n_candidates,)
        Half the width of the interval of each difference.
    in_set : array-like of shape (n_candidates,), of bool
        Whether a candidate cannot be distinguished from the best one.
    discrepancy : str, default="score"
        What the scores are, for the labels.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the figure.
    figure_ : matplotlib Figure
        The figure.
    intervals_ : matplotlib LineCollection
        The intervals.
    kept_ : matplotlib Line2D
        The filled markers.
    worse_ : matplotlib Line2D
        The open markers.

    See Also
    --------
    skdiscrepancy.mmd_compare : Compares samples by their distance to a sample.

    References
    ----------
    .. [1] S. Holm, "A simple sequentially rejective multiple test procedure",
       Scandinavian Journal of Statistics 6, 1979.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_compare
    >>> from skdiscrepancy.plotting import ComparisonDisplay
    >>> rng = np.random.RandomState(0)
    >>> X, Y, Z = rng.normal(size=(3, 200, 2)) + np.reshape([0, 0.2, 1], (3, 1, 1))
    >>> result = mmd_compare(X, Y, Z, names=["near", "far"])
    >>> display = ComparisonDisplay.from_result(result)
    >>> display.names, display.ax_.get_title(loc="left")
    (['near', 'far'], '1 of 2 candidates significantly worse at level 0.05')
    """

    names: Sequence[Any]
    differences: ArrayLike
    widths: ArrayLike
    in_set: ArrayLike
    discrepancy: str = "score"

    @classmethod
    def _fields(cls, result: Any, **options: Any) -> dict[str, Any]:
        """Return the fields from a comparison, the best candidate first."""
        level = options.get("level", 0.05)
        kept = result.best_set(level)
        best = result.names.index(result.best)
        sign = -1 if result.larger_is_better else 1
        order = np.argsort(sign * result.scores, kind="stable")
        names = [result.names[i] for i in order]
        ends = [
            result.pair(name, result.best).confidence_interval(1 - level)
            if i != best
            else (0.0, 0.0)
            for i, name in zip(order, names, strict=True)
        ]
        return {
            "names": names,
            "differences": result.differences[order, best],
            "widths": [(high - low) / 2 for low, high in ends],
            "in_set": [name in kept for name in names],
            "discrepancy": result.discrepancy,
        }

    def plot(self, ax: Any = None, *, level: float = 0.05) -> Self:
        """Draw the intervals.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; new ones if None.
        level : float, default=0.05
            Significance level, for the title and the legend.

        Returns
        -------
        display : ComparisonDisplay
            The display itself.
        """
        differences, widths = np.asarray(self.differences), np.asarray(self.widths)
        in_set = np.asarray(self.in_set, dtype=bool)
        n = len(differences)
        places = np.arange(n)
        ax = self._begin(ax, 6.4, 1.6 + 0.36 * n)
        ax.axvline(0, color=GREY, linewidth=1, linestyle="--")
        low, high = differences - widths, differences + widths
        colors = np.where(in_set, BLUE, VERMILLION)
        self.intervals_ = ax.hlines(places, low, high, color=colors, linewidth=2)
        style = {"linestyle": "none", "marker": "o", "markersize": 7, "zorder": 3}
        kept = {"color": BLUE, "label": "not distinguishable from the best", **style}
        [self.kept_] = ax.plot(differences[in_set], places[in_set], **kept)
        worse = {"color": VERMILLION, "label": "worse", **style}
        [self.worse_] = ax.plot(
            differences[~in_set], places[~in_set], markerfacecolor="white", **worse
        )
        ax.set_yticks(places, [str(name) for name in self.names])
        ax.set_ylim(n - 0.5, -0.5)
        ax.set_xlabel(
            f"Difference in {self.discrepancy} to {self.names[0]}, with "
            f"{100 * (1 - level):g} % intervals"
        )
        n_worse = int(np.sum(~in_set))
        title = f"{n_worse} of {n} candidates significantly worse at level {level:g}"
        return self._legend(title, ncols=2)

    from_result = from_result_with(plot)


class SubsetsDisplay(Display):
    """Display of the squared MMD of random subsets, with their mean.

    A histogram shows the values of the subsets, and a line their mean, such as the
    Kernel Inception Distance (KID) [1]_.

    Use :meth:`from_result`, or the method `plot` of
    :class:`~skdiscrepancy.MMDSubsetsResult`.

    Read more in the :ref:`User Guide <generators>`.

    Parameters
    ----------
    values : array-like of shape (n_subsets,)
        Squared MMD of each subset.
    subset_size : int or None, default=None
        Number of rows of each sample in a subset, for the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the figure.
    figure_ : matplotlib Figure
        The figure.
    bars_ : matplotlib BarContainer
        The histogram.
    mean_ : matplotlib Line2D
        The mean of the values.

    See Also
    --------
    skdiscrepancy.mmd_subsets : Computes the values.

    References
    ----------
    .. [1] M. Bińkowski et al., "Demystifying MMD GANs", ICLR 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import mmd_subsets
    >>> from skdiscrepancy.plotting import SubsetsDisplay
    >>> X, Y = np.random.RandomState(0).normal(size=(2, 200, 4))
    >>> result = mmd_subsets(X, Y, n_subsets=30, subset_size=50, random_state=0)
    >>> display = SubsetsDisplay.from_result(result)
    >>> int(sum(bar.get_height() for bar in display.bars_))
    30
    """

    values: ArrayLike
    subset_size: int | None = None

    def plot(self, ax: Any = None, *, bins: Any = "auto") -> Self:
        """Draw the histogram.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; new ones if None.
        bins : int, array-like or str, default="auto"
            Bins of the histogram, as for :func:`numpy.histogram_bin_edges`.

        Returns
        -------
        display : SubsetsDisplay
            The display itself.
        """
        values = np.asarray(self.values)
        ax = self._begin(ax, 6.4, 3.6)
        rows = "" if self.subset_size is None else f" of {self.subset_size} rows"
        label = f"{values.size} subsets{rows}"
        self.bars_ = self._draw_histogram(values, bins, label)
        mean = values.mean()
        label = f"mean {mean:.3g}, standard deviation {values.std():.2g}"
        self.mean_ = self._draw_value(mean, label)
        ax.set(xlabel="Squared MMD of a subset", ylabel="Number of subsets")
        return self._legend("Squared MMD of random subsets", ncols=2)

    from_result = from_result_with(plot)


class BatchScoresDisplay(Display):
    """Display of the scores of batches over time, with the band of usual scores.

    Each point is the discrepancy between a batch and the reference sample, the squared
    MMD [1]_. The band shows which scores to expect without drift. To compute it, random
    rows of the reference sample take the place of a batch, and are compared with the
    other rows of the reference sample. The rows of the batch must be left out of the
    reference sample, because rows that both samples share lower the score. Points above
    the band have another colour.

    Without drift, a fraction (1 - `level`) / 2 of all batches is above the band. So
    expect one false alarm in 40 batches with a level of 0.95. The rows of the reference
    sample must be independent of each other. If they are neighbours in time that
    resemble each other, random rows of the reference sample are more alike than batches
    of consecutive rows, and the band is too narrow.

    Use :meth:`from_estimator`, or :meth:`from_scores` if you have the scores.

    Read more in the :ref:`User Guide <mmd>`.

    Parameters
    ----------
    scores : array-like of shape (n_batches,)
        Score of each batch.
    labels : array-like of shape (n_batches,) or None, default=None
        Labels of the batches. None numbers the batches from 0.
    band : array-like of shape (2,) or (n_batches, 2), or None, default=None
        Lower and upper end of the band, for all batches or for each batch. None draws
        no band.
    level : float or None, default=None
        Fraction of scores inside the band, for the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the figure.
    figure_ : matplotlib Figure
        The figure.
    line_ : matplotlib Line2D
        The scores.
    band_ : matplotlib PolyCollection or None
        The band.
    above_ : matplotlib Line2D or None
        The scores above the band.

    See Also
    --------
    skdiscrepancy.MMDEstimator.score_batches : Computes the scores.

    References
    ----------
    .. [1] A. Gretton et al., "A kernel two-sample test", JMLR 13, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy import MMDEstimator
    >>> from skdiscrepancy.plotting import BatchScoresDisplay
    >>> X = np.random.RandomState(0).normal(size=(400, 2))
    >>> X[300:] += 1
    >>> mmd = MMDEstimator().fit(X[:200])
    >>> display = BatchScoresDisplay.from_estimator(
    ...     mmd, X[200:], batch_size=50, random_state=0
    ... )
    >>> (display.scores > display.band[:, 1]).tolist()
    [False, False, True, True]
    """

    scores: ArrayLike
    labels: Any = None
    band: ArrayLike | None = None
    level: float | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: MMDEstimator,
        batches: Any,
        *,
        batch_size: int | None = None,
        by: Any = None,
        level: float = 0.95,
        n_resamples: int = 100,
        random_state: RandomStateLike = None,
        ax: Any = None,
    ) -> Self:
        """Compute the scores of batches and the band, and draw them.

        The band takes the time of `n_resamples` scores for each size of a batch. If
        batches have more than five sizes, the band of a batch is the band of the
        nearest smaller one of five sizes, which is wider.

        Parameters
        ----------
        estimator : MMDEstimator
            Fitted estimator.
        batches : iterable, array-like or DataFrame
            Samples, or one sample that `batch_size` or `by` divides into batches, as in
            :meth:`MMDEstimator.score_batches
            <skdiscrepancy.MMDEstimator.score_batches>`.
        batch_size : int or None, default=None
            Number of consecutive rows of each batch.
        by : str or None, default=None
            Name of the column of a DataFrame that holds the label of each batch.
        level : float, default=0.95
            Fraction of the scores of the reference sample inside the band.
        n_resamples : int, default=100
            Number of random batches of the reference sample.
        random_state : int, RandomState instance, Generator or None, default=None
            Seeds the random batches of the reference sample.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : BatchScoresDisplay
            The display, already drawn.
        """
        if not isinstance(estimator, MMDEstimator):
            raise TypeError(
                f"estimator == {shown(estimator)}, must be a fitted MMDEstimator."
            )
        level = check_number(level, "level", strict=True, most=1)
        n_resamples = check_number(n_resamples, "n_resamples", integer=True, least=2)
        scores, labels, sizes = estimator._score_batches(batches, batch_size, by)
        known = np.unique(sizes)
        if len(known) > MOST_SIZES:
            places = np.linspace(0, len(known) - 1, MOST_SIZES + 1)[:-1]
            known = known[places.astype(int)]
        tails = [(1 - level) / 2, (1 + level) / 2]
        bands = []
        for size in known:
            usual = estimator._score_held_out(int(size), n_resamples, random_state)
            # A new score is above the i-th of n with probability i / (n + 1), so this
            # method leaves the fraction `level` inside on average.
            bands.append(np.quantile(usual, tails, method="weibull"))
        band = np.array(bands)[np.searchsorted(known, sizes, "right") - 1]
        named = None if by is None else labels
        return cls.from_scores(scores, labels=named, band=band, level=level, ax=ax)

    @classmethod
    def from_scores(
        cls,
        scores: ArrayLike,
        *,
        labels: Any = None,
        band: ArrayLike | None = None,
        level: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw scores that you have computed.

        Parameters
        ----------
        scores : array-like of shape (n_batches,)
            Score of each batch.
        labels : array-like of shape (n_batches,) or None, default=None
            Labels of the batches. None numbers the batches from 0.
        band : array-like of shape (2,) or (n_batches, 2), or None, default=None
            Lower and upper end of the band, for all batches or for each batch.
        level : float or None, default=None
            Fraction of scores inside the band, for the legend.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : BatchScoresDisplay
            The display, already drawn.
        """
        return cls(scores=scores, labels=labels, band=band, level=level).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the scores and the band.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : BatchScoresDisplay
            The display itself.
        """
        scores, band = self._checked()
        ax = self._begin(ax, 6.4, 3.6)
        places = np.arange(len(scores))
        self.band_ = self.above_ = None
        if band is not None:
            # Each batch has its own band, half a step to each side.
            edges = np.repeat(np.append(places, len(places)) - 0.5, 2)[1:-1]
            share = "" if self.level is None else f"{100 * self.level:g} % of "
            label = f"{share}batches of the reference"
            style = {"color": GREY, "alpha": 0.2, "linewidth": 0, "label": label}
            self.band_ = ax.fill_between(edges, *np.repeat(band, 2, axis=0).T, **style)
        style = {"color": BLUE, "markersize": 4, "label": "batch"}
        [self.line_] = ax.plot(places, scores, "o-", **style)
        if band is not None and np.any(above := scores > band[:, 1]):
            style = {"color": VERMILLION, "markersize": 6, "zorder": 3}
            style["label"] = "batch above the band"
            [self.above_] = ax.plot(places[above], scores[above], "D", **style)
        ax.axhline(0, color=GREY, linewidth=0.8, zorder=0)
        ax.set(xlabel="Batch", ylabel="Discrepancy to the reference")
        ax.margins(x=0.02)
        if self.labels is None:
            whole_numbers(ax.xaxis)
        else:
            some = places[:: -(-len(places) // MOST_LABELS)]
            names = [plain(list(self.labels)[place]) for place in some]
            crowded = sum(map(len, names)) > 60
            turned = {"rotation": 30, "ha": "right"} if crowded else {}
            ax.set_xticks(some, names, **turned)
        return self._legend("Scores of batches", ncols=3)

    def _checked(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the scores, and the ends of the band for each of them."""
        scores = np.asarray(self.scores, dtype=np.float64)
        n = len(scores) if scores.ndim == 1 else 0
        if not n:
            raise ValueError(
                f"scores has shape {scores.shape}, must be one-dimensional and not "
                "empty."
            )
        if self.labels is not None and len(self.labels) != n:
            raise ValueError(
                f"labels has {len(self.labels)} entries, must have {n}, one for each "
                "score."
            )
        if self.band is None:
            return scores, None
        ends = np.asarray(self.band, dtype=np.float64)
        if ends.shape not in ((2,), (n, 2)):
            raise ValueError(
                f"band has shape {ends.shape}, must have shape (2,) or {(n, 2)}."
            )
        return scores, np.broadcast_to(ends, (n, 2))


class SelectionDisplay(Display):
    """Display of the path of a selector: relevance against redundancy.

    Two bars for each selected column show its relevance, the centred kernel alignment
    (CKA) with y, and its redundancy, the mean CKA with the columns selected before. The
    column that was selected first is on top. Methods of minimal redundancy and maximal
    relevance [1]_ maximise the difference of relevance and redundancy. Use
    :meth:`from_estimator` to draw the path of a fitted selector.

    Read more in the :ref:`User Guide <plotting>`.

    Parameters
    ----------
    relevance : array-like of shape (n_selected,)
        CKA of each selected column with y.
    redundancy : array-like of shape (n_selected,)
        Mean CKA of each selected column with the columns selected before.
    feature_names : array-like of shape (n_selected,)
        Names of the columns.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the figure.
    figure_ : matplotlib Figure
        The figure.
    relevance_bars_ : matplotlib BarContainer
        Bars of the relevance.
    redundancy_bars_ : matplotlib BarContainer
        Bars of the redundancy.

    See Also
    --------
    skdiscrepancy.feature_selection.HSICSelector : Computes the path that is drawn.

    References
    ----------
    .. [1] H. Peng, F. Long and C. Ding, "Feature selection based on mutual information:
       criteria of max-dependency, max-relevance, and min-redundancy", IEEE Transactions
       on Pattern Analysis and Machine Intelligence 27, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.feature_selection import HSICSelector
    >>> from skdiscrepancy.plotting import SelectionDisplay
    >>> X = np.random.RandomState(0).normal(size=(100, 6))
    >>> y = X[:, 1] ** 2 + np.sin(2 * X[:, 4])
    >>> selector = HSICSelector(2).fit(X, y)
    >>> SelectionDisplay.from_estimator(selector).feature_names.tolist()
    ['x1', 'x4']
    """

    relevance: ArrayLike
    redundancy: ArrayLike
    feature_names: Sequence[Any]

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the path of a selector.

        Parameters
        ----------
        estimator : HSICSelector or HSICSelectorCV
            Fitted selector.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : SelectionDisplay
            The display, already drawn.
        """
        check_is_fitted(estimator)
        # With cross-validation, the path belongs to the selector of all rows.
        path = getattr(estimator, "selector_", estimator).path_
        names = getattr(estimator, "feature_names_in_", None)
        if names is None:
            names = np.array([f"x{j}" for j in range(estimator.n_features_in_)])
        display = cls(
            relevance=path.relevance,
            redundancy=path.redundancy,
            feature_names=path.get("group", names[path.feature]),
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the path.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : SelectionDisplay
            The display itself.
        """
        steps = np.arange(1, len(self.feature_names) + 1)
        ax = self._begin(ax, 6.4, max(2.0, 1.6 + 0.4 * len(steps)))
        above, below = steps - HEIGHT / 2, steps + HEIGHT / 2
        style = {"color": BLUE, "label": "relevance, with y"}
        self.relevance_bars_ = ax.barh(above, self.relevance, HEIGHT, **style)
        style = {
            "color": VERMILLION,
            "label": "redundancy, mean with the columns above",
        }
        self.redundancy_bars_ = ax.barh(below, self.redundancy, HEIGHT, **style)
        labels = [f"{i}. {name}" for i, name in enumerate(self.feature_names, 1)]
        self._name_rows(labels, start=1)
        ax.set_xlabel("Centred kernel alignment (CKA)")
        return self._legend("Selected columns, the first on top")


class SelectionCVDisplay(Display):
    """Display of the cross-validated score by the number of selected columns.

    The curve shows the mean over the folds of the centred kernel alignment (CKA) of the
    selected columns with y, on held-out rows [1]_. The band shows one standard error on
    each side, which is only a rough guide, because folds share training rows. A line
    marks the chosen number of columns. If parameters were searched, the blue curve
    belongs to the best parameters, and thin grey curves belong to the others.

    Use :meth:`from_estimator` to draw the curve of a fitted selector.

    Read more in the :ref:`User Guide <plotting>`.

    Parameters
    ----------
    n_features : array-like of shape (n_sizes,)
        Numbers of columns.
    scores : array-like of shape (n_settings, n_sizes, n_splits)
        Score of each setting of the parameters, number of columns and fold.
    best_setting : int, default=0
        Index of the best setting of the parameters.
    n_features_selected : int or None, default=None
        The chosen number of columns.
    setting_name : str or None, default=None
        Name of the best setting, if there are several.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the figure.
    figure_ : matplotlib Figure
        The figure.
    line_ : matplotlib Line2D
        The curve of the best setting.
    band_ : matplotlib PolyCollection or None
        One standard error on each side, None for a single fold.
    other_lines_ : list of matplotlib Line2D
        The curves of the other settings.
    chosen_ : matplotlib Line2D or None
        The line at the chosen number of columns.

    See Also
    --------
    skdiscrepancy.feature_selection.HSICSelectorCV : Chooses the number of columns.
    SelectionDisplay : Draws the selected columns.

    References
    ----------
    .. [1] L. Song et al., "Feature selection via dependence maximization", JMLR 13,
       2012.

    Examples
    --------
    >>> import numpy as np
    >>> from skdiscrepancy.feature_selection import HSICSelectorCV
    >>> from skdiscrepancy.plotting import SelectionCVDisplay
    >>> X = np.random.RandomState(0).normal(size=(100, 6))
    >>> y = X[:, 1] ** 2 + np.sin(2 * X[:, 4])
    >>> selector = HSICSelectorCV().fit(X, y)
    >>> display = SelectionCVDisplay.from_estimator(selector)
    >>> int(display.chosen_.get_xdata()[0])
    2
    """

    n_features: ArrayLike
    scores: ArrayLike
    best_setting: int = 0
    n_features_selected: int | None = None
    setting_name: str | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the cross-validated scores of a selector.

        Parameters
        ----------
        estimator : HSICSelectorCV
            Fitted selector.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : SelectionCVDisplay
            The display, already drawn.
        """
        check_is_fitted(estimator)
        results = getattr(estimator, "cv_results_", None)
        if results is None or "n_features" not in results:
            raise TypeError(f"estimator == {estimator!r}, must be an HSICSelectorCV.")
        sizes = np.unique(results["n_features"])
        n_splits = sum(key.startswith("split") for key in results)
        splits = [results[f"split{i}_test_score"] for i in range(n_splits)]
        scores = np.transpose(splits).reshape(-1, len(sizes), n_splits)
        best = int(np.argmax(results["mean_test_score"])) // len(sizes)
        params = estimator.best_params_.items() if len(scores) > 1 else ()
        setting = ", ".join(f"{key}={value}" for key, value in params) or None
        display = cls(
            n_features=sizes,
            scores=scores,
            best_setting=best,
            n_features_selected=estimator.n_features_,
            setting_name=setting,
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the scores.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates new axes.

        Returns
        -------
        display : SelectionCVDisplay
            The display itself.
        """
        ax = self._begin(ax, 6.4, 4.4)
        sizes, scores = np.asarray(self.n_features), np.asarray(self.scores)
        n_splits, best = scores.shape[2], self.best_setting
        means = scores.mean(axis=2)
        self.other_lines_ = [
            ax.plot(sizes, mean, color=GREY, linewidth=0.8, alpha=0.5)[0]
            for index, mean in enumerate(means)
            if index != best
        ]
        if self.other_lines_:
            self.other_lines_[0].set_label("other parameters")
        folds = f"mean of {n_splits} fold{'' if n_splits == 1 else 's'}"
        name = "" if self.setting_name is None else f", {plain(self.setting_name, 60)}"
        style = {"color": BLUE, "markersize": 4, "label": f"{folds}{name}"}
        [self.line_] = ax.plot(sizes, means[best], "o-", **style)
        self.band_ = self.chosen_ = None
        if n_splits > 1:
            error = scores[best].std(axis=1, ddof=1) / np.sqrt(n_splits)
            ends = means[best] - error, means[best] + error
            style = {"color": BLUE, "alpha": 0.2, "label": "one standard error"}
            self.band_ = ax.fill_between(sizes, *ends, linewidth=0, **style)
        chosen = self.n_features_selected
        if chosen is not None:
            style = {"color": VERMILLION, "linestyle": "--", "zorder": 1}
            self.chosen_ = ax.axvline(chosen, label=f"chosen: {chosen}", **style)
        whole_numbers(ax.xaxis)
        ax.set(xlabel="Number of columns", ylabel="CKA with y on held-out rows")
        named = [self.line_, self.band_, self.chosen_, *self.other_lines_[:1]]
        handles = [handle for handle in named if handle is not None]
        title = "Cross-validated score by number of columns"
        return self._legend(title, ncols=3, handles=handles)
