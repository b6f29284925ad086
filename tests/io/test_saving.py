"""Round trips of references, paths, submodels and validations, down to the bits."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from dataclasses import replace

import array_api_strict
import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.inference import exact
from gpproj.kernels import (
    Constant,
    Linear,
    Matern32,
    Matern52,
    Product,
    SquaredExponential,
    Stationary,
    Sum,
)
from gpproj.likelihoods import Gaussian
from gpproj.priors import Gamma, InverseGamma, LogUniform
from gpproj.validation.checkpoint import fingerprint
from tests.fitting import fit_mode

PRIOR = {
    "lengthscale": InverseGamma(2.0, 3.0),
    "signal_variance": LogUniform(1e-3, 1e3),
    "noise_variance": Gamma(1.0, 2.0),
}


def assert_predicts(same, one, other, new):
    X, y = new
    same(one.predict(X), other.predict(X))
    same(one.predict_response(X), other.predict_response(X))
    same(one.log_density(X, y), other.log_density(X, y))
    same(one.kernel, other.kernel)
    assert one.noise_variance == other.noise_variance
    assert repr(one) == repr(other)


def assert_target(same, one, other):
    for name in ("X", "latent_mean", "site_precision", "site_shift", "nugget"):
        same(getattr(one, name), getattr(other, name))
    same(one.latent_cov.dense(), other.latent_cov.dense())
    for name in ("X", "site_precision", "site_shift", "nugget", "mean", "variance", "count"):
        same(getattr(one.left_out, name), getattr(other.left_out, name))


# References


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
def test_a_fitted_reference_comes_back(data, new, kept, same, named, standardize):
    (X, y), (X_new, y_new) = data, new
    if not named:
        X, X_new = X.to_numpy(), X_new.to_numpy()
    ref = fit_mode(X[:12], y[:12], standardize=standardize)
    again = kept(ref)
    same(ref, again)
    assert_predicts(same, ref, again, (X_new, y_new))
    assert_target(same, ref.target, again.target)
    same(ref.loo(), again.loo())
    same(ref.latent_mean, again.latent_mean)
    assert again.log_marginal_likelihood == ref.log_marginal_likelihood
    pd.testing.assert_series_equal(again.ard_relevance(), ref.ard_relevance())


def test_what_was_computed_is_not_computed_again(ref, new, kept, same, monkeypatch):
    again = kept(ref)

    def fail(*_):
        raise AssertionError("computed")

    for name in ("conditioned", "posterior"):
        monkeypatch.setattr(exact, name, fail)
    with pytest.raises(AssertionError, match="computed"):
        _ = replace(ref).latent
    assert_target(same, ref.target, again.target)
    assert_predicts(same, ref, again, new)
    same(ref.loo(), again.loo())


KERNELS = [
    Constant(2.0),
    Linear(0.5) + Constant(),
    SquaredExponential(1.0, [1.0, 2.0, 3.0, 4.0]),
    Matern32(1.5, 2.0),
    Constant(0.3) + Matern52(1.0, 0.7) * Linear([1.0, 2.0, 3.0, 4.0]),
    Sum(Product(Constant(3.0), SquaredExponential()), Product(Matern32(), Matern52())),
]


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_conditioned_comes_back(data, new, kept, same, kernel):
    ref = gpproj.condition(*data, kernel, Gaussian(0.2), standardize=True, nugget=1e-3)
    again = kept(ref)
    same(ref, again)
    assert again.structure == kernel
    assert again.optimum is None
    assert_predicts(same, ref, again, new)
    same(ref.refit(*new), again.refit(*new))


@pytest.mark.parametrize("prior", [None, "log-uniform", PRIOR])
def test_priors_come_back_and_refits_use_them(data, new, kept, same, prior):
    X, y = data
    kernel = Constant() + Matern52()
    ref = fit_mode(X[["a", "b"]], y, kernel=kernel, prior=prior, likelihood=Gaussian(0.3))
    again = kept(ref)
    same(ref, again)
    assert again.prior == prior
    again, ref = again.refit(X[["a", "b"]][:12], y[:12]), ref.refit(X[["a", "b"]][:12], y[:12])
    same(ref, again)
    assert_predicts(same, ref, again, new)


def test_constant_inputs_stay_constant(data, new, kept, same):
    X, y = data
    with pytest.warns(UserWarning, match="constant in X"):
        ref = fit_mode(X.assign(b=1.0), y)
    again = kept(ref)
    same(ref, again)
    assert_predicts(same, ref, again, new)


def test_inputs_that_were_switched_off_stay_off(kept, same):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((20, 3))
    ref = fit_mode(X, X[:, 0] ** 3 + 0.01 * rng.standard_normal(20), prior="log-uniform")
    assert ref.problem.mask.tolist() == [True, False, False]
    again = kept(ref)
    same(ref, again)
    assert again.problem.mask.tolist() == [True, False, False]
    assert_target(same, ref.target, again.target)
    same(ref.predict(X[::-1].copy()), again.predict(X[::-1].copy()))
    one, two = (gpproj.project(model, ["x1", "x0"]) for model in (ref, again))
    same(one, two)


def test_rows_that_are_equal_are_left_out_together_again(data, kept, same):
    X, y = data
    twice = pd.concat([X, X[:5]], ignore_index=True)
    ref = fit_mode(twice, np.append(y, y[:5] + 0.3))
    again = kept(ref)
    assert again.latent.left_out.mean.shape == (24,)
    same(ref.latent, again.latent)
    assert_target(same, ref.target, again.target)
    assert again.target.left_out.count.sum() == 29
    one, two = (gpproj.project(model, ["a"]) for model in (ref, again))
    same(one, two)


def test_draws_come_back(drawn, new, kept, same):
    again = kept(drawn)
    same(drawn, again)
    assert_predicts(same, drawn, again, new)
    assert_target(same, drawn.target, again.target)
    assert again.log_marginal_likelihood == drawn.log_marginal_likelihood


@pytest.fixture(scope="module")
def sampled(data):
    pytest.importorskip("nutpie")
    X, y = data
    return quiet(gpproj.sample)(
        X[["a", "b"]], y, 8, tune=20, prior=PRIOR, random_state=0, progress=False
    )


def quiet(function):
    """So few draws give warnings of all kinds."""

    def call(*arguments, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return function(*arguments, **options)

    return call


def test_sampled_references_come_back(sampled, data, new, kept, same):
    again = kept(sampled)
    assert type(again.posterior) is type(sampled.posterior)
    assert again.posterior.groups() == ["posterior", "sample_stats"]
    for group in again.posterior.groups():
        assert again.posterior[group].equals(sampled.posterior[group])
    same(replace(sampled, posterior=None), replace(again, posterior=None))
    assert_predicts(same, sampled, again, new)
    same(quiet(sampled.loo)(), quiet(again.loo)())
    X, y = data
    one, two = (quiet(ref.refit)(X[["a", "b"]][:12], y[:12]) for ref in (sampled, again))
    same(one.draws, two.draws)


def test_without_arviz_there_is_no_posterior(sampled, new, kept, same, tmp_path, monkeypatch):
    expected = sampled.predict(new[0])
    monkeypatch.setitem(sys.modules, "arviz", None)
    again = kept(sampled)
    assert again.posterior is None
    same(again.predict(new[0]), expected)
    again.save(tmp_path / "twice")
    assert gpproj.load(tmp_path / "twice").posterior is None


def test_arrays_of_other_libraries_come_back_as_numpy(data, kept, same):
    X, y = data[0].to_numpy(), data[1]
    strict = array_api_strict.asarray
    kernel = Constant() + SquaredExponential()
    ref = gpproj.condition(strict(X), strict(y), kernel, Gaussian(0.2), standardize=True)
    again = kept(ref)
    assert isinstance(again.training.X, np.ndarray)
    assert isinstance(again.predict(X).mean, np.ndarray)
    same(again.training.X, np.asarray(ref.training.X))
    np.testing.assert_allclose(
        again.predict(X).mean, np.asarray(ref.predict(strict(X)).mean), rtol=1e-12
    )


def test_a_recipe_of_the_users_own_is_left_behind(ref, new, kept, same):
    again = kept(replace(ref, recipe=lambda X, y: None))
    assert again.recipe is None
    with pytest.raises(ValueError, match="does not know how it was made"):
        again.refit(*new)
    same(replace(ref, recipe=None), again)


class Own(Stationary):
    @staticmethod
    def profile(q):
        return np.exp(q), np.exp(q)


def test_kernels_of_the_users_own_are_refused(data, tmp_path):
    ref = gpproj.condition(*data, Own(), Gaussian(0.2))
    with pytest.raises(TypeError, match="only gpproj's own kernels"):
        ref.save(tmp_path / "ref")
    assert list(tmp_path.iterdir()) == []


# Paths and submodels


def assert_path(same, one, other, new):
    """All but the data in the reference, which tests of references look at."""
    for name in (
        "units",
        "always",
        "candidate_records",
        "null_error",
        "full_error",
        "better",
        "pool",
        "learn",
        "criterion",
        "clusters",
        "searched",
        "problems",
        "errors",
        "best_errors",
    ):
        same(getattr(one, name), getattr(other, name))
    same(one.recipe, other.recipe)
    same(one.projector.family, other.projector.family)
    assert one.projector.identity == other.projector.identity
    assert_target(same, one.projector.target, other.projector.target)
    for path in (one, other):
        path.summary()  # computes all divergences: saved paths have those that were asked for
    same(one.computed_projections, other.computed_projections)
    for size in range(len(one)):
        assert one.is_better(size) is other.is_better(size)
        assert one.best_inputs(size) == other.best_inputs(size)
        for mine, its in ((one[size], other[size]), (one.best(size), other.best(size))):
            same(mine, its)
            assert_predicts(same, mine, its, new)
    pd.testing.assert_frame_equal(one.summary(), other.summary())
    pd.testing.assert_frame_equal(one.candidates, other.candidates)
    assert repr(one) == repr(other)


OPTIONS = {
    "plain": {},
    "exhaustive": {"strategy": "exhaustive"},
    "always": {"always": pd.Index(["c"])},
    "groups": {"groups": {"pair": ["c", "d"], "mapping": (0,)}},
    "costs": {"costs": {"d": 10.0, "a": 0.5}},
    "prior": {"prior": PRIOR},
    "no prior": {"prior": None},
    "prior of the reference": {"prior": "reference", "learn": "projection"},
    "weak prior": {"prior": "weak"},
    "projection": {"learn": "projection"},
    "marginal likelihood": {"learn": "marginal_likelihood", "criterion": "loo_divergence"},
    "criterion": {"criterion": "projection_error"},
    "nested": {"exchange": False},
    "floating": {"floating": True},
    "kernel": {"kernel": Constant() + Matern52()},
    "linear": {"kernel": Linear()},
    "prefilter": {"prefilter": ("ard", 3)},
    "some rows": {"search_rows": 16, "random_state": 3},
}


SLOW_OPTIONS = {
    "exhaustive",
    "prior",
    "prior of the reference",
    "weak prior",
    "marginal likelihood",
    "criterion",
    "nested",
    "linear",
}


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(options, id=name, marks=[pytest.mark.slow] if name in SLOW_OPTIONS else [])
        for name, options in OPTIONS.items()
    ],
)
def test_forward_searches_come_back(ref, new, kept, same, options):
    path = gpproj.forward_search(ref, 2, progress=False, **options)
    again = kept(path)
    assert_path(same, path, again, new)
    same(again.reference, ref)
    for name in ("learn", "criterion", "prior", "exchange", "floating"):
        if name in options:
            assert again.recipe.keywords[name] == options[name]


def test_the_best_sets_beside_a_path_come_back(exchanged, new, kept, same):
    again = kept(exchanged)
    assert_path(same, exchanged, again, new)
    assert again.best(2).inputs == ("a", "b")
    assert again[2].inputs == exchanged.order
    assert len(again.pool) > 2
    beside = {unit.name for own in again.pool for unit in own.units}
    assert beside > set(again.order)  # units that never entered come back too


def test_what_may_be_wrong_with_a_path_comes_back(path, new, kept, same):
    doubtful = path.projections[1]._replace(doubt=0.25, converged=False)
    odd = replace(path, projections=(path.projections[0], doubtful, path.projections[2]))
    assert len(odd.problems) == 2
    again = kept(odd)
    assert_path(same, odd, again, new)
    assert again.problems == odd.problems
    assert again[1].problems == odd[1].problems
    assert len(again[1].problems) == 2


def test_loading_a_path_fits_no_kernel_to_the_mean_of_the_reference(ref, kept, same, monkeypatch):
    path = gpproj.forward_search(ref, 1, kernel=Constant() + Linear(), progress=False)

    def fail(*_):
        raise AssertionError("fitted")

    monkeypatch.setattr("gpproj.reference.values._fitted", fail)
    again = kept(path)
    same(path.projector.family, again.projector.family)
    with pytest.raises(AssertionError, match="fitted"):
        gpproj.project(again.reference, ["a"], kernel=Linear() + Matern32())


def test_backward_searches_and_given_orders_come_back(ref, new, kept, same, tmp_path):
    backward = gpproj.backward_search(ref, 2, progress=False, costs={"a": 2.0})
    again = kept(backward)
    assert len(again.always) == 2
    assert_path(same, backward, again, new)
    given = gpproj.project_path(ref, ["b", "a"], "marginal_likelihood", prior="log-uniform")
    given.save(tmp_path / "given")
    assert_path(same, given, gpproj.load(tmp_path / "given"), new)


@pytest.mark.slow
def test_extended_paths_come_back(ref, path, data, new, kept, same):
    given = gpproj.project_path(ref, ["d"])
    longer = gpproj.forward_search(ref, 2, extend=given, progress=False, always=())
    again = kept(longer)
    assert_path(same, longer, again, new)
    other = ref.refit(data[0][:16], data[1][:16])
    same(longer.repeat(other).projections, again.repeat(other).projections)


def test_a_path_that_knows_no_recipe_comes_back(ref, path, kept):
    again = kept(path.reproject(ref))
    with pytest.raises(ValueError, match="does not know how it was found"):
        again.repeat(ref)


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [2, "draws"])
def test_clusters_come_back(drawn, new, kept, same, clusters):
    path = gpproj.project_path(drawn, ["a", "c"], clusters=clusters)
    again = kept(path)
    assert_path(same, path, again, new)
    assert again[2].clusters == (2 if clusters == 2 else 6)


@pytest.mark.slow
def test_a_loaded_path_is_searched_again_and_further(ref, path, data, kept, same):
    again = kept(path)
    other = ref.refit(data[0][:16], data[1][:16])
    one, two = path.repeat(other), again.repeat(other)
    same(one.projections, two.projections)
    same(one.candidate_records, two.candidate_records)
    same(path.reproject(other).projections, again.reproject(other).projections)
    longer = gpproj.forward_search(again.reference, 3, extend=again, progress=False)
    expected = gpproj.forward_search(ref, 3, extend=path, progress=False)
    same(longer.projections, expected.projections)


def test_a_loaded_path_goes_on_from_its_best_sets(exchanged, new, kept, same, tmp_path):
    again, ref = kept(exchanged), exchanged.reference
    file = tmp_path / "search.npz"
    longer = gpproj.forward_search(
        again.reference, 3, extend=again, checkpoint=file, progress=False
    )
    expected = gpproj.forward_search(ref, 3, extend=exchanged, progress=False)
    assert_path(same, expected, longer, new)
    # What lies beside the path matters: without it the search goes another way.
    alone = replace(exchanged, better=(None,) * 3, pool=())
    other = gpproj.forward_search(ref, 3, extend=alone, progress=False)
    assert [own.projection.value for own in other.pool] != [
        own.projection.value for own in longer.pool
    ]
    resumed = gpproj.forward_search(ref, 3, checkpoint=file, progress=False)
    same(resumed.better, expected.better)
    same(resumed.pool, expected.pool)


def test_a_loaded_path_refuses_to_go_on_with_other_settings(exchanged, kept):
    again = kept(exchanged)
    for options in ({"learn": "projection"}, {"criterion": "projection_error"}, {"prior": None}):
        with pytest.raises(ValueError, match="extend must be a path of the same reference"):
            gpproj.forward_search(again.reference, 3, extend=again, progress=False, **options)


def test_a_checkpoint_goes_on_with_a_loaded_reference(ref, path, kept, tmp_path, same):
    file = tmp_path / "search.npz"
    gpproj.forward_search(ref, 1, checkpoint=file, progress=False)
    resumed = gpproj.forward_search(kept(ref), 2, checkpoint=file, progress=False)
    same(resumed.projections, path.projections)
    same(resumed.better, path.better)
    same(resumed.pool, path.pool)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_validation_knows_a_loaded_path(ref, kept, options):
    path = gpproj.forward_search(ref, 0, progress=False, **options)
    assert fingerprint(kept(path), True, None) == fingerprint(path, True, None)


@pytest.mark.parametrize("inputs", [[], ["b"], ["d", "a"]])
def test_submodels_come_back(ref, new, kept, same, inputs):
    sub = gpproj.project(ref, inputs)
    again = kept(sub)
    same(sub, again)
    assert again.loo_divergence == sub.loo_divergence
    assert_predicts(same, sub, again, new)
    same(sub.predict(new[0][inputs].to_numpy()), again.predict(new[0][inputs].to_numpy()))
    assert again.extra_variance == sub.extra_variance


def test_what_may_be_wrong_with_a_submodel_comes_back(ref, kept, same):
    sub = replace(gpproj.project(ref, ["d"]), problems=("it is small", "it is odd"))
    again = kept(sub)
    same(sub, again)
    assert again.problems == ("it is small", "it is odd")


def test_mixtures_come_back(drawn, new, kept, same):
    sub = gpproj.project(drawn, ["a"], clusters=3)
    again = kept(sub)
    same(sub, again)
    assert_predicts(same, sub, again, new)


def test_a_submodel_leaves_the_data_behind(path, tmp_path):
    path[1].save(tmp_path / "sub")
    path.save(tmp_path / "path")
    assert sorted(one.name for one in (tmp_path / "sub").iterdir()) == [
        "manifest.json",
        "submodel.npz",
    ]
    with np.load(tmp_path / "sub" / "submodel.npz") as held:
        assert held["parts_0_predictor_X"].shape == (24, 1)
        assert not any(name.endswith("y") for name in held if name != "manifest.json")


def test_any_names_come_back(data, kept, same):
    X, y = data
    odd = X.rename(columns={"a": "größe\n", "b": "../b", "c": "", "d": "mapping"})
    kernel = Constant() + SquaredExponential()
    ref = gpproj.condition(odd, y, kernel, Gaussian(0.2))
    path = gpproj.project_path(ref, ["", "größe\n"])
    again = kept(path)
    assert again.order == ("", "größe\n")
    same(again.reference, ref)


# Validations


def assert_validation(same, one, other):
    names = ("scores", "method", "search", "orders", "k_hat", "refitted", "chosen", "along")
    for name in (*names, "margin", "compared"):
        same(getattr(one, name), getattr(other, name))
    assert one.problems == other.problems
    assert one.answer() == other.answer()
    pd.testing.assert_frame_equal(one.along_path().summary(), other.along_path().summary())
    assert other.path.reference is other.reference
    pd.testing.assert_frame_equal(one.summary(), other.summary())
    pd.testing.assert_frame_equal(one.pointwise, other.pointwise)
    assert repr(one) == repr(other)


def test_validations_by_folds_come_back(ref, path, new, kept, same):
    cv = quiet(gpproj.validate)(ref, path, folds=2, nested=True, random_state=0, progress=False)
    again = kept(cv)
    assert_validation(same, cv, again)
    assert_path(same, cv.path, again.path, new)
    pd.testing.assert_frame_equal(cv.ranking_proportions(), again.ranking_proportions())
    pd.testing.assert_frame_equal(cv.nested_summary(), again.nested_summary())
    assert_predicts(same, cv.submodel(1), again.submodel(1), new)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["kfold", "loo"])
def test_validations_of_best_sets_come_back_and_are_repeated(exchanged, kept, same, method):
    options = {"folds": 2} if method == "kfold" else {"points": 3}
    options |= {"method": method, "random_state": 0, "progress": False}
    cv = quiet(gpproj.validate)(exchanged.reference, exchanged, **options)
    assert cv.along is not None
    again = kept(cv)
    assert_validation(same, cv, again)
    assert again.submodel(2).inputs == ("a", "b")
    assert "path_elpd_diff" in again.summary()
    repeated = quiet(gpproj.validate)(again.reference, again.path, **options)
    same(repeated.scores, cv.scores)
    same(repeated.along, cv.along)


@pytest.mark.slow
def test_a_checkpoint_of_folds_goes_on_with_a_loaded_path(exchanged, kept, same, tmp_path):
    options = {"folds": 2, "random_state": 0, "progress": False}
    options |= {"checkpoint": tmp_path / "folds"}
    cv = quiet(gpproj.validate)(exchanged.reference, exchanged, **options)
    (tmp_path / "folds" / "fold_0001.npz").unlink()
    again = kept(exchanged)
    resumed = quiet(gpproj.validate)(again.reference, again, **options)
    same(resumed.scores, cv.scores)
    same(resumed.along, cv.along)


def test_validations_by_leaving_one_out_come_back(ref, path, kept, same, tmp_path):
    cv = quiet(gpproj.validate)(ref, path, "loo", points=3, random_state=0, progress=False)
    again = kept(cv)
    assert_validation(same, cv, again)
    repeated = quiet(gpproj.validate)(
        again.reference, again.path, "loo", points=3, random_state=0, progress=False
    )
    same(repeated.scores, cv.scores)  # by Newton steps: it knows that it was fitted


@pytest.mark.slow
def test_what_a_validation_of_draws_has_weighed_comes_back(drawn, kept, same):
    pytest.importorskip("arviz")
    path = gpproj.project_path(drawn, ["a"])
    cv = quiet(gpproj.validate)(drawn, path, method="loo", points=3, random_state=0, progress=False)
    assert cv.k_hat is not None
    assert_validation(same, cv, kept(cv))


# Classes, counts and heavy tails


def others(name, n=24, seed=0):
    """Inputs, targets of another kind, and exposures where there are any."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 2)), columns=["a", "b"])
    f = 1.5 * X["a"].to_numpy()
    if name == "classes":
        return X, np.where(f + rng.standard_normal(n) > 0.0, "yes", "no"), None
    if name == "counts":
        exposure = rng.uniform(0.5, 2.0, n)
        return X, rng.poisson(exposure * np.exp(f)), exposure
    return X, f + 0.3 * rng.standard_t(4, n), None


