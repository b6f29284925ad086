"""References and paths with inducing points come back, and no matrix of all rows is ever formed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj import store
from gpproj.inference import inducing
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.linalg import LowRankCovariance
from gpproj.reference.draws import Draws
from tests.fitting import fit_mode

NAMES = ["a", "b", "c"]
KERNEL = Constant(1.0) + SquaredExponential(2.0, [1.0, 2.0, 6.0])


def make(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 3)), columns=NAMES)
    f = 2.0 * np.sin(2.0 * X["a"]) + X["b"]
    return X, (5.0 + f + 0.3 * rng.standard_normal(n)).to_numpy()


X, Y = make()
NEW, Y_NEW = make(7, 1)


@pytest.fixture(autouse=True)
def nothing_dense(monkeypatch):
    def refuse(self):
        raise AssertionError(f"{self!r} as a matrix")

    monkeypatch.setattr(LowRankCovariance, "dense", refuse)


@pytest.fixture(scope="module")
def ref():
    return fit_mode(X, Y, inference=gpproj.Sparse(12))


@pytest.fixture(scope="module")
def path(ref):
    return gpproj.forward_search(ref, 2, progress=False)


def answers(model):
    return [
        *model.predict(NEW),
        *model.predict_response(NEW),
        model.log_density(NEW, Y_NEW),
    ]


POINTS = {
    "greedy": gpproj.Sparse(10),
    "fitc": gpproj.Sparse(10, "fitc"),
    "kmeans": gpproj.Sparse(10, "fitc", "kmeans"),
    "given": gpproj.Sparse(np.ascontiguousarray(X[:8]) + 0.1),
    "named": gpproj.Sparse(X[["c", "a", "b"]][:8]),
}


@pytest.mark.parametrize(
    "sparse",
    [
        pytest.param(one, id=name, marks=[] if name in ("fitc", "given") else [pytest.mark.slow])
        for name, one in POINTS.items()
    ],
)
def test_references_come_back(kept, same, sparse):
    ref = gpproj.condition(X, Y, KERNEL, Gaussian(0.1), sparse, standardize=True)
    again = kept(ref)
    same(ref, again)
    same(ref.latent, again.latent)
    same(ref._central, again._central)
    same(answers(ref), answers(again))
    same(ref.loo(), again.loo())
    assert again.log_marginal_likelihood == ref.log_marginal_likelihood
    assert again.problem.inducing.X is again.training.X
    one, two = (model.refit(NEW, Y_NEW) for model in (ref, again))
    same(one, two)
    same(answers(one), answers(two))
    one, two = (gpproj.project(model, ["b", "a"]) for model in (ref, again))
    same(one, two)


def test_a_fitted_reference_comes_back_and_is_fitted_again(ref, kept, same):
    again = kept(ref)
    same(ref, again)
    same(ref.latent, again.latent)
    same(answers(ref), answers(again))
    one, two = (model.refit(X[:30], Y[:30]) for model in (ref, again))
    same(one, two)


def test_draws_come_back(ref, kept, same):
    moves = 0.1 * np.random.default_rng(1).standard_normal((3, ref.draws.parameters.shape[1]))
    drawn = replace(ref, draws=Draws.equal(ref.draws.parameters + moves))
    assert drawn.latent.latent_cov.rank > 12
    again = kept(drawn)
    same(drawn, again)
    same(drawn.latent, again.latent)
    same(answers(drawn), answers(again))
    one, two = (gpproj.project(model, ["a"], clusters=2) for model in (drawn, again))
    same(one, two)


@pytest.mark.parametrize("likelihood", ["bernoulli", "poisson"])
def test_classes_and_counts_come_back(kept, same, likelihood):
    y = Y > 5.0 if likelihood == "bernoulli" else np.round(np.exp(0.3 * Y))
    ref = gpproj.condition(X, y, KERNEL, likelihood, gpproj.Sparse(12), standardize=True)
    path = gpproj.project_path(ref, ["a"])
    again = kept(path)
    same(ref, again.reference)
    same(ref.latent, again.reference.latent)
    same(ref.loo(), again.reference.loo())
    for one, two in ((ref, again.reference), (path[1], again[1])):
        same(one.predict_response(NEW), two.predict_response(NEW))


def test_no_array_of_a_saved_path_has_all_rows_twice(path, tmp_path):
    path.save(tmp_path / "path")
    path[2].save(tmp_path / "sub")
    held = {}
    for folder, name in (("path", "reference"), ("path", "path"), ("sub", "submodel")):
        held |= store.read(tmp_path / folder / f"{name}.npz", name).arrays
    assert max(array.shape.count(60) for array in held.values()) == 1
    assert sum(array.shape == (60, 3) for array in held.values()) == 1
    assert held["computed_latent_latent_cov_noise"].shape == (60,)
    assert held["computed_latent_latent_cov_factor"].shape == (60, 12)
    assert held["problem_inducing_Z"].shape == held["points_2"].shape == (12, 3)
    assert held["computed_central_root"].shape == (12, 12)
    assert held["parts_0_predictor_root"].shape == (12, 12)
    assert held["parts_0_predictor_X"].shape == (12, 2)


def test_paths_come_back(path, kept, same):
    again = kept(path)
    same(path.projections, again.projections)
    same(path.better, again.better)
    same(path.pool, again.pool)
    same(path.recipe, again.recipe)
    for size in range(3):
        same(path[size], again[size])
        same(answers(path[size]), answers(again[size]))
    pd.testing.assert_frame_equal(path.summary(), again.summary())
    longer = gpproj.forward_search(again.reference, 3, extend=again, progress=False)
    expected = gpproj.forward_search(path.reference, 3, extend=path, progress=False)
    same(longer.projections, expected.projections)
    same(longer.better, expected.better)


def test_submodels_of_a_loaded_path_keep_their_points(path, kept, same, monkeypatch):
    again = kept(path)

    def refused(*_):
        raise AssertionError("chosen anew")

    monkeypatch.setattr(inducing, "choose_points", refused)
    for size in range(3):
        same(path[size], again[size])
    with pytest.raises(AssertionError, match="chosen anew"):
        gpproj.project(again.reference, ["c"])


def test_the_best_sets_of_a_loaded_path_keep_their_points(kept, same, monkeypatch):
    y = X["a"] + X["b"]
    near = X.assign(c=y + 0.5 * X["c"])
    kernel = Constant() + SquaredExponential(4.0, [4.0, 4.0, 8.0])
    ref = gpproj.condition(near, y, kernel, Gaussian(0.01), gpproj.Sparse(12), standardize=True)
    path = gpproj.forward_search(ref, 2, progress=False)
    assert path.is_better(2)
    again = kept(path)
    monkeypatch.setattr(inducing, "choose_points", lambda *_: pytest.fail("chosen anew"))
    same(path.best(2), again.best(2))
    assert again.best(2).inputs == ("a", "b")
    points = path.reference.problem.inducing.points, again.reference.problem.inducing.points
    assert len(again.pool) == 2
    for own in again.pool:
        same(*(one(own.projection.active) for one in points))
    longer = gpproj.forward_search(again.reference, 3, extend=again, progress=False)
    assert longer.best_errors[2] <= path.best_errors[2]


def test_given_points_are_stored_once(kept, tmp_path, same):
    ref = gpproj.condition(X, Y, KERNEL, Gaussian(0.1), POINTS["given"])
    path = gpproj.project_path(ref, ["a", "b"])
    again = kept(path)
    assert not [
        name
        for name in store.read(tmp_path / "kept" / "path.npz", "path").arrays
        if name.startswith("points")
    ]
    same(path[2], again[2])


@pytest.mark.slow
def test_validations_come_back_and_are_repeated(kept, same):
    ref = gpproj.condition(X, Y, KERNEL, Gaussian(0.1), gpproj.Sparse(8), standardize=True)
    options = {"folds": 2, "random_state": 0, "progress": False}
    cv = gpproj.validate(ref, gpproj.project_path(ref, ["b"]), **options)
    again = kept(cv)
    same(cv.scores, again.scores)
    pd.testing.assert_frame_equal(cv.summary(), again.summary())
    same(gpproj.validate(again.reference, again.path, **options).scores, cv.scores)


def test_a_checkpoint_goes_on_with_a_loaded_reference(path, kept, tmp_path, same):
    file = tmp_path / "search.npz"
    gpproj.forward_search(path.reference, 1, checkpoint=file, progress=False)
    again = gpproj.forward_search(kept(path.reference), 2, checkpoint=file, progress=False)
    same(again.projections, path.projections)
