from __future__ import annotations

import pickle
import re

import array_api_strict as strict
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from gpproj import datasets
from gpproj.data import (
    Columns,
    TrainingSet,
    new_offset,
    new_target,
    raw_rows,
    training_set,
)

ROWS = np.array([[1.0, 10.0], [2.0, 30.0], [4.0, 20.0], [8.0, 20.0]])
CODES = np.array([1.0, 0.0, 0.0, 1.0])
WORDS = ["sick", "healthy", "healthy", "sick"]
COUNTS = np.array([3.0, 0.0, 7.0, 1.0])
EXPOSURE = np.array([0.5, 1.0, 2.0, 8.0])


def make(y, kind, X=ROWS, *, standardize=True, **options) -> TrainingSet:
    return training_set(X, y, standardize=standardize, kind=kind, **options)


def named(value) -> str:
    return f"{type(value).__module__.split('.')[0]}-{getattr(value, 'dtype', '')}"[:40]


# Two classes


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (CODES.astype(int).tolist(), (0, 1)),
        (CODES, (0.0, 1.0)),
        (CODES.astype(np.float32), (0.0, 1.0)),
        (CODES.astype(np.longdouble), (0.0, 1.0)),
        ((2 * CODES - 1).astype(int), (-1, 1)),
        (CODES + 1, (1.0, 2.0)),
        (CODES == 1, (False, True)),
        ((CODES == 1).tolist(), (False, True)),
        ([np.int8(1), np.int8(0), 0, True], (0, 1)),
        (WORDS, ("healthy", "sick")),
        (tuple(WORDS), ("healthy", "sick")),
        (np.array(WORDS), ("healthy", "sick")),
        (np.array(WORDS, dtype=object)[:, None], ("healthy", "sick")),
        (np.ma.masked_array(CODES), (0.0, 1.0)),
        (pd.Series(WORDS), ("healthy", "sick")),
        (pd.Series(WORDS, dtype="string"), ("healthy", "sick")),
        (pd.Series(WORDS, dtype="category"), ("healthy", "sick")),
        (pd.Series(CODES == 1, dtype="boolean"), (False, True)),
        (pd.Series(CODES, dtype="Int64"), (0, 1)),
        (pd.DataFrame({"state": WORDS}), ("healthy", "sick")),
        (pd.Index(WORDS), ("healthy", "sick")),
        (pd.Categorical(WORDS), ("healthy", "sick")),
        (pl.Series(WORDS), ("healthy", "sick")),
        (pl.Series(WORDS, dtype=pl.Categorical), ("healthy", "sick")),
        (pl.Series(WORDS, dtype=pl.Enum(["sick", "healthy"])), ("healthy", "sick")),
        (pl.Series(CODES == 1), (False, True)),
        (pl.DataFrame({"state": CODES}), (0.0, 1.0)),
    ],
    ids=named,
)
def test_labels_of_every_kind_become_zero_and_one(y, classes):
    training = make(y, "binary")
    assert type(training.y) is np.ndarray
    assert training.y.dtype == np.float64
    assert_array_equal(training.y, CODES)
    assert training.kind == "binary"
    assert training.classes == classes
    assert [type(label) for label in training.classes] == [type(label) for label in classes]
    assert_array_equal(training.offset, np.zeros(4))


def test_the_order_of_the_labels_is_theirs_and_not_that_of_a_category():
    order = pd.CategoricalDtype(["sick", "unknown", "healthy"], ordered=True)
    training = make(pd.Series(WORDS, dtype=order), "binary")
    assert training.classes == ("healthy", "sick")
    assert_array_equal(training.y, CODES)


def test_numbers_are_sorted_as_numbers():
    assert make([10, 9, 9, 10], "binary").classes == (9, 10)
    assert make(["10", "9", "9", "10"], "binary").classes == ("10", "9")


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (CODES, (0.0, 1.0)),
        (CODES.astype(np.int64), (0, 1)),
        (CODES == 1, (False, True)),
    ],
    ids=named,
)
def test_foreign_labels_stay_in_their_library(values, labels):
    training = make(strict.asarray(values), "binary", strict.asarray(ROWS))
    assert type(training.y) is type(training.offset) is type(training.X)
    assert_array_equal(np.asarray(training.y), CODES)
    assert training.classes == labels
    assert [type(label) for label in training.classes] == [type(label) for label in labels]