def answers(model, name):
    """What a model says of new rows."""
    X, y, exposure = others(name, 7, 1)
    return [
        *model.predict(X),
        *model.predict_response(X, exposure),
        model.log_density(X, y, exposure),
    ]


LIKELIHOODS = {
    "classes": ("bernoulli", "laplace"),
    "counts": ("poisson", "laplace"),
    "tails": ("student-t", "laplace"),
}


@pytest.fixture(
    scope="module", params=["classes", "counts", pytest.param("tails", marks=pytest.mark.slow)]
)
def other(request):
    (likelihood, inference), (X, y, exposure) = LIKELIHOODS[request.param], others(request.param)
    ref = fit_mode(X, y, likelihood, exposure=exposure, inference=inference)
    return request.param, ref, gpproj.forward_search(ref, 1, progress=False)


def test_references_of_other_likelihoods_come_back(other, kept, same):
    name, ref, _ = other
    again = kept(ref)
    same(ref, again)
    assert again.classes == (("no", "yes") if name == "classes" else None)
    assert again.likelihood == ref.likelihood
    assert again.problem.method == "laplace"
    same(ref._central, again._central)
    assert again._central.marginals is not None
    same(ref.latent.sites, again.latent.sites)
    assert_target(same, ref.target, again.target)
    same(answers(ref, name), answers(again, name))
    same(ref.loo(), again.loo())
    assert repr(again) == repr(ref)
    X, y, exposure = others(name, 16, 2)
    one, two = (model.refit(X, y, exposure) for model in (ref, again))
    same(one, two)
    same(answers(one, name), answers(two, name))


