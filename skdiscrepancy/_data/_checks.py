"""Checks of single parameters, with errors that say what is allowed."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import inspect
import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_scalar

# Largest integer that can be a size.
LARGEST = 2**63 - 1
# Largest number of draws. More take days, and much memory.
MOST_DRAWS = 10**7
# Largest numbers by the name of a parameter, whatever the function is.
MOST = dict.fromkeys(("n_bandwidths", "grid_resolution"), 10_000)
for _name in ("n_points", "n_probes", "n_resamples", "n_samples", "n_subsets"):
    MOST[_name] = MOST_DRAWS
# Types that work in arithmetic with arrays. Decimals and fractions do not.
NUMBERS = (int, float, np.integer, np.floating)
# Packages that run tasks of this package.
RUNNERS = ("joblib", "sklearn")


def check_number(
    value: Any,
    name: str,
    *,
    integer: bool = False,
    least: float = 0,
    strict: bool = False,
    most: float | None = None,
    finite: bool = True,
    keyword: str | None = None,
    context: str = "",
) -> Any:
    """Return a number of Python, or raise an error if it is not in the allowed range.

    Numbers of numpy overflow, and change the precision of arrays.

    Parameters
    ----------
    value : object
        Value of the parameter.
    name : str
        Name of the parameter.
    integer : bool, default=False
        Whether the value must be an integer.
    least : float, default=0
        Smallest allowed value, or its lower bound if `strict`.
    strict : bool, default=False
        Whether `least` itself is not allowed.
    most : float or None, default=None
        Largest allowed value. None means no upper bound.
    finite : bool, default=True
        Whether the value must be finite.
    keyword : str or None, default=None
        String that is also allowed, for the error message.
    context : str, default=""
        What the range depends on, for the error message.

    Returns
    -------
    number : int or float
        The value as an int if it is an integer, else as a float.
    """
    kind = "an integer" if integer else "a finite number" if finite else "a number"
    if most is None:
        allowed = f"{kind} {'>' if strict else '>='} {least}"
    else:
        allowed = f"{kind} from {least} to {most}"
    if keyword is not None:
        allowed = f"{keyword!r} or {allowed}"
    message = f"{name} == {shown(value)}, must be {allowed}{context}."
    if isinstance(value, Real) and not isinstance(value, NUMBERS):
        raise TypeError(f"{message} Its type must be int or float.")
    bounds = "both" if not strict else "neither" if most is None else "right"
    try:
        check_scalar(
            # Python counts True as an integer, but here it is a mistake.
            None if isinstance(value, bool) else value,
            name,
            Integral if integer else Real,
            min_val=least,
            max_val=most,
            include_boundaries=bounds,
        )
    except TypeError:
        # If a string is allowed, a wrong string is a wrong value, not a wrong type.
        wrong_word = keyword is not None and isinstance(value, str)
        raise (ValueError if wrong_word else TypeError)(message) from None
    except ValueError:
        raise ValueError(message) from None
    if integer and value > MOST.get(name, LARGEST):
        limit = "below 2**63"
        if name in MOST:
            limit = f"at most {MOST[name]}, because each one takes time and memory"
        raise ValueError(f"{message} It must be {limit}.")
    if not (_has_float(value) or (value == np.inf and not finite)):
        raise ValueError(message)
    return int(value) if isinstance(value, Integral) else float(value)


def shown(value: Any) -> str:
    """Return the text of a value for error messages, shortened if it is long."""
    try:
        text = repr(value)
    except ValueError:
        # Python does not convert integers of several thousand digits to text.
        return f"an integer of {value.bit_length()} bits"
    return text if len(text) <= 200 else f"{text[:60]}..."


def text_of(category: Any) -> tuple[str, str]:
    """Return the text of a category, and its type, since 1 and "1" are different."""
    try:
        text = str(category)
    except ValueError:
        # Python does not convert integers of several thousand digits to text.
        text = shown(category)
    return text, type(category).__name__


def _has_float(value: Any) -> bool:
    """Return whether a number is finite as a float."""
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        return False


def check_flag(value: Any, name: str) -> None:
    """Raise an error unless the value is a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} == {shown(value)}, must be True or False.")


def values_of(estimator: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Return parameters as they are now, for a comparison with their later values."""
    return {name: _value_of(getattr(estimator, name)) for name in names}


def _value_of(value: Any) -> Any:
    """Return a value that is equal to a later one if no part of it has changed."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        if len(shape) > 1:
            return _Itself(value)
        value = np.asarray(value).tolist()
    if isinstance(value, (list, tuple)):
        return [_value_of(part) for part in value]
    if hasattr(value, "get_params") and not isinstance(value, type):
        # By attribute, because some objects return views of their parameters.
        return type(value), values_of(value, tuple(value.get_params(deep=False)))
    # NaN is not equal to itself.
    return "nan" if isinstance(value, float) and value != value else value


class _Itself:
    """A matrix, for example a Gram matrix, which is equal to itself only."""

    def __init__(self, matrix: Any):
        self.matrix = matrix

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.matrix is other.matrix

    __hash__ = None  # type: ignore[assignment]


def refuse_changed(estimator: Any, known: dict[str, Any]) -> None:
    """Refuse parameters that have changed since `fit`, and that `fit` learns from."""
    for name, value in values_of(estimator, tuple(known)).items():
        if value != known[name]:
            raise ValueError(
                f"{name} == {shown(getattr(estimator, name))} has changed since `fit`. "
                "Call `fit` again."
            )


def warn_user(message: str) -> None:
    """Issue a UserWarning that points to the line that called this package."""
    package = __name__.partition(".")[0]
    frame, level, outside = inspect.currentframe(), 1, 1
    while frame is not None:
        root = frame.f_globals.get("__name__", "").partition(".")[0]
        if root == package:
            outside = level + 1
        elif root not in RUNNERS:
            break
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=outside)