def test_words_follow_foreign_inputs():
    training = make(WORDS, "binary", strict.asarray(ROWS))
    assert type(training.y) is type(training.X)
    assert_array_equal(np.asarray(training.y), CODES)
    assert type(new_target(training, WORDS, rows=4)) is type(training.X)


def test_foreign_labels_do_not_come_back():
    with pytest.raises(TypeError, match="y is an array of array_api_strict, but X lives in numpy"):
        make(strict.asarray(CODES), "binary")


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a"] * 4, "y must have two classes; saw one: every label is 'a'"),
        (np.ones(4), r"y must have two classes; saw one: every label is 1\.0"),
        (
            ["a", "b", "c", "a"],
            "y must have two classes; saw 3: 'a', 'b', 'c'; more than two are not offered",
        ),
        (
            pd.Series(list("aaaa"), dtype=pd.CategoricalDtype(["a", "b"])),
            "y must have two classes; saw one: every label is 'a'",
        ),
        ([1, None, 0, 1], "y must not have missing labels; saw 1, the first in row 1"),
        (["a", None, "b", None], "y must not have missing labels; saw 2, the first in row 1"),
        ([1.0, 0.0, np.nan, 1.0], "y must not have missing labels; saw 1, the first in row 2"),
        (["a", "b", pd.NA, "a"], "y must not have missing labels; saw 1, the first in row 2"),
        (["a", "b", pd.NaT, "a"], "y must not have missing labels; saw 1, the first in row 2"),
        (pd.Series(["a", None, "b", "a"]), "y must not have missing labels; saw 1, .* row 1"),
        (
            pd.Series(["a", None, "b", "a"], dtype="category"),
            "y must not have missing labels; saw 1, the first in row 1",
        ),
        (
            pd.Series([True, None, False, True], dtype="boolean"),
            "y must not have missing labels; saw 1, the first in row 1",
        ),
        (pl.Series(["a", None, "b", "a"]), "y must not have missing labels; saw 1, .* row 1"),
        (pl.Series([1, None, 0, 1]), "y must not have missing labels; saw 1, .* row 1"),
        (
            np.ma.masked_array(CODES, mask=[False, True, False, False]),
            "y must not have missing labels; saw 1, the first in row 1",
        ),
        (WORDS[:3], "X has 4 rows but y has 3 values"),
        ([], "X has 4 rows but y has 0 values"),
        (pd.DataFrame(ROWS), r"y must have one dimension, or a single column; saw shape \(4, 2\)"),
        (ROWS > 3, r"y must have one dimension, or a single column; saw shape \(4, 2\)"),
    ],
    ids=named,
)
def test_bad_labels(y, message):
    with pytest.raises(ValueError, match=message):
        make(y, "binary")


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", 1, "a", 1], "y must have labels of one kind; saw strings and numbers: 'a', 1"),
        ([0, 1, np.inf, 0], "y must hold labels that are .* finite numbers; saw inf in row 2"),
        ([(0,), (1, 2), 0, 0], r"y must hold labels that are strings.*; saw \(0,\) in row 0"),
        ([b"a", b"b", b"a", b"b"], "y must hold labels that are strings.*; saw b'a' in row 0"),
        (pd.Series(pd.date_range("2020", periods=4)), "y must hold labels that are strings"),
        (CODES * 1j, "y must hold labels that are strings.*; saw 1j in row 0"),
        (strict.asarray(CODES * 1j), "y must hold real numbers; saw an array of .*complex128"),
        (None, "y must hold labels, one a row; saw a NoneType"),
        ("yes", "y must hold labels, one a row; saw a str"),
        ({"a", "b"}, "y must hold labels, one a row; saw a set"),
        (sparse.csr_matrix(CODES[:, None]), "y must hold labels, one a row; saw a csr_matrix"),
    ],
    ids=named,
)
def test_things_that_are_no_labels(y, message):
    with pytest.raises(TypeError, match=message):
        make(y, "binary", strict.asarray(ROWS) if type(y) is type(strict.asarray(1)) else ROWS)


