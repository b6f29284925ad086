"""`relevance`: each measure against its definition, units, order, and inputs that do nothing."""

from __future__ import annotations

from dataclasses import replace

import array_api_strict
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import gpproj
from gpproj.kernels import Constant, Linear, Matern32, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.reference.draws import Draws
from gpproj.sensitivity import METHODS, conditional_normal
from tests.fitting import fit_mode

methods = pytest.mark.parametrize("method", METHODS)
# constant variance, signal variance, three length-scales, noise variance
VALUES = np.array(
    [
        [1.0, 2.0, 0.7, 3.0, 1.5, 0.01],
        [0.2, 5.0, 1.2, 2.0, 4.0, 0.03],
        [3.0, 0.8, 0.5, 9.0, 2.0, 0.02],
    ]
)
WEIGHTS = np.array([0.2, 0.5, 0.3])


def make_data(n=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    X[:, 1] += 0.8 * X[:, 0]
    y = 1.0 + np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * X[:, 2] ** 2
    return X * [1.0, 3.0, 0.2] + [0.0, 5.0, 1.0], 4.0 * y + 0.2 * rng.standard_normal(n)


def kernel_of(values):
    return Constant(values[0]) + SquaredExponential(values[1], values[2:-1])


def make_reference(X, y, values=VALUES[0], kernel=None, **options):
    """At given hyperparameters; variances per variance of the target."""
    unit = np.var(y)
    kernel = (kernel or kernel_of(values)).scaled(unit)
    options = {"standardize": True, **options}
    return gpproj.condition(X, y, kernel, Gaussian(unit * values[-1]), **options)


def mixture(X, y):
    """A reference with several draws, as from `gpproj.sample`."""
    single = [make_reference(X, y, one) for one in VALUES]
    parameters = np.vstack([one.draws.parameters for one in single])
    return replace(single[0], draws=Draws(parameters, WEIGHTS))


def scaled(values):
    return np.asarray(values) / np.max(values)


def kl_by_steps(ref, X, step=1e-5):
    """sqrt(2 KL) / step of the predictive distribution, forwards and backwards."""
    m, v = ref.predict_response(X)
    rates = []
    for j in range(X.shape[1]):
        unit = np.eye(X.shape[1])[j] * X.std(axis=0)
        both = []
        for h in (step, -step):
            m_new, v_new = ref.predict_response(X + h * unit)
            # v / v_new = 1 + e, and 2 KL = e - log(1 + e) + (m - m_new)^2 / v_new
            e = (v - v_new) / v_new
            both.append(np.sqrt(e - np.log1p(e) + (m - m_new) ** 2 / v_new) / step)
        rates.append(np.mean(both))
    return np.array(rates)


def variance_by_quantiles(ref, X, count=1000):
    """Explicit conditional normal distributions, and many equally likely values of each."""
    mean, cov = X.mean(axis=0), np.cov(X.T, bias=True)
    draws = norm.ppf((np.arange(count) + 0.5) / count)
    found = []
    for j in range(X.shape[1]):
        rest = np.arange(X.shape[1]) != j
        slopes = np.linalg.solve(cov[np.ix_(rest, rest)], cov[rest, j])
        sd = np.sqrt(cov[j, j] - slopes @ cov[rest, j])
        variances = []
        for row in X:
            moved = np.tile(row, (count, 1))
            moved[:, j] = mean[j] + slopes @ (row - mean)[rest] + sd * draws
            variances.append(np.var(ref.predict(moved).mean))
        found.append(np.mean(variances))
    return np.array(found)


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module", params=["se", "nested", "draws"])
def ref(request, data):
    if request.param == "draws":
        return mixture(*data)
    nested = Linear(0.1) + Matern32(1.0, [0.8, 2.0, 1.0]) * (Constant(0.5) + Linear(0.2))
    return make_reference(*data, kernel=nested if request.param == "nested" else None)


def test_kl_is_the_limit_of_small_steps(ref, data):
    found = gpproj.relevance(ref, "kl")
    np.testing.assert_allclose(found, scaled(kl_by_steps(ref, data[0])), rtol=1e-5)


def test_variance_is_that_of_the_mean_given_the_other_inputs(ref, data):
    found = gpproj.relevance(ref, "variance")
    np.testing.assert_allclose(found, scaled(variance_by_quantiles(ref, data[0])), rtol=0.01)


def rises_by_shuffles(ref, X, y, repeats, seed):
    """Rise of the mean squared error for each input, the mean over the shuffles."""
    random = np.random.default_rng(seed)
    orders = [random.permutation(len(y)) for _ in range(repeats)]
    before = np.mean((y - ref.predict(X).mean) ** 2)
    rises = np.zeros((X.shape[1], repeats))
    for j in range(X.shape[1]):
        for k, order in enumerate(orders):
            shuffled = X.copy()
            shuffled[:, j] = X[order, j]
            rises[j, k] = np.mean((y - ref.predict(shuffled).mean) ** 2) - before
    return rises.mean(axis=1)


def test_permutation_is_the_rise_of_the_squared_error(ref, data):
    expected = rises_by_shuffles(ref, *data, repeats=3, seed=4)
    found = gpproj.relevance(ref, "permutation", repeats=3, random_state=4)
    np.testing.assert_allclose(found, scaled(expected), rtol=1e-9)


def test_a_shuffle_that_helps_counts_as_zero():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 8))
    y = X[:, 0] + rng.standard_normal(40)
    ref = gpproj.condition(X, y, Linear(1.0), Gaussian(1.0))
    expected = rises_by_shuffles(ref, X, y, repeats=1, seed=5)
    assert expected.min() < 0.0
    found = gpproj.relevance(ref, "permutation", repeats=1, random_state=5)
    np.testing.assert_allclose(found, scaled(np.maximum(expected, 0.0)), rtol=1e-9)


