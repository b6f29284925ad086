"""Processes that are fitted to a transformed target: what users see is in the units of y."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.linalg import to_host

KERNEL = Constant(1.0) + SquaredExponential(1.0, [1.5, 2.0])
TRANSFORMS = ("log", "logit", "box-cox", "yeo-johnson")


@cache
def data(transform="log", n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 2)), columns=["a", "b"])
    z = np.sin(X["a"]) + 0.5 * X["b"] + 0.3 * rng.standard_normal(n)
    z = z.to_numpy()
    return X, 1.0 / (1.0 + np.exp(-z)) if transform == "logit" else 20.0 * np.exp(z)


@cache
def made(transform="log", kind="condition"):
    X, y = data(transform)
    if kind == "condition":
        return gpproj.condition(X, y, KERNEL, Gaussian(0.1), standardize=True, transform=transform)
    return gpproj.fit(X, y, kernel=KERNEL, draws=3, check=False, transform=transform)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("kind", ["condition", "submodel", "mixture"])
def test_predictions_are_those_of_the_density(transform, kind):
    ref = made(transform, "fit" if kind == "mixture" else "condition")
    model = gpproj.project(ref, ["a"], learn="projection") if kind == "submodel" else ref
    one = pd.DataFrame({"a": [0.4], "b": [-0.2]})
    lower, upper = model.predict_interval(one, 1.0 - 1e-9)
    y = np.linspace(lower[0], upper[0], 100_001)
    if transform != "logit":  # the lower end is dense, the upper end far
        y = np.geomspace(max(lower[0], 1e-6), upper[0], 100_001)
    density = np.exp(model.respond(pd.concat([one] * y.size)).log_density(y))
    mass = np.trapezoid(density, y)
    assert mass == pytest.approx(1.0, abs=1e-4)
    mean, variance = model.predict_response(one)
    assert np.trapezoid(density * y, y) == pytest.approx(mean[0], rel=1e-3)
    assert np.trapezoid(density * (y - mean) ** 2, y) == pytest.approx(variance[0], rel=1e-2)
    lower, upper = model.predict_interval(one, 0.8)
    below = np.trapezoid(np.where(y < lower, density, 0.0), y)
    above = np.trapezoid(np.where(y > upper, density, 0.0), y)
    assert (below, above) == (pytest.approx(0.1, abs=1e-3), pytest.approx(0.1, abs=1e-3))


def test_densities_have_the_jacobian():
    X, y = data()
    ref = made()
    plain = gpproj.condition(X, np.log(y), KERNEL.scaled(1.0), Gaussian(0.1), standardize=True)
    np.testing.assert_allclose(ref.log_density(X, y), plain.log_density(X, np.log(y)) - np.log(y))
    np.testing.assert_allclose(
        ref.loo().log_density, plain.loo().log_density - np.log(y), rtol=1e-10
    )
    expected = plain.log_marginal_likelihood - np.log(y).sum()
    assert ref.log_marginal_likelihood == pytest.approx(expected)
    np.testing.assert_array_equal(ref.predict(X).mean, plain.predict(X).mean)
    mean, variance = plain.loo()[:2]
    np.testing.assert_allclose(ref.loo().mean, np.exp(mean + 0.5 * variance))
    np.testing.assert_allclose(
        ref.predict_interval(X).lower, np.exp(plain.predict_interval(X).lower)
    )


def test_a_log_normal_target_is_predicted_better_by_its_logarithm():
    X, y = data(n=120, seed=3)
    new, y_new = data(n=200, seed=4)
    elpd = {
        name: gpproj.fit(X, y, kernel=KERNEL, draws=1, check=False, transform=name)
        .log_density(new, y_new)
        .mean()
        for name in (None, "log", "box-cox", "yeo-johnson")
    }
    assert elpd["log"] > elpd[None] + 0.2
    assert elpd["box-cox"] > elpd["log"] - 0.03
    assert elpd["yeo-johnson"] > elpd["log"] - 0.03


def test_nothing_is_lost_where_nothing_is_to_be_transformed():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((80, 2))
    y = 30.0 + np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(80)
    plain = gpproj.condition(X, y, KERNEL, Gaussian(0.1), standardize=True)
    for transform in ("box-cox", "yeo-johnson"):
        ref = gpproj.condition(
            X, y, KERNEL.scaled(1.0), Gaussian(0.1), standardize=True, transform=transform
        )
        assert ref.training.scaling.transformation.power == 1.0
    np.testing.assert_allclose(ref.log_density(X, y), plain.log_density(X, y), rtol=1e-9)


def test_it_is_kept_by_all_that_is_made_of_it(tmp_path):
    X, y = data()
    ref = made("box-cox", "fit")
    again = ref.refit(X[:50], y[:50])
    assert again.training.scaling.transformation.name == "box-cox"
    sub = gpproj.project(ref, ["a", "b"])
    np.testing.assert_allclose(sub.predict_response(X).mean, ref.predict_response(X).mean, rtol=0.1)
    for model in (ref, sub):
        model.save(tmp_path / type(model).__name__)
        loaded = gpproj.load(tmp_path / type(model).__name__)
        assert loaded.columns.scaling.transformation == ref.training.scaling.transformation
        for one, other in zip(loaded.predict_response(X), model.predict_response(X), strict=True):
            np.testing.assert_array_equal(one, other)
    assert gpproj.load(tmp_path / "GaussianProcessReference").recipe.keywords["transform"] == (
        "box-cox"
    )


def test_validations_are_in_the_users_units():
    _, y = data()
    ref = made()
    path = gpproj.project_path(ref, ["a", "b"], learn="projection")
    cv = gpproj.validate(ref, path, "kfold", folds=3, search="once", random_state=0, progress=False)
    np.testing.assert_allclose(cv.scores.y, y[cv.scores.rows])
    assert (np.abs(cv.scores.divergence[0]) < 1e-9).all()
    assert (cv.scores.divergence[1] > 0.0).any()
    assert np.isfinite(cv.scores.divergence).all()
    exact = gpproj.validate(ref, path, "loo", search="once", progress=False)
    np.testing.assert_allclose(exact.scores.y, y)
    np.testing.assert_allclose(exact.scores.log_density[0], to_host(ref.loo().log_density))


def test_a_check_is_in_units_of_the_transformation():
    ref = made()
    _, y = data()
    found = ref.check()
    np.testing.assert_allclose(np.sort(found.rows["y"]), np.sort(np.log(y)))
    assert found.log_density["reference"] > found.log_density["null"]


def test_draws_are_transformed_back():
    X, _ = data()
    ref = made()
    drawn, latent = ref.sample(X[:3], 4000, 0), ref.sample(X[:3], 4000, 0, latent=True)
    assert (drawn > 0.0).all()
    mean, _ = ref.predict_response(X[:3])
    np.testing.assert_allclose(drawn.mean(axis=0), mean, rtol=0.05)
    np.testing.assert_allclose(latent.mean(axis=0), ref.predict(X[:3]).mean, atol=0.05)


def test_targets_that_are_none_have_no_density():
    ref, X = made(), data()[0][:3]
    assert ref.respond(X).log_density(np.array([-1.0, 0.0, 5.0])).tolist()[:2] == [-np.inf, -np.inf]
    with pytest.raises(ValueError, match='y must be above 0 for transform="log"; saw -1 in row 0'):
        ref.log_density(X, [-1.0, 2.0, 3.0])


@pytest.mark.parametrize("likelihood", ["student-t", "poisson"])
def test_only_gaussian_noise_is_transformed(likelihood):
    X, y = data()
    with pytest.raises(ValueError, match='transform="log" is for targets with Gaussian noise; got'):
        gpproj.fit(X, np.round(y) + 1.0, likelihood, transform="log")
