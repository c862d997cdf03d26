"""What every call must do, whatever it is called with.

1. It returns what its documentation says, and all numbers in it are finite; p-values
   are above 0 and at most 1. Or it raises ValueError or TypeError with a message that
   has the name of a parameter, and no number of hundreds of digits.
2. The arguments, their arrays and the models among them are as before the call.
3. The global random states of Python and numpy are as before the call.
4. A call that gave a result gives the same bits for the same `random_state`, and for
   `n_jobs` 1 and 2.
5. If the arrays are float32, the result is near the result for the same numbers in
   float64: see `TOLERANCE`.
6. Missing values (NaN, NaT) in arrays are refused, and what a mask hides is refused or
   not used. The encoder of tables takes them.
7. It takes less than `TIME_LIMIT` seconds of computing; the data are small.
8. Warnings are UserWarnings of skdiscrepancy, or of scikit-learn about its own models.

The name of a parameter is one of the function that is called, of its estimator, of a
kernel or design, or of the data (X, Y, y, K_xx); `n_samples` and `n_features` are the
lengths of the data. Some messages of `sklearn.utils.validation` about data that no
estimator takes have no name ("Expected 2D array, got scalar array instead"). They are
accepted, because users know them, and so are its message about other feature names than
in `fit` and its warnings about infinity.
"""

# SPDX-License-Identifier: BSD-3-Clause

import contextlib
import dataclasses
import inspect
import pickle
import random
import re
import signal
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.neighbors import KernelDensity

import skdiscrepancy

PACKAGE = str(Path(skdiscrepancy.__file__).parent)
# Most serious first.
KINDS = [
    "result",
    "exception",
    "changed input",
    "changed global random state",
    "not repeatable",
    "n_jobs",
    "missing values",
    "float32",
    "slow",
    "warning",
    "message",
]
TIME_LIMIT = 30
# Largest difference of float32 and float64, in parts of the larger of 1 and the
# largest number. A p-value of 19 resamples moves by 1/20 for each rank that rounding
# exchanges.
TOLERANCE = {"value": 0.01, "pvalue": 0.26}
# Messages do not print all digits of a number.
LONGEST_WORD = 100
PVALUES = ("pvalue", "pvalues", "adjusted_pvalues")
VALIDATION = "sklearn/utils/validation.py"
FEATURE_NAMES = "The feature names should match those that were passed during fit."
# Of scikit-learn, about models and folds that the call asked for.
SKLEARN_WARNINGS = (ConvergenceWarning, DataConversionWarning)


class Finding(AssertionError):
    """A call that does what no call may do.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    where : str
        What tells this finding from others of its kind.
    detail : str
        What was seen.
    """

    def __init__(self, kind, where, detail):
        super().__init__(f"{kind}: {detail}")
        self.kind, self.where, self.detail = kind, where, detail


@dataclasses.dataclass
class Outcome:
    """What a call gave: a result or an error, and warnings."""

    result: object = None
    error: Exception | None = None
    warnings: list = dataclasses.field(default_factory=list)

    def same_as(self, other):
        if (self.error is None) != (other.error is None):
            return False
        if self.error is not None:
            return type(self.error) is type(other.error)
        return equal(numbers_in(self.result), numbers_in(other.result))

    def __str__(self):
        if self.error is not None:
            return f"{type(self.error).__name__}: {self.error}"
        return short(self.result)


def examine(call, target):
    """Raise a Finding if the call breaks a rule; return whether it gave a result."""
    outcome = run_once(call)
    check_error(outcome, target)
    if outcome.error is None:
        check_result(outcome.result, target)
    check_warnings(outcome)
    if outcome.error is not None:
        return False
    check_repeats(call, outcome)
    if not target.takes_missing and "TableEncoder" not in str(call.keywords):
        check_missing(call, outcome)
    if target.near is not None:
        check_precision(call, outcome, target.near)
    return True


