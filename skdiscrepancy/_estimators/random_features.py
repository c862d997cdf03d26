"""Random features of the kernels of fitted estimators."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from typing import Any

from skdiscrepancy._data.checks import draw_seeds, generator_of
from skdiscrepancy._gram.feature_maps import FeatureMaps
from skdiscrepancy.designs import Design


def check_features(
    n_components: Any, design: Design, *, paired: bool, pairs: str = ""
) -> None:
    """Refuse random features for designs that are not complete.

    `paired` tells whether the statistic is over other pairs, which `pairs` describes.
    """
    if n_components is not None and paired:
        also = ", and second_order=False" if pairs else ""
        raise ValueError(
            f"n_components == {n_components}, must be None for the design {design!r}"
            f"{pairs}. Random features need design='u' or design='v'{also}."
        )


def draw_features(estimator: Any, *sides: tuple[list[Any], list[Any]]) -> None:
    """Draw the seed of the features of a fitted estimator, and check its kernels.

    Each side has kernels and samples.
    """
    if estimator.n_components is not None:
        generator = generator_of(estimator.random_state)
        [estimator.feature_seed_] = draw_seeds(generator, 1)
        features_of(estimator, *sides)


def features_of(
    estimator: Any, *sides: tuple[list[Any], list[Any]]
) -> list[FeatureMaps]:
    """Return the features of the kernels of each side, which are independent."""
    seed, size = seed_of(estimator), estimator.n_components
    return [
        FeatureMaps(kernels, size, seed + i, *samples)
        for i, (kernels, samples) in enumerate(sides)
    ]


def seed_of(estimator: Any) -> int:
    """Return the seed of the features of a fitted estimator."""
    if not hasattr(estimator, "feature_seed_"):
        raise ValueError(
            f"n_components == {estimator.n_components} was set after `fit`. Call `fit` "
            "again to draw random features."
        )
    return estimator.feature_seed_
