"""Checks of parameters, keywords and random states: errors say what is allowed."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial, wraps
from importlib import import_module
from numbers import Integral, Real
from typing import Any, NoReturn, TypeAlias, TypeVar, cast, dataclass_transform

import numpy as np

# Largest integer that can be a size.
LARGEST = 2**63 - 1
# Largest number of draws. More take days, and much memory.
MOST_DRAWS = 10**7
# Largest numbers by the name of a parameter, whatever the function is.
MOST = dict.fromkeys(("n_bandwidths", "grid_resolution"), 10_000) | dict.fromkeys(
    ("n_points", "n_probes", "n_resamples", "n_samples", "n_subsets"), MOST_DRAWS
)
# Types that work in arithmetic with arrays. Decimals and fractions do not.
NUMBERS = (int, float, np.integer, np.floating)
# Packages that call functions of this package, as tasks or decorated.
RUNNERS = ("contextlib", "joblib", "numpy", "sklearn")


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
    optional: bool = False,
    context: str = "",
) -> Any:
    """Return a number of Python, or raise an error if it is not in the allowed range.

    Numbers of numpy overflow, and change the precision of arrays. `strict` excludes
    `least` itself. A `keyword`, or None if `optional`, is returned as it is. The error
    message ends with the `context` of the range.
    """
    if (value is None and optional) or (isinstance(value, str) and value == keyword):
        return value
    kinds: Any = Integral if integer else Real
    error: type[Exception] = ValueError
    more = ""
    if isinstance(value, Real) and not isinstance(value, NUMBERS):
        error, more = TypeError, " Its type must be int or float."
    elif not isinstance(value, kinds) or isinstance(value, bool):
        # Python counts True as an integer, but here it is a mistake. If a string is
        # allowed, a wrong string is a wrong value, not a wrong type.
        error = ValueError if keyword and isinstance(value, str) else TypeError
    elif not ((value <= least if strict else value < least) or (most and value > most)):
        try:
            number = float(value)
        except OverflowError:
            number = np.nan
        if integer and value > MOST.get(name, LARGEST):
            limit = f"at most {MOST.get(name)}, because each one takes time and memory"
            more = f" It must be {limit if name in MOST else 'below 2**63'}."
        elif np.isfinite(number) or (value == np.inf and not finite):
            return int(value) if isinstance(value, Integral) else number
    kind = "an integer" if integer else "a finite number" if finite else "a number"
    bounds = f"> {least}" if strict else f">= {least}"
    if most is not None:
        bounds = f"{bounds} and <= {most}" if strict else f"from {least} to {most}"
    allowed = f"{kind} {bounds}"
    if keyword is not None:
        allowed = f"{keyword!r} or {allowed}"
    raise error(f"{name} == {shown(value)}, must be {allowed}{context}.{more}")


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


# More threads than this, no machine starts.
MOST_JOBS = 10_000
LARGEST_SEED = 2**32 - 1
GENERATORS = (np.random.RandomState, np.random.Generator, type(None))
# Ways to pool statistics into one score. None is for a single kernel.
POOLINGS = ("fuse", "mean", "max", None)
ONE_POOLING = f"one of {POOLINGS}"
# Type of an error, condition without which it is raised, and what is allowed.
Condition: TypeAlias = tuple[type[Exception], Callable[[Any], Any], str]
COUNT = {"integer": True, "least": 1}
FLAG: list[Condition] = [
    (TypeError, lambda value: isinstance(value, (bool, np.bool_)), "True or False")
]
SCALING: list[Condition] = [
    (
        TypeError,
        lambda s: isinstance(s, (bool, np.bool_)) or str(s) == "whiten",
        "True, False or 'whiten'",
    )
]
THREADS = f"None or an integer from {-MOST_JOBS} to {MOST_JOBS}: the number of threads"
SEEDS = "None, an integer from 0 to 2**32 - 1, a numpy RandomState or a numpy Generator"
ENCODERS = (
    "'auto', None or a transformer with `fit` and `transform`, such as TableEncoder()"
)


def _transforms(encoder: Any) -> bool:
    methods = hasattr(encoder, "fit") and hasattr(encoder, "transform")
    usable = methods and not isinstance(encoder, type)
    return encoder == "auto" if isinstance(encoder, str) else usable


# What parameters may be: options of `check_number`, or conditions.
PARAMETERS: dict[str, dict[str, Any] | list[Condition]] = {
    "level": {"strict": True, "most": 1},
    "max_columns": COUNT | {"least": 0},
    "max_rows": COUNT,
    "n_bandwidths": COUNT | {"optional": True},
    **dict.fromkeys(("second_order", "normalize", "squared"), FLAG),
    "standardize": SCALING,
    "pooling": [
        (ValueError, lambda p: isinstance(p, str | None) and p in POOLINGS, ONE_POOLING)
    ],
    "fuse_nu": {"strict": True, "keyword": "auto"},
    "encoder": [(TypeError, lambda e: e is None or _transforms(e), ENCODERS)],
    "n_jobs": [
        (TypeError, lambda n: not isinstance(n, bool), "None or an integer"),
        (TypeError, lambda n: isinstance(n, Integral | None), "None or an integer"),
        (ValueError, lambda n: n != 0, "None or an integer other than 0"),
        (ValueError, lambda n: n is None or abs(int(n)) <= MOST_JOBS, THREADS),
    ],
    "random_state": [
        (TypeError, lambda s: not isinstance(s, bool), SEEDS),
        (TypeError, lambda s: isinstance(s, (Integral, *GENERATORS)), SEEDS),
        (ValueError, lambda s: isinstance(s, GENERATORS) or 0 <= s < 2**32, SEEDS),
    ],
    "verbose": [
        (TypeError, lambda v: isinstance(v, (*NUMBERS, np.bool_)), "an integer >= 0"),
        (ValueError, lambda v: 0 <= v <= LARGEST, "an integer >= 0, below 2**63"),
    ],
    "block_length": {
        **COUNT,
        "keyword": "auto",
        "optional": True,
        "context": ", or None for independent rows",
    },
    "n_components": {
        **COUNT,
        "most": 2**20,
        "optional": True,
        "context": ", or None for exact kernels (in tests also 'auto')",
    },
}


def check_value(value: Any, name: str, allowed: Any = None) -> Any:
    """Return a parameter, or raise an error unless it is as `PARAMETERS` allows."""
    allowed = PARAMETERS[name] if allowed is None else allowed
    if isinstance(allowed, dict):
        return check_number(value, name, **allowed)
    for error, holds, text in allowed:
        if not holds(value):
            raise error(f"{name} == {shown(value)}, must be {text}.")
    return value


check_flag = partial(check_value, allowed=FLAG)


def check_run_options(n_jobs: Any, random_state: Any, verbose: Any) -> None:
    """Check the parameters that control how a result is computed."""
    for name, value in zip(RUN.split(), (n_jobs, random_state, verbose), strict=True):
        check_value(value, name)


def refuse_several(n_kernels: int) -> None:
    """Refuse several kernels if nothing pools them."""
    if n_kernels != 1:
        raise ValueError(
            f"pooling == None, must be one of {POOLINGS[:-1]} for a collection of "
            f"{n_kernels} kernels. To use pooling=None, choose a single kernel and a "
            "single bandwidth, and for HSIC also a single target_bandwidth."
        )


class Same:
    """A matrix that is equal to itself only, also in copies of an estimator."""

    def __init__(self, matrix: Any):
        self.matrix = matrix

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.matrix is other.matrix

    __hash__ = None  # type: ignore[assignment]


def value_of(value: Any, *, matrices: bool = False) -> Any:
    """Return a value that is equal to a later one if no part of it has changed.

    Unless `matrices`, a matrix, for example a Gram matrix, is equal to itself only.
    """
    shape, inner = getattr(value, "shape", None), partial(value_of, matrices=matrices)
    if isinstance(shape, tuple):
        if len(shape) > 1 and not matrices:
            return Same(value)
        value = np.asarray(value).tolist()
    if hasattr(value, "dist") and hasattr(value, "kwds"):
        # A distribution of scipy with its parameters.
        value = type(value.dist), value.args, value.kwds
    if isinstance(value, (list, tuple)):
        return list(map(inner, value))
    if isinstance(value, dict):
        return {key: inner(item) for key, item in value.items()}
    if hasattr(value, "get_params") and not isinstance(value, type):
        # By attribute, because some objects return views of their parameters.
        names = value.get_params(deep=False)
        return type(value), {name: inner(getattr(value, name)) for name in names}
    # NaN is not equal to itself.
    return "nan" if isinstance(value, float) and value != value else value


def refuse_changed(estimator: Any, since: str = "fit") -> None:
    """Refuse parameters that have changed since a method that has read them."""
    for name, known in estimator._learnt_from.items():
        if value_of(getattr(estimator, name)) != known:
            value = shown(getattr(estimator, name))
            again = f"has changed since `{since}`. Call `{since}` again."
            raise ValueError(f"{name} == {value} {again}")


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


@contextmanager
def explaining(text: str) -> Iterator[None]:
    """Put a text before error messages; numbers beyond floating point are no errors."""
    try:
        with np.errstate(all="ignore"):
            yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{text}: {error}") from error


# Allowed types of the parameter `random_state`.
RandomStateLike: TypeAlias = int | np.random.RandomState | np.random.Generator | None


def generator_of(random_state: RandomStateLike) -> np.random.RandomState:
    """Return the RandomState for a parameter `random_state`.

    None gives a new RandomState, never the global one. A Generator draws the seed of a
    new RandomState, so that two calls give different numbers.
    """
    check_value(random_state, "random_state")
    if isinstance(random_state, np.random.RandomState):
        return random_state
    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(LARGEST_SEED, endpoint=True))
    return np.random.RandomState(random_state)


def draw_seeds(generator: np.random.RandomState, n: int) -> list[int]:
    """Draw seeds for n streams that are independent of later draws."""
    return generator.randint(np.iinfo(np.int32).max, size=n).tolist()


Function = TypeVar("Function", bound=Callable[..., Any])
# Parameters that control how a result is computed.
RUN = "n_jobs random_state verbose"
# Names of parameters in other packages, by their names here.
OTHER_WORDS = {
    "bandwidth": "gamma lengthscale length_scale sigma",
    "gaussian": "normal squared_exponential",
    "given": "Z condition conditioning covariates",
    "kernel": "metric",
    "level": "alpha significance_level",
    "n_features_to_select": "k",
    "n_jobs": "n_threads workers",
    "n_resamples": "n_boot n_bootstraps n_perm n_permutations n_reps num_permutations "
    "num_resamples permutations reps",
    "pvalue": "p p_val p_value pval",
    "random_state": "rng seed",
    "sample_weight": "weights",
}
# What to do instead, for keywords without a parameter of the same meaning.
ADVICE = {
    **dict.fromkeys(
        ("alpha", "level", "p_value", "pvalue"),
        "A test does not need a significance level. Compare the p-value of the result "
        "with your level, as in result.pvalue <= 0.05.",
    ),
    "Z": "Call conditional_hsic_test(X, y, Z) to test dependence given Z, or "
    "k_sample_test(X, Y, Z) or mmd_compare(X, Y, Z) to compare three samples.",
    "gamma": "Pass bandwidth=1 / sqrt(gamma) for exp(-gamma d^2), the kernel 'rbf', or "
    "bandwidth=1 / gamma for exp(-gamma d), 'laplacian'.",
    "sigma": "Pass bandwidth=sqrt(2) * sigma for exp(-d^2 / (2 sigma^2)), the kernel "
    "'rbf'.",
}
# Names of weights of rows.
WEIGHTS = ("sample_weight", "sample_weight_Y", "weights")


def nearest_keyword(keyword: str, allowed: Iterable[str]) -> str | None:
    """Return the allowed keyword that was most likely meant, if there is one."""
    allowed = list(allowed)
    meant = [name for name in allowed if keyword in OTHER_WORDS.get(name, "").split()]
    return next(iter(meant or get_close_matches(keyword.lower(), allowed, n=1)), None)


def did_you_mean(word: Any, allowed: Iterable[str]) -> str:
    """Return the question whether an allowed word was meant, if one is near."""
    meant = nearest_keyword(word, allowed) if isinstance(word, str) else None
    return "" if meant is None else f" Did you mean {meant!r}?"


def refuse_unknown_keywords(
    given: Iterable[str], allowed: Iterable[str], called: str, parameters: Any = ()
) -> None:
    """Raise a TypeError for keywords that a function does not have.

    `called` is its name, with its class, and `parameters` are those of the estimator.
    """
    allowed = list(allowed)
    for keyword in (keyword for keyword in given if keyword not in allowed):
        message = f"{called}() got an unexpected keyword argument {keyword!r}."
        if keyword in WEIGHTS and "test" in called:
            raise TypeError(
                f"{message} A test takes no weights, because its resamples, such as "
                "permutations, treat all rows alike. Scores, comparisons and ksd_test "
                "take weights."
            )
        nearest = nearest_keyword(keyword, allowed)
        meant = keyword if keyword in parameters else None
        if nearest is None and meant is None:
            meant = nearest_keyword(keyword, parameters)
        if meant is not None:
            message += (
                f" {meant!r} is a parameter of the estimator. Pass it to "
                f"{called.partition('.')[0]}({meant}=...)."
            )
        elif keyword in ADVICE and nearest in ("bandwidth", None):
            message += f" {ADVICE[keyword]}"
        else:
            message += did_you_mean(keyword, allowed)
        raise TypeError(message)


def refuse_arguments(
    args: Any, kwargs: Any, parameters: Any, called: str, documented: Any, owner: Any
) -> None:
    """Raise a TypeError for unknown keywords, and for options passed by position.

    The likely option is the first whose documented type shows the text of the value, or
    its type.
    """
    names = list(parameters)
    if not kwargs.keys() <= parameters.keys():
        known = () if owner is None else owner.get_params(deep=False)
        refuse_unknown_keywords(kwargs, names, called, known)
    kinds = [p.kind for p in parameters.values()]
    n_data = sum(kind is not inspect.Parameter.KEYWORD_ONLY for kind in kinds)
    if len(args) <= n_data or inspect.Parameter.VAR_POSITIONAL in kinds:
        return
    value, entries, options = args[n_data], _entries(documented), names[n_data:]
    word = rf"\b{type(value).__name__}\b"
    word = re.escape(f'"{value}"') if isinstance(value, str) else word
    near = [n for n in options if re.search(word, entries.get(n, "").split("\n")[0])]
    hint = ADVICE["Z"] if called.endswith("_test") else f"They are {options}."
    hint = f"Did you mean {near[0]}={shown(value)}?" if near else hint
    raise TypeError(
        f"{called}() takes {n_data} positional argument{'s' * (n_data != 1)}, but got "
        f"{len(args)}. Options must be passed by name. {hint}"
    )


def make_public(module: str) -> None:
    """Let a module list its public names only, and say where other names are.

    Without a list `__all__`, all names that it imports from other modules are public.
    """
    own = vars(sys.modules[module])
    names = [n for n, v in own.items() if n[0] != "_" and not inspect.ismodule(v)]
    public = own.setdefault("__all__", [n for n in names if n != make_public.__name__])
    own["__dir__"] = lambda: sorted(public)
    own["__getattr__"] = partial(refuse_name, module)


def refuse_name(module: str, name: str) -> NoReturn:
    """Raise an AttributeError that says in which module a public name is."""
    root = import_module(__name__.partition(".")[0])
    packages = [] if name.startswith("_") else root._NAMES[""].split()
    homes = [*(getattr(root, package) for package in packages), root]
    public = {n: f"{home.__name__}.{n}" for home in homes for n in home.__all__}
    near = [n for n in public if n.lower().startswith(name.lower())]
    near = [name] if name in public else near or get_close_matches(name, public, n=1)
    hint = f" Did you mean {' or '.join(public[n] for n in near)}?" if near else ""
    raise AttributeError(f"module {module!r} has no attribute {name!r}.{hint}")


class KeywordHints:
    """Mixin for classes whose error for an unknown parameter names the likely one.

    The signature of ``__init__`` stays as it is written, for `get_params` and `clone`.
    """

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            cls.__init__ = explains_keywords(cls.__init__)  # type: ignore[method-assign]


@dataclass_transform(eq_default=False)
def declares_parameters(cls: Any) -> Any:
    """Give a class the parameters that it declares, and hints for unknown keywords.

    Base classes may declare parameters, too. They have the order of the docstring.
    """
    cls = dataclass(eq=False, repr=False)(cls)
    signature = inspect.signature(cls.__init__)
    place = {name: i for i, name in enumerate(_entries(cls))}
    found = signature.parameters.values()
    order = sorted(found, key=lambda p: (p.kind, place.get(p.name, -1)))
    cls.__init__.__signature__ = signature.replace(parameters=order)
    for name, method in list(vars(cls).items()):
        if inspect.isfunction(method) and (name[0] != "_" or name == "__init__"):
            setattr(cls, name, explains_keywords(method))
    return cls


def takes_parameters_of(
    *sources: Callable[..., Any],
    names: str = "",
    first: str = "",
    without: str = "",
    **defaults: Any,
) -> Callable[[Function], Function]:
    """Give a function, as its `**params`, the keywords of estimators and functions.

    The signature shows every keyword with its default, and the docstring describes it
    by the first sentence of its description in a source. The keywords of the function
    itself come first, unless `names` or `first` say otherwise. The error for an unknown
    keyword names the function.

    Parameters
    ----------
    *sources : classes and callables
        Where the keywords come from. The first source that has a keyword declares it.
    names : str, default=""
        The only keywords, separated by spaces, in the order of the signature. No names
        take all keywords.
    first : str, default=""
        Keywords that come before all others in the signature.
    without : str, default=""
        Keywords that the function does not have.
    **defaults : dict
        Defaults that differ from those of the sources, and are passed to the function.

    Returns
    -------
    decorate : callable
        Decorator.
    """

    def decorate(function: Function) -> Function:
        own = inspect.signature(function).parameters
        known = {name: p for name, p in own.items() if p.kind is not p.VAR_KEYWORD}
        changed: dict[str, Any] = {}
        for source in sources:
            changed |= getattr(source, "changed_defaults", {})
            for name, p in inspect.signature(source).parameters.items():
                if p.kind is p.KEYWORD_ONLY and name not in (*known, *without.split()):
                    known[name] = p.replace(default=defaults.get(name, p.default))
        data = [name for name, p in known.items() if p.kind is not p.KEYWORD_ONLY]
        wanted = dict.fromkeys((*data, *(names.split() or (*first.split(), *known))))
        order = {name: known[name] for name in wanted if name in known}
        signature = inspect.signature(function).replace(parameters=list(order.values()))
        changed |= defaults
        changed = {n: changed[n] for n in (set(order) - set(own)) & set(changed)}

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            refuse_arguments(args, kwargs, order, function.__name__, checked, None)
            return function(*args, **{**changed, **kwargs})

        checked.__signature__ = signature  # type: ignore[attr-defined]
        checked.changed_defaults = changed  # type: ignore[attr-defined]
        checked.__doc__ = _documented(function, order, sources)
        return cast(Function, checked)

    return decorate


# The entries of a section of a docstring, and one entry: names, type and description.
SECTION = re.compile(r"(?<=^Parameters\n----------\n).*?(?=\n\n(?=\S)|\Z)", re.M | re.S)
ENTRY = re.compile(r"^(\S[^:\n]*) : .*(?:\n(?:[ ].*)?)*", re.M)


def _entries(function: Callable[..., Any]) -> dict[str, str]:
    """Return the description of each parameter in a docstring."""
    section = SECTION.search(inspect.getdoc(function) or "")
    found = ENTRY.finditer(section[0]) if section else ()
    return {name: e[0].rstrip() for e in found for name in e[1].split(", ")}


def _documented(
    function: Callable[..., Any],
    parameters: dict[str, inspect.Parameter],
    sources: Iterable[Callable[..., Any]],
) -> str | None:
    """Return a docstring that describes all parameters in place of `**params`."""
    text, own = inspect.getdoc(function), _entries(function)
    if text is None or "**params" not in own:
        return function.__doc__
    entries = {name.lstrip("*"): entry for name, entry in own.items()}
    for source in sources:
        for name, entry in _entries(source).items():
            kind, _, body = entry.partition(" : ")[2].partition("\n")
            sentence = re.split(r"(?<=\.)\s", body)[0]
            entries.setdefault(name, f"{name} : {kind}\n{sentence}")
    # Several parameters may share an entry.
    ordered = dict.fromkeys(entries[name] for name in parameters if name in entries)
    return SECTION.sub(lambda _: "\n".join(ordered), text, count=1) + "\n"


def explains_keywords(method: Function) -> Function:
    """Make a method of an estimator explain where an unknown keyword belongs."""
    parameters = dict(inspect.signature(method).parameters)
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return method
    del parameters["self"]
    init = method.__name__ == "__init__"

    @wraps(method)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        called = type(self).__name__ + ("" if init else f".{method.__name__}")
        documented, known = (type(self), None) if init else (method, self)
        refuse_arguments(args, kwargs, parameters, called, documented, known)
        return method(self, *args, **kwargs)

    return cast(Function, checked)
