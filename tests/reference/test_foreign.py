"""References that are known by their latent moments or draws alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.kernels import Constant, Matern52, SquaredExponential
from gpproj.likelihoods import Bernoulli, Gaussian, Poisson
from tests.fitting import fit_mode


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((40, 3)), columns=["a", "b", "c"])
    y = 3.0 + 2.0 * np.sin(2 * X["a"]) + X["b"] + 0.3 * rng.standard_normal(40)
    return X, y.to_numpy()


@pytest.fixture(scope="module")
def own(data):
    return fit_mode(*data)


def moments(ref):
    """The moments without the nugget, as another library would give them."""
    eps = ref.problem.nugget * ref.noise_variance
    return ref.latent_mean, np.asarray(ref.latent_cov) - eps * np.eye(ref.training.n)


@pytest.fixture(scope="module")
def foreign(data, own):
    return gpproj.from_moments(
        *data, *moments(own), own.noise_variance, predict=own.predict, refit=gpproj.fit
    )


@pytest.mark.slow
def test_the_search_is_that_of_the_same_process(own, foreign):
    expected = gpproj.forward_search(own, progress=False)
    found = gpproj.forward_search(foreign, progress=False)
    assert found.order == expected.order
    gap = expected.null_error - expected.full_error
    np.testing.assert_allclose(found.errors, expected.errors, atol=1e-2 * gap)


def test_what_it_predicts_is_what_the_function_says(data, own, foreign):
    X, y = data
    new = X.iloc[:7] + 0.1
    for name in ("predict", "predict_response"):
        found, expected = (getattr(ref, name)(new) for ref in (foreign, own))
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-10)
        np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-10)
    np.testing.assert_allclose(
        foreign.log_density(new, y[:7]), own.log_density(new, y[:7]), rtol=1e-10
    )


def test_leaving_out_a_site_is_exact_with_gaussian_noise(own, foreign):
    for found, expected in zip(foreign.loo(), own.loo(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_what_was_given_is_what_it_tells(data, own, foreign):
    mean, cov = moments(own)
    np.testing.assert_allclose(foreign.latent_mean, mean, rtol=1e-12)
    np.testing.assert_allclose(foreign.latent_cov, cov, rtol=1e-9, atol=1e-12)
    assert foreign.noise_variance == pytest.approx(own.noise_variance)
    assert foreign.feature_names == ("a", "b", "c")
    assert foreign.shrinkage is None
    assert "from_moments" in repr(foreign)


@pytest.mark.slow
def test_folds_refit_by_the_function(foreign):
    cv = gpproj.validate(foreign, max_inputs=2, folds=3, random_state=0, progress=False)
    assert list(cv.summary()["input"])[1:] == list(cv.path.order)
    assert cv.suggest_size() in (1, 2)


def test_what_is_not_known_is_said(foreign):
    for name in ("kernel", "log_marginal_likelihood", "ard_relevance", "draws", "to"):
        assert not hasattr(foreign, name)
    with pytest.raises(ValueError, match="method must be none for a MomentReference"):
        gpproj.relevance(foreign, "kl")
    with pytest.raises(TypeError, match="effects need a model that can be asked"):
        gpproj.effects(foreign, foreign.training.X)
    with pytest.raises(ValueError, match="clusters are for references with hyperparameter draws"):
        gpproj.project(foreign, ["a"], clusters=4)
    with pytest.raises(ValueError, match=r'hyperparameters="held" is for Gaussian processes'):
        gpproj.validate(foreign, method="loo", hyperparameters="held", progress=False)


@pytest.mark.filterwarnings("ignore:some submodels seem to predict better")  # two rows
def test_single_rows_are_left_out_by_refits(data, own, foreign):
    X, y = data
    path = gpproj.project_path(foreign, ["a"])
    cv = gpproj.validate(foreign, path, "loo", points=2, random_state=0, progress=False)
    assert cv.search == "once"
    assert cv.scores.approximate is None
    row = int(cv.scores.rows[1])
    refitted = gpproj.fit(X.drop(index=row), np.delete(y, row))
    expected = refitted.log_density(X.iloc[[row]], y[[row]])
    np.testing.assert_allclose(cv.scores.log_density[0, 1], expected[0], rtol=1e-6)
    bare = gpproj.from_moments(*data, *moments(own), own.noise_variance, predict=own.predict)
    with pytest.raises(ValueError, match="refit"):
        gpproj.validate(bare, method="loo", max_inputs=1, points=2, progress=False)


def test_without_functions_it_says_which_is_missing(data, own):
    bare = gpproj.from_moments(*data, *moments(own), own.noise_variance)
    with pytest.raises(ValueError, match="no predict function, see from_moments"):
        bare.predict(data[0])
    with pytest.raises(ValueError, match="no refit function"):
        gpproj.validate(bare, max_inputs=1, progress=False)
    assert gpproj.project(bare, ["a"]).predict(data[0]).mean.shape == (40,)


def test_the_structure_of_submodels_can_be_chosen(data, own):
    kernel = Constant() + Matern52()
    ref = gpproj.from_moments(*data, *moments(own), own.noise_variance, kernel=kernel)
    assert "Matern52" in repr(gpproj.project(ref, ["a"]).kernel)


def test_draws_of_the_latent_function(data, own):
    rng = np.random.default_rng(1)
    mean, cov = moments(own)
    draws = rng.multivariate_normal(mean, cov, 40 * 5, method="eigh")
    ref = gpproj.from_draws(*data, draws, np.full(200, own.noise_variance))
    assert ref.shrinkage is None
    np.testing.assert_allclose(ref.latent_mean, draws.mean(axis=0))
    np.testing.assert_allclose(ref.latent_cov, np.cov(draws, rowvar=False), atol=1e-12)
    assert gpproj.forward_search(ref, 2, progress=False).order[0] == "a"


def test_few_draws_are_shrunk_and_this_is_said(data, own):
    rng = np.random.default_rng(1)
    mean, cov = moments(own)
    draws = rng.multivariate_normal(mean, cov, 20, method="eigh")
    with pytest.warns(UserWarning, match="20 draws are few for 40 rows"):
        ref = gpproj.from_draws(*data, draws, own.noise_variance)
    assert ref.shrinkage.method == "Ledoit-Wolf"
    assert 0.0 < ref.shrinkage.amount < 1.0
    sample = np.cov(draws, rowvar=False, bias=True)
    target = np.trace(sample) / 40 * np.eye(40)
    amount = ref.shrinkage.amount
    np.testing.assert_allclose(
        np.asarray(ref.latent_cov), (1 - amount) * sample + amount * target, atol=1e-10
    )
    assert gpproj.forward_search(ref, 1, progress=False).order == ("a",)


def test_draws_of_a_model_that_is_no_gaussian_process():
    from sklearn.ensemble import RandomForestRegressor

    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (60, 4))
    y = np.where(X[:, 2] > 0, 2.0, 0.0) + 0.1 * rng.standard_normal(60)
    forest = RandomForestRegressor(100, min_samples_leaf=5, random_state=0).fit(X, y)
    draws = np.stack([tree.predict(X) for tree in forest.estimators_])
    with pytest.warns(UserWarning, match="draws are few"):
        ref = gpproj.from_draws(X, y, draws, 0.05)
    assert gpproj.forward_search(ref, 1, progress=False).order == ("x2",)


def test_classes_and_counts_have_expected_sites(data):
    X, _ = data
    rng = np.random.default_rng(3)
    f = 1.5 * X["a"].to_numpy()
    K = SquaredExponential(0.3, 1.0)(X.to_numpy()) + 0.05 * np.eye(40)
    labels = np.where(f + rng.logistic(size=40) > 0, "yes", "no")
    ref = gpproj.from_moments(X, labels, f, K, likelihood=Bernoulli("logit"))
    assert ref.classes == ("no", "yes")
    nodes = f[:, None] + np.sqrt(np.diag(K))[:, None] * rng.standard_normal((40, 200_000))
    p = 1.0 / (1.0 + np.exp(-nodes))
    np.testing.assert_allclose(ref.target.site_precision, (p * (1 - p)).mean(axis=1), rtol=1e-2)
    np.testing.assert_allclose(ref.latent_mean, f, atol=1e-12)
    path = gpproj.forward_search(ref, 1, progress=False)
    assert path.order == ("a",)
    counts = rng.poisson(2.0 * np.exp(f))
    exposed = gpproj.from_moments(
        X,
        counts,
        f,
        K,
        likelihood="poisson",
        exposure=np.full(40, 2.0),
        predict=lambda X: (f, f**2),
    )
    rate = np.exp(f + 0.5 * f**2)
    found = exposed.predict_response(X, exposure=np.full(40, 3.0)).mean
    np.testing.assert_allclose(found, 3.0 * rate, rtol=1e-10)
    np.testing.assert_allclose(
        exposed.log_density(X, counts, exposure=np.full(40, 2.0)),
        Poisson().log_density(counts.astype(float), f + np.log(2.0), f**2),
        rtol=1e-10,
    )


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"noise_variance": None}, ValueError, "noise_variance is missing"),
        ({"latent_mean": np.zeros(3)}, ValueError, "latent_mean must have one value for each"),
        ({"latent_cov": np.eye(3)}, ValueError, "latent_cov must be 40 x 40"),
        ({"latent_cov": np.triu(np.ones((40, 40)))}, ValueError, "latent_cov must be symmetric"),
        ({"latent_cov": -np.eye(40)}, ValueError, "latent_cov must be a covariance matrix"),
        ({"latent_mean": np.full(40, np.nan)}, ValueError, "latent_mean must be finite"),
        ({"latent_mean": "mean"}, TypeError, "latent_mean must hold real numbers"),
        ({"latent_cov": np.ones(40)}, ValueError, "latent_cov must have two dimensions"),
        ({"likelihood": "bernoulli"}, ValueError, "noise_variance is for Gaussian noise"),
        ({"nugget": 3.0}, ValueError, "nugget must be"),
        ({"kernel": "se"}, TypeError, "kernel must be"),
    ],
)
def test_bad_arguments_are_named(data, own, change, error, words):
    X, y = data
    mean, cov = moments(own)
    given = {"latent_mean": mean, "latent_cov": cov, "noise_variance": 0.1} | change
    with pytest.raises(error, match=words):
        gpproj.from_moments(X, y, **given)


@pytest.mark.parametrize(
    ("draws", "words"),
    [
        (np.zeros((1, 40)), "latent_draws must be at least two"),
        (np.zeros((9, 4)), "latent_draws must have one column"),
        (np.zeros(40), "latent_draws must have two dimensions"),
    ],
)
def test_bad_draws_are_named(data, draws, words):
    with pytest.raises(ValueError, match=words):
        gpproj.from_draws(*data, draws, 0.1)


def test_functions_that_return_nonsense_are_named(data, own):
    ref = gpproj.from_moments(
        *data, *moments(own), own.noise_variance, predict=lambda X: (np.zeros(3), np.zeros(4))
    )
    with pytest.raises(ValueError, match="predict must return a mean and a variance"):
        ref.predict(data[0])


def test_a_gaussian_object_has_its_own_noise(data, own):
    ref = gpproj.from_moments(*data, *moments(own), likelihood=Gaussian(0.25))
    assert ref.noise_variance == pytest.approx(0.25)