@pytest.mark.parametrize(
    ("known", "y"),
    [
        (WORDS, np.array(["sick", "healthy"])),
        (WORDS, pl.Series(["sick", "healthy"], dtype=pl.Categorical)),
        (CODES, [True, False]),
        (CODES == 1, [1.0, 0.0]),
        (CODES.astype(int), pd.Series([1.0, 0.0])),
    ],
)
def test_new_labels_are_read_by_the_known_classes(known, y):
    training = make(known, "binary")
    for columns in (training, training.columns):
        assert_array_equal(new_target(columns, y, rows=2), [1.0, 0.0])
        assert_array_equal(new_target(columns, y[:1], rows=1), [1.0])


def test_new_labels_that_are_not_known():
    training = make(WORDS, "binary")
    known = "y must hold the classes of the training data, 'healthy', 'sick'; saw"
    with pytest.raises(ValueError, match=f"{known} 'well' in row 1"):
        new_target(training, ["sick", "well"], rows=2)
    with pytest.raises(ValueError, match=f"{known} 1 in row 0"):
        new_target(training, [1, 0], rows=2)
    with pytest.raises(ValueError, match=r"y must not have missing labels; saw 1, .* row 1"):
        new_target(training, ["sick", None], rows=2)
    with pytest.raises(ValueError, match="X has 3 rows but y has 2 values"):
        new_target(training, WORDS[:2], rows=3)


# Counts


@pytest.mark.parametrize(
    "y",
    [
        COUNTS,
        COUNTS.astype(np.uint8),
        COUNTS.astype(int).tolist(),
        COUNTS[:, None],
        pd.Series(COUNTS, dtype="Int64"),
        pd.DataFrame({"events": COUNTS}),
        pl.Series(COUNTS.astype(int)),
    ],
    ids=named,
)
def test_counts_stay_as_they_are(y):
    training = make(y, "count")
    assert_array_equal(training.y, COUNTS)
    assert training.y.dtype == np.float64
    assert (training.kind, training.classes) == ("count", None)
    assert_array_equal(training.offset, np.zeros(4))
    assert_array_equal(new_target(training, y, rows=4), COUNTS)


def test_counts_may_all_be_the_same():
    assert_array_equal(make([2, 2, 2, 2], "count", exposure=EXPOSURE).y, [2.0] * 4)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, -2, 0, 3], r"y must hold counts, whole .* saw 1 others, the first -2\.0 in row 1"),
        ([1, 2, 0.5, 3.5], r"y must hold counts, .* saw 2 others, the first 0\.5 in row 2"),
        ([1, np.nan, 2, 3], "y must be finite; saw 1 .* first nan in row 1"),
        ([1, np.inf, 2, 3], "y must be finite; saw 1 .* first inf in row 1"),
        (COUNTS[:2], "X has 4 rows but y has 2 values"),
    ],
)
def test_bad_counts(y, message):
    with pytest.raises(ValueError, match=message):
        make(y, "count")
    with pytest.raises(ValueError, match=message):
        new_target(make(COUNTS, "count"), y, rows=4)


def test_bad_foreign_counts():
    with pytest.raises(ValueError, match=r"y must hold counts, .* the first 0\.5 in row 2"):
        make(strict.asarray([1.0, 2.0, 0.5, 3.0]), "count", strict.asarray(ROWS))


def test_counts_without_an_event_teach_nothing():
    with pytest.raises(ValueError, match="y has no event: every count is 0"):
        make([0, 0, 0, 0], "count")
    assert_array_equal(new_target(make(COUNTS, "count"), [0, 0], rows=2), [0.0, 0.0])


def test_counts_are_numbers():
    with pytest.raises(TypeError, match="y must hold real numbers; saw 'a' in row 0"):
        make(["a", "b", "c", "d"], "count")


# Exposure


@pytest.mark.parametrize(
    "exposure",
    [
        EXPOSURE,
        EXPOSURE.tolist(),
        EXPOSURE[:, None],
        pd.Series(EXPOSURE),
        pd.DataFrame({"days": EXPOSURE}),
        pl.Series(EXPOSURE),
    ],
    ids=named,
)
def test_offsets_are_log_exposures(exposure):
    training = make(COUNTS, "count", exposure=exposure)
    assert_allclose(training.offset, np.log(EXPOSURE), rtol=1e-15)
    for columns in (training, training.columns):
        assert_allclose(new_offset(columns, exposure, rows=4), np.log(EXPOSURE), rtol=1e-15)
        assert new_offset(columns, None, rows=4) is None


