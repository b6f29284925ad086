"""Rows that are equal in all inputs: which they are, and what they sum up to."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpproj.data import repeats_of
from gpproj.linalg import to_host

LIBRARIES = [np, array_api_strict]

ROWS = np.array([[3.0, 1.0], [0.0, 2.0], [3.0, 1.0], [3.0, 2.0], [0.0, 2.0], [3.0, 1.0]])


@pytest.mark.parametrize("xp", LIBRARIES)
def test_sets_stand_where_their_first_row_stood(xp):
    X = xp.asarray(ROWS)
    repeats = repeats_of(X)
    assert repeats.first.tolist() == [0, 1, 3]  # not in the order of their values
    assert repeats.label.tolist() == [0, 1, 0, 2, 1, 0]
    assert repeats.count.tolist() == [3.0, 2.0, 1.0]
    np.testing.assert_array_equal(to_host(repeats.distinct(X)), ROWS[[0, 1, 3]])
    values = xp.asarray(np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0]))
    sums = repeats.total(values)
    assert isinstance(sums, type(values))
    assert to_host(sums).tolist() == [37.0, 18.0, 8.0]


def test_rows_that_differ_in_one_input_are_no_twins():
    X = np.tile([1.0, 2.0, 3.0], (3, 1))
    X[1, 2] = np.nextafter(3.0, 4.0)
    X[2, 0] = -1.0
    assert repeats_of(X) is None
    X[2] = X[1]
    assert repeats_of(X).label.tolist() == [0, 1, 1]


@pytest.mark.parametrize("X", [np.zeros((0, 2)), np.zeros((4, 0)), np.eye(1)], ids=str)
def test_without_rows_or_inputs_there_are_none(X):
    assert repeats_of(X) is None


def test_equal_rows_are_one_set():
    repeats = repeats_of(np.ones((4, 2)))
    assert repeats.first.tolist() == [0]
    assert repeats.count.tolist() == [4.0]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=20))
def test_labels_and_first_rows_agree(numbers):
    X = np.array(numbers, dtype=float)[:, None] * [1.0, -2.0]
    repeats = repeats_of(X)
    if repeats is None:
        assert len(set(numbers)) == len(numbers)
        return
    np.testing.assert_array_equal(X[repeats.first][repeats.label], X)
    assert np.all(np.diff(repeats.first) > 0)
    assert [numbers.index(numbers[first]) for first in repeats.first] == repeats.first.tolist()
    assert len(repeats.first) == len(set(numbers))
    assert repeats.count.sum() == len(numbers)
