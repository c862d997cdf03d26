"""What is called: functions of tables with columns of all types."""

# SPDX-License-Identifier: BSD-3-Clause

import hostile_data as data
import hostile_parameters as params
from calls import is_anything, is_array, is_float, is_test, target
from hypothesis import strategies as st

# Columns of n rows.
COLUMNS = [
    "pd.Series(np.arange({n}) / 3)",
    "pd.Series(np.where(np.arange({n}) % 3, 1.5, np.nan))",
    "pd.Series((['a', 'b', None] * {n})[:{n}])",
    "pd.Series(np.arange({n}) % 2 == 0)",
    "pd.Series(np.arange({n}) % 5).astype('category')",
    "pd.Series(pd.Categorical.from_codes(np.arange({n}) % 4 - 1, [*'abc'], True))",
    "pd.Series(pd.date_range('2024', periods={n}, tz='Asia/Tokyo'))",
    "pd.Series(pd.timedelta_range('1s', periods={n}))",
    "pd.Series(pd.period_range('2024', periods={n}, freq='M'))",
    "pd.Series((['1', 2, None, True] * {n})[:{n}], dtype=object)",
    "pd.Series(([decimal.Decimal('1.5'), Fraction(1, 3)] * {n})[:{n}])",
    "pd.Series(np.arange({n}), dtype='Int64').shift()",
    "pd.Series([None] * {n}, dtype=object)",
    "pd.Series(np.arange({n}).astype(str))",
]
HOSTILE_COLUMNS = [
    "pd.Series([np.inf] * {n})",
    "pd.Series([1.7e308, -1.7e308] * {n})[:{n}]",
    "pd.Series(([1, 10**400] * {n})[:{n}], dtype=object)",
    "pd.Series([[1, 2]] * {n})",
    "pd.Series([{{'a': 1}}] * {n})",
    "pd.Series([1j] * {n})",
    "pd.Series(([np.datetime64('2024'), 'a'] * {n})[:{n}], dtype=object)",
    "pd.Series(np.arange({n}) * 5e-324)",
]
FORMS = ["{X}", "{X}.astype(object).to_numpy()", "pl.DataFrame({X}.to_dict('list'))"]
FORMS += ["{X}.astype(object).to_numpy().tolist()", "{X}.astype(str)", "{X}.iloc[::-1]"]


@st.composite
def tables(draw, *names, many=1100, widest=1000):
    """Draw tables of the same columns; rarely one differs, or is only numbers.

    `many` is the number of rows of the largest tables of mixed columns, and `widest`
    the largest number of columns of the others.
    """
    if draw(st.integers(1, 4)) == 4:
        return draw(data.samples(*names, widest=widest))
    column = params.values(COLUMNS, HOSTILE_COLUMNS, 8)
    first = draw(st.lists(column, min_size=1, max_size=4))
    found = {}
    for name in names:
        own = draw(data.rarely(st.lists(column, max_size=4), st.just(first), 6))
        n = draw(data.lengths(many=many))
        members = ", ".join(f"'c{j}': {c.format(n=n)}" for j, c in enumerate(own))
        form = draw(data.rarely(data.one_of(FORMS), st.just(FORMS[0]), 3))
        found[name] = form.replace("{X}", f"pd.DataFrame({{{members}}})")
    return found, ()


@st.composite
def table_with_target(draw):
    """Draw a table X and a y: numbers, labels, or a column of any type."""
    # Every column has a test with hundreds of pairs of kernels.
    found, _ = draw(tables("X", many=60, widest=12))
    y = draw(params.values(COLUMNS, HOSTILE_COLUMNS, 8)).format(n="len(X)")
    y = draw(data.rarely(st.just(f"pl.Series({y}.tolist())"), st.just(y), 6))
    return {**found, "y": y}, ()


def table_targets():
    """Yield the encoder, the report, scores, tests and selectors of tables."""
    keywords = {"max_categories": params.sizes("30", "None", "1", "np.int64(2)")}
    features = ["None", "['a', 'b']", "['a'] * 3", "3", "[f'x{i}' for i in range(2)]"]
    names = {"input_features": params.values(features[:1], features[1:])}
    for method, arguments, groups, documented in [
        ("fit_transform", "fit_transform(X)", [], is_array),
        ("transform", "fit(X).transform(X_new)", [], is_array),
        (
            "get_feature_names_out",
            "fit(X).get_feature_names_out({options})",
            [names],
            is_anything,
        ),
    ]:
        yield (
            f"TableEncoder.{method}",
            target(
                f"TableEncoder({{keywords}}).{arguments}",
                tables("X", "X_new") if "X_new" in arguments else tables("X"),
                keywords,
                *groups,
                callables="TableEncoder",
                also=("X", "input_features"),
                documented=documented,
                near="value",
                takes_missing=True,
            ),
        )
    for more in ("", ".to_html()", ".to_frame()"):
        yield (
            f"drift_report of tables{more}",
            target(
                f"drift_report(X, Y, {{keywords}}){more}",
                tables("X", "Y"),
                {**params.RESAMPLES, **params.RUN},
                callables="drift_report",
                also=("X", "Y", "reference", "new"),
                takes_missing=True,
            ),
        )
    tested = {**params.RESAMPLES, **params.RUN}
    columns = {**tested, **params.COLUMN_ENCODER}
    mmd = {**params.MMD, **params.RUN}
    for name, arguments, strategy, members, documented in [
        ("mmd_score", "X, Y", tables("X", "Y"), mmd, is_float),
        ("mmd_test", "X, Y", tables("X", "Y"), {**params.MMD, **tested}, is_test),
        ("hsic_score", "X, y", table_with_target(), params.HSIC, is_float),
        ("hsic_test", "X, y", table_with_target(), {**params.HSIC, **tested}, is_test),
        ("mmd_column_tests", "X, Y", tables("X", "Y"), columns, is_anything),
        ("hsic_column_tests", "X, y", table_with_target(), columns, is_anything),
    ]:
        yield (
            f"{name} of tables",
            target(
                f"{name}({arguments}, {{keywords}})",
                strategy,
                {**members, **params.RUN},
                callables=name,
                documented=documented,
                takes_missing=True,
            ),
        )
    for call in ("HSICSelector({keywords}).fit(X, y)", "ColumnCKA({keywords})(X, y)"):
        name = call.partition("(")[0]
        members = params.SELECTOR if name == "HSICSelector" else params.SCORE
        yield (
            f"{name} of tables",
            target(
                call,
                table_with_target(),
                {**members, **params.RUN},
                callables=name,
                also=("X", "y"),
                takes_missing=True,
            ),
        )
