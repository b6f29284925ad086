"""Kernels of scikit-learn in sums, submodels and searches, beside the conformance suite."""

from __future__ import annotations

import pickle

import array_api_strict
import numpy as np
import pytest
from sklearn.gaussian_process import kernels as sk

import gpproj
from gpproj.inference import Sparse
from gpproj.kernels import Constant, Linear, ScikitLearn, SquaredExponential, Zero
from tests.fitting import fit_mode

D = 3
SCALES = [0.5, 1.0, 2.0]
FULL = np.ones((1, D), dtype=bool)


class Weighted(sk.Kernel):
    """`sum_j weights_j x_j x'_j + level_0 + level_1 (x'x)^2`; noisy, if asked for."""

    def __init__(self, weights, level=(1.0, 0.5), noisy=False):
        self.weights = weights
        self.level = level
        self.noisy = noisy

    @property
    def hyperparameter_weights(self):
        return sk.Hyperparameter("weights", "numeric", (1e-5, 1e5), np.size(self.weights))

    @property
    def hyperparameter_level(self):
        return sk.Hyperparameter("level", "numeric", (1e-5, 1e5), np.size(self.level))

    def __call__(self, X, Y=None, eval_gradient=False):
        noise = 0.1 if self.noisy and Y is None else 0.0
        Y = X if Y is None else Y
        weighted = X[:, None, :] * Y[None, :, :] * np.asarray(self.weights)
        inner = (X @ Y.T) ** 2
        K = weighted.sum(axis=2) + self.level[0] + self.level[1] * inner
        K = K + noise * np.eye(*inner.shape)
        if not eval_gradient:
            return K
        levels = np.stack([np.ones_like(inner), inner], axis=2) * self.level
        return K, np.concatenate([levels, weighted], axis=2)

    def diag(self, X):
        return np.diagonal(self(X)).copy()

    def is_stationary(self):
        return False


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((12, D)) + 0.5


@pytest.fixture(scope="module")
def ref():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, D)) * [1.0, 2.0, 5.0]
    y = 10.0 + 3.0 * np.sin(2 * X[:, 0]) + 2.0 * X[:, 1] + 0.5 * rng.standard_normal(40)
    return fit_mode(X, y)


def test_values_are_those_of_scikit_learn(X):
    for theirs in (
        sk.ConstantKernel(2.0) * sk.RBF(SCALES) + sk.DotProduct(0.7),
        sk.RationalQuadratic(length_scale=2.0, alpha=0.3),
        sk.Matern(SCALES, nu=0.7) ** 2 + sk.ConstantKernel(0.3),
    ):
        ours = ScikitLearn(theirs)
        np.testing.assert_allclose(ours(X), theirs(X), rtol=1e-13)
        np.testing.assert_allclose(ours(X, X[:4] + 0.3), theirs(X, X[:4] + 0.3), rtol=1e-13)
        np.testing.assert_allclose(ours.kernel(X), theirs(X), rtol=1e-13)


