"""References of other models come back as moments, without the functions that came with them."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

import gpproj
from gpproj import kernels
from gpproj.kernels import Constant, Matern52, SquaredExponential
from gpproj.likelihoods import StudentT
from gpproj.reference import MomentReference


@pytest.fixture(scope="module")
def own(ref, data):
    """What another model might tell of the data."""
    X, y = data
    return X, y, ref.latent_mean, np.array(ref.latent_cov)


def line(new):
    return new["a"].to_numpy(), np.ones(len(new))


def moments(own, **options):
    return gpproj.from_moments(*own, 0.2, **options)


def refit(X, y):
    kernel = Constant(1.0) + SquaredExponential(1.0, 2.0)
    fitted = gpproj.condition(X, y, kernel, "gaussian", standardize=True)
    cov = np.array(fitted.latent_cov)
    return gpproj.from_moments(
        X, y, fitted.latent_mean, cov, 0.2, predict=fitted.predict, refit=refit
    )


def assert_comes_back(same, one, other):
    assert type(other) is MomentReference
    for name in ("training", "problem", "moments", "source", "shrinkage"):
        same(getattr(one, name), getattr(other, name))
    same(one.target.latent_cov, other.target.latent_cov)
    if one.left_out_rows() is not None:
        same(one.loo(), other.loo())
    assert other.likelihood == one.likelihood
    assert repr(other) == repr(one)


@pytest.mark.parametrize(
    "options", [{}, {"standardize": False, "nugget": 1e-3}, {"kernel": Constant() + Matern52()}]
)
def test_moments_come_back(own, kept, same, options):
    ref = moments(own, **options)
    again = kept(ref)
    assert_comes_back(same, ref, again)
    one, two = (gpproj.project(model, ["a", "c"]) for model in (ref, again))
    same(one, two)


def test_the_functions_that_came_with_it_are_left_behind(own, new, kept):
    ref = moments(own, predict=line, refit=refit)
    again = kept(ref)
    with pytest.raises(ValueError, match=r"cannot predict: .* predict function, see from_moments"):
        again.predict(new[0])
    with pytest.raises(ValueError, match=r"cannot be refitted.* refit function, see from_moments"):
        again.refit(*new)
    with pytest.raises(ValueError, match="method must be none for a MomentReference"):
        gpproj.relevance(again, "ard")


def test_a_recipe_of_gpproj_is_left_behind_too(own, kept):
    assert kept(moments(own, refit=gpproj.fit)).recipe is None


def test_draws_and_their_shrinkage_come_back(own, kept, same):
    X, y, mean, cov = own
    draws = np.random.default_rng(0).multivariate_normal(mean, cov, 30)
    with pytest.warns(UserWarning, match="shrunk"):
        ref = gpproj.from_draws(X, y, draws, 0.2)
    again = kept(ref)
    assert_comes_back(same, ref, again)
    assert again.shrinkage.method == "Ledoit-Wolf"
    assert again.shrinkage.amount == ref.shrinkage.amount


@pytest.mark.parametrize("likelihood", ["bernoulli", "poisson", StudentT(0.3, 5.0)], ids=str)
def test_other_likelihoods_come_back(own, kept, same, likelihood):
    X, y, mean, cov = own
    exposure = None
    if likelihood == "bernoulli":
        y, mean = np.where(y > 5.0, "yes", "no"), mean - 5.0
    elif likelihood == "poisson":
        y, mean = np.round(np.exp(0.3 * y)), 0.3 * mean
        exposure = np.linspace(0.5, 2.0, len(y))
    ref = gpproj.from_moments(X, y, mean, cov, likelihood=likelihood, exposure=exposure)
    path = gpproj.project_path(ref, ["b"])
    again = kept(path)
    assert_comes_back(same, ref, again.reference)
    assert again.reference.classes == ref.classes
    same(path[1].predict_response(X, exposure), again[1].predict_response(X, exposure))


def test_an_adapted_model_comes_back(data, kept, same):
    X, y = data
    kernel = RBF([1.0] * 4) + WhiteKernel(0.1)
    model = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True).fit(X, y)
    ref = gpproj.from_sklearn(model)
    again = kept(ref)
    assert_comes_back(same, ref, again)
    assert again.source == "from_sklearn"


def test_paths_come_back(own, new, kept, same, tmp_path):
    path = gpproj.forward_search(moments(own, predict=line), 2, progress=False)
    again = kept(path)
    same(path.projections, again.projections)
    same(path.better, again.better)
    same(path.pool, again.pool)
    same(path.recipe, again.recipe)
    same(path.projector.family, again.projector.family)
    assert again.projector.identity == path.projector.identity
    assert_comes_back(same, path.reference, again.reference)
    for size in range(3):
        same(path[size], again[size])
        same(path[size].predict(new[0]), again[size].predict(new[0]))
    longer = gpproj.forward_search(again.reference, 3, extend=again, progress=False)
    expected = gpproj.forward_search(path.reference, 3, extend=path, progress=False)
    same(longer.projections, expected.projections)
    same(longer.better, expected.better)
    again.save(tmp_path / "twice")
    same(gpproj.load(tmp_path / "twice").projections, path.projections)


@pytest.mark.slow
def test_validations_come_back(data, kept, same):
    ref = refit(*data)
    path = gpproj.project_path(ref, ["a", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        cv = gpproj.validate(ref, path, folds=2, random_state=0, progress=False)
    again = kept(cv)
    same(cv.scores, again.scores)
    pd.testing.assert_frame_equal(cv.summary(), again.summary())
    assert_comes_back(same, ref, again.reference)
    with pytest.raises(ValueError, match="cannot be refitted"):
        gpproj.validate(again.reference, again.path, folds=2, random_state=0, progress=False)


def test_a_folder_says_what_it_holds(own, tmp_path):
    moments(own).save(tmp_path / "ref")
    manifest = json.loads((tmp_path / "ref" / "manifest.json").read_text())
    assert manifest["kind"] == "MomentReference"
    assert manifest["summary"].startswith("MomentReference(n=24, inputs=4, likelihood=Gaussian")


class Own(kernels.Stationary):
    @staticmethod
    def profile(q):
        return np.exp(q), np.exp(q)


@pytest.mark.parametrize("kernel", [Own(), Constant() + kernels.ScikitLearn(RBF([1.0] * 4))])
def test_kernels_that_gpproj_does_not_know_are_refused(own, tmp_path, kernel):
    ref = moments(own, kernel=kernel)
    for thing in (ref, gpproj.project_path(ref, ["a"]), gpproj.project(ref, ["a"])):
        with pytest.raises(TypeError, match=r"cannot save the kernel .*only gpproj's own kernels"):
            thing.save(tmp_path / "kept")
    assert list(tmp_path.iterdir()) == []