def test_ard_is_the_inverse_length_scale(ref):
    expected = ref.ard_relevance()
    pd.testing.assert_series_equal(gpproj.relevance(ref), expected, check_names=False)


@methods
def test_answers_are_named_and_the_largest_is_one(data, method):
    X, y = data
    ref = make_reference(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    found = gpproj.relevance(ref, method, random_state=0)
    assert found.name == method
    assert found.index.tolist() == ["a", "b", "c"]
    assert found.max() == 1.0
    assert found.min() >= 0.0


def test_the_same_seed_gives_the_same_permutation(data):
    ref = make_reference(*data)

    def found(seed):
        return gpproj.relevance(ref, "permutation", random_state=seed)

    pd.testing.assert_series_equal(found(1), found(1), check_exact=True)
    pd.testing.assert_series_equal(found(1), found(np.random.default_rng(1)), check_exact=True)
    assert np.abs(found(1) - found(2)).max() > 1e-3


def linear_reference(X, noise=0.01):
    return gpproj.condition(X, X[:, :2] @ [2.0, 1.0], Linear(100.0), Gaussian(noise))


def test_a_linear_function_of_independent_inputs():
    X = np.linalg.qr(np.random.default_rng(0).standard_normal((200, 4)))[0]
    X = np.linalg.qr(np.column_stack([np.ones(200), X]))[0][:, 1:4]
    X /= X.std(axis=0)  # means zero, variances one, correlations zero
    ref = linear_reference(X)
    np.testing.assert_allclose(gpproj.relevance(ref, "kl"), [1.0, 0.5, 0.0], atol=1e-3)
    np.testing.assert_allclose(gpproj.relevance(ref, "variance"), [1.0, 0.25, 0.0], atol=1e-3)
    many = gpproj.relevance(ref, "permutation", repeats=50, random_state=0)
    np.testing.assert_allclose(many, [1.0, 0.25, 0.0], atol=0.01)


def test_a_linear_function_of_dependent_inputs():
    """The slope of the mean is all that kl sees; the variance is slope^2 / precision_jj."""
    X = np.random.default_rng(1).standard_normal((200, 3))
    X[:, 1] += X[:, 2]
    ref = linear_reference(X)
    slopes = np.array([2.0, 1.0, 0.0])
    kl = scaled(slopes * X.std(axis=0))
    np.testing.assert_allclose(gpproj.relevance(ref, "kl"), kl, atol=1e-3)
    variance = scaled(slopes**2 / np.diag(np.linalg.inv(np.cov(X.T))))
    np.testing.assert_allclose(gpproj.relevance(ref, "variance"), variance, atol=1e-3)


def test_an_input_that_does_nothing_is_near_zero():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 3))
    ref = fit_mode(X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(60))
    for method, largest in {"kl": 0.1, "variance": 0.01, "permutation": 0.01}.items():
        found = gpproj.relevance(ref, method, random_state=0)
        assert found["x2"] < largest, method
        assert found[["x0", "x1"]].min() > 0.2, method


@methods
def test_inputs_in_another_order_have_the_same_relevances(data, method):
    X, y = data
    order = [2, 0, 1]
    values = VALUES[0][[0, 1, 4, 2, 3, 5]]
    found = gpproj.relevance(make_reference(X[:, order], y, values), method, random_state=0)
    expected = gpproj.relevance(make_reference(X, y), method, random_state=0)
    np.testing.assert_allclose(found, expected.to_numpy()[order], rtol=1e-8)


@methods
def test_units_change_nothing(data, method):
    X, y = data
    other = make_reference(X * [100.0, 0.01, 3.0] + [5.0, 1.0, -2.0], 7.0 * y - 3.0)
    found = gpproj.relevance(other, method, random_state=0)
    expected = gpproj.relevance(make_reference(X, y), method, random_state=0)
    np.testing.assert_allclose(found, expected, rtol=1e-7)


