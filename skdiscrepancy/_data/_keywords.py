"""Errors for unknown keywords, and checks that all estimators share."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from numbers import Integral
from typing import Any, TypeVar, cast

import numpy as np

from skdiscrepancy._data._checks import LARGEST, shown
from skdiscrepancy._data._seeds import check_seed

Function = TypeVar("Function", bound=Callable[..., Any])

# More threads than this, no machine starts.
MOST_JOBS = 10_000
# Names of parameters in other packages, and their names here.
OTHER_WORDS = {
    "gamma": "bandwidth",
    "k": "n_features_to_select",
    "lengthscale": "bandwidth",
    "length_scale": "bandwidth",
    "metric": "kernel",
    "n_boot": "n_resamples",
    "n_bootstraps": "n_resamples",
    "n_perm": "n_resamples",
    "n_permutations": "n_resamples",
    "n_reps": "n_resamples",
    "n_threads": "n_jobs",
    "num_permutations": "n_resamples",
    "num_resamples": "n_resamples",
    "permutations": "n_resamples",
    "reps": "n_resamples",
    "rng": "random_state",
    "seed": "random_state",
    "sigma": "bandwidth",
    "weights": "sample_weight",
    "workers": "n_jobs",
}
# Names of weights of rows.
WEIGHTS = ("sample_weight", "sample_weight_Y", "weights")


def nearest_keyword(keyword: str, allowed: Iterable[str]) -> str | None:
    """Return the allowed keyword that was most likely meant, if there is one."""
    allowed = list(allowed)
    if OTHER_WORDS.get(keyword) in allowed:
        return OTHER_WORDS[keyword]
    close = get_close_matches(keyword, allowed, n=1)
    return close[0] if close else None


def refuse_unknown_keywords(
    given: Iterable[str],
    allowed: Iterable[str],
    called: str,
    *,
    estimator: str = "",
    parameters: Iterable[str] = (),
) -> None:
    """Raise a TypeError for keywords that a function does not have.

    Parameters
    ----------
    given : iterable of str
        Keywords that the caller passed.
    allowed : iterable of str
        Keywords that the function accepts.
    called : str
        Name of the function that was called.
    estimator : str, default=""
        Name of the class, if the function is a method of an estimator.
    parameters : iterable of str, default=()
        Parameters of the estimator.
    """
    allowed, parameters = list(allowed), list(parameters)
    for keyword in given:
        if keyword in allowed:
            continue
        message = f"{called}() got an unexpected keyword argument {keyword!r}."
        if keyword in WEIGHTS and "test" in called:
            raise TypeError(
                f"{message} A test takes no weights, because its resamples, such as "
                "permutations, treat all rows alike. Only scores take weights."
            )
        nearest = nearest_keyword(keyword, allowed)
        meant = keyword if keyword in parameters else None
        if nearest is None and meant is None:
            meant = nearest_keyword(keyword, parameters)
        if meant is not None:
            message += (
                f" {meant!r} is a parameter of the estimator. Pass it to "
                f"{estimator}({meant}=...)."
            )
        elif keyword == "gamma" and nearest == "bandwidth":
            message += (
                " Pass bandwidth=1 / sqrt(gamma) for exp(-gamma d^2), the kernel "
                "'rbf', or bandwidth=1 / gamma for exp(-gamma d), 'laplacian'."
            )
        elif keyword == "sigma" and nearest == "bandwidth":
            message += (
                " Pass bandwidth=sqrt(2) * sigma for exp(-d^2 / (2 sigma^2)), the "
                "kernel 'rbf'."
            )
        elif nearest is not None:
            message += f" Did you mean {nearest!r}?"
        raise TypeError(message)


class KeywordHints:
    """Mixin for classes whose error for an unknown parameter names the likely one.

    The signature of ``__init__`` stays as it is written, for `get_params` and `clone`.
    """

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            cls.__init__ = _explained(cls.__init__)  # type: ignore[method-assign]


def _explained(init: Callable[..., None]) -> Callable[..., None]:
    """Make an ``__init__`` refuse unknown keywords by name."""
    parameters = inspect.signature(init).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return init
    allowed = list(parameters)[1:]

    @wraps(init)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        refuse_unknown_keywords(kwargs, allowed, type(self).__name__)
        init(self, *args, **kwargs)

    return checked


def check_run_options(n_jobs: Any, random_state: Any, verbose: Any) -> None:
    """Check the parameters that control how a result is computed.

    Parameters
    ----------
    n_jobs : object
        None, or an integer other than 0, from -10000 to 10000.
    random_state : object
        None, an integer, a RandomState or a Generator. Nothing is drawn from it.
    verbose : object
        A number that is zero or larger, or a bool.
    """
    if n_jobs is not None and not _is_integer(n_jobs):
        raise TypeError(f"n_jobs == {shown(n_jobs)}, must be None or an integer.")
    if n_jobs is not None and n_jobs == 0:
        raise ValueError("n_jobs == 0, must be None or an integer other than 0.")
    if n_jobs is not None and abs(int(n_jobs)) > MOST_JOBS:
        raise ValueError(
            f"n_jobs == {shown(n_jobs)}, must be None or an integer from "
            f"{-MOST_JOBS} to {MOST_JOBS}: the number of threads."
        )
    check_seed(random_state)
    check_verbose(verbose)


def check_verbose(verbose: Any) -> None:
    """Refuse what does not say whether the progress is shown."""
    if not isinstance(verbose, (int, float, np.number, np.bool_)):
        raise TypeError(f"verbose == {shown(verbose)}, must be an integer >= 0.")
    if not 0 <= verbose <= LARGEST:
        raise ValueError(
            f"verbose == {shown(verbose)}, must be an integer >= 0, below 2**63."
        )


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def takes_parameters_of(source: Callable[..., Any]) -> Callable[[Function], Function]:
    """Give a function the keywords of an estimator, or of another function.

    The signature shows every keyword with its default. The keywords of the function
    itself come first. The error for an unknown keyword names the function.

    Parameters
    ----------
    source : class or callable
        The estimator or function that receives the `**params` of the function.

    Returns
    -------
    decorate : callable
        Decorator.
    """

    def decorate(function: Function) -> Function:
        own = {
            name: parameter
            for name, parameter in inspect.signature(function).parameters.items()
            if parameter.kind is not parameter.VAR_KEYWORD
        }
        handed_on = [
            parameter
            for name, parameter in inspect.signature(source).parameters.items()
            if parameter.kind is parameter.KEYWORD_ONLY and name not in own
        ]
        signature = inspect.signature(function).replace(
            parameters=[*own.values(), *handed_on]
        )

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            refuse_unknown_keywords(kwargs, signature.parameters, function.__name__)
            return function(*args, **kwargs)

        checked.__signature__ = signature  # type: ignore[attr-defined]
        return cast(Function, checked)

    return decorate


def explains_keywords(method: Function) -> Function:
    """Make a method explain where an unknown keyword belongs.

    Parameters
    ----------
    method : callable
        Method of an estimator.

    Returns
    -------
    checked : callable
        The method, which refuses unknown keywords by name.
    """
    allowed = list(inspect.signature(method).parameters)[1:]

    @wraps(method)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not kwargs.keys() <= set(allowed):
            estimator = type(self).__name__
            refuse_unknown_keywords(
                kwargs,
                allowed,
                f"{estimator}.{method.__name__}",
                estimator=estimator,
                parameters=self.get_params(deep=False),
            )
        return method(self, *args, **kwargs)

    return cast(Function, checked)
