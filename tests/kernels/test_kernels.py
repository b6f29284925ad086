"""Every kernel passes the same conformance suite; structure and limits are checked beside it."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.gaussian_process import kernels as sk

from gpproj.kernels import (
    Constant,
    Linear,
    Matern32,
    Matern52,
    ScikitLearn,
    SquaredExponential,
    Zero,
)
from gpproj.linalg import to_host

D = 4
SCALES = [0.5, 1.0, 2.0, 3.0]


class Cauchy(sk.StationaryKernelMixin, sk.NormalizedKernelMixin, sk.Kernel):
    """`1 / (1 + r^2)`, as a user would write it for scikit-learn."""

    def __init__(self, length_scale=1.0, length_scale_bounds=(1e-5, 1e5)):
        self.length_scale = length_scale
        self.length_scale_bounds = length_scale_bounds

    @property
    def hyperparameter_length_scale(self):
        size = np.size(self.length_scale)
        return sk.Hyperparameter("length_scale", "numeric", self.length_scale_bounds, size)

    def __call__(self, X, Y=None, eval_gradient=False):
        Y = X if Y is None else Y
        squares = ((X[:, None, :] - Y[None, :, :]) / self.length_scale) ** 2
        K = 1.0 / (1.0 + squares.sum(axis=2))
        if not eval_gradient:
            return K
        gradient = 2.0 * K[:, :, None] ** 2 * squares
        if np.size(self.length_scale) == 1:
            gradient = gradient.sum(axis=2, keepdims=True)
        return K, gradient


OURS = {
    "constant": Constant(0.7),
    "se": SquaredExponential(2.0, SCALES),
    "matern32": Matern32(1.3, SCALES),
    "matern52": Matern52(0.4, SCALES),
    "linear": Linear([1.0, 0.2, 3.0, 0.5]),
    "zero": Zero(),
    "sum": Constant(0.5) + SquaredExponential(2.0, SCALES),
    "product": SquaredExponential(2.0, SCALES) * Linear([1.0, 0.2, 3.0, 0.5]),
    "nested": (Constant(0.5) + Matern32(1.0, 2.0)) * (Linear(0.3) + Matern52(0.5, SCALES)),
}
THEIRS = {
    "sk rbf": ScikitLearn(sk.RBF(SCALES)),
    "sk matern": ScikitLearn(sk.Matern(SCALES, nu=2.5)),
    "sk rational": ScikitLearn(sk.RationalQuadratic(length_scale=1.5, alpha=0.7)),
    "sk dot": ScikitLearn(sk.DotProduct(0.7)),
    "sk sum": ScikitLearn(sk.ConstantKernel(2.0) * sk.RBF(SCALES) + sk.DotProduct(0.7)),
    "sk power": ScikitLearn((sk.ConstantKernel(2.0) * sk.RBF(SCALES)) ** 2),
    "sk own": ScikitLearn(Cauchy(SCALES)),
    "sk own shared": ScikitLearn(Cauchy(2.0)),
    "sk mixed": Constant(0.5) + ScikitLearn(sk.RBF(SCALES)) * SquaredExponential(2.0, SCALES),
}
KERNELS = {**OURS, **THEIRS}
kernels = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
ours = pytest.mark.parametrize("kernel", OURS.values(), ids=OURS.keys())


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((15, D)) + 3.0


def symmetric(n: int, lanes: int = 1, seed: int = 1) -> np.ndarray:
    G = np.random.default_rng(seed).standard_normal((lanes, n, n))
    return G + G.swapaxes(1, 2)


def masks(*rows: str) -> np.ndarray:
    return np.array([[letter == "1" for letter in row] for row in rows])


def central_difference(function, x, step=1e-5):
    units = np.eye(x.size)
    return np.array([(function(x + step * u) - function(x - step * u)) / (2 * step) for u in units])


@kernels
@pytest.mark.parametrize("mask", ["1111", "1011", "0000", "0100"])
def test_pull_back_against_central_differences(kernel, X, mask):
    G, mask = symmetric(len(X)), masks(mask)
    theta = kernel.log_parameters(D)

    def contraction(parameters):
        return np.sum(G * kernel.evaluate(parameters[None], X, mask).value)

    gradient = kernel.evaluate(theta[None], X, mask).pull_back(G)[0]
    expected = central_difference(contraction, theta)
    np.testing.assert_allclose(
        gradient, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max(initial=0.0)
    )


@pytest.mark.parametrize(
    "kernel",
    [
        Matern32(1.3, 0.7),
        Matern52(0.4, 0.7),
        SquaredExponential(),
        ScikitLearn(sk.RBF(SCALES)),
        ScikitLearn(sk.Matern(SCALES, nu=2.5)),
        ScikitLearn(Cauchy(SCALES)),
    ],
)
def test_slope_at_zero_relevance_is_the_limit_of_small_relevances(kernel, X):
    """An input that is out: compare with a relevance w = 1 / lengthscale^2 that is tiny."""
    G, out = symmetric(len(X)), masks("1101")
    theta = kernel.log_parameters(D)[None]
    slope = kernel.evaluate(theta, X, out).slopes(G)[0, 2]
    step = 1e-7
    entered = theta.copy()
    entered[0, 3] = -0.5 * np.log(step)
    change = kernel.evaluate(entered, X, masks("1111")).value - kernel.evaluate(theta, X, out).value
    assert slope == pytest.approx(np.sum(G * change) / step, rel=1e-4)


@kernels
def test_slopes_of_inputs_that_are_in_follow_from_the_pull_back(kernel, X):
    """dE/dlog lengthscale = -2 w dE/dw, and dE/dlog variance = variance dE/dvariance."""
    G, full = symmetric(len(X)), masks("1111")
    theta = kernel.log_parameters(D)
    evaluation = kernel.evaluate(theta[None], X, full)
    expected = np.zeros(D)
    values = np.exp(theta)
    gradient = evaluation.pull_back(G)[0]
    for parameter, value, derivative in zip(kernel.parameters(D), values, gradient, strict=True):
        if parameter.input is None:
            continue
        if parameter.kind.word == "lengthscale":
            expected[parameter.input] += derivative / (-2 * value**-2)
        elif parameter.kind.word == "slope":
            expected[parameter.input] += derivative / value
    np.testing.assert_allclose(evaluation.slopes(G)[0], expected, rtol=1e-9, atol=1e-9)


@kernels
@pytest.mark.parametrize("inputs", [[0, 2], [3], [0, 1, 2, 3], [1, 2, 3]])
def test_a_masked_input_equals_a_deleted_column_exactly(kernel, X, inputs):
    theta = kernel.log_parameters(D)
    kept = [p.input is None or p.input in inputs for p in kernel.parameters(D)]
    smaller = np.ascontiguousarray(X[:, inputs])
    deleted = kernel.with_log_parameters(theta, D)
    value = deleted.evaluate(
        theta[kept][None], smaller, np.ones((1, len(inputs)), dtype=bool)
    ).value[0]
    assert np.array_equal(kernel(X, inputs=inputs), value)


@kernels
def test_cross_and_diagonal_agree_with_the_square_matrix(kernel, X):
    K = kernel(X)
    np.testing.assert_allclose(kernel(X, X[:4]), K[:, :4], rtol=1e-12, atol=1e-12)
    theta = kernel.log_parameters(D)[None]
    diagonal = kernel.diagonal(theta, X, masks("1111"))[0]
    np.testing.assert_allclose(diagonal, np.diag(K), rtol=1e-13)
    np.testing.assert_allclose(K, K.T, rtol=1e-13)
    assert np.linalg.eigvalsh(K).min() > -1e-9


@kernels
def test_values_round_trip_through_log_parameters(kernel, X):
    copy = kernel.with_log_parameters(kernel.log_parameters(D), D)
    np.testing.assert_allclose(copy(X), kernel(X), rtol=1e-14)
    np.testing.assert_allclose(kernel.scaled(3.0)(X), 3.0 * kernel(X), rtol=1e-14)
    assert len(kernel.parameters(D)) == kernel.log_parameters(D).size


@kernels
def test_a_lane_does_not_depend_on_its_batch(kernel, X):
    theta = kernel.log_parameters(D) + np.linspace(-1, 1, 3)[:, None]
    mask = masks("1111", "0110", "0000")
    G = symmetric(len(X), lanes=3)
    together = kernel.evaluate(theta, X, mask)
    for lane in range(3):
        one = slice(lane, lane + 1)
        alone = kernel.evaluate(theta[one], X, mask[one])
        assert np.array_equal(alone.value[0], together.value[lane])
        assert np.array_equal(alone.pull_back(G[one])[0], together.pull_back(G)[lane])
        assert np.array_equal(alone.slopes(G[one])[0], together.slopes(G)[lane])


@ours
def test_the_array_api_path_equals_numpy(kernel, X):
    theta = kernel.log_parameters(D) + np.linspace(-1, 1, 3)[:, None]
    mask = masks("1111", "0110", "0000")
    G = symmetric(len(X), lanes=3)
    host = kernel.evaluate(theta, X, mask)
    X_strict, G_strict = array_api_strict.asarray(X), array_api_strict.asarray(G)
    strict = kernel.evaluate(theta, X_strict, mask)
    close = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(to_host(strict.value), host.value, **close)
    np.testing.assert_allclose(to_host(strict.pull_back(G_strict)), host.pull_back(G), **close)
    np.testing.assert_allclose(to_host(strict.slopes(G_strict)), host.slopes(G), **close)
    cross = kernel.cross(theta, X_strict, X_strict[:4, :], mask)
    np.testing.assert_allclose(to_host(cross), host.value[:, :, :4], **close)


@pytest.fixture
def X_new(X):
    """Points of their own, and two that are training points: smooth kernels are smooth there."""
    return np.vstack([X[:2], np.random.default_rng(2).standard_normal((5, D)) + 3.0])


def weights_of(X, X_new, lanes=1):
    return np.random.default_rng(3).standard_normal((lanes, len(X), len(X_new)))


@kernels
@pytest.mark.parametrize("mask", ["1111", "1011", "0000", "0100"])
def test_gradients_in_the_points_against_central_differences(kernel, X, X_new, mask):
    weights, mask = weights_of(X, X_new), masks(mask)
    theta = kernel.log_parameters(D)[None]

    def contraction(flat):
        moved = flat.reshape(X_new.shape)
        return np.sum(weights * kernel.cross(theta, X, moved, mask))

    def total(flat):
        return np.sum(kernel.diagonal(theta, flat.reshape(X_new.shape), mask))

    cross = kernel.cross_gradient(theta, X, X_new, mask, weights)
    diagonal = kernel.diagonal_gradient(theta, X_new, mask)
    for found, function in ((cross, contraction), (diagonal, total)):
        assert found.shape == (1, *X_new.shape)
        expected = central_difference(function, X_new.ravel()).reshape(X_new.shape)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found[0], expected, rtol=1e-6, atol=1e-6 * scale + 1e-12)
        assert not found[0][:, ~mask[0]].any()


@kernels
@pytest.mark.parametrize("inputs", [[0, 2], [3], [1, 2, 3]])
def test_gradients_of_a_masked_input_equal_those_of_a_deleted_column(kernel, X, X_new, inputs):
    theta, mask = kernel.log_parameters(D), np.isin(np.arange(D), inputs)[None]
    kept = [p.input is None or p.input in inputs for p in kernel.parameters(D)]
    weights, everything = weights_of(X, X_new), np.ones((1, len(inputs)), dtype=bool)
    less, less_new = (np.ascontiguousarray(points[:, inputs]) for points in (X, X_new))
    cross = kernel.cross_gradient(theta[None], X, X_new, mask, weights)
    deleted = kernel.cross_gradient(theta[kept][None], less, less_new, everything, weights)
    assert np.array_equal(cross[:, :, inputs], deleted)
    diagonal = kernel.diagonal_gradient(theta[None], X_new, mask)
    deleted = kernel.diagonal_gradient(theta[kept][None], less_new, everything)
    assert np.array_equal(diagonal[:, :, inputs], deleted)


@kernels
def test_gradients_lane_by_lane(kernel, X, X_new):
    theta = kernel.log_parameters(D) + np.linspace(-1, 1, 3)[:, None]
    mask, weights = masks("1111", "0110", "0000"), weights_of(X, X_new, lanes=3)
    cross = kernel.cross_gradient(theta, X, X_new, mask, weights)
    diagonal = kernel.diagonal_gradient(theta, X_new, mask)
    for lane in range(3):
        one = slice(lane, lane + 1)
        alone = kernel.cross_gradient(theta[one], X, X_new, mask[one], weights[one])
        assert np.array_equal(alone[0], cross[lane])
        alone = kernel.diagonal_gradient(theta[one], X_new, mask[one])
        assert np.array_equal(alone[0], diagonal[lane])


@ours
def test_gradients_in_the_array_api(kernel, X, X_new):
    theta = kernel.log_parameters(D) + np.linspace(-1, 1, 3)[:, None]
    mask, weights = masks("1111", "0110", "0000"), weights_of(X, X_new, lanes=3)
    cross = kernel.cross_gradient(theta, X, X_new, mask, weights)
    diagonal = kernel.diagonal_gradient(theta, X_new, mask)
    strict = [array_api_strict.asarray(values) for values in (X, X_new, weights)]
    close = {"rtol": 1e-10, "atol": 1e-10}
    found = kernel.cross_gradient(theta, strict[0], strict[1], mask, strict[2])
    np.testing.assert_allclose(to_host(found), cross, **close)
    found = kernel.diagonal_gradient(theta, strict[1], mask)
    np.testing.assert_allclose(to_host(found), diagonal, **close)


def test_components_without_inputs_become_their_limits(X):
    ones = np.ones((len(X), len(X)))
    assert np.array_equal(SquaredExponential(2.0)(X, inputs=[]), 2.0 * ones)
    assert np.array_equal(Matern32(2.0)(X, inputs=[]), 2.0 * ones)
    assert np.array_equal(Linear(2.0)(X, inputs=[]), 0.0 * ones)
    assert np.array_equal((Constant(1.0) + SquaredExponential(2.0))(X, inputs=[]), 3.0 * ones)
    assert np.array_equal((Constant(1.0) * SquaredExponential(2.0))(X, inputs=[]), 2.0 * ones)
    assert np.array_equal((Linear(1.0) * SquaredExponential(2.0))(X, inputs=[]), 0.0 * ones)


def test_against_scikit_learn(X):
    X_new = X[:5] + 0.3
    pairs = [
        (SquaredExponential(1.0, SCALES), sk.RBF(SCALES)),
        (Matern32(1.0, SCALES), sk.Matern(SCALES, nu=1.5)),
        (Matern52(1.0, SCALES), sk.Matern(SCALES, nu=2.5)),
        (Linear(1.0), sk.DotProduct(sigma_0=1e-8)),
    ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours(X), theirs(X), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(ours(X, X_new), theirs(X, X_new), rtol=1e-10, atol=1e-12)


@given(shift=st.floats(-1e3, 1e3), scale=st.floats(1e-3, 1e3))
def test_stationary_kernels_ignore_the_origin_and_the_units(shift, scale):
    X = np.random.default_rng(5).standard_normal((6, 2))
    kernel = Matern52(1.5, [1.0, 2.0])
    moved = Matern52(1.5, [scale, 2.0 * scale])
    np.testing.assert_allclose(moved(scale * (X + shift)), kernel(X), rtol=1e-8, atol=1e-8)


def test_duplicated_rows_have_the_full_covariance():
    X = np.array([[1e4, 1.0], [1e4, 1.0], [1e4 + 1, 2.0]])
    K = Matern32(2.0, 0.5)(X)
    assert K[0, 1] == pytest.approx(2.0, rel=1e-12)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Constant(0.0), "variance must be positive"),
        (lambda: Constant(-1.0), "variance must be positive"),
        (lambda: SquaredExponential(-1.0), "variance must be positive"),
        (lambda: SquaredExponential(np.nan), "variance must be positive"),
        (lambda: SquaredExponential(1.0, [1.0, 0.0]), r"lengthscales\[1\] must be positive"),
        (lambda: Matern32(1.0, np.inf), "lengthscales must be positive"),
        (lambda: Matern52(1.0, [[1.0]]), r"lengthscales .* got shape \(1, 1\)"),
        (lambda: Linear([]), "variances .* got shape"),
        (lambda: SquaredExponential(1.0, [1.0, 2.0])(np.zeros((3, 3))), "2 values.* 3 inputs"),
    ],
)
def test_bad_values_are_named(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_wrong_types_are_named():
    with pytest.raises(TypeError, match="variance must be a positive number, got 'big'"):
        Constant("big")
    with pytest.raises(TypeError):
        Constant() + 1.0
    with pytest.raises(TypeError):
        Constant() * 2.0


def test_equality_hash_and_representation():
    one, same = (
        Constant(1.0) + SquaredExponential(2.0, [1.0, 2.0]),
        Constant() + SquaredExponential(2.0, np.array([1.0, 2.0])),
    )
    assert one == same
    assert hash(one) == hash(same)
    assert one != Constant(1.0) * SquaredExponential(2.0, [1.0, 2.0])
    assert one != "kernel"
    assert repr(one * Linear()) == (
        "(Constant(variance=1) + SquaredExponential(variance=2, lengthscales=[1, 2]))"
        " * Linear(variances=1)"
    )
    np.testing.assert_array_equal(one.right.lengthscales, [1.0, 2.0])
    assert one.left.variance == 1.0
    assert SquaredExponential().lengthscales == 1.0
    assert Linear(2.0).variances == 2.0
    np.testing.assert_array_equal(Linear([2.0, 3.0]).variances, [2.0, 3.0])


def test_the_null_model_keeps_only_its_own_constants():
    assert Constant(2.0).without_inputs() == Constant(2.0)
    assert (Constant(2.0) + SquaredExponential()).without_inputs() == Constant(2.0)
    assert (SquaredExponential() + Constant(2.0)).without_inputs() == Constant(2.0)
    assert (Constant(2.0) + Constant(1.0)).without_inputs() == Constant(2.0) + Constant(1.0)
    assert (Constant(2.0) * Constant(1.0)).without_inputs() == Constant(2.0) * Constant(1.0)
    for gone in (SquaredExponential(), Linear(), Constant() * Matern32(), Zero()):
        assert gone.without_inputs() == Zero()
