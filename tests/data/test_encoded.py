"""Frames with text, categories, truth values and missing cells: which inputs they become."""

from __future__ import annotations

from decimal import Decimal

import array_api_strict as strict
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gpproj.data import new_inputs, read_row_groups, training_set

TARGET = [1.0, 3.0, 2.0, 5.0, 4.0]
CELLS = {
    "size": [1.5, 2.0, 3.0, 4.0, 0.5],
    "colour": ["red", "blue", "green", "red", "blue"],
    "sold": [True, False, True, True, False],
    "kind": ["b", "a", "b", "a", "b"],
    "count": [3, 1, 2, 2, 9],
}
INPUTS = ("size", "colour=blue", "colour=green", "colour=red", "sold", "kind=b", "count")
FRAMES = {
    "pandas": pd.DataFrame(CELLS),
    "pandas objects": pd.DataFrame(CELLS, dtype=object),
    "pandas categories": pd.DataFrame(CELLS).astype({"colour": "category", "kind": "category"}),
    "pandas nullable": pd.DataFrame(CELLS).convert_dtypes(),
    "polars": pl.DataFrame(CELLS),
    "polars categories": pl.DataFrame(CELLS).with_columns(
        pl.col("colour").cast(pl.Categorical), pl.col("kind").cast(pl.Enum(["b", "a"]))
    ),
}
every_frame = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)


def make(X, y=TARGET, missing="error", **options):
    return training_set(X, y, standardize=False, missing=missing, **options)


def with_holes(library=pd):
    return library.DataFrame(
        CELLS
        | {"size": [1.5, None, 3.0, 4.0, 0.5], "colour": ["red", "blue", None, "red", "blue"]},
        **({"strict": False} if library is pl else {}),
    )


@every_frame
def test_levels_become_inputs_and_numbers_stay(frame):
    training = make(frame)
    assert training.feature_names == INPUTS
    assert training.column_names == tuple(CELLS)
    assert_array_equal(training.X[:, 0], CELLS["size"])
    assert_array_equal(training.X[:, 3], [1, 0, 0, 1, 0])
    assert_array_equal(training.X[:, 4], [1, 0, 1, 1, 0])
    assert_array_equal(training.X[:, 5], [1, 0, 1, 0, 1])
    assert_array_equal(training.X[:, 6], CELLS["count"])
    assert training.groups == {"colour": (1, 2, 3), "kind": (5,)}
    assert training.kept is None


def test_frames_of_numbers_are_read_as_they_always_were():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((5, 3)), columns=list("abc"))
    training = make(frame)
    assert training.encoding is None
    assert_array_equal(training.X, training_set(frame, TARGET, standardize=False).X)
    mixed = make(frame.assign(kind=CELLS["kind"]))
    assert_array_equal(mixed.X[:, :3], frame.to_numpy())


@every_frame
def test_new_rows_are_read_by_name_in_any_order_and_among_others(frame):
    training = make(FRAMES["pandas"])
    names = list(reversed(list(CELLS)))
    new = frame[names]
    assert_array_equal(new_inputs(training, new), training.X)
    wanted = ("colour=red", "count")
    found = new_inputs(training, frame[["count", "colour"]], wanted)
    assert_array_equal(found, training.X[:, [3, 6]])
    with pytest.raises(ValueError, match="X lacks 1 of the 2 columns needed: 'count'"):
        new_inputs(training, frame[["colour"]], wanted)


def test_rows_of_inputs_are_read_too():
    training = make(FRAMES["pandas"])
    inputs = pd.DataFrame(training.X, columns=list(INPUTS))
    assert_array_equal(new_inputs(training, inputs), training.X)
    assert_array_equal(new_inputs(training, training.X), training.X)
    with pytest.raises(
        TypeError, match=r"must be a frame with the columns 'size', .* read by name"
    ):
        new_inputs(training, training.X[:, :5])


@every_frame
def test_unseen_levels_name_column_level_and_row(frame):
    training = make(frame)
    new = pd.DataFrame(CELLS | {"kind": ["a", "b", "c", "a", "d"]})
    with pytest.raises(ValueError, match=r"X: column 'kind' has 'c' in row 2, .*knows 'a', 'b'"):
        new_inputs(training, new)
    assert_array_equal(new_inputs(training, new, ["size"])[:, 0], CELLS["size"])


