"""The scores of batches over time."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skdiscrepancy._data.checks import RandomStateLike, check_number, shown
from skdiscrepancy._estimators.mmd import MMDEstimator
from skdiscrepancy.plotting._style import (
    BLUE,
    GREY,
    VERMILLION,
    legend_above,
    plain,
    set_axes,
)

# Number of batch sizes for which a band is computed, at most.
MOST_SIZES = 5


# Number of labels on the axis, at most.
MOST_LABELS = 12


class BatchScoresDisplay:
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

    def __init__(
        self,
        *,
        scores: ArrayLike,
        labels: Any = None,
        band: ArrayLike | None = None,
        level: float | None = None,
    ):
        self.scores = scores
        self.labels = labels
        self.band = band
        self.level = level

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
    ) -> BatchScoresDisplay:
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
        bands = np.array(
            [
                np.quantile(
                    estimator._score_held_out(int(size), n_resamples, random_state),
                    tails,
                    # A new score is above the i-th of n with probability i / (n + 1),
                    # so this method leaves the fraction `level` inside on average.
                    method="weibull",
                )
                for size in known
            ]
        )
        display = cls(
            scores=scores,
            labels=None if by is None else labels,
            band=bands[np.searchsorted(known, sizes, "right") - 1],
            level=level,
        )
        return display.plot(ax=ax)

    @classmethod
    def from_scores(
        cls,
        scores: ArrayLike,
        *,
        labels: Any = None,
        band: ArrayLike | None = None,
        level: float | None = None,
        ax: Any = None,
    ) -> BatchScoresDisplay:
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

    def plot(self, ax: Any = None) -> BatchScoresDisplay:
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
        scores, band = _check(self.scores, self.labels, self.band)
        ax = set_axes(self, ax, figsize=(6.4, 3.6))
        places = np.arange(len(scores))
        self.band_ = self.above_ = None
        if band is not None:
            self._plot_band(ax, places, band)
        [self.line_] = ax.plot(
            places, scores, "o-", color=BLUE, markersize=4, label="batch"
        )
        if band is not None and np.any(scores > band[:, 1]):
            above = scores > band[:, 1]
            [self.above_] = ax.plot(
                places[above],
                scores[above],
                "D",
                color=VERMILLION,
                markersize=6,
                zorder=3,
                label="batch above the band",
            )
        ax.axhline(0, color=GREY, linewidth=0.8, zorder=0)
        ax.set(xlabel="Batch", ylabel="Discrepancy to the reference")
        ax.margins(x=0.02)
        ax.spines[["top", "right"]].set_visible(False)
        self._label_batches(ax, places)
        legend_above(ax, "Scores of batches", ncols=3)
        return self

    def _plot_band(self, ax: Any, places: np.ndarray, band: np.ndarray) -> None:
        # Each batch has its own band, half a step to each side.
        edges = np.repeat(np.append(places, len(places)) - 0.5, 2)[1:-1]
        share = "" if self.level is None else f"{100 * self.level:g} % of "
        self.band_ = ax.fill_between(
            edges,
            *np.repeat(band, 2, axis=0).T,
            color=GREY,
            alpha=0.2,
            linewidth=0,
            label=f"{share}batches of the reference",
        )

    def _label_batches(self, ax: Any, places: np.ndarray) -> None:
        from matplotlib.ticker import MaxNLocator

        if self.labels is None:
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
            return
        some = places[:: -(-len(places) // MOST_LABELS)]
        names = [plain(list(self.labels)[place]) for place in some]
        crowded = sum(map(len, names)) > 60
        turned = {"rotation": 30, "ha": "right"} if crowded else {}
        ax.set_xticks(some, names, **turned)


def _check(
    scores: ArrayLike, labels: Any, band: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the scores and the band of each score as arrays."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 1 or not scores.size:
        raise ValueError(
            f"scores has shape {scores.shape}, must be one-dimensional and not empty."
        )
    if labels is not None and len(labels) != len(scores):
        raise ValueError(
            f"labels has {len(labels)} entries, must have {len(scores)}, one for each "
            "score."
        )
    if band is None:
        return scores, None
    ends = np.asarray(band, dtype=np.float64)
    if ends.shape not in ((2,), (len(scores), 2)):
        raise ValueError(
            f"band has shape {ends.shape}, must have shape (2,) or {(len(scores), 2)}."
        )
    return scores, np.broadcast_to(ends, (len(scores), 2))