@pytest.mark.parametrize("method", ["kl", "variance", "permutation"])
def test_sensitivities_are_free_of_units_without_standardisation_too(data, method):
    X, y = data
    expected = gpproj.relevance(make_reference(X, y - y.mean()), method, random_state=0)
    values = VALUES[0].copy()
    values[2:-1] *= X.std(axis=0)
    plain = make_reference(X, y - y.mean(), values, standardize=False)
    found = gpproj.relevance(plain, method, random_state=0)
    np.testing.assert_allclose(found, expected, rtol=1e-7)


@methods
def test_other_array_libraries(data, method):
    X, y = data
    strict = make_reference(array_api_strict.asarray(X), array_api_strict.asarray(y))
    found = gpproj.relevance(strict, method, random_state=0)
    expected = gpproj.relevance(make_reference(X, y), method, random_state=0)
    np.testing.assert_allclose(found, expected, rtol=1e-7)


@methods
def test_blocks_of_rows_change_nothing(data, method, monkeypatch):
    ref = mixture(*data)
    expected = gpproj.relevance(ref, method, random_state=0)
    monkeypatch.setattr("gpproj.prediction.ROWS", 7)
    found = gpproj.relevance(ref, method, random_state=0)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@methods
def test_constant_inputs_have_relevance_zero(data, method):
    X, y = data
    with pytest.warns(UserWarning, match="constant in X"):
        ref = make_reference(np.insert(X, 1, 3.0, axis=1), y, np.insert(VALUES[0], 3, 0.1))
    found = gpproj.relevance(ref, method, random_state=0)
    expected = gpproj.relevance(make_reference(X, y), method, random_state=0)
    assert found["x1"] == 0.0
    np.testing.assert_allclose(found.drop("x1"), expected, rtol=1e-9)


@methods
def test_where_nothing_depends_on_the_inputs_all_are_zero(data, method):
    ref = make_reference(*data, kernel=Constant(1.0))
    assert not gpproj.relevance(ref, method, random_state=0).any()


@methods
def test_a_single_input(data, method):
    X, y = data
    ref = make_reference(X[:, :1], y, kernel=SquaredExponential(1.0, 0.8))
    assert gpproj.relevance(ref, method, random_state=0).tolist() == [1.0]


def test_inputs_that_follow_from_others_do_not_vary_given_them(data):
    X, y = data
    twice = np.column_stack([X, 5.0 - 2.0 * X[:, 0]])
    centre, spread = conditional_normal(twice)
    np.testing.assert_array_equal(spread[[0, 3]], 0.0)
    expected = conditional_normal(X)
    np.testing.assert_allclose(centre[:, 1:3], expected[0][:, 1:], rtol=1e-9)
    np.testing.assert_allclose(spread[1:3], expected[1][1:], rtol=1e-9)
    found = gpproj.relevance(make_reference(twice, y, np.insert(VALUES[0], 5, 1.0)), "variance")
    np.testing.assert_array_equal(found[["x0", "x3"]], 0.0)
    assert found.max() == 1.0


def test_more_inputs_than_rows_leave_no_variance():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((5, 6))
    ref = make_reference(X, X[:, 0], kernel=SquaredExponential(1.0, 2.0))
    with pytest.warns(UserWarning, match="every input is a linear function of the others"):
        found = gpproj.relevance(ref, "variance")
    assert not found.any()


def test_the_table_has_a_column_for_each_method(data):
    ref = make_reference(*data)
    table = gpproj.relevance_table(ref, repeats=2, random_state=3)
    assert list(table.columns) == list(METHODS)
    for method in METHODS:
        expected = gpproj.relevance(ref, method, repeats=2, random_state=3)
        pd.testing.assert_series_equal(table[method], expected)
    assert gpproj.relevance_table(ref, ["kl", "ard"]).columns.tolist() == ["kl", "ard"]
    assert gpproj.relevance_table(ref, "kl").columns.tolist() == ["kl"]
    with pytest.raises(ValueError, match="methods must name at least one measure, got none"):
        gpproj.relevance_table(ref, [])
    with pytest.raises(ValueError, match=r"method must be one of .* got 'shap'"):
        gpproj.relevance_table(ref, ["kl", "shap"])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"method": "shap"}, "method must be one of ard, kl, variance, permutation; got 'shap'"),
        ({"repeats": 0}, "repeats must be a whole number of at least 1, got 0"),
        ({"repeats": 2.5}, "repeats must be a whole number of at least 1, got 2.5"),
    ],
)
def test_bad_arguments_are_named(data, options, text):
    with pytest.raises(ValueError, match=text):
        gpproj.relevance(make_reference(*data), **options)
