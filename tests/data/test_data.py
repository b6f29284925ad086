from __future__ import annotations

import pickle
import re
import warnings
from decimal import Decimal

import array_api_strict as strict
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from gpproj.data import Scaling, TrainingSet, new_inputs, new_target, raw_rows, training_set

ROWS = np.array([[1.0, 10.0, -3.0], [2.0, 30.0, 5.0], [4.0, 20.0, 0.0], [8.0, 20.0, 1.0]])
TARGET = np.array([3.0, -1.0, 4.0, 6.0])
NAMES = ("rooms", "tax", "age")
FRAMES = {
    "pandas": lambda values: pd.DataFrame(np.asarray(values), columns=list(NAMES)),
    "polars": lambda values: pl.DataFrame(np.asarray(values), schema=list(NAMES)),
}
frame_library = pytest.mark.parametrize("library", FRAMES)


def make(X=ROWS, y=TARGET, *, standardize=True, **options) -> TrainingSet:
    return training_set(X, y, standardize=standardize, **options)


def kind(value) -> str:
    """Short names for test cases: the library and type of an argument."""
    if isinstance(value, str):
        return value[:12].strip()
    return f"{type(value).__module__.split('.')[0]}-{type(value).__name__}"


def host(array) -> np.ndarray:
    return np.asarray(array)


# Reading


def kinds_of_input():
    plain = ROWS.copy()
    yield "array", plain
    yield "fortran", np.asfortranarray(plain)
    yield "strided", np.repeat(plain, 2, axis=0)[::2]
    yield "lists", plain.tolist()
    yield "tuples", tuple(map(tuple, plain.tolist()))
    yield "integers", plain.astype(np.int32)
    yield "float32", plain.astype(np.float32)
    yield "longdouble", plain.astype(np.longdouble)
    yield "pandas", FRAMES["pandas"](plain)
    yield "pandas integers", FRAMES["pandas"](plain.astype(np.int64))
    yield "pandas nullable", FRAMES["pandas"](plain).astype("Float64")
    yield "pandas nullable integers", FRAMES["pandas"](plain.astype(int)).astype("Int64")
    yield "pandas sparse", FRAMES["pandas"](plain).astype("Sparse[float]")
    yield "polars", FRAMES["polars"](plain)
    yield "polars integers", FRAMES["polars"](plain.astype(np.int16))


@pytest.mark.parametrize("X", [pytest.param(X, id=name) for name, X in kinds_of_input()])
@pytest.mark.parametrize("standardize", [True, False])
def test_every_kind_of_input_gives_the_same_numpy_training_set(X, standardize):
    training = make(X, standardize=standardize)
    expected = (ROWS - ROWS.mean(0)) / ROWS.std(0) if standardize else ROWS
    assert type(training.X) is np.ndarray
    assert training.X.dtype == training.y.dtype == np.float64
    assert training.X.flags.c_contiguous
    assert_allclose(training.X, expected, rtol=1e-14, atol=1e-15)
    assert (training.n, training.d) == (4, 3)
    assert training.varying == (True, True, True)


@pytest.mark.parametrize(
    "y",
    [
        TARGET.tolist(),
        TARGET.astype(np.int64),
        TARGET[:, None],
        pd.Series(TARGET),
        pd.Series(TARGET, dtype="Float64"),
        pd.DataFrame({"price": TARGET}),
        pl.Series(TARGET),
        pl.DataFrame({"price": TARGET}),
        pl.Series([Decimal(f"{value}") for value in TARGET]),
    ],
    ids=kind,
)
def test_every_kind_of_target_gives_the_same_numpy_target(y):
    training = make(y=y)
    assert type(training.y) is np.ndarray
    assert training.y.shape == (4,)
    assert_allclose(training.y, (TARGET - TARGET.mean()) / TARGET.std(), rtol=1e-14)


@frame_library
def test_booleans_are_numbers(library):
    flags = np.array([[True, False, True], [False, False, True], [True, True, False]])
    for X in (flags, flags.tolist(), FRAMES[library](flags)):
        training = make(X, flags[:, 1], standardize=False)
        assert_array_equal(training.X, flags.astype(float))
        assert_array_equal(training.y, [0.0, 0.0, 1.0])


def test_training_data_are_copies():
    X, y = ROWS.copy(), TARGET.copy()
    training = make(X, y, standardize=False)
    X[:], y[:] = 0.0, 0.0
    assert_array_equal(training.X, ROWS)
    assert_array_equal(training.y, TARGET)


def test_identity_scaling_is_exact():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 2)) * 1e5, rng.normal(size=30) + 1e6
    training = make(X, y, standardize=False)
    assert_array_equal(training.X, X)
    assert_array_equal(training.y, y)
    assert_array_equal(training.scaling.restore_mean(training.y), y)


