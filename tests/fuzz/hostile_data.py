"""Expressions of hostile data: mostly one thing is wrong at a time.

Every alternative starts with the harmless one, because hypothesis shrinks to it.
"""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass, replace

from hypothesis import strategies as st

RANDOM = "np.random.RandomState({seed})"
VALUES = [
    RANDOM + ".normal(size=({n}, {d}))",
    RANDOM + ".randint(3, size=({n}, {d}))",
    "np.zeros(({n}, {d}))",
    "np.full(({n}, {d}), 0.1)",
    RANDOM + ".standard_cauchy(size=({n}, {d}))",
    "np.arange({n} * {d}).reshape({n}, {d})",
    RANDOM + ".binomial(1, 0.1, size=({n}, {d}))",
    RANDOM + ".normal(size=({n}, {d})).round()",
]
CHANGES = [
    "{A} * 1e3",
    "{A} * 1e-3",
    "{A} + 1e6",
    "{A} + 1e12",
    "{A} * 1e-9",
    "{A} * 1e16",
    "{A} * 1e-30",
    "{A} * 1e30",
    "{A} * 1e80",
    "{A} * 1e-80",
    "{A} * 1e150",
    "{A} * 1e-160",
    "{A} * 1e300",
    "{A} * 1e-300",
    "{A} * 1e-320",
    "{A} * 1.7e308",
    # A constant column, a column in other units, a far row, a sentinel, equal rows.
    "{A} * (np.arange({d}) > 0)",
    "{A} * 1e8 ** (np.arange({d}) == 0)",
    "{A} + 1e5 * (np.arange({n}) == 0)[:, None]",
    "np.where({A} > 1, 99999, {A})",
    "np.where({A} > 1, -np.finfo(float).max, {A})",
    "{A}[np.arange({n}) // 2]",
    "np.where({A} > 1, np.nan, {A})",
    "np.where({A} > 1, np.inf, {A})",
    "-0.0 * {A}",
]
DTYPES = [
    "np.float32",
    "np.int64",
    "np.int8",
    "np.uint8",
    "bool",
    "np.float16",
    "np.longdouble",
    "object",
    "complex",
    "str",
    "'S8'",
    "'datetime64[s]'",
    "'timedelta64[s]'",
    "'>f8'",
    "np.uint64",
]
CONTAINERS = [
    "np.asfortranarray({A})",
    "np.repeat({A}, 2, axis=0)[::2]",
    "{A}[::-1, ::-1]",
    "{A}.tolist()",
    "pd.DataFrame({A}).add_prefix('c')",
    "pd.DataFrame({A})",
    "pd.DataFrame({A}).add_prefix('c').convert_dtypes()",
    "pd.DataFrame({A}).add_prefix('c').astype('category')",
    "pd.DataFrame({A}).add_prefix('c').assign(c='a')",
    "pd.DataFrame({A}).add_prefix('c').assign(c=(['a', None, 'b'] * {n})[:{n}])",
    "pd.DataFrame(np.where({A} > 1, np.nan, {A})).add_prefix('c')",
    "pd.DataFrame({A}).add_prefix('c').assign(day=pd.Timestamp('2020-01-01'))",
    "pl.DataFrame(np.where({A} > 1, np.nan, {A})).with_columns(label=pl.lit('a'))",
    "pl.DataFrame(np.round({A}).astype(str))",
    "pd.DataFrame({A}, columns=['a'] * {d})",
    "pl.DataFrame({A})",
    "sp.csr_matrix({A})",
    "sp.csr_array({A})",
    "sp.coo_array({A})",
    "np.ma.masked_greater({A}, 1)",
    "np.ma.masked_array({A}, mask=False)",
    "np.matrix({A})",
    "np.where({A} > 1, np.datetime64('NaT'), np.datetime64('2020-01-01'))",
    "{A}[:, 0]",
    "{A}[None]",
    "{A}.ravel()[0]",
    "pd.DataFrame({A})[0]",
    "np.where(np.arange({n})[:, None] == 0, None, {A})",
]
NOT_DATA = ["None", "'X'", "3.0", "[]", "[[]]", "[[1.0], [1.0, 2.0]]", "{}", "object()"]