def test_foreign_exposures():
    X, y, exposure = (strict.asarray(values) for values in (ROWS, COUNTS, EXPOSURE))
    training = make(y, "count", X, exposure=exposure)
    assert type(training.offset) is type(training.X)
    assert_allclose(np.asarray(training.offset), np.log(EXPOSURE), rtol=1e-15)
    assert type(new_offset(training, EXPOSURE, rows=4)) is type(training.X)
    foreign = "exposure is an array of array_api_strict, but"
    with pytest.raises(TypeError, match=f"{foreign} X lives in numpy"):
        make(COUNTS, "count", exposure=exposure)
    with pytest.raises(TypeError, match=f"{foreign} the training set lives in numpy"):
        new_offset(make(COUNTS, "count"), exposure, rows=4)


@pytest.mark.parametrize(
    ("exposure", "message"),
    [
        ([1, 0, 2, 3], r"exposure must be positive; saw 1 values .* first 0\.0 in row 1"),
        ([1, 2, -1, -3], r"exposure must be positive; saw 2 values .* first -1\.0 in row 2"),
        ([1, np.inf, 2, 3], "exposure must be finite; saw 1 .* first inf in row 1"),
        ([1, np.nan, 2, 3], "exposure must be finite; saw 1 .* first nan in row 1"),
        ([1, 2, 3], "X has 4 rows but exposure has 3 values"),
        (2.0, r"exposure must have one dimension, or a single column; saw shape \(\)"),
    ],
)
def test_bad_exposures(exposure, message):
    with pytest.raises(ValueError, match=message):
        make(COUNTS, "count", exposure=exposure)
    with pytest.raises(ValueError, match=message):
        new_offset(make(COUNTS, "count"), exposure, rows=4)


@pytest.mark.parametrize(
    ("y", "kind", "seen"), [(COUNTS, "real", "a real number"), (WORDS, "binary", "of two classes")]
)
def test_exposures_are_for_counts(y, kind, seen):
    message = f"exposure is for targets that are counts; here the target is {seen}"
    with pytest.raises(ValueError, match=message):
        make(y, kind, exposure=EXPOSURE)
    with pytest.raises(ValueError, match=message):
        new_offset(make(y, kind), EXPOSURE, rows=4)
    assert new_offset(make(y, kind), None, rows=4) is None


def test_exposures_in_another_order_are_an_error():
    X = pd.DataFrame(ROWS, index=list("abcd"))
    exposure = pd.Series(EXPOSURE, index=list("abdc"))
    message = r"X and exposure have the same index labels .* exposure\.loc\[X\.index\]"
    with pytest.raises(ValueError, match=message):
        make(COUNTS, "count", X, exposure=exposure)
    make(COUNTS, "count", X, exposure=exposure.sort_index())


# Scaling and centre


@pytest.mark.parametrize(("y", "kind"), [(CODES, "binary"), (COUNTS, "count")])
@pytest.mark.parametrize("standardize", [True, False])
def test_only_inputs_are_standardised(y, kind, standardize):
    training = make(y, kind, standardize=standardize)
    expected = (ROWS - ROWS.mean(0)) / ROWS.std(0) if standardize else ROWS
    assert_allclose(training.X, expected, rtol=1e-14, atol=1e-15)
    assert_array_equal(training.y, y)
    assert (training.scaling.target_mean, training.scaling.target_scale) == (0.0, 1.0)