def run_once(call, change=None):
    """Run a call; raise a Finding if it changes its input or the random states.

    `change` is applied to every argument before the call.
    """
    data = call.data_values()
    keywords = call.keyword_values(data)
    if change is not None:
        data = {name: change(value) for name, value in data.items()}
    before = prints_of(data), prints_of(without_generators(keywords))
    random.seed(0)
    np.random.seed(0)
    states = random.getstate(), pickle.dumps(np.random.get_state())
    outcome = Outcome()
    with recorded(outcome.warnings), limited_time():
        try:
            outcome.result = call.run(data, keywords)
        except Exception as error:
            outcome.error = error
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    after = prints_of(data), prints_of(without_generators(keywords))
    for was, now in zip(before, after, strict=True):
        for name in was:
            if was[name] != now[name]:
                raise Finding("changed input", name, f"{name} is changed by the call")
    if states != (random.getstate(), pickle.dumps(np.random.get_state())):
        raise Finding("changed global random state", "", "a global generator advanced")
    return outcome


def check_error(outcome, target):
    error = outcome.error
    if error is None:
        return
    where = f"{type(error).__name__} {place_of(error)}"
    frames = traceback.extract_tb(error.__traceback__)
    if frames[-1].filename == "<string>" or not any(map(in_package, frames)):
        # The call's own function of a model or kernel, or its arguments.
        return
    if not isinstance(error, ValueError | TypeError):
        raise Finding("exception", where, str(outcome))
    words = set(re.findall(r"\w+", str(error)))
    # Errors of single columns say so, and are raised from the error itself.
    frames = traceback.extract_tb((error.__cause__ or error).__traceback__)
    if any(len(word) > LONGEST_WORD for word in words):
        raise Finding("message", f"long {where}", str(outcome)[:2000])
    known = type(error) in (ValueError, TypeError) and is_validation(frames)
    known = known or str(error).startswith(FEATURE_NAMES)
    if not known and not words & target.names:
        raise Finding("message", where, str(outcome))


def check_result(result, target):
    for name, value in numbers_in(result):
        value = np.asarray(value)
        if name == "result.bandwidths":
            # A BandwidthDisplay has NaN for a kernel without a bandwidth.
            value = value[~np.isnan(value)]
        if name.endswith("feature_errors"):
            # A single draw of random features has an infinite error.
            value = value[value < np.inf]
        if name.startswith("result.norms["):
            # The order of a norm may be infinity.
            continue
        if hasattr(result, "columns") and "transform(" in target.expression:
            # A selector returns the columns of a table as they are.
            continue
        if value.dtype.kind in "fc" and not np.all(np.isfinite(value)):
            raise Finding("result", f"{name} not finite", f"{name} is {short(value)}")
        is_pvalue = name.split(".")[-1].split("[")[0] in PVALUES
        if is_pvalue and not np.all((value > 0) & (value <= 1)):
            raise Finding(
                "result", f"{name} not in (0, 1]", f"{name} is {short(value)}"
            )
    problem = target.documented(result)
    if problem:
        raise Finding("result", problem, f"{problem}: {short(result)}")


def check_warnings(outcome):
    for category, message, frames in outcome.warnings:
        place = place_in(frames)
        ours = place.startswith("skdiscrepancy")
        if issubclass(category, SKLEARN_WARNINGS):
            continue
        if outcome.error is not None and is_validation(frames):
            continue
        if category is UserWarning and (ours or place.startswith("sklearn")):
            continue
        raise Finding(
            "warning",
            f"{category.__name__} {place}",
            f"{category.__name__}: {message} (in {place})",
        )


def check_repeats(call, outcome):
    """Compare with the same call in two threads, and if they differ with the same."""
    group = next((g for g, members in call.keywords.items() if "n_jobs" in members), "")
    seeds = [members.get("random_state") for members in call.keywords.values()]
    if "None" in seeds:
        return
    jobs = call.keywords[group]["n_jobs"] if group else ""
    other = call.with_keyword(group, "n_jobs", "2") if jobs == "1" else call
    again = run_once(other)
    if outcome.same_as(again):
        return
    both = f"{outcome} and then {again}"
    if other is call or not outcome.same_as(run_once(call)):
        raise Finding("not repeatable", "", both)
    raise Finding("n_jobs", "", f"n_jobs=1 gives {outcome}, n_jobs=2 gives {again}")