TARGETS = [
    "np.random.RandomState(9).normal(size={n})",
    "np.random.RandomState(9).randint(2, size={n})",
    "np.linspace(0, 1, {n}) ** 2",
    "np.array(['a', 'b', 'c'])[np.random.RandomState(9).randint(3, size={n})]",
    "np.random.RandomState(9).normal(size=({n}, 2))",
    "np.random.RandomState(9).rand({n}) < 0.5",
    "np.arange({n})",
    "np.zeros({n})",
    "np.zeros({n}, dtype=int)",
    "np.arange({n}).astype(str)",
    "(np.arange({n}) == 0).astype(int)",
    "np.random.RandomState(9).randint(2, size=({n}, 2))",
    "np.random.RandomState(9).normal(size={n}).astype(np.float32)",
]
HOSTILE_TARGETS = [
    "np.random.RandomState(9).normal(size={n}) * 1e300",
    "np.random.RandomState(9).normal(size={n}) * 1e-300",
    "np.random.RandomState(9).normal(size={n}) + 1e12",
    "np.random.RandomState(9).normal(size={n}).astype(np.float16)",
    "np.where(np.arange({n}) == 0, 1e9, np.random.RandomState(9).normal(size={n}))",
    "np.where(np.arange({n}) == 0, np.nan, 1.0)",
    "np.where(np.arange({n}) == 0, np.inf, 1.0)",
    "np.array('2020-01-01', dtype='datetime64[D]') + np.arange({n})",
    "np.where(np.arange({n}) == 0, np.datetime64('NaT'), np.datetime64('2020-01-01'))",
    "pd.Series(np.arange({n}) % 3).astype('category')",
    "pd.Series(np.arange({n}) % 3, dtype='Int64')",
    "pd.Series(np.arange({n}) % 3).map({{0: 'a', 1: 'b'}})",
    "pd.Series(np.where(np.arange({n}) % 3, np.arange({n}) / 7, np.nan))",
    "pl.Series([None, 'a', 'b'] * {n})[:{n}]",
    "pd.period_range('2020', periods={n}, freq='D')",
    "[decimal.Decimal(i) for i in range({n})]",
    "[Fraction(i, 3) for i in range({n})]",
    "['a', 1] * ({n} // 2)",
    "[None] * {n}",
    "[[1, 2]] * {n}",
    "[10**400] * {n}",
    "np.ma.masked_greater(np.arange({n}) / 3, 1)",
    "np.random.RandomState(9).normal(size={n}) * 1j",
    "sp.csr_matrix(np.ones(({n}, 1)))",
    "pl.Series(list(range({n})))",
    "pd.DataFrame(dict(a=np.arange({n}) / 7, b=['u'] * {n}))",
    "np.zeros(({n}, 2, 2))",
    "np.zeros({n} + 1)",
    "np.zeros(({n}, 0))",
    "None",
    "'y'",
    "1.0",
    "np.full({n}, '')",
    "[(1, 2)] * {n}",
    "[object()] * {n}",
]
# Models of d columns for KSD and the scorers.
MODELS = [
    "(lambda X: -X)",
    "None",
    "GaussianMixture(2, random_state=0)",
    "stats.multivariate_normal(np.zeros({d}))",
    "GaussianMixture(2, random_state=0).fit({Z})",
    "KernelDensity().fit({Z})",
    "KernelDensity(kernel='exponential', bandwidth=0.3).fit({Z})",
    "EmpiricalCovariance().fit({Z})",
    "make_pipeline(StandardScaler(), GaussianMixture(random_state=0)).fit({Z})",
    "stats.norm()",
    "stats.t(3)",
    "log_density_gradient(lambda X: -(X**2).sum(axis=1) / 2, finite_differences=True)",
    "(lambda X: 0.0 * X)",
]
HOSTILE_MODELS = [
    "(lambda X: np.negative(X, out=X))",
    "(lambda X: np.broadcast_to(-1.0, X.shape))",
    "(lambda X: (-X).astype(np.float32))",
    "(lambda X: -X[:, :1])",
    "(lambda X: -1e12 * X)",
    "(lambda X: -1e200 * X)",
    "(lambda X: -1e-200 * X)",
    "(lambda X: np.nan * X)",
    "(lambda X: (-X).tolist())",
    "(lambda X: None)",
    "(lambda X: 0)",
    "(lambda X: (-X).astype(int))",
    "(lambda X: -X * 1j)",
    "(lambda X: X.astype(str))",
    "KernelDensity(kernel='tophat').fit({Z})",
    "KernelDensity(bandwidth=1e-9).fit({Z})",
    "KernelDensity(bandwidth=1e9).fit({Z})",
    "stats.norm",
    "stats.expon()",
    "stats.norm([0.0, 1.0])",
    "stats.poisson(2)",
    "LinearRegression()",
    "GaussianMixture",
    "'gaussian'",
    "3.0",
    "GaussianMixture(2, random_state=0).fit(np.zeros((5, {d} + 1)))",
    "EmpiricalCovariance().fit(np.zeros((5, {d})))",
]


@st.composite
def rarely(draw, hostile, harmless, one_in=6):
    """Draw from `hostile` once in so many draws."""
    return draw(hostile if draw(st.integers(1, one_in)) == one_in else harmless)