def test_training_set_survives_pickling():
    training = make(FRAMES["pandas"](ROWS))
    copy = pickle.loads(pickle.dumps(training))
    assert_array_equal(copy.X, training.X)
    assert copy.feature_names == training.feature_names


# Names


@frame_library
def test_frames_bring_their_names(library):
    training = make(FRAMES[library](ROWS))
    assert training.feature_names == NAMES
    assert training.named


def test_arrays_are_numbered():
    training = make()
    assert training.feature_names == ("x0", "x1", "x2")
    assert not training.named


def test_names_may_be_given_to_arrays():
    training = make(feature_names=np.array(NAMES))
    assert training.feature_names == NAMES
    assert all(type(name) is str for name in training.feature_names)
    assert training.named


def test_names_given_to_a_frame_must_be_its_own():
    frame = FRAMES["pandas"](ROWS)
    assert make(frame, feature_names=list(NAMES)).feature_names == NAMES
    with pytest.raises(ValueError, match=r"feature_names.*frame.*'rooms', 'tax', 'age'"):
        make(frame, feature_names=["a", "b", "c"])


def test_integer_column_labels_become_strings():
    training = make(pd.DataFrame(ROWS, columns=[7, 3, 5]))
    assert training.feature_names == ("7", "3", "5")
    new = new_inputs(training, pd.DataFrame(ROWS[:, ::-1], columns=[5, 3, 7]))
    assert_array_equal(new, training.X)


def test_tuple_column_labels_become_strings():
    columns = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])
    training = make(pd.DataFrame(ROWS, columns=columns))
    assert training.feature_names == ("('a', 1)", "('a', 2)", "('b', 1)")
    assert_allclose(training.X, make().X)


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (["a", "b"], ValueError, "feature_names must be 3, one a column of X; saw 2"),
        (["a", "b", "a"], ValueError, "feature_names must not repeat; saw 'a'"),
        ("abc", TypeError, "feature_names must be a list of names; saw 'abc'"),
    ],
)
def test_bad_feature_names(names, error, message):
    with pytest.raises(error, match=message):
        make(feature_names=names)


@pytest.mark.parametrize("columns", [["a", "b", "a"], [1, "b", "1"]])
def test_duplicated_column_names(columns):
    with pytest.raises(ValueError, match=r"X has duplicated column names: '(a|1)'"):
        make(pd.DataFrame(ROWS, columns=columns))


# Positions


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ([], ()),
        ((), ()),
        (np.array([], dtype=int), ()),
        (["age", "rooms"], (2, 0)),
        ([2, 0], (2, 0)),
        (np.array([1, 2]), (1, 2)),
        (np.array(["tax"]), (1,)),
        (pd.Index(["tax", "age"]), (1, 2)),
        (["age", 0, np.int8(1)], (2, 0, 1)),
        (range(3), (0, 1, 2)),
        ((name for name in NAMES), (0, 1, 2)),
    ],
)
def test_positions(inputs, expected):
    found = make(feature_names=NAMES).positions(inputs)
    assert found == expected
    assert all(type(position) is int for position in found)


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        (["roms"], ValueError, "among 'rooms', 'tax', 'age'; saw the name 'roms'"),
        ([3], ValueError, "positions from 0 to 2; saw the position 3"),
        ([-1], ValueError, "positions from 0 to 2; saw the position -1"),
        ([0, 1, 0], ValueError, "not repeat; saw 'rooms' more than once"),
        (["tax", 1], ValueError, "not repeat; saw 'tax' more than once"),
        ("roms", ValueError, "among 'rooms', 'tax', 'age'; saw the name 'roms'"),
        (1, TypeError, "inputs must be a list of names or positions; saw 1"),
        ([1.0], TypeError, r"inputs must be names or positions; saw 1\.0"),
        ([None], TypeError, "inputs must be names or positions; saw None"),
        ([True, False, True], TypeError, "boolean mask"),
        (np.array([True, False, True]), TypeError, "boolean mask"),
    ],
)
def test_bad_positions(inputs, error, message):
    with pytest.raises(error, match=message):
        make(feature_names=NAMES).positions(inputs)


# Bad input


