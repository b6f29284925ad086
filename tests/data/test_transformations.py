"""Transformations of the target: functions and their inverses, slopes, moments and powers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpproj.data import training_set
from gpproj.data.transformations import (
    BoxCox,
    Log,
    Logit,
    YeoJohnson,
    check_transform,
    transformation_for,
)

EVERY = [
    Log(),
    Logit(),
    BoxCox(0.4, 3.0, 0.1),
    BoxCox(-0.7, 3.0, 9.0),
    BoxCox(0.0, 3.0, 1.0),
    BoxCox(1.0, 3.0, 0.1),
    YeoJohnson(0.0),
    YeoJohnson(0.3),
    YeoJohnson(1.0),
    YeoJohnson(2.0),
]
each = pytest.mark.parametrize("one", EVERY, ids=repr)


@each
@given(st.lists(st.floats(-8.0, 8.0), min_size=1, max_size=20))
def test_backward_undoes_forward(one, places):
    z = np.array(places)
    y = one.backward(z)
    assert one.has(y).all()
    np.testing.assert_allclose(one.forward(y), z, atol=1e-9)


@each
def test_they_grow_over_all_real_numbers(one):
    z = np.linspace(-30.0, 30.0, 5001)
    assert (np.diff(one.backward(z)) >= 0.0).all()
    assert (np.diff(one.backward(z[np.abs(z) < 15.0])) > 0.0).all()


@each
def test_slopes_are_derivatives(one):
    z, step = np.linspace(-3.0, 3.0, 13) + 0.01, 1e-6
    own = (one.backward(z + step) - one.backward(z - step)) / (2.0 * step)
    np.testing.assert_allclose(one.log_slope(z), -np.log(own), atol=1e-5)


@each
def test_densities_integrate_to_one(one):
    # p(y) = N(t(y) | 0.3, 0.25) t'(y), summed over a grid that is as fine where y is.
    z = np.linspace(-6.0, 6.0, 200_001)
    y = one.backward(z)
    density = np.exp(-2.0 * (one.forward(y) - 0.3) ** 2 + one.log_slope(one.forward(y)))
    assert np.trapezoid(density * np.sqrt(2.0 / np.pi), y) == pytest.approx(1.0, abs=1e-5)


@each
def test_moments_are_those_of_draws(one):
    z = 0.3 + 0.5 * np.random.default_rng(0).standard_normal(400_000)
    y = one.backward(z)
    mean, variance = one.moments(np.array([0.3]), np.array([0.25]))
    assert mean[0] == pytest.approx(y.mean(), rel=0.01)
    if y.var() < 100.0:  # draws of a heavy tail say little
        assert variance[0] == pytest.approx(y.var(), rel=0.02)
    place = np.array([0.3])
    np.testing.assert_allclose(one.moments(place, np.zeros(1))[0], one.backward(place))


def test_integrals_agree_with_the_closed_form():
    closed = Log().moments(np.array([1.0, -3.0]), np.array([4.0, 0.01]))
    by_nodes = super(Log, Log()).moments(np.array([1.0, -3.0]), np.array([4.0, 0.01]))
    np.testing.assert_allclose(by_nodes, closed, rtol=1e-6)


def drawn(power, n=1500):
    """Draw targets whose transformation is linear in the inputs, with normal errors."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, 2))
    z = X @ [0.1, 0.05] + 0.1 * rng.standard_normal(n)
    return X, BoxCox(power, 4.0, 0.3 if power > 0.0 else 3.0).backward(z)


@pytest.mark.parametrize("power", [-1.0, 0.0, 0.5, 2.0])
def test_powers_are_found(power):
    X, y = drawn(power)
    found = transformation_for("box-cox", y, X)
    assert found.power == pytest.approx(power, abs=0.5)
    assert found.unit == pytest.approx(np.exp(np.mean(np.log(y))))


def test_powers_that_make_no_difference_are_one():
    X, y = drawn(1.0)
    assert transformation_for("box-cox", y, X) == BoxCox(
        1.0, float(np.exp(np.mean(np.log(y)))), float(y.min() / np.exp(np.mean(np.log(y))))
    )
    assert transformation_for("yeo-johnson", y - 4.0, X) == YeoJohnson(1.0)


def test_powers_are_of_the_errors_and_not_of_the_targets():
    # Skewed by an input, with normal errors.
    rng = np.random.default_rng(2)
    X = rng.exponential(1.0, (200, 1))
    y = 10.0 + 5.0 * X[:, 0] + rng.standard_normal(200)
    assert transformation_for("box-cox", y, X).power == 1.0
    assert transformation_for("box-cox", y, X * 0.0).power < 0.0


def test_more_inputs_than_rows_are_no_obstacle():
    X, y = drawn(0.0, n=20)
    wide = np.random.default_rng(0).standard_normal((20, 50))
    assert transformation_for("box-cox", y, wide) == transformation_for("box-cox", y, X * 0.0)


def test_powers_do_not_depend_on_the_unit_of_the_target():
    X, y = drawn(-1.0)
    small, large = (transformation_for("box-cox", unit * y, X) for unit in (1e-9, 1e9))
    assert small.power == pytest.approx(large.power, abs=1e-4)


@pytest.mark.parametrize(
    ("transform", "bad", "said"),
    [
        ("log", 0.0, 'y must be above 0 for transform="log"; saw 0 in row 1'),
        ("box-cox", -2.0, 'y must be above 0 for transform="box-cox"; saw -2 in row 1'),
        ("logit", 1.0, 'y must be above 0 and below 1 for transform="logit"; saw 1 in row 1'),
    ],
)
def test_targets_that_cannot_be_transformed_are_named(transform, bad, said):
    with pytest.raises(ValueError, match=said):
        training_set([[0.0], [1.0], [3.0]], [0.5, bad, 0.25], standardize=True, transform=transform)


def test_targets_of_all_sizes_have_a_power():
    y = np.array([1e-250, 1e-9, 1.0, 2.0, 3.0, 1e9, 1e250])
    found = transformation_for("box-cox", y, np.zeros((7, 1)))
    np.testing.assert_allclose(found.backward(found.forward(y)), y, rtol=1e-6)


def test_unknown_transformations_are_refused():
    with pytest.raises(ValueError, match="transform must be None or one of log, logit, box-cox, y"):
        check_transform("sqrt")