def one_of(texts):
    """Draw one of some texts; the first is the simplest."""
    return st.sampled_from(texts)


@dataclass(frozen=True)
class Recipe:
    """How the rows of a sample are made: values, a change, a type, a container."""

    values: str
    change: str = ""
    dtype: str = ""
    container: str = ""
    not_data: str = ""

    def expression(self, n, d, seed):
        if self.not_data:
            return self.not_data
        text = self.values.format(n=n, d=d, seed=seed)
        for layer in (self.change, self.dtype, self.container):
            # Numbers are changed as floating point; some changes name them twice.
            text = layer.format(A=f"({text})", n=n, d=d) if layer else text
        return text

    @property
    def is_array(self):
        """Whether the result is an array of its own that may be made read-only."""
        return not (self.container or self.not_data)


@st.composite
def recipes(draw):
    nothing = st.just("")
    recipe = Recipe(
        values=draw(rarely(one_of(VALUES), st.just(VALUES[0]), 3)),
        change=draw(rarely(one_of(CHANGES), nothing, 3)),
        dtype=draw(rarely(one_of(DTYPES), one_of(["", "np.float32"]), 5)),
        container=draw(rarely(one_of(CONTAINERS), nothing, 4)),
        not_data=draw(rarely(one_of(NOT_DATA), nothing, 25)),
    )
    if recipe.dtype:
        recipe = replace(recipe, dtype=f"{{A}}.astype({recipe.dtype})")
    return recipe


def lengths(least=6, many=1100):
    """Draw numbers of rows: mostly enough, sometimes 0 to 5, rarely many.

    The engine shares out work among threads from about 1000 rows on.
    """
    few = st.one_of(st.integers(0, 5), st.just(40), st.just(150))
    return rarely(st.just(many), rarely(few, st.integers(least, 24)), 40)


def widths(widest=1000):
    """Draw numbers of columns."""
    return rarely(st.sampled_from([min(64, widest), 0, widest]), st.integers(1, 3), 6)


def many_rows(d):
    """Return a number of rows of d columns that a call reads in about a second."""
    return 1100 if d < 10 else 60


@st.composite
def samples(draw, *names, widest=1000):
    """Draw samples of the same columns; rarely one differs from the others."""
    d, recipe = draw(widths(widest)), draw(recipes())
    data, arrays = {}, []
    for seed, name in enumerate(names):
        own = draw(rarely(recipes(), st.just(recipe), 6)) if seed else recipe
        width = draw(rarely(widths(), st.just(d), 15)) if seed else d
        n = draw(lengths(many=many_rows(width)))
        data[name] = own.expression(n, width, seed)
        if own.is_array:
            arrays.append(name)
    return data, draw_read_only(draw, arrays)


@st.composite
def plain_samples(draw, *names):
    """Draw samples that can be drawn: numbers of common sizes, up to three columns."""
    d = draw(st.integers(1, 3))
    values = draw(rarely(one_of(VALUES), st.just(VALUES[0]), 3))
    changes = ["", "{A} * 1e3", "{A} * 1e-3", "{A} + 1e6"]
    recipe = Recipe(
        values,
        change=draw(rarely(one_of(changes), st.just(""), 3)),
        dtype=draw(one_of(["", "{A}.astype(np.float32)"])),
        container=draw(rarely(one_of(CONTAINERS[:5]), st.just(""), 4)),
    )
    sizes = rarely(st.integers(0, 5), st.integers(8, 40), 8)
    data = {
        name: recipe.expression(draw(sizes), d, seed) for seed, name in enumerate(names)
    }
    return data, ()