def test_the_name_of_a_column_stands_for_its_inputs():
    training = make(FRAMES["pandas"])
    assert training.positions(["colour", "size"]) == (1, 2, 3, 0)
    assert training.positions("colour") == (1, 2, 3)
    assert training.positions("kind=b") == (5,)
    assert training.exact(["size", "colour=red"]) == (0, 3)
    assert training.columns_of(["colour=red", "size", "colour=blue"]) == ("colour", "size")
    with pytest.raises(ValueError, match="not repeat; saw 'colour=red'"):
        training.positions(["colour=red", "colour"])
    with pytest.raises(ValueError, match=r"among 'size', 'colour', 'sold'.*saw the name 'colours'"):
        training.positions(["colours"])


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_missing_cells_are_refused_by_default(library):
    said = r"missing cells in 2 of 5 rows: 'size' \(1\), 'colour' \(1\); missing=\"drop\""
    with pytest.raises(ValueError, match=said):
        make(with_holes(library))
    with pytest.raises(ValueError, match=r"X must be finite.*row 1, column 'a'; missing=\"drop\""):
        make(library.DataFrame({"a": [1.0, np.nan, 2.0, 3.0, 4.0]}))
    with pytest.raises(ValueError, match=r"first inf in row 1, column 'a'$"):
        make(library.DataFrame({"a": [1.0, np.inf, 2.0, 3.0, 4.0]}))


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_rows_with_missing_cells_are_dropped(library):
    training = make(with_holes(library), missing="drop")
    assert_array_equal(training.y, [1.0, 5.0, 4.0])
    assert_array_equal(training.kept, [True, False, False, True, True])
    assert "colour=green" not in training.feature_names
    assert_array_equal(training.X[:, 0], [1.5, 4.0, 0.5])
    with pytest.raises(
        ValueError, match="1 missing cells, the first in row 1; leave out such rows"
    ):
        new_inputs(training, with_holes(library))
    assert training.take(np.array([0, 2])).kept is None


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_missing_cells_are_imputed_in_new_rows_too(library):
    training = make(with_holes(library), missing="impute")
    assert training.feature_names == ("size", "colour=red", "sold", "kind=b", "count")
    assert training.kept is None
    assert_array_equal(training.X[:, 0], [1.5, 2.25, 3.0, 4.0, 0.5])
    # Of two levels that are as frequent, the first one by name.
    assert_array_equal(training.X[:, 1], [1, 0, 0, 1, 0])
    new = (
        library.DataFrame({"count": [None, 5], "size": [7.0, None]}, strict=False)
        if (library is pl)
        else pd.DataFrame({"count": [None, 5], "size": [7.0, None]})
    )
    assert_allclose(new_inputs(training, new, ["size", "count"]), [[7.0, 2.0], [2.25, 5.0]])


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_missing_cells_may_have_inputs_of_their_own(library):
    training = make(with_holes(library), missing="indicate")
    assert training.feature_names == (
        "size",
        "size is missing",
        "colour=red",
        "colour is missing",
        "sold",
        "kind=b",
        "count",
    )
    assert_array_equal(training.X[:, 1], [0, 1, 0, 0, 0])
    assert_array_equal(training.X[:, 3], [0, 0, 1, 0, 0])
    assert training.groups == {"size": (0, 1), "colour": (2, 3), "kind": (5,)}
    assert training.positions(["size"]) == (0, 1)
    new = pd.DataFrame({"size": [None, 2.0], "colour": ["red", None]})
    wanted = ("size", "size is missing", "colour is missing")
    assert_array_equal(new_inputs(training, new, wanted), [[2.25, 1, 0], [2.0, 0, 1]])


def test_arrays_have_missing_cells_too():
    X = np.array([[1.0, 2.0], [np.nan, 3.0], [3.0, 5.0], [4.0, np.nan], [0.0, 1.0]])
    training = make(X, missing="impute")
    assert training.feature_names == ("x0", "x1")
    assert not training.named
    assert_array_equal(training.X[[1, 3]], [[2.0, 3.0], [4.0, 2.5]])
    assert_array_equal(new_inputs(training, [[np.nan, 7.0]]), [[2.0, 7.0]])
    indicated = make(X, missing="indicate")
    assert indicated.feature_names == ("x0", "x0 is missing", "x1", "x1 is missing")
    assert_array_equal(new_inputs(indicated, [[np.nan, 7.0]]), [[2.0, 1.0, 7.0, 0.0]])
    third = make(np.column_stack([X, TARGET]), missing="indicate")
    only = ["x2", "x0", "x0 is missing"]
    assert_array_equal(new_inputs(third, [[7.0, np.nan]], only), [[7.0, 2.0, 1.0]])
    with pytest.raises(ValueError, match=r"X must have 2 columns \('x0', 'x1'\), or .*; saw 3"):
        new_inputs(indicated, [[1.0, 2.0, 3.0]])
    with pytest.raises(TypeError, match='missing="impute" is for frames and NumPy arrays'):
        make(strict.asarray(X), missing="impute")


def test_rows_without_a_target_are_left_out_unless_refused():
    X, y = FRAMES["pandas"][["size", "count"]], [1.0, None, 2.0, np.nan, 4.0]
    training = make(X, y, missing="impute")
    assert_array_equal(training.y, [1.0, 2.0, 4.0])
    assert_array_equal(training.kept, [True, False, True, False, True])
    for target in (
        pd.Series(y),
        pl.Series(y, strict=False),
        np.array(y),
        pd.Series(y, dtype=object),
    ):
        assert_array_equal(make(X, target, missing="drop").y, [1.0, 2.0, 4.0])
    with pytest.raises(ValueError, match="y must be finite"):
        make(X, np.array(y, dtype=float))
    exposure = [1.0, 2.0, np.nan, 1.0, 1.0]
    counted = make(X, [1, 0, 2, 3, 4], missing="drop", kind="count", exposure=exposure)
    assert counted.n == 4
    labels = make(X, ["no", "yes", None, "no", "yes"], missing="drop", kind="binary")
    assert_array_equal(labels.y, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="only 1 rows of X and y are left"):
        make(X, [1.0, None, None, None, None], missing="drop")
    with pytest.raises(ValueError, match="X has 5 rows but y has 4 values"):
        make(with_holes(), TARGET[:4], missing="drop")