def test_paths_and_submodels_of_other_likelihoods_come_back(other, kept, same, tmp_path):
    name, ref, path = other
    again = kept(path)
    same(path.projections, again.projections)
    same(ref, again.reference)
    for size in range(2):
        same(path[size], again[size])
        same(answers(path[size], name), answers(again[size], name))
    path[1].save(tmp_path / "sub")
    alone = gpproj.load(tmp_path / "sub")
    same(path[1], alone)
    same(answers(path[1], name), answers(alone, name))
    assert alone.classes == ref.classes
    smaller = ref.refit(*others(name, 16, 2))
    same(path.repeat(smaller).projections, again.repeat(smaller).projections)


def test_validations_of_other_likelihoods_come_back(other, kept, same):
    name, ref, path = other
    options = {"folds": 2, "random_state": 0, "progress": False}
    cv = quiet(gpproj.validate)(ref, path, **options)
    again = kept(cv)
    assert_validation(same, cv, again)
    assert again.statistics == cv.statistics
    same(answers(cv.submodel(1), name), answers(again.submodel(1), name))
    if name == "classes":
        same(quiet(gpproj.validate)(again.reference, again.path, **options).scores, cv.scores)


@pytest.mark.parametrize("labels", [(False, True), (-1, 1), (0.5, 2.0), ("", "größe")])
def test_labels_of_classes_come_back_as_they_were(data, kept, labels):
    X, y = data
    ref = gpproj.condition(X, [labels[int(one > 5.0)] for one in y], Constant(), "logit")
    again = kept(ref)
    assert again.classes == ref.classes == labels
    assert [type(one) for one in again.classes] == [type(one) for one in labels]


