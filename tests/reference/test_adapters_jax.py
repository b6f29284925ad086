"""Models of tinygp and GPJax as references, against the libraries themselves."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import gpproj

pytestmark = pytest.mark.slow  # what is run once is compiled first

SCALES = np.array([1.0, 2.0, 3.0])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((35, 3))
    return X, 3.0 + np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(35)


@pytest.fixture(scope="module")
def jax():
    with pytest.MonkeyPatch.context() as patch:
        # Most of the time is spent compiling what runs once.
        fast = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
        patch.setenv("XLA_FLAGS", fast)
        yield pytest.importorskip("jax")


@pytest.fixture(scope="module")
def make_tiny(jax):
    tinygp = pytest.importorskip("tinygp")

    def make(X, **options):
        # Its own choice, the L1 distance, is no covariance in three dimensions.
        matern = tinygp.kernels.Matern52(distance=tinygp.kernels.distance.L2Distance())
        scaled = tinygp.transforms.Linear(1.0 / jax.numpy.asarray(SCALES), matern)
        return tinygp.GaussianProcess(1.5 * scaled, jax.numpy.asarray(X), mean=2.0, **options)

    return make


@pytest.fixture(scope="module")
def make_gpjax(jax):
    gpx = pytest.importorskip("gpjax")

    def make(X, y, kernel=None, likelihood=None):
        scales = jax.numpy.asarray(SCALES)
        kernel = kernel or gpx.kernels.RBF(lengthscale=scales, variance=1.5, n_dims=3)
        prior = gpx.gps.Prior(kernel=kernel, mean_function=gpx.mean_functions.Constant(2.0))
        model = prior * (likelihood or gpx.likelihoods.Gaussian(obs_stddev=0.25))
        points = gpx.Dataset(X=jax.numpy.asarray(X), y=jax.numpy.asarray(y).reshape(len(X), -1))
        return model.condition(points)

    return make


def test_processes_of_tinygp(data, jax, make_tiny):
    X, y = data
    new = X[:4] + 0.2
    with jax.enable_x64(True):
        gp = make_tiny(X, diag=0.05)
        ref = gpproj.from_tinygp(gp, y, feature_names=["a", "b", "c"])
        mean, cov = gp.predict(jax.numpy.asarray(y), gp.X, return_cov=True)
        new_mean, new_variance = gp.predict(
            jax.numpy.asarray(y), jax.numpy.asarray(new), return_var=True
        )
    np.testing.assert_allclose(ref.latent_mean, mean, atol=1e-6)
    np.testing.assert_allclose(np.asarray(ref.latent_cov), cov, atol=1e-6)
    found = ref.predict(new)
    np.testing.assert_allclose(found.mean, new_mean, atol=1e-6)
    np.testing.assert_allclose(found.variance, new_variance, atol=1e-6)
    assert ref.noise_variance == pytest.approx(0.05)
    assert ref.feature_names == ("a", "b", "c")
    assert set(gpproj.forward_search(ref, 2, progress=False).order) == {"a", "b"}
    again = pickle.loads(pickle.dumps(ref))
    np.testing.assert_array_equal(again.predict(new).mean, found.mean)


def test_posteriors_of_gpjax(data, jax, make_gpjax):
    X, y = data
    new = X[:4] + 0.2
    with jax.enable_x64(True):
        posterior = make_gpjax(X, y)
        ref = gpproj.from_gpjax(posterior, feature_names=["a", "b", "c"])
        expected, ahead = posterior(posterior.train_data.X), posterior(jax.numpy.asarray(new))
        np.testing.assert_allclose(ref.latent_mean, expected.mean, atol=1e-6)
        np.testing.assert_allclose(
            np.asarray(ref.latent_cov), expected.covariance_matrix, atol=1e-6
        )
        found = ref.predict(new)
        np.testing.assert_allclose(found.mean, ahead.mean, atol=1e-6)
        np.testing.assert_allclose(found.variance, ahead.variance, atol=1e-6)
    assert ref.noise_variance == pytest.approx(0.25**2, rel=1e-6)
    assert set(gpproj.forward_search(ref, 2, progress=False).order) == {"a", "b"}
    again = pickle.loads(pickle.dumps(ref))
    np.testing.assert_array_equal(again.predict(new).mean, found.mean)


def closed_form(data, profile, noise):
    X, y = data
    squares = (((X[:, None] - X[None]) / SCALES) ** 2).sum(axis=2)
    K = 1.5 * profile(squares)
    gain = np.linalg.solve(K + noise * np.eye(len(X)), np.column_stack([y - 2.0, K]))
    return 2.0 + K @ gain[:, 0], K - K @ gain[:, 1:]


@pytest.mark.filterwarnings("ignore:[Xy] is not of type float64:UserWarning:gpjax")
def test_single_precision_is_evaluated_in_double(data, jax, make_tiny, make_gpjax):
    X, y = data
    single = X.astype(np.float32), y.astype(np.float32).astype(float)

    def matern(squares):
        root = np.sqrt(5.0 * squares)
        return (1.0 + root + root**2 / 3.0) * np.exp(-root)

    ref = gpproj.from_tinygp(make_tiny(X, diag=0.05), y)
    noise = float(np.float32(0.05))
    mean, cov = closed_form((single[0].astype(float), y), matern, noise)
    np.testing.assert_allclose(ref.latent_cov.diagonal(), np.diagonal(cov), atol=1e-6)
    np.testing.assert_allclose(ref.latent_mean, mean, atol=1e-5)
    assert ref.training.X.dtype == np.float64
    ref = gpproj.from_gpjax(make_gpjax(X, y))
    mean, cov = closed_form(
        (single[0].astype(float), single[1]), lambda r: np.exp(-0.5 * r), 0.25**2 + 1e-6
    )
    np.testing.assert_allclose(ref.latent_mean, mean, atol=1e-5)
    assert ref.training.X.dtype == np.float64
    assert not jax.config.jax_enable_x64


def test_one_input_of_tinygp(data, jax):
    tinygp = pytest.importorskip("tinygp")
    x = np.sort(data[0][:, 0])
    with jax.enable_x64(True):
        kernel = 1.5 * tinygp.kernels.quasisep.Matern32(scale=0.7)
        solver = tinygp.solvers.DirectSolver  # the other one takes long to compile
        gp = tinygp.GaussianProcess(kernel, jax.numpy.asarray(x), diag=0.1, solver=solver)
        mean, variance = gp.predict(jax.numpy.asarray(data[1]), return_var=True)
    ref = gpproj.from_tinygp(gp, data[1], refit=lambda X, y: None)
    np.testing.assert_allclose(ref.latent_mean, mean, atol=1e-6)
    np.testing.assert_allclose(ref.latent_cov.diagonal(), variance, atol=1e-6)
    np.testing.assert_allclose(ref.predict(x[:, None]).mean, mean, atol=1e-6)
    assert ref.refit(x, x) is None


def test_what_tinygp_cannot_give(data, jax, make_tiny):
    tinygp = pytest.importorskip("tinygp")
    X, y = data
    gp = make_tiny(X, diag=0.05)
    dense = tinygp.noise.Dense(value=0.1 * jax.numpy.eye(35))
    tree = {"left": jax.numpy.asarray(X), "right": jax.numpy.asarray(X)}
    own = tinygp.kernels.Custom(lambda one, two: jax.numpy.dot(one["left"], two["right"]))
    for model, targets, error, words in (
        ("gp", y, TypeError, "must be a tinygp.GaussianProcess; got str"),
        (gp.condition(jax.numpy.asarray(y)).gp, y, ValueError, "the prior at the training inputs"),
        (make_tiny(X, noise=dense), y, ValueError, "noise model Dense"),
        (make_tiny(X, diag=np.linspace(0.1, 1.0, 35)), y, ValueError, "differs between rows"),
        (tinygp.GaussianProcess(own, tree, diag=1.0), y, ValueError, "one array"),
        (gp, y[:5], ValueError, "35 rows but y has 5 values"),
        (gp, np.ones((35, 2)), ValueError, r"one target; saw the shape \(35, 2\)"),
    ):
        with pytest.raises(error, match=words):
            gpproj.from_tinygp(model, targets)


@pytest.mark.filterwarnings("ignore:[Xy] is not of type float64:UserWarning:gpjax")
def test_what_gpjax_cannot_give(data, jax, make_gpjax):
    gpx = pytest.importorskip("gpjax")
    X, y = data
    uneven = gpx.likelihoods.Gaussian(obs_stddev=jax.numpy.linspace(0.1, 1.0, 35))
    noisy = gpx.kernels.RBF(n_dims=3) + gpx.kernels.White()
    for posterior, error, words in (
        ("model", TypeError, "what model.condition"),
        (
            make_gpjax(X, y > 3, likelihood=gpx.likelihoods.Bernoulli()),
            ValueError,
            "LatentPosterior",
        ),
        (make_gpjax(X, y, likelihood=uneven), ValueError, "differs between rows"),
        (make_gpjax(X, y, kernel=noisy), ValueError, "has a White kernel"),
    ):
        with pytest.raises(error, match=words):
            gpproj.from_gpjax(posterior)