def with_cell(value, row=2, column=1, rows=ROWS):
    changed = rows.astype(float).copy()
    changed[row, column] = value
    return changed


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@frame_library
def test_cells_that_are_not_finite_are_placed(value, library):
    X = with_cell(value)
    X[3, 2] = np.nan
    for bad, column in ((X, "x1"), (X.tolist(), "x1"), (FRAMES[library](X), "tax")):
        with pytest.raises(
            ValueError,
            match=rf"X must be finite; saw 2 .* first {value} in row 2, column '{column}'",
        ):
            make(bad)
    with pytest.raises(ValueError, match=r"X must be finite; saw 1 .* column 'x1'"):
        make(strict.asarray(with_cell(value)))
    with pytest.raises(ValueError, match=rf"y must be finite; saw 1 .* first {value} in row 1"):
        make(y=[1.0, value, 2.0, 3.0])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, None, 2, 3], dtype="Int64"),
        pd.Series([True, None, False, True], dtype="boolean"),
        pd.Series([1.0, None, 2.0, 3.0]),
        pl.Series([1, None, 2, 3]),
        pl.Series([True, None, False, True]),
        pl.Series([Decimal("1.5"), None, Decimal("2.5"), Decimal("3.5")]),
    ],
    ids=lambda column: f"{type(column).__module__.split('.')[0]}-{column.dtype}",
)
def test_missing_values_of_frames_are_not_finite(column):
    library = pd if isinstance(column, pd.Series) else pl
    with pytest.raises(
        ValueError, match=r"X must be finite; saw 1 .* first nan in row 1, column 'a'"
    ):
        make(library.DataFrame({"a": column, "b": TARGET}))
    with pytest.raises(ValueError, match=r"y must be finite; saw 1 .* first nan in row 1"):
        make(y=column)


def test_masked_cells_are_not_finite():
    X = np.ma.masked_array(ROWS, mask=ROWS == 5.0)
    with pytest.raises(ValueError, match=r"X must be finite; saw 1 .* row 1, column 'x2'"):
        make(X)
    assert_allclose(make(np.ma.masked_array(ROWS)).X, make().X)


def test_longdoubles_beyond_double_precision_are_not_finite():
    with pytest.raises(ValueError, match=r"X must be finite; saw 1 .* first inf in row 0"):
        make(np.array([["1e400", "1"], ["2", "3"], ["3", "4"], ["4", "4"]], dtype=np.longdouble))


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        (pd.Series(list("abcd"), dtype=object), "object"),
        (pd.Series([1, 2, 3, 4], dtype=object), "object"),
        (pd.Series(list("abcd"), dtype="string"), "string"),
        (pd.Series([1, 2, 3, 4], dtype="category"), "category"),
        (pd.Series(pd.date_range("2020", periods=4)), "datetime64"),
        (pd.Series(pd.to_timedelta([1, 2, 3, 4])), "timedelta64"),
        (pd.Series([1j, 2j, 3j, 4j]), "complex128"),
        (pl.Series(list("abcd")), "String"),
        (pl.Series(list("abcd"), dtype=pl.Categorical), "Categorical"),
        (pl.Series([[1], [2], [3], [4]]), "List"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__module__.split(".")[0],
)
def test_columns_that_are_not_numbers_are_named(column, dtype):
    library = pd if isinstance(column, pd.Series) else pl
    frame = library.DataFrame({"good": TARGET, "make": column, "good too": TARGET})
    with pytest.raises(
        TypeError, match=rf"X has 1 columns that are not real numbers: 'make' \({dtype}"
    ):
        make(frame)
    with pytest.raises(TypeError, match=rf"y must hold real numbers; saw a column of {dtype}"):
        make(y=column)


def test_long_lists_of_columns_are_cut():
    frame = pd.DataFrame({f"c{j}": list("abcd") for j in range(20)})
    with pytest.raises(TypeError, match=r"X has 20 columns .* 'c5' \(.*\), \.\.\. \(20 in all\)"):
        make(frame)