@st.composite
def with_target(draw, *names, widest=1000, many=600):
    """Draw X and y of the same rows; for four names two pairs of them."""
    d, recipe = draw(widths(widest)), draw(recipes())
    target = draw(rarely(one_of(HOSTILE_TARGETS), one_of(TARGETS), 4))
    data, arrays = {}, []
    for seed in range(len(names) // 2):
        n = draw(lengths(8, min(many, many_rows(d))))
        data[names[2 * seed]] = recipe.expression(n, d, seed)
        data[names[2 * seed + 1]] = target.format(n=n)
        if recipe.is_array:
            arrays.append(names[2 * seed])
        if target in TARGETS:
            arrays.append(names[2 * seed + 1])
    return data, draw_read_only(draw, arrays)


@st.composite
def plain_with_target(draw, x, y):
    """Draw one sample that can be drawn, and a target."""
    samples, _ = draw(plain_samples(x))
    target = draw(one_of(TARGETS)).format(n=f"len({x})")
    return {**samples, y: target}, ()


@st.composite
def with_model(draw, *names, fitted=False, functions=True):
    """Draw samples and a model of their columns."""
    # Models of 1000 columns take seconds to fit.
    d, recipe = draw(widths(100)), draw(recipes())
    # Of another number of columns once in a while.
    width = draw(rarely(st.just(d + 1), st.just(d), 15))
    usable = [m for m in MODELS if "fit" in m or "stats" in m] if fitted else MODELS
    hostile = [m for m in HOSTILE_MODELS if functions or "lambda" not in m]
    usable = [m for m in usable if functions or "lambda" not in m]
    text = draw(rarely(one_of(hostile), one_of(usable), 4))
    training = f"np.random.RandomState(9).normal(size=(20, {width}))"
    data = {"model": text.format(d=width, Z=training)}
    for seed, name in enumerate(names):
        data[name] = recipe.expression(draw(lengths(many=many_rows(d))), d, seed)
    if not fitted and recipe.is_array and draw(st.integers(1, 6)) == 6:
        # Gradients in place of a model; not of a copy, so that they may be read-only.
        data = {names[0]: data[names[0]], "model": f"-1.0 * {names[0]}", **data}
        data["model"] = f"-1.0 * {names[0]}"
    arrays = list(names) if recipe.is_array else []
    return data, draw_read_only(draw, arrays)


@st.composite
def layers(draw, *names):
    """Draw representations of the same rows: arrays, or lists or dicts of layers."""
    n, recipe = draw(lengths(8, 300)), draw(recipes())
    several = ["[{A}, {A}[:, :1]]", "{{'a': {A}, 'b': -1 * {A}}}", "{{0: {A}}}"]
    hostile = [
        "[]",
        "{{}}",
        "[{A}, {A}[1:]]",
        "[{A}, None]",
        "({A}, {A})",
        "{{'a': 3}}",
    ]
    hostile += [
        "[{A}, {A}[:, 0]]",
        "{{'a': {A}[:, 0]}}",
        "{{10**400: {A}}}",
        "{A}[None]",
    ]
    hostile += ["{{'a': {A}, 1: {A}}}", "{{None: {A}}}", "[[{A}]]", "{{('a', 1): {A}}}"]
    hostile += ["{{'layer': {A}, 'layer_': {A}}}", "{{1: {A}, '1': {A}}}"]
    form = rarely(one_of(hostile), one_of(["{A}", *several]))
    data = {}
    for seed, name in enumerate(names):
        own = draw(rarely(recipes(), st.just(recipe), 6)) if seed else recipe
        text = own.expression(n, draw(widths(64)), seed)
        data[name] = draw(form).format(A=f"({text})")
    return data, ()


@st.composite
def gram_matrices(draw, *shapes, lists=False):
    """Draw Gram matrices: `shapes` are pairs of a name and one or two letters."""
    rows = {"m": draw(lengths()), "n": draw(lengths())}
    forms = [
        "np.exp(-(({a})[:, None] - {b}) ** 2)",
        "({a})[:, None] * ({b})",
        "np.ones(({m}, {n}))",
        "np.zeros(({m}, {n}))",
        "1.0 * (np.arange({m})[:, None] == np.arange({n}))",
    ]
    form = draw(rarely(one_of(forms), st.just(forms[0])))
    changes = ["{A}.astype(np.float32)", "{A}.tolist()", "pd.DataFrame({A})"]
    changes += ["{A} * 1e300", "{A} * 1e-300", "{A} * 1e160", "{A} * np.nan", "{A}[0]"]
    changes += ["sp.csr_matrix({A})", "np.triu({A})", "{A}[:, 1:]", "{A} * 1j", "None"]
    changes += ["{A} > 0.5", "({A}).astype(int)", "({A}).astype(str)", "{A}[None]"]
    changes += ["np.ma.masked_greater({A}, 0.5)", "{A}.astype(object)", "{A} + 1e12"]
    if lists:
        changes += ["[]", "[{A}, None]", "({A},)", "[{A}, {A}[1:]]", "np.array([{A}])"]
    usual = ["{A}", "[{A}, {A} ** 2]"] if lists else ["{A}"]
    change = draw(rarely(one_of(changes), one_of(usual), 3))
    data = {}
    for name, letters in shapes:
        m, n = rows[letters[0]], rows[letters[-1]]
        a, b = (
            f"np.random.RandomState({'mn'.index(letter)}).normal(size={rows[letter]})"
            for letter in (letters[0], letters[-1])
        )
        matrix = "(" + form.format(a=a, b=b, m=m, n=n) + ")"
        own = draw(rarely(st.just("{A}"), st.just(change), 4))
        data[name] = own.format(A=matrix)
    arrays = list(data) if change in ("{A}", changes[0]) else []
    return data, draw_read_only(draw, arrays)


def draw_read_only(draw, arrays):
    return tuple(arrays) if arrays and draw(st.integers(1, 6)) == 6 else ()