# Elsewhere


@pytest.mark.slow
def test_another_process_predicts_the_same(path, new, tmp_path):
    X, _ = new
    path.save(tmp_path / "path")
    X.to_csv(tmp_path / "new.csv", index=False, float_format="%.17g")
    code = (
        "import sys, json, gpproj, pandas\n"
        "folder = sys.argv[1]\n"
        "sub = gpproj.load(folder + '/path')[2]\n"
        "found = sub.predict(pandas.read_csv(folder + '/new.csv'))\n"
        "print(json.dumps([one.tolist() for one in found]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    expected = [one.tolist() for one in path[2].predict(pd.read_csv(tmp_path / "new.csv"))]
    assert json.loads(done.stdout) == expected


def test_the_same_model_makes_the_same_files(path, tmp_path):
    path.save(tmp_path / "one")
    gpproj.load(tmp_path / "one").save(tmp_path / "two")
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()


LOADING = """
import sys
import numpy
import gpproj
sub = gpproj.load(sys.argv[1])
sub.predict_response(numpy.zeros((2, len(sub.inputs))))
heavy = "scipy.stats scipy.optimize pandas sklearn matplotlib joblib".split()
rooms = [f"gpproj.{room}" for room in "search validation plots report".split()]
print([name for name in (*heavy, *rooms) if name in sys.modules])
"""


def test_a_submodel_loads_and_predicts_without_what_only_searches_need(ref, tmp_path):
    gpproj.project(ref, ["b"]).save(tmp_path / "model")
    command = [sys.executable, "-c", LOADING, str(tmp_path / "model")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