def test_long_names_are_shown_whole():
    name = "a name as long as people give to columns of questionnaires"
    with pytest.raises(ValueError, match=f"row 2, column '{name}'"):
        make(pd.DataFrame({"short": TARGET, name: [1.0, 2.0, np.nan, 3.0]}))
    with pytest.raises(TypeError, match=rf"'{name}' \("):
        make(pd.DataFrame({"short": TARGET, name: list("abcd")}))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1, 2], [3, "a"]], "X must hold real numbers; saw 'a' in row 1, column 1"),
        ([[1, None], [3, 4]], "X must hold real numbers; saw None in row 0, column 1"),
        (np.array([["a", "b"]]), "X must hold real numbers; saw 'a' in row 0, column 0"),
        (np.array([[1, 2], [3, 4]], dtype=object), "X must hold real numbers; saw an array of obj"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), "X must hold real numbers; saw .* in row 0"),
        (ROWS + 1j, r"X must hold real numbers; saw complex numbers \(complex128\)"),
        (strict.asarray(ROWS + 1j), "X must hold real numbers; saw an array of .*complex128"),
        (None, "X must hold real numbers; saw a NoneType"),
        ({"a": [1, 2]}, "X must hold real numbers; saw a dict"),
        ("rows", "X must hold real numbers; saw a str"),
        (pl.LazyFrame({"a": [1, 2]}), "X must hold real numbers; saw a LazyFrame"),
        (sparse.csr_matrix(ROWS), r"X is a sparse matrix \(csr_matrix\).*X\.toarray\(\)"),
        (sparse.coo_array(ROWS), r"X is a sparse matrix \(coo_array\).*X\.toarray\(\)"),
    ],
    ids=kind,
)
def test_inputs_of_the_wrong_type(X, message):
    with pytest.raises(TypeError, match=message):
        make(X)
    with pytest.raises(TypeError, match=message):
        new_inputs(make(), X)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", "b", "c", "d"], "y must hold real numbers; saw 'a' in row 0"),
        ([1, 2, None, 3], "y must hold real numbers; saw None in row 2"),
        (TARGET * 1j, "y must hold real numbers; saw complex"),
        (None, "y must hold real numbers; saw a NoneType"),
        (sparse.csr_matrix(TARGET[:, None]), "y is a sparse matrix"),
        (pd.DataFrame({"a": list("abcd")}), "y has 1 columns that are not real numbers: 'a' "),
    ],
    ids=kind,
)
def test_targets_of_the_wrong_type(y, message):
    with pytest.raises(TypeError, match=message):
        make(y=y)
    with pytest.raises(TypeError, match=message):
        new_target(make(), y, rows=4)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1, 2], [3, 4, 5]], "X is ragged: row 0 has 2 cells, row 1 has 3 cells"),
        ([[1, 2], 3], "X is ragged: row 0 has 2 cells, row 1 has a single number"),
        ([[[1], [2, 3]], [[1], [2]]], "X is ragged: its nested lists differ in length"),
        ([], "X must have two dimensions .* saw one, of length 0"),
        ([[]], r"X is empty: it has no columns \(shape \(1, 0\)\)"),
        (np.empty((0, 3)), r"X is empty: it has no rows \(shape \(0, 3\)\)"),
        (np.empty((4, 0)), r"X is empty: it has no columns \(shape \(4, 0\)\)"),
        (pd.DataFrame(index=range(4)), r"X is empty: it has no columns \(shape \(4, 0\)\)"),
        (pl.DataFrame({"a": []}, schema={"a": pl.Float64}), "X is empty: it has no rows"),
        (TARGET, r"X must have two dimensions .* saw one, of length 4; reshape .* \(-1, 1\)"),
        (pd.Series(TARGET), "X must have two dimensions .* saw one, of length 4; reshape"),
        (pl.Series(TARGET), "X must have two dimensions .* saw one, of length 4; reshape"),
        (3.0, r"X must have two dimensions .* saw shape \(\)"),
        (np.float64(3.0), r"X must have two dimensions .* saw shape \(\)"),
        (np.zeros((2, 2, 2)), r"X must have two dimensions .* saw shape \(2, 2, 2\)"),
        (strict.asarray(TARGET), "X must have two dimensions .* saw one, of length 4; reshape"),
    ],
    ids=kind,
)
def test_inputs_of_the_wrong_shape(X, message):
    with pytest.raises(ValueError, match=message):
        make(X)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (TARGET[:3], "X has 4 rows but y has 3 values"),
        (pl.Series(TARGET[:3]), "X has 4 rows but y has 3 values"),
        ([], "X has 4 rows but y has 0 values"),
        (TARGET[None, :], r"y must have one dimension, or a single column; saw shape \(1, 4\)"),
        (ROWS[:, :2], r"y must have one dimension, or a single column; saw shape \(4, 2\)"),
        (pd.DataFrame(ROWS), r"y must have one dimension, or a single column; saw shape \(4, 3\)"),
        (4.0, r"y must have one dimension, or a single column; saw shape \(\)"),
        ([[1], [2, 3]], "y is ragged"),
    ],
    ids=kind,
)
def test_targets_of_the_wrong_shape(y, message):
    with pytest.raises(ValueError, match=message):
        make(y=y)
    with pytest.raises(ValueError, match=message):
        new_target(make(), y, rows=4)


def test_one_row_is_not_enough():
    with pytest.raises(ValueError, match="X has one row; at least two are needed"):
        make(ROWS[:1], TARGET[:1])


@pytest.mark.parametrize("value", [0.0, 0.1, 1e300])
def test_constant_target(value):
    with pytest.raises(ValueError, match=re.escape(f"y is constant: every value is {value}")):
        make(y=[value] * 4)


def test_one_row_repeated_is_not_enough():
    with pytest.raises(ValueError, match="X must have at least two distinct rows"):
        make(np.repeat(ROWS[:1], 4, axis=0))