@pytest.mark.parametrize(
    "kernel",
    [
        ScikitLearn(sk.ConstantKernel(2.0) * sk.RBF(SCALES) + sk.DotProduct(0.7)),
        ScikitLearn(sk.Matern(1.3, nu=2.5)),
        ScikitLearn(sk.RBF(SCALES)) * Linear([1.0, 2.0, 3.0]),
    ],
)
@pytest.mark.parametrize("inside", [[1, 1, 1], [0, 1, 0], [0, 0, 0]])
def test_gradients_of_two_sets_of_points_and_of_variances(kernel, inside):
    rng = np.random.default_rng(2)
    X, Z = rng.standard_normal((150, D)), rng.standard_normal((2, 5, D))
    theta = kernel.log_parameters(D) + np.array([[0.0], [0.3]])
    mask = np.array([inside, [1, 0, 1]], dtype=bool)
    for evaluate in (
        lambda theta: kernel.evaluate_cross(theta, X, Z, mask),
        lambda theta: kernel.evaluate_diagonal(theta, X, mask),
    ):
        found = evaluate(theta)
        G = rng.standard_normal(found.value.shape)
        gradient = found.pull_back(G)
        for k in range(theta.shape[1]):
            step = 1e-5 * (np.arange(theta.shape[1]) == k)
            change = evaluate(theta + step).value - evaluate(theta - step).value
            expected = np.sum((G * change).reshape(2, -1), axis=1) / 2e-5
            np.testing.assert_allclose(gradient[:, k], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
def test_the_same_projections_as_with_a_kernel_of_ours(ref):
    theirs = ScikitLearn(sk.ConstantKernel(1.0) * sk.RBF(np.ones(D)))
    for inputs in ([0], [0, 1], [0, 1, 2]):
        # A prior around values that are fitted to the reference would differ by rounding.
        ours = gpproj.project(ref, inputs, kernel=SquaredExponential(), prior="weak")
        found = gpproj.project(ref, inputs, kernel=theirs, prior="weak")
        assert found.projection_error == pytest.approx(ours.projection_error, abs=1e-6)
        np.testing.assert_allclose(
            found.predict(ref_inputs(ref)).mean, ours.predict(ref_inputs(ref)).mean, rtol=1e-6
        )


def ref_inputs(ref):
    scaling = ref.training.scaling
    return ref.training.X[:5] * scaling.input_scale + scaling.input_mean


@pytest.mark.slow
def test_the_same_search_in_a_sum_with_a_kernel_of_ours(ref):
    kernel = Constant() + ScikitLearn(sk.RBF(np.ones(D)))
    # The reference has values of its own for one of the two, and fits those of the other.
    ours = gpproj.forward_search(ref, progress=False, prior="weak")
    theirs = gpproj.forward_search(ref, progress=False, kernel=kernel, prior="weak")
    assert theirs.order == ours.order
    np.testing.assert_allclose(theirs.errors, ours.errors, atol=1e-6 * ours.null_error)


def test_a_shared_length_scale_and_a_linear_kernel_rank_inputs(ref):
    shared = ScikitLearn(sk.RationalQuadratic())
    path = gpproj.forward_search(ref, 2, progress=False, kernel=shared)
    assert set(path.order) == {"x0", "x1"}
    linear = ScikitLearn(sk.DotProduct())
    assert gpproj.forward_search(ref, 1, progress=False, kernel=linear).order == ("x1",)


def test_fit_and_condition_take_it(ref):
    X, y = ref_inputs(ref), np.array([1.0, 2.0, 0.0, 1.5, 0.5])
    noise = gpproj.likelihoods.Gaussian(0.1)
    for standardize in (False, True):
        ours, theirs = (
            gpproj.condition(X, y, kernel, noise, standardize=standardize)
            for kernel in (
                SquaredExponential(2.0, SCALES),
                ScikitLearn(sk.ConstantKernel(2.0) * sk.RBF(SCALES)),
            )
        )
        np.testing.assert_allclose(theirs.latent_mean, ours.latent_mean, rtol=1e-9)
        assert theirs.kernel.kernel.k1.constant_value == pytest.approx(2.0)
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(30)
    ours, theirs = (
        fit_mode(X, y, kernel=kernel)
        for kernel in (SquaredExponential(), ScikitLearn(sk.RBF([1.0, 1.0])))
    )
    assert theirs.log_marginal_likelihood == pytest.approx(ours.log_marginal_likelihood, abs=1e-5)
    assert theirs.ard_relevance().idxmax() == "x0"


def test_what_is_fixed_stays_and_goes_with_its_input(X):
    kernel = ScikitLearn(sk.RBF(SCALES, "fixed") + sk.DotProduct(0.0, "fixed"))
    assert [one.kind.word for one in kernel.parameters(D)] == ["signal"]
    small = kernel.restricted([2, 0], D)
    np.testing.assert_allclose(small(X[:, [2, 0]]), kernel(X, inputs=[0, 2]), rtol=1e-13)
    assert small.kernel.k2.k1.length_scale.tolist() == [2.0, 0.5]
    assert kernel.with_log_parameters(np.log([3.0]), D).kernel.k2.k1.length_scale.tolist() == SCALES
    assert kernel.restricted([], D)(np.zeros((2, 0))).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    half = ScikitLearn(sk.ConstantKernel(2.0, "fixed") * sk.RBF(1.0))
    np.testing.assert_allclose(half.scaled(3.0)(X), 3.0 * half(X))


def test_kinds_follow_from_what_a_hyperparameter_measures():
    def kinds(kernel, **options):
        return [one.kind.word for one in ScikitLearn(kernel, **options).parameters(2)]

    both = np.ones(2)
    constants = sk.ConstantKernel() * sk.ConstantKernel() + sk.ConstantKernel() * sk.RBF(both)
    assert kinds(constants) == ["constant", "constant", "signal", "lengthscale", "lengthscale"]
    assert kinds(sk.DotProduct()) == ["signal", "constant"]
    assert kinds(sk.ExpSineSquared()) == ["signal", "lengthscale", "lengthscale"]
    assert kinds(sk.RationalQuadratic()) == ["signal", "signal", "lengthscale"]
    assert kinds(sk.RationalQuadratic(), kinds={"alpha": "slope"})[1] == "slope"
    owners = [one.input for one in ScikitLearn(sk.RBF(1.0) * sk.RBF(both)).parameters(2)]
    assert owners == [None, None, 0, 1]


def test_hyperparameters_with_several_values_need_not_belong_to_inputs(X):
    kernel = ScikitLearn(
        Weighted(np.array(SCALES)), per_input=["weights"], kinds={"weights": "slope"}
    )
    owners = [one.input for one in kernel.parameters(D)]
    assert owners == [None, None, None, 0, 1, 2]
    theta = kernel.log_parameters(D)
    evaluation = kernel.evaluate(theta[None], X, FULL)
    G = np.ones((1, len(X), len(X)))
    expected = np.einsum("ij,kj->j", X, X)
    np.testing.assert_allclose(evaluation.slopes(G)[0], expected)
    out = kernel.evaluate(theta[None], X, ~FULL).slopes(G)[0]
    np.testing.assert_allclose(out, expected, rtol=1e-5)
    with pytest.raises(ValueError, match=r"hyperparameters with 2 and 3 values; .* per_input="):
        ScikitLearn(Weighted(np.array(SCALES)))


def test_the_null_model_has_the_constants(X):
    gone = (sk.RBF(SCALES), sk.ConstantKernel(2.0) * sk.RBF(SCALES), sk.RBF() * sk.DotProduct())
    assert all(ScikitLearn(kernel).without_inputs() == Zero() for kernel in gone)
    kept = sk.ConstantKernel(2.0) + sk.RBF(SCALES) + sk.DotProduct(3.0) ** 2
    assert ScikitLearn(kept).without_inputs() == Constant(83.0)


@pytest.mark.slow
def test_bounds_of_length_scales_hold(ref):
    bounds = [(1e-2, 1.0), (8.0, 1e2), (1e-5, 1e5)]
    kernel = ScikitLearn(sk.ConstantKernel(1.0, (0.5, 2.0)) * sk.RBF([1.0, 9.0, 1.0], bounds))
    free = ScikitLearn(sk.RBF(np.ones(3)))
    held, loose = (
        gpproj.project(ref, [2, 1, 0], kernel=one).kernel.kernel.k2.length_scale
        for one in (kernel, free)
    )
    assert loose[2] > 1.2
    assert loose[1] < 7.0
    np.testing.assert_allclose(held[1:], [8.0, 1.0])
    beyond = kernel.with_log_parameters(np.log([9.0, 5.0, 0.1, 5.0]), 3).kernel
    assert beyond.k1.constant_value == pytest.approx(9.0)  # targets have scales of their own
    np.testing.assert_allclose(beyond.k2.length_scale, [1.0, 8.0, 5.0])
    G = np.ones((1, 40, 40))
    gradient = kernel.evaluate(np.log([[9.0, 5.0, 0.1, 5.0]]), ref.training.X, FULL).pull_back(G)
    assert (gradient[0] != 0.0).tolist() == [True, False, False, True]


def test_equality_representation_and_copies(X):
    kernel = ScikitLearn(sk.Matern(SCALES, nu=2.5))
    assert kernel == ScikitLearn(sk.ConstantKernel() * sk.Matern(np.array(SCALES), nu=2.5))
    assert kernel == ScikitLearn(sk.Matern(np.ones(D), nu=2.5)).with_log_parameters(
        kernel.log_parameters(D), D
    )
    assert hash(kernel) == hash(pickle.loads(pickle.dumps(kernel)))
    assert kernel != ScikitLearn(sk.Matern(SCALES, nu=1.5))
    assert kernel != ScikitLearn(sk.Matern([0.5, 1.0, 2.1], nu=2.5))
    assert repr(kernel) == (
        "ScikitLearn(Product(k1=ConstantKernel(constant_value=1), "
        "k2=Matern(length_scale=[0.5, 1, 2], nu=2.5)))"
    )
    assert "within {'k2__length_scale': ((0.1, 1.0),)}" in repr(
        ScikitLearn(sk.RBF(0.5, (0.1, 1.0)))
    )
    own = sk.RBF(1.0)
    kept = ScikitLearn(own)
    own.length_scale = 2.0
    assert kept.kernel.k2.length_scale == 1.0


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (
            lambda: ScikitLearn(SquaredExponential()),
            TypeError,
            "kernel must be a kernel of sklearn",
        ),
        (lambda: ScikitLearn(sk.RBF() + sk.WhiteKernel()), ValueError, "noise belongs to the like"),
        (
            lambda: ScikitLearn(Weighted(np.ones(2), noisy=True)),
            ValueError,
            "noise belongs to the likelihood",
        ),
        (lambda: ScikitLearn(sk.CompoundKernel([sk.RBF()])), ValueError, "must be one kernel"),
        (
            lambda: ScikitLearn(sk.RBF(), per_input=["alpha"]),
            ValueError,
            "no hyperparameter 'alpha'",
        ),
        (
            lambda: ScikitLearn(sk.RBF(), per_input=["length_scale"]),
            ValueError,
            "one value for each",
        ),
        (lambda: ScikitLearn(sk.RBF(), kinds={"length_scale": "x"}), ValueError, "must be one of"),
        (lambda: ScikitLearn(sk.RBF(-1.0)), ValueError, "length_scale must be positive"),
        (lambda: ScikitLearn(sk.RBF(3.0, (0.1, 1.0))), ValueError, "length_scale is 3, outside of"),
        (
            lambda: ScikitLearn(sk.RBF([1.0, 1.0]))(np.zeros((2, 3))),
            ValueError,
            "2 values, .* 3 in",
        ),
        (lambda: ScikitLearn(NoGradient()), TypeError, "must return its gradient"),
        (
            lambda: ScikitLearn(NoGradient(wrong=True)),
            ValueError,
            r"shapes \(4, 4\) and \(4, 4, 1\)",
        ),
    ],
)
def test_what_cannot_be_taken_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