def test_the_centre_goes_into_the_scaling_and_the_offset():
    seen = []

    def centre(y, log_exposure):
        seen.append((y, log_exposure))
        return np.log(y.sum() / np.exp(log_exposure).sum())

    expected = np.log(COUNTS.sum() / EXPOSURE.sum())
    for X in (ROWS, strict.asarray(ROWS)):
        training = make(COUNTS, "count", X, exposure=EXPOSURE, centre=centre)
        y, log_exposure = seen.pop()
        assert type(y) is type(log_exposure) is np.ndarray
        assert_array_equal(y, COUNTS)
        assert_allclose(log_exposure, np.log(EXPOSURE), rtol=1e-15)
        assert type(training.scaling.target_mean) is float
        assert training.scaling.target_mean == pytest.approx(expected, rel=1e-14)
        assert training.scaling.target_scale == 1.0
        assert_allclose(np.asarray(training.offset), np.log(EXPOSURE) + expected, rtol=1e-14)
        latent = training.scaling.restore_mean(np.array([0.25]))
        assert_allclose(latent, 0.25 + expected, rtol=1e-14)
        assert_array_equal(np.asarray(new_target(training, COUNTS, rows=4)), COUNTS)
        assert np.asarray(new_offset(training, [1.0], rows=1)) == 0.0


def test_the_centre_of_classes_sees_no_exposure():
    training = make(WORDS, "binary", centre=lambda y, offset: y.mean() - 2.0 + offset.sum())
    assert training.scaling.target_mean == -1.5
    assert_array_equal(training.offset, np.full(4, -1.5))


def test_there_is_no_centre_where_nothing_is_standardised_or_the_target_is_real():
    def refuse(y, offset):
        raise AssertionError("the centre is not asked for")

    assert_array_equal(make(COUNTS, "count", standardize=False, centre=refuse).offset, np.zeros(4))
    assert make(COUNTS, "real", centre=refuse).scaling.target_mean == COUNTS.mean()


# Kinds


def test_targets_are_real_unless_told_otherwise():
    training = training_set(ROWS, COUNTS, standardize=True)
    assert (training.kind, training.classes, training.offset) == ("real", None, None)
    assert_allclose(training.y, (COUNTS - COUNTS.mean()) / COUNTS.std())


@pytest.mark.parametrize("kind", ["ordinal", "classes", None, 2])
def test_kinds_that_are_not_known(kind):
    message = f"kind must be one of 'real', 'binary', 'count'; saw {kind!r}"
    with pytest.raises(ValueError, match=re.escape(message)):
        make(CODES, kind)


def test_columns_know_the_kind_and_the_classes():
    training = make(WORDS, "binary")
    columns = training.columns
    assert type(columns) is Columns
    assert (columns.kind, columns.classes) == ("binary", ("healthy", "sick"))
    assert columns.scaling is training.scaling
    again = TrainingSet(**vars(columns), X=training.X, y=training.y, offset=training.offset)
    assert vars(again) == vars(training)


def test_training_sets_of_classes_survive_pickling():
    training = make(WORDS, "binary", centre=lambda y, offset: 1.0)
    copy = pickle.loads(pickle.dumps(training))
    assert (copy.kind, copy.classes) == (training.kind, training.classes)
    assert_array_equal(copy.offset, training.offset)


@pytest.mark.parametrize(("y", "kind"), [(WORDS, "binary"), (COUNTS, "count")])
def test_inputs_are_checked_whatever_the_target(y, kind):
    with pytest.raises(ValueError, match=r"X must be finite; saw 1 .* row 0, column 'x1'"):
        make(y, kind, np.where(ROWS == 10.0, np.nan, ROWS))
    X = pd.DataFrame(ROWS, index=list("abcd"))
    with pytest.raises(ValueError, match="X and y have the same index labels"):
        make(pd.Series(y, index=list("dbca")), kind, X)
    with pytest.warns(UserWarning, match="inputs 'x1' are constant in X"):
        assert make(y, kind, ROWS * [1.0, 0.0]).varying == (True, False)


# Training rows as they were given


def test_rows_of_classes_come_back_as_zero_and_one():
    training = make(WORDS, "binary", centre=lambda y, offset: 0.7)
    rows = raw_rows(training, [3, 1])
    assert_allclose(rows.X, ROWS[[3, 1]], rtol=1e-14)
    assert_array_equal(rows.y, [1.0, 0.0])
    assert rows.exposure is None
    assert_array_equal(make(raw_rows(training, range(4)).y, "binary").y, training.y)


