"""Checks of single parameters: errors say what was given and what is allowed."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import inspect
import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_scalar

# Integers beyond this one are no sizes of anything.
LARGEST = 2**63 - 1
# What arithmetic with arrays knows; decimals and fractions are not among them.
NUMBERS = (int, float, np.integer, np.floating)


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
) -> None:
    """Refuse what is not a number in the allowed range.

    Parameters
    ----------
    value : object
        Value of the parameter.
    name : str
        Name of the parameter.
    integer : bool, default=False
        Whether it must be an integer.
    least : float, default=0
        Smallest value, excluded if `strict`.
    strict : bool, default=False
        Whether `least` itself is not allowed.
    most : float or None, default=None
        Largest value, if there is one.
    finite : bool, default=True
        Whether infinity is not allowed.
    keyword : str or None, default=None
        The string that is allowed besides, for the message.
    context : str, default=""
        What the range depends on, for the message.
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
            # True is an integer for Python, and a mistake for us.
            None if isinstance(value, bool) else value,
            name,
            Integral if integer else Real,
            min_val=least,
            max_val=most,
            include_boundaries=bounds,
        )
    except TypeError:
        # A wrong word is a wrong value where words are allowed.
        wrong_word = keyword is not None and isinstance(value, str)
        raise (ValueError if wrong_word else TypeError)(message) from None
    except ValueError:
        raise ValueError(message) from None
    if integer and value > LARGEST:
        raise ValueError(f"{message} It must be below 2**63.")
    if not (_has_float(value) or (value == np.inf and not finite)):
        raise ValueError(message)


def shown(value: Any) -> str:
    """Return a value as error messages show it: of long ones, the beginning."""
    try:
        text = repr(value)
    except ValueError:
        # Python does not write integers of more than some thousand digits.
        return f"an integer of {value.bit_length()} bits"
    return text if len(text) <= 200 else f"{text[:60]}..."


def _has_float(value: Any) -> bool:
    """Tell whether a number is finite as a float."""
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        return False


def check_flag(value: Any, name: str) -> None:
    """Refuse what is not a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} == {shown(value)}, must be True or False.")


def warn_user(message: str) -> None:
    """Issue a UserWarning that points to the first line outside of this package."""
    package = __name__.partition(".")[0]
    frame, level = inspect.currentframe(), 1
    while (
        frame is not None
        and frame.f_back is not None
        and frame.f_globals.get("__name__", "").partition(".")[0] == package
    ):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)