@pytest.mark.parametrize("factor", [1e200, 1e308, 1e-170])
@pytest.mark.parametrize("standardize", [True, False])
def test_variances_out_of_range(factor, standardize):
    with np.errstate(all="raise", under="ignore"):
        X = ROWS / np.abs(ROWS).max()
        X[:, 1] *= factor
        y = TARGET / 6.0 * factor
    with pytest.raises(ValueError, match="the variance of X, columns 'x1' is too large or too sm"):
        make(X, standardize=standardize)
    with pytest.raises(ValueError, match="the variance of y is too large or too small"):
        make(y=y, standardize=standardize)


def test_labels_in_another_order_are_an_error():
    X = pd.DataFrame(ROWS, index=list("abcd"))
    y = pd.Series(TARGET, index=list("abdc"))
    for target in (y, y.to_frame()):
        with pytest.raises(
            ValueError, match=r"different order.* row 2 is labelled c in X but d in y.*align"
        ):
            make(X, target)
    assert_allclose(make(X, y.loc[X.index]).y, make(y=TARGET[[0, 1, 3, 2]]).y)


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(TARGET, index=list("abcd")),
        pd.Series(TARGET, index=list("wxyz")),
        pd.Series(TARGET),
        pl.Series(TARGET),
        TARGET.tolist(),
    ],
    ids=["same", "other", "numbered", "polars", "list"],
)
def test_other_labels_are_ignored(y):
    assert_allclose(make(pd.DataFrame(ROWS, index=list("abcd")), y).y, make().y)


# Constant, duplicated


@pytest.mark.parametrize("value", [0.0, 0.1, -1e300])
@pytest.mark.parametrize("convert", [np.asarray, strict.asarray], ids=["numpy", "strict"])
def test_constant_columns_are_accepted_with_one_warning(value, convert):
    X = np.column_stack([ROWS[:, 0], np.full(4, value), ROWS[:, 1], np.full(4, value)])
    with pytest.warns(UserWarning, match="'x1', 'x3' are constant in X: their relevance is") as got:
        training = make(convert(X))
    assert len(got) == 1
    assert training.varying == (True, False, True, False)
    assert_array_equal(host(training.X)[:, [1, 3]], 0.0)
    assert_array_equal(host(training.scaling.input_scale)[[1, 3]], 1.0)
    assert_array_equal(host(training.scaling.input_mean)[[1, 3]], value)


def test_constant_columns_keep_their_value_without_standardisation():
    with pytest.warns(UserWarning, match="'x1' are constant"):
        training = make(
            with_constant := np.column_stack([ROWS[:, 0], [7.0] * 4]), standardize=False
        )
    assert_array_equal(training.X, with_constant)


def test_a_mean_that_rounds_does_not_make_a_constant_vary():
    n = 3
    assert np.full(n, 0.1).mean() != 0.1
    X = np.column_stack([np.arange(n), np.full(n, 0.1)])
    with pytest.warns(UserWarning, match="constant"):
        training = make(X, np.arange(n))
    assert_array_equal(training.X[:, 1], 0.0)