class NoGradient(sk.StationaryKernelMixin, sk.NormalizedKernelMixin, sk.Kernel):
    def __init__(self, wrong=False):
        self.wrong = wrong

    def __call__(self, X, Y=None, **options):
        if options and not self.wrong:
            raise TypeError("no eval_gradient")
        K = np.ones((len(X), len(X if Y is None else Y)))
        return (K, K) if options else K


def test_arrays_of_other_libraries_are_refused(X):
    kernel, strict = ScikitLearn(sk.RBF(SCALES)), array_api_strict.asarray(X)
    theta = kernel.log_parameters(D)[None]
    for call in (
        lambda: kernel.evaluate(theta, strict, FULL),
        lambda: kernel.cross(theta, strict, strict, FULL),
        lambda: kernel.diagonal(theta, strict, FULL),
        lambda: kernel.diagonal_gradient(theta, strict, FULL),
    ):
        with pytest.raises(TypeError, match=r"NumPy arrays only, .* got array_api_strict"):
            call()


@pytest.mark.slow
def test_inducing_points_take_it(ref):
    X, y = ref.training.X, ref.training.y
    sparse = Sparse(inducing=X[:8])
    ours, theirs = (
        gpproj.project(fit_mode(X, y, kernel=kernel, inference=sparse), [0, 1])
        for kernel in (SquaredExponential(), ScikitLearn(sk.RBF(np.ones(D))))
    )
    assert theirs.projection_error == pytest.approx(ours.projection_error, rel=1e-4)