def check_missing(call, outcome):
    data = call.data_values()
    groups = call.keyword_values(data).values()
    weights = [
        value
        for members in groups
        for name, value in members.items()
        if name.startswith("sample_weight")
    ]
    for name, value in data.items():
        if isinstance(value, np.ndarray):
            for weight in weights:
                # Rows of weight 0 are dropped.
                if value.ndim and np.shape(weight) == value.shape[:1]:
                    value = value[np.asarray(weight) > 0]
        if isinstance(value, np.ndarray) and has_missing(value):
            raise Finding("missing values", name, f"{name} has them, result {outcome}")
    if not any(np.ma.is_masked(value) for value in data.values()):
        return
    other = run_once(call, with_other_values_under_mask)
    if not outcome.same_as(other):
        detail = f"{outcome}, with other values under the mask {other}"
        raise Finding("missing values", "mask", detail)


def has_missing(array):
    if array.dtype.kind in "mM":
        return bool(np.isnat(array).any())
    return array.dtype.kind in "fc" and bool(np.isnan(array).any())


def with_other_values_under_mask(value):
    if np.ma.is_masked(value):
        return np.ma.masked_array(value.filled(5), mask=value.mask)
    return value


def check_precision(call, outcome, near):
    """Compare with the same numbers in float64, if float64 gives a result."""
    data = call.data_values()
    if not any(getattr(value, "dtype", None) == np.float32 for value in data.values()):
        return
    keywords = {**call.keywords.get("keywords", {}), **call.keywords.get("options", {})}
    if near == "normalized" and keywords.get("normalize", "True") != "True":
        # A Stein kernel has no bound: what its sum may lose depends on the gradients.
        return
    if (
        hasattr(data.get("model"), "fit")
        and "log_density_gradient" not in call.expression
    ):
        # scikit-learn fits it in float32, anew if it is fitted.
        return
    wide = run_once(call, widened)
    if wide.error is not None:
        return
    there = dict(numbers_in(wide.result))
    for name, value in numbers_in(outcome.result):
        is_pvalue = name.split(".")[-1] == "pvalue"
        if (near == "pvalue" and not is_pvalue) or np.asarray(value).dtype.kind != "f":
            continue
        if far(value, there.get(name), TOLERANCE["pvalue" if is_pvalue else "value"]):
            raise Finding(
                "float32",
                name,
                f"{name} is {short(value)} in float32, {short(there.get(name))} in "
                "float64",
            )


def far(value, other, tolerance):
    value, other = np.asarray(value), np.asarray(other)
    if value.shape != other.shape:
        return True
    size = max(1.0, np.abs(other).max(initial=0))
    return np.abs(value - other).max(initial=0) > tolerance * size


def numbers_in(value, name="result", depth=0):
    """Return the numbers, arrays and strings of a result, each with its name."""
    if isinstance(value, bool | int | float | complex | str | np.generic):
        return [(name, value)]
    if isinstance(value, np.ndarray):
        return [(name, value)]
    if issparse(value):
        return [(name, value.toarray())]
    if hasattr(value, "to_numpy"):
        return [(name, value.to_numpy())]
    if dataclasses.is_dataclass(value) or isinstance(value, BaseEstimator):
        parts = public_parts(value)
    elif isinstance(value, dict):
        parts = {f"[{key!r}]": part for key, part in value.items()}
    elif isinstance(value, list | tuple):
        parts = {f"[{i}]": part for i, part in enumerate(value)}
    else:
        return []
    if depth > 4:
        return []
    found = []
    for key, part in parts.items():
        key = key if key.startswith("[") else f".{key}"
        found += numbers_in(part, name + key, depth + 1)
    return found


def public_parts(value):
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    fitted = {
        name: part
        for name, part in vars(value).items()
        if name.endswith("_") and not name.startswith("_") and name != "model_"
    }
    # Of a kernel, its bandwidth.
    return fitted or {
        name: part
        for name, part in vars(value).items()
        if name == "bandwidth" and part is not None
    }


def equal(parts, others):
    if [name for name, _ in parts] != [name for name, _ in others]:
        return False
    arrays = [
        (np.asarray(value), np.asarray(other))
        for (_, value), (_, other) in zip(parts, others, strict=True)
    ]
    return all(equal_arrays(value, other) for value, other in arrays)