def test_the_smallest_variation_counts():
    X = np.column_stack([ROWS[:, 0], [1.0, 1.0, 1.0, np.nextafter(1.0, 2.0)]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert make(X).varying == (True, True)


def test_duplicated_rows_and_columns_are_accepted():
    X = np.vstack([ROWS, ROWS])[:, [0, 0, 1]]
    training = make(X, np.concatenate([TARGET, TARGET]))
    assert_array_equal(training.X[:, 0], training.X[:, 1])
    assert_array_equal(training.X[:4], training.X[4:])


# Other array libraries


@pytest.mark.parametrize("dtype", [strict.float64, strict.float32, strict.int64])
@pytest.mark.parametrize("standardize", [True, False])
def test_foreign_arrays_stay_in_their_library(dtype, standardize):
    X = strict.asarray(ROWS)
    X = strict.astype(X, dtype)
    training = make(X, strict.asarray(TARGET), standardize=standardize)
    reference = make(standardize=standardize)
    for name in ("X", "y"):
        array = getattr(training, name)
        assert type(array) is type(X)
        assert array.dtype == strict.float64
        assert_allclose(host(array), getattr(reference, name), rtol=1e-14, atol=1e-15)
    assert type(training.scaling.input_mean) is type(X)
    assert type(training.scaling.target_mean) is float
    assert training.varying == (True, True, True)
    assert all(type(varies) is bool for varies in training.varying)


@pytest.mark.parametrize(
    "y", [TARGET, TARGET.tolist(), pd.Series(TARGET), pl.Series(TARGET), TARGET[:, None]]
)
def test_host_targets_follow_foreign_inputs(y):
    training = make(strict.asarray(ROWS), y)
    assert type(training.y) is type(training.X)
    assert_allclose(host(training.y), make().y)


def test_foreign_targets_do_not_come_back():
    with pytest.raises(TypeError, match="y is an array of array_api_strict, but X lives in numpy"):
        make(y=strict.asarray(TARGET))


def test_host_rows_follow_a_foreign_training_set():
    training = make(strict.asarray(ROWS), feature_names=NAMES)
    for X in (ROWS, ROWS.tolist(), FRAMES["pandas"](ROWS), FRAMES["polars"](ROWS)):
        new = new_inputs(training, X, inputs=["age", "rooms"])
        assert type(new) is type(training.X)
        assert_allclose(host(new), host(training.X)[:, [2, 0]])
    assert type(new_target(training, TARGET, rows=4)) is type(training.X)
    assert new_inputs(training, strict.asarray(ROWS), inputs=[]).shape == (4, 0)


def test_foreign_rows_do_not_come_back():
    foreign = "is an array of array_api_strict, but the training set lives in numpy"
    with pytest.raises(TypeError, match=f"X {foreign}"):
        new_inputs(make(), strict.asarray(ROWS))
    with pytest.raises(TypeError, match=f"y {foreign}"):
        new_target(make(), strict.asarray(TARGET), rows=4)


# New rows


@frame_library
def test_frames_are_read_by_name(library):
    training = make(FRAMES[library](ROWS))
    shuffled = FRAMES[library](ROWS)[["age", "rooms", "tax"]]
    extra = pd.DataFrame(shuffled.to_numpy(), columns=["age", "rooms", "tax"])
    extra.insert(1, "town", list("abcd"))
    for frame in (shuffled, extra, pl.from_pandas(extra)):
        assert_array_equal(new_inputs(training, frame), training.X)
        assert_array_equal(new_inputs(training, frame, inputs=[2, 1]), training.X[:, [2, 1]])


@frame_library
def test_missing_columns_are_named(library):
    training = make(FRAMES[library](ROWS))
    frame = FRAMES[library](ROWS)[["tax"]]
    with pytest.raises(
        ValueError, match="X lacks 2 of the 3 columns needed: 'rooms', 'age'; it has 'tax'"
    ):
        new_inputs(training, frame)
    assert_array_equal(new_inputs(training, frame, inputs=["tax"]), training.X[:, [1]])


def test_columns_that_are_not_needed_may_be_bad():
    training = make(FRAMES["pandas"](ROWS))
    frame = pd.DataFrame({"age": ROWS[:, 2], "rooms": list("abcd"), "tax": [np.nan] * 4})
    assert_array_equal(new_inputs(training, frame, inputs=["age"]), training.X[:, [2]])
    array = ROWS.copy()
    array[:, :2] = np.nan
    assert_array_equal(new_inputs(training, array, inputs=["age"]), training.X[:, [2]])


def test_duplicated_columns_at_prediction():
    training = make(FRAMES["pandas"](ROWS))
    frame = pd.DataFrame(ROWS[:, [0, 1, 2, 1]], columns=["rooms", "tax", "age", "tax"])
    with pytest.raises(ValueError, match="X has duplicated column names: 'tax'"):
        new_inputs(training, frame)
    assert_array_equal(new_inputs(training, frame, inputs=["age"]), training.X[:, [2]])


@frame_library
def test_frames_are_read_by_position_when_training_had_no_names(library):
    training = make()
    frame = FRAMES[library](ROWS)
    assert_array_equal(new_inputs(training, frame), training.X)
    assert_array_equal(new_inputs(training, frame, inputs=["x2"]), training.X[:, [2]])
    with pytest.raises(ValueError, match=r"X must have 3 columns \('x0', 'x1', 'x2'\); saw 2"):
        new_inputs(training, frame[["age", "tax"]])


@pytest.mark.parametrize("named", [True, False])
def test_arrays_are_read_by_position(named):
    training = make(feature_names=NAMES if named else None)
    assert_array_equal(new_inputs(training, ROWS.tolist()), training.X)
    assert_array_equal(new_inputs(training, ROWS, inputs=[2, 0]), training.X[:, [2, 0]])
    assert_array_equal(new_inputs(training, ROWS[:, [2, 0]], inputs=[2, 0]), training.X[:, [2, 0]])


def test_all_columns_are_selected_from_in_order():
    training = make()
    assert_array_equal(new_inputs(training, ROWS, inputs=[2, 0, 1]), training.X[:, [2, 0, 1]])
    assert_array_equal(new_inputs(training, ROWS, inputs=[0, 1, 2]), training.X)


def test_no_inputs():
    training = make(FRAMES["pandas"](ROWS))
    for X in (ROWS, np.empty((4, 0)), FRAMES["pandas"](ROWS), FRAMES["polars"](ROWS)):
        assert new_inputs(training, X, inputs=[]).shape == (4, 0)


def test_one_new_row_and_constant_new_columns_are_fine():
    training = make()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(new_inputs(training, ROWS[:1]), training.X[:1])


@pytest.mark.parametrize(
    ("X", "inputs", "message"),
    [
        (ROWS[:, :2], None, r"X must have 3 columns \('x0', 'x1', 'x2'\); saw 2"),
        (ROWS[:, :2], [1], "X must have 3 or 1 columns .* saw 2"),
        (
            ROWS[0],
            None,
            r"X must have two dimensions .* saw one, of length 3; reshape .* \(1, -1\)",
        ),
        (pd.Series(ROWS[0]), None, "X must have two dimensions .* reshape"),
        (ROWS[:0], None, r"X is empty: it has no rows \(shape \(0, 3\)\)"),
        (with_cell(np.nan), None, "X must be finite; saw 1 .* row 2, column 'x1'"),
        (with_cell(np.inf), [2, 1], "X must be finite; saw 1 .* row 2, column 'x1'"),
        (with_cell(np.nan)[:, :2], [2, 1], "X must be finite; saw 1 .* row 2, column 'x1'"),
        ([[1, 2, 3], [1, 2]], None, "X is ragged"),
        (ROWS, ["x7"], "saw the name 'x7'"),
    ],
    ids=kind,
)
def test_bad_new_rows(X, inputs, message):
    with pytest.raises(ValueError, match=message):
        new_inputs(make(), X, inputs)


@frame_library
def test_bad_new_frames(library):
    training = make(FRAMES[library](ROWS))
    with pytest.raises(ValueError, match="X is empty: it has no rows"):
        new_inputs(training, FRAMES[library](ROWS)[:0])
    with pytest.raises(ValueError, match=r"X must be finite; saw 1 .* row 2, column 'tax'"):
        new_inputs(training, FRAMES[library](with_cell(np.nan)))
    bad = pd.DataFrame({"rooms": [1.0], "tax": ["high"], "age": [2.0]})
    with pytest.raises(TypeError, match=r"X has 1 columns that are not real numbers: 'tax' \("):
        new_inputs(training, bad if library == "pandas" else pl.from_pandas(bad))


@pytest.mark.parametrize(
    "y",
    [[5, 6], np.array([[5.0], [6.0]]), pd.Series([5, 6], index=[9, 3]), pl.Series([5.0, 6.0])],
    ids=lambda y: type(y).__module__,
)
def test_new_targets_follow_the_scaling(y):
    target = new_target(make(), y, rows=2)
    assert type(target) is np.ndarray
    assert target.dtype == np.float64
    assert_allclose(target, (np.array([5.0, 6.0]) - TARGET.mean()) / TARGET.std(), rtol=1e-14)
    assert_array_equal(new_target(make(standardize=False), y, rows=2), [5.0, 6.0])


def test_new_targets_are_copies_and_may_be_constant():
    y = np.array([2.0, 2.0])
    target = new_target(make(standardize=False), y, rows=2)
    y[:] = 0.0
    assert_array_equal(target, [2.0, 2.0])


def test_new_targets_must_be_finite():
    with pytest.raises(ValueError, match=r"y must be finite; saw 1 .* first nan in row 1"):
        new_target(make(), [1.0, np.nan], rows=2)


# Training rows as they were given


@pytest.mark.parametrize("standardize", [True, False])
def test_training_rows_come_back_in_the_users_units(standardize):
    training = make(standardize=standardize)
    X, y, exposure, _ = raw_rows(training, [2, 0])
    assert exposure is None
    assert isinstance(X, np.ndarray)
    assert_allclose(X, ROWS[[2, 0]], rtol=1e-14)
    assert_allclose(y, TARGET[[2, 0]], rtol=1e-14)
    X[:] = y[:] = 0.0
    assert_allclose(raw_rows(training, np.arange(4)).X, ROWS, rtol=1e-14)


@frame_library
def test_training_rows_keep_their_names(library):
    training = make(FRAMES[library](ROWS))
    X, y, *_ = raw_rows(training, np.array([3, 1]))
    assert isinstance(X, pd.DataFrame)
    assert tuple(X.columns) == NAMES
    assert_allclose(X, ROWS[[3, 1]], rtol=1e-14)
    assert_allclose(y, TARGET[[3, 1]], rtol=1e-14)
    rows = raw_rows(training, range(4))
    again = training_set(rows.X, rows.y, standardize=True)
    assert again.feature_names == NAMES
    assert again.named
    assert_allclose(again.X, training.X, rtol=1e-12, atol=1e-15)


def test_names_of_arrays_come_back_in_a_frame():
    X = raw_rows(make(feature_names=["x1", "x0", "x2"]), [1]).X
    assert list(X.columns) == ["x1", "x0", "x2"]
    assert_allclose(X, ROWS[[1]])


def test_foreign_training_rows_stay_in_their_library():
    training = make(strict.asarray(ROWS), strict.asarray(TARGET))
    X, y, *_ = raw_rows(training, [1, 3])
    assert type(X) is type(y) is type(training.X)
    assert_allclose(host(X), ROWS[[1, 3]], rtol=1e-14)
    assert_allclose(host(y), TARGET[[1, 3]], rtol=1e-14)


def test_columns_that_are_constant_in_some_rows_stay_so():
    """Restored values of equal cells are equal: no rounding makes them vary."""
    X = np.column_stack([np.linspace(0.1, 0.7, 7), [0.3] * 6 + [0.7], np.full(7, 0.1)])
    with pytest.warns(UserWarning, match="x2"):
        training = make(X, np.linspace(-1.0, 2.0, 7))
    rows = raw_rows(training, np.arange(6))
    with pytest.warns(UserWarning, match="'x1', 'x2'"):
        again = training_set(rows.X, rows.y, standardize=True)
    assert again.varying == (True, False, False)


# Scaling

numbers = st.floats(-1e6, 1e6).map(lambda value: round(value, 3))
tables = (
    st.integers(2, 8)
    .flatmap(
        lambda n: st.tuples(
            arrays(float, (n, 2), elements=numbers), arrays(float, n, elements=numbers)
        )
    )
    .filter(lambda pair: np.ptp(pair[1]) > 0 and (np.ptp(pair[0], axis=0) > 0).all())
)


@given(tables, st.booleans())
def test_scaling_round_trips(pair, foreign):
    X, y = pair
    training = make(strict.asarray(X) if foreign else X, y)
    scaling = training.scaling
    size = np.abs(X).max() + 1
    back = host(training.X) * host(scaling.input_scale) + host(scaling.input_mean)
    assert_allclose(back, X, rtol=1e-12, atol=1e-12 * size)
    assert_allclose(host(scaling.restore_mean(training.y)), y, rtol=1e-12, atol=1e-6)
    assert_allclose(host(new_inputs(training, X)), host(training.X), rtol=1e-12)
    assert_allclose(host(new_target(training, y, len(y))), host(training.y))


@given(tables)
def test_standardised_data_have_mean_zero_and_variance_one(pair):
    X, y = pair
    training = make(X, y)
    for values in (training.X, training.y):
        # A mean that dwarfs the spread costs digits: 1e6 against steps of 1e-3.
        assert_allclose(values.mean(0), 0.0, atol=1e-6)
        assert_allclose(values.std(0), 1.0, rtol=1e-6)


@given(tables, st.floats(-5, 5), st.floats(0.01, 5), st.floats(-5, 5))
def test_restored_densities_are_densities_of_restored_predictions(pair, mean, variance, z):
    scaling = make(*pair).scaling

    def log_normal(value, mean, variance):
        return -0.5 * (np.log(2 * np.pi * variance) + (value - mean) ** 2 / variance)

    restored = scaling.restore_log_density(log_normal(z, mean, variance))
    direct = log_normal(
        scaling.restore_mean(z), scaling.restore_mean(mean), scaling.restore_variance(variance)
    )
    # Differences of restored means cancel where the target's mean dwarfs its scale.
    lost = 1e-15 * abs(scaling.target_mean) / scaling.target_scale
    assert_allclose(restored, direct, rtol=1e-9, atol=1e-9 + 1e4 * lost)


def test_scaling_of_some_inputs():
    scaling = make().scaling
    assert_array_equal(
        scaling.inputs(ROWS[:, [2, 0]], positions=(2, 0)), scaling.inputs(ROWS)[:, [2, 0]]
    )


@pytest.mark.parametrize("xp", [np, strict], ids=["numpy", "strict"])
def test_identity_changes_nothing(xp):
    scaling = Scaling.identity(3, xp)
    X, y = xp.asarray(ROWS), xp.asarray(TARGET)
    for before, after in (
        (X, scaling.inputs(X)),
        (y, scaling.target(y)),
        (y, scaling.restore_mean(y)),
        (y, scaling.restore_variance(y)),
        (y, scaling.restore_log_density(y)),
    ):
        assert type(after) is type(before)
        assert_array_equal(host(after), host(before))


def test_values_are_frozen():
    training = make()
    with pytest.raises(AttributeError):
        training.named = True
    with pytest.raises(AttributeError):
        training.scaling.target_scale = 2.0


def test_neither_frame_library_is_imported():
    import subprocess
    import sys

    code = "import sys, gpproj.data; print({'pandas', 'polars', 'sklearn'} & set(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"
