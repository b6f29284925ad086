"""Fitted models of other libraries as references, against the libraries themselves."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel
from sklearn.linear_model import LinearRegression

import gpproj


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((35, 3))
    return X, 3.0 + np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(35)


KERNELS = {
    "ard": ConstantKernel(2.0) * RBF([1.0, 2.0, 3.0]) + WhiteKernel(0.1),
    "constant": RBF([1.0, 1.0, 1.0]) + ConstantKernel(4.0) + WhiteKernel(0.2),
    "nested": ConstantKernel(2.0) * (Matern([1.0, 1.0, 2.0], nu=1.5) + WhiteKernel(0.1)),
    "linear": DotProduct() + WhiteKernel(0.3),
}


@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_regression_of_scikit_learn(data, name, normalize_y):
    X, y = data
    gpr = GaussianProcessRegressor(
        KERNELS[name], alpha=1e-3, normalize_y=normalize_y, optimizer=None
    ).fit(X, y)
    ref = gpproj.from_sklearn(gpr)
    scale = y.std() if normalize_y else 1.0
    white = {"ard": 0.1, "constant": 0.2, "nested": 0.2, "linear": 0.3}[name]
    mean, cov = gpr.predict(X, return_cov=True)
    np.testing.assert_allclose(ref.latent_mean, mean, atol=1e-9)
    np.testing.assert_allclose(
        np.asarray(ref.latent_cov), cov - white * scale**2 * np.eye(35), atol=1e-6
    )
    assert ref.noise_variance == pytest.approx((white + 1e-3) * scale**2)
    new = X[:5] + 0.3
    mean, sd = gpr.predict(new, return_std=True)
    found = ref.predict(new)
    np.testing.assert_allclose(found.mean, mean)
    np.testing.assert_allclose(found.variance, sd**2 - white * scale**2, atol=1e-9)


@pytest.mark.slow
def test_names_refits_and_searches_of_regression(data):
    X = pd.DataFrame(data[0], columns=["a", "b", "c"])
    gpr = GaussianProcessRegressor(KERNELS["ard"], normalize_y=True, optimizer=None)
    ref = gpproj.from_sklearn(gpr.fit(X, data[1]))
    assert ref.feature_names == ("a", "b", "c")
    path = gpproj.forward_search(ref, 2, progress=False)
    assert set(path.order) == {"a", "b"}
    cv = gpproj.validate(ref, path, folds=3, random_state=0, progress=False)
    assert cv.summary().shape[0] == 3
    again = pickle.loads(pickle.dumps(ref))
    np.testing.assert_array_equal(again.predict(X).mean, ref.predict(X).mean)


def test_classification_of_scikit_learn(data):
    X, y = data
    labels = np.where(y > 3.0, "high", "low")
    gpc = GaussianProcessClassifier(4.0 * RBF([1.0, 2.0, 3.0]), optimizer=None).fit(X, labels)
    ref = gpproj.from_sklearn(gpc)
    assert ref.classes == ("high", "low")
    base = gpc.base_estimator_
    K = base.kernel_(X)
    _, (pi, W_sr, L, *_) = base._posterior_mode(K, return_temporaries=True)
    mode = K @ (base.y_train_ - pi)
    half = np.linalg.solve(L, W_sr[:, None] * K)
    np.testing.assert_allclose(ref.latent_mean, mode, atol=1e-6)
    np.testing.assert_allclose(np.asarray(ref.latent_cov), K - half.T @ half, atol=1e-6)
    np.testing.assert_allclose(ref.target.site_precision, W_sr**2, atol=1e-6)
    new = X[:5] + 0.3
    # scikit-learn approximates the last integral to about 1e-4
    np.testing.assert_allclose(
        ref.predict_response(new).mean, gpc.predict_proba(new)[:, 1], atol=1e-3
    )
    assert gpproj.forward_search(ref, 1, progress=False).order[0] in ("x0", "x1")
    refitted = ref.refit(X[:25], labels[:25])
    assert refitted.training.n == 25


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (LinearRegression(), TypeError, "model must be a GaussianProcessRegressor"),
        ("heteroscedastic", ValueError, "noise that differs between rows"),
        ("three classes", ValueError, "model must have two classes; saw 3"),
        ("two targets", ValueError, "model must have one target"),
    ],
)
def test_what_scikit_learn_cannot_give(data, model, error, words):
    X, y = data
    if model == "heteroscedastic":
        alpha = np.linspace(0.1, 1.0, 35)
        model = GaussianProcessRegressor(RBF(), alpha=alpha, optimizer=None).fit(X, y)
    elif model == "three classes":
        labels = np.digitize(y, [2.5, 3.5])
        model = GaussianProcessClassifier(RBF(), optimizer=None).fit(X, labels)
    elif model == "two targets":
        targets = np.column_stack([y, y])
        model = GaussianProcessRegressor(RBF() + WhiteKernel(), optimizer=None).fit(X, targets)
    with pytest.raises(error, match=words):
        gpproj.from_sklearn(model)


def test_models_that_were_not_fitted():
    from sklearn.exceptions import NotFittedError

    for model in (GaussianProcessRegressor(), GaussianProcessClassifier()):
        with pytest.raises(NotFittedError):
            gpproj.from_sklearn(model)


@pytest.fixture(scope="module")
def torch_models(data):
    gpytorch, torch = pytest.importorskip("gpytorch"), pytest.importorskip("torch")
    X, y = (torch.as_tensor(part) for part in data)

    class Exact(gpytorch.models.ExactGP):
        def __init__(self, likelihood, dtype=torch.float64):
            super().__init__(X.to(dtype), y.to(dtype), likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(
                gpytorch.kernels.RBFKernel(ard_num_dims=3)
            )
            self.to(dtype)

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(x), self.covar_module(x)
            )

    return gpytorch, torch, Exact


def test_exact_models_of_gpytorch(data, torch_models):
    gpytorch, torch, Exact = torch_models
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    model = Exact(likelihood)
    model.initialize(**{"mean_module.constant": 2.0, "likelihood.noise": 0.05})
    model.covar_module.base_kernel.lengthscale = torch.tensor([[1.0, 1.5, 4.0]])
    ref = gpproj.from_gpytorch(model, feature_names=["a", "b", "c"])
    model.eval()
    with torch.no_grad(), gpytorch.settings.debug(False):
        posterior = model(torch.as_tensor(data[0]))
    np.testing.assert_allclose(ref.latent_mean, posterior.mean.numpy(), atol=1e-6)
    np.testing.assert_allclose(
        np.asarray(ref.latent_cov), posterior.covariance_matrix.numpy(), atol=1e-6
    )
    assert ref.noise_variance == pytest.approx(likelihood.noise.item(), rel=1e-6)
    new = data[0][:4] + 0.2
    with torch.no_grad():
        expected = model(torch.as_tensor(new))
    found = ref.predict(new)
    np.testing.assert_allclose(found.mean, expected.mean.numpy(), atol=1e-6)
    np.testing.assert_allclose(found.variance, expected.variance.numpy(), atol=1e-6)
    assert ref.feature_names == ("a", "b", "c")
    assert set(gpproj.forward_search(ref, 2, progress=False).order) == {"a", "b"}


def test_botorch_undoes_its_transforms(data):
    pytest.importorskip("botorch")
    torch = pytest.importorskip("torch")
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Normalize, Standardize

    X, y = data
    model = SingleTaskGP(
        torch.as_tensor(X),
        torch.as_tensor(y)[:, None],
        input_transform=Normalize(3),
        outcome_transform=Standardize(1),
    )
    ref = gpproj.from_gpytorch(model)
    with torch.no_grad():
        posterior = model.posterior(torch.as_tensor(X))
    np.testing.assert_allclose(ref.latent_mean, posterior.mean.numpy()[:, 0], atol=1e-6)
    np.testing.assert_allclose(
        ref.latent_cov.diagonal(), posterior.variance.numpy()[:, 0], atol=1e-6
    )
    observed = model.posterior(torch.as_tensor(X), observation_noise=True)
    np.testing.assert_allclose(
        ref.predict_response(X).variance, observed.variance.detach().numpy()[:, 0], atol=1e-6
    )
    raw = ref.training.X * ref.training.scaling.input_scale + ref.training.scaling.input_mean
    np.testing.assert_allclose(raw, X, atol=1e-10)


def test_single_precision_is_evaluated_in_double(data, torch_models):
    gpytorch, torch, Exact = torch_models
    model = Exact(gpytorch.likelihoods.GaussianLikelihood(), torch.float32)
    ref = gpproj.from_gpytorch(model)
    assert ref.training.X.dtype == np.float64
    assert next(model.parameters()).dtype == torch.float32


def test_what_gpytorch_cannot_give(data, torch_models):
    gpytorch, torch, Exact = torch_models
    with pytest.raises(TypeError, match="model must be a gpytorch"):
        gpproj.from_gpytorch(LinearRegression())
    uneven = gpytorch.likelihoods.FixedNoiseGaussianLikelihood(torch.linspace(0.1, 1.0, 35))
    with pytest.raises(ValueError, match="noise that differs between rows"):
        gpproj.from_gpytorch(Exact(uneven))
    hadamard = gpytorch.likelihoods.HadamardGaussianLikelihood(num_tasks=2)
    with pytest.raises(ValueError, match="likelihood HadamardGaussianLikelihood"):
        gpproj.from_gpytorch(Exact(hadamard))