def equal_arrays(value, other):
    if value.dtype != object or value.shape != other.shape:
        return np.array_equal(value, other, equal_nan=value.dtype.kind == "f")
    # NaN among other objects is not equal to itself.
    pairs = zip(value.ravel(), other.ravel(), strict=True)
    return all(a is b or a == b or (a != a and b != b) for a, b in pairs)


def widened(value):
    is_float32 = isinstance(value, np.ndarray) and value.dtype == np.float32
    return value.astype(np.float64) if is_float32 else value


def prints_of(values):
    return {name: print_of(value) for name, value in values.items()}


def print_of(value):
    """Return something that differs if the value was changed."""
    if isinstance(value, np.ma.MaskedArray):
        return print_of(value.data), print_of(np.ma.getmaskarray(value))
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.shape, value.dtype.str, value.tobytes()
    if issparse(value):
        return tuple(
            print_of(getattr(value, part))
            for part in ("data", "indices", "indptr", "row", "col")
            if hasattr(value, part)
        )
    if hasattr(value, "get_columns"):
        # An array of polars has one type for all columns.
        return repr(value.rows()), repr(value.dtypes)
    if type(value).__module__.startswith(("pandas", "polars")):
        # The values, not the table: pandas shortens tables, and warns of float16.
        return repr(value.to_numpy().tolist()), repr(getattr(value, "dtypes", None))
    if isinstance(value, dict):
        return prints_of(value)
    if isinstance(value, KernelDensity):
        # Its tree counts how often it was asked.
        return prints_of({k: v for k, v in vars(value).items() if k != "tree_"})
    try:
        return pickle.dumps(value)
    except Exception:
        # A lambda, or a model that holds one.
        return ""


def without_generators(keywords):
    return {
        group: {name: v for name, v in members.items() if name != "random_state"}
        for group, members in keywords.items()
    }


class TimeUp(BaseException):
    """The time limit; not an Exception, which the call might catch."""


@contextlib.contextmanager
def limited_time():
    """Raise a Finding after the time limit, where the system has such a signal."""

    def stop(signum, frame):
        raise TimeUp

    if not hasattr(signal, "SIGPROF"):
        yield
        return
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, TIME_LIMIT)
    try:
        yield
    except TimeUp as error:
        where = place_of(error)
        raise Finding(
            "slow", "", f"{TIME_LIMIT} s were not enough (in {where})"
        ) from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextlib.contextmanager
def recorded(found):
    """Append category, message and stack of every warning to a list."""

    def note(message, category, filename, lineno, file=None, line=None):
        frames = traceback.extract_stack(sys._getframe(1))
        frames = [f for f in frames if not f.filename.endswith("warnings.py")]
        found.append((category, str(message), frames))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = note
        yield


def is_validation(frames):
    """Tell whether scikit-learn was looking at data for the package."""
    last = max((i for i, f in enumerate(frames) if in_package(f)), default=0)
    return any(f.filename.endswith(VALIDATION) for f in frames[last:])


def in_package(frame):
    return frame.filename.startswith(PACKAGE)


def place_of(error):
    """Return where an error was raised, as seen from the package."""
    return place_in(traceback.extract_tb(error.__traceback__))


def place_in(frames):
    """Return the last frame of the package, and the last module if it is another."""
    if not frames:
        return ""
    inside = [frame for frame in frames if in_package(frame)]
    last = frames[-1]
    parts = Path(last.filename).parts
    if "site-packages" in parts:
        library = parts[parts.index("site-packages") + 1]
    else:
        library = Path(last.filename).stem
    if not inside:
        return library
    frame = inside[-1]
    own = f"skdiscrepancy{frame.filename[len(PACKAGE) :]} {frame.name}"
    return own if frame is last or library == "numpy" else f"{library}, from {own}"


def parameter_names(*callables):
    """Return the names of the parameters of functions and classes."""
    names = set()
    for one in callables:
        names |= set(inspect.signature(one).parameters)
    return names - {"self", "params", "args", "kwargs"}


def short(value):
    text = " ".join(repr(value).split())
    return text if len(text) <= 300 else f"{text[:300]} ..."