def test_labels_of_rows_are_those_of_all_rows_or_of_those_that_are_left():
    kept = np.array([True, False, True, True])
    assert_array_equal(read_row_groups(["a", "b", "a", "c"], 3, kept), [0, 0, 1])
    assert_array_equal(read_row_groups(["a", "a", "c"], 3, kept), [0, 0, 1])


@pytest.mark.parametrize(
    ("cells", "error", "message"),
    [
        (pd.date_range("2020", periods=5), TypeError, r"'made' holds dates \(datetime64"),
        (pl.Series(pd.date_range("2020", periods=5)), TypeError, r"'made' holds dates \(Date"),
        (["a", 1, "b", 2, "c"], TypeError, "saw 'a' in row 0 and 1 in row 1"),
        ([[1], [2], [3], [4], [5]], TypeError, r"saw \[1\] in row 0 and \[2\] in row 1"),
        (["1", "2", "3", "?", "4"], ValueError, r"numbers but for '\?', in row 3 first.*na_values"),
        (
            ["red", "red", "green", "red", "red"],
            ValueError,
            "more than one column has inputs named 'made=red'",
        ),
    ],
    ids=["dates", "polars dates", "mixed", "lists", "marked", "names"],
)
def test_columns_that_are_neither_are_refused(cells, error, message):
    frame = pd.DataFrame({"good": TARGET, "made=red": TARGET})
    frame = pl.DataFrame(frame.to_dict("list")) if isinstance(cells, pl.Series) else frame
    if isinstance(cells, pl.Series):
        frame = frame.with_columns(cells.alias("made"))
    else:
        frame["made"] = cells
    with pytest.raises(error, match=message):
        make(frame)


def test_empty_columns_have_nothing_to_impute():
    with pytest.raises(ValueError, match="X: column 'made' is empty"):
        make(FRAMES["pandas"].assign(made=None), missing="impute")


def test_names_without_end_are_no_levels():
    frame = pd.DataFrame({"name": [f"person {row}" for row in range(40)], "age": range(40)})
    with pytest.raises(
        ValueError, match=r"X: column 'name' has 40 different texts \(saw 'person 0'"
    ):
        make(frame, np.arange(40.0))


def test_categories_may_be_many():
    frame = pd.DataFrame({"state": [f"s{row % 40}" for row in range(80)], "age": range(80)})
    for named in (frame.astype({"state": "category"}), pl.DataFrame(frame.to_dict("list"))):
        if isinstance(named, pl.DataFrame):
            named = named.with_columns(pl.col("state").cast(pl.Categorical))
        assert len(make(named, np.arange(80.0)).feature_names) == 41


def test_levels_that_are_whole_numbers_are_the_same_however_they_were_read():
    frame = pd.DataFrame({"grade": [1, 2, 3, 1, 2], "age": TARGET})
    training = make(frame.astype({"grade": "category"}))
    assert training.feature_names == ("grade=1", "grade=2", "grade=3", "age")
    for kind in (int, float, "Int64", "category", object):
        assert_array_equal(new_inputs(training, frame.astype({"grade": kind})), training.X)
    assert_array_equal(new_inputs(training, pl.DataFrame(frame.to_dict("list"))), training.X)
    with pytest.raises(ValueError, match="'grade' has '4' in row 0"):
        new_inputs(training, frame.assign(grade=4.0))
    assert make(frame.astype({"grade": float}).astype({"grade": "category"})).positions(
        "grade=3"
    ) == (2,)


def test_texts_that_are_all_numbers_stay_texts_and_decimals_are_numbers():
    frame = pd.DataFrame(
        {"zip": ["01", "02", "01", "02", "01"], "age": [Decimal(k) for k in "12345"]}
    )
    training = make(frame)
    assert training.feature_names == ("zip=02", "age")
    assert_array_equal(training.X[:, 1], [1, 2, 3, 4, 5])


def test_arguments_are_named():
    with pytest.raises(ValueError, match=r'missing must be one of "error", "drop".*got .skip.'):
        make(FRAMES["pandas"], missing="skip")
    with pytest.raises(TypeError, match="standardize must be True or False, got 'no'"):
        training_set(FRAMES["pandas"], TARGET, standardize="no", missing="error")


def test_frames_of_arrays_are_read_by_the_names_that_inputs_have():
    X = np.arange(15.0).reshape(5, 3) ** 2
    training = make(X)
    named = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    assert_array_equal(new_inputs(training, named[["x2", "x0", "x1"]]), X)
    assert_array_equal(new_inputs(training, named[["x0", "x2"]], ["x2", "x0"]), X[:, [2, 0]])
    others = named.set_axis(["a", "b", "c"], axis=1)
    assert_array_equal(new_inputs(training, others, ["x2"]), X[:, [2]])