@pytest.mark.parametrize("centre", [None, lambda y, offset: -3.3])
@pytest.mark.parametrize("foreign", [True, False])
def test_rows_of_counts_come_back_with_their_exposures(centre, foreign):
    X = strict.asarray(ROWS) if foreign else ROWS
    training = make(COUNTS, "count", X, exposure=EXPOSURE, centre=centre)
    rows = raw_rows(training, [2, 1])
    assert type(rows.exposure) is type(rows.y) is type(training.X)
    assert_array_equal(np.asarray(rows.y), COUNTS[[2, 1]])
    assert_allclose(np.asarray(rows.exposure), EXPOSURE[[2, 1]], rtol=1e-14)
    assert_allclose(np.asarray(raw_rows(training, [1]).exposure), [1.0])


@pytest.mark.parametrize("exposure", [None, np.ones(4)])
def test_exposures_that_are_all_one_are_none(exposure):
    training = make(COUNTS, "count", exposure=exposure, centre=lambda y, offset: 0.1)
    assert raw_rows(training, range(4)).exposure is None


def test_frames_come_back_with_counts():
    training = make(COUNTS, "count", pd.DataFrame(ROWS, columns=["a", "b"]), exposure=EXPOSURE)
    rows = raw_rows(training, [0, 3])
    assert list(rows.X.columns) == ["a", "b"]
    assert_array_equal(rows.y, COUNTS[[0, 3]])


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.floats(1e-6, 1e6)), min_size=2, max_size=6),
    st.floats(-20.0, 20.0),
)
def test_counts_and_exposures_round_trip(pairs, centre):
    counts, exposures = (np.array(values, dtype=float) for values in zip(*pairs, strict=True))
    counts[0] += 1.0
    X = np.arange(len(counts), dtype=float)[:, None]
    training = make(counts, "count", X, exposure=exposures, centre=lambda y, offset: centre)
    rows = raw_rows(training, range(len(counts)))
    assert_array_equal(rows.y, counts)
    found = np.ones(len(counts)) if rows.exposure is None else rows.exposure
    assert_allclose(found, exposures, rtol=1e-13)


# Real data


def test_real_classes(data_dir):
    X, y = datasets.heart(data_dir)
    training = make(y, "binary", X)
    assert training.classes == (1, 2)
    assert training.y.sum() == 120
    assert_array_equal(new_target(training, y[:5], rows=5), training.y[:5])


def test_real_counts(data_dir):
    X, y = datasets.bike(data_dir)
    training = make(y, "count", X)
    assert (training.n, training.d) == (731, 11)
    assert_array_equal(raw_rows(training, [0, 2]).y, [985.0, 1349.0])


# Predictions in the user's units


def test_predictions_of_real_targets_go_back_to_their_units():
    y = np.array([10.0, 14.0, 10.0, 14.0])
    training = make(y, "real")
    for columns in (training, training.columns):
        mean, variance = columns.response(np.array([-1.0, 0.0, 2.0]), np.array([1.0, 0.5, 0.0]))
        assert_allclose(mean, [10.0, 12.0, 16.0])
        assert_allclose(variance, [4.0, 2.0, 0.0])
        assert_allclose(columns.response(training.y, 0.0)[0], y)
    as_they_are = make(y, "real", standardize=False)
    mean, variance = as_they_are.response(np.array([3.0]), np.array([0.2]))
    assert (mean[0], variance[0]) == (3.0, 0.2)


@pytest.mark.parametrize(("y", "kind"), [(WORDS, "binary"), (COUNTS, "count")])
def test_probabilities_and_expected_counts_are_in_the_users_units_already(y, kind):
    training = make(y, kind, centre=lambda values, offset: 3.0)
    assert training.scaling.target_mean == 3.0
    mean, variance = np.array([0.25, 0.5]), np.array([0.1875, 0.25])
    for columns in (training, training.columns):
        assert_array_equal(columns.response(mean, variance), [mean, variance])


def test_predictions_in_other_libraries_stay_there():
    training = make(strict.asarray(COUNTS), "real", strict.asarray(ROWS))
    mean, variance = training.response(strict.asarray([0.0]), strict.asarray([1.0]))
    assert type(mean) is type(variance) is type(training.X)
    assert_allclose(np.asarray(mean), [COUNTS.mean()])
    assert_allclose(np.asarray(variance), [COUNTS.var()])
