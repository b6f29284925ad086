"""Linear models come back: references, submodels, paths and validations."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import gpproj
from gpproj.store import StoreError

FAMILIES = ("gaussian", "binomial", "poisson")


def make_reference(family, **options):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((50, 5)), columns=list("abcde"))
    X["c"] = X["a"] + X["b"] + 0.4 * rng.standard_normal(50)
    weights = np.array([0.8, 0.8, 0.0, 0.3, 0.0]) + 0.1 * rng.standard_normal((30, 5))
    eta = X.to_numpy() @ weights[0]
    if family == "gaussian":
        y = 5.0 + 2.0 * eta + rng.standard_normal(50)
        return gpproj.from_linear_draws(
            X, y, 2.0 * weights, rng.uniform(0.8, 1.2, 30), intercept=5.0, **options
        )
    if family == "binomial":
        y = np.where(rng.random(50) < expit(eta), "yes", "no")
        return gpproj.from_linear_draws(X, y, weights, family=family, **options)
    exposure = rng.uniform(0.5, 2.0, 50)
    y = rng.poisson(exposure * np.exp(0.5 * eta))
    return gpproj.from_linear_draws(
        X, y, 0.5 * weights, family=family, exposure=exposure, **options
    )


@pytest.fixture(params=FAMILIES)
def ref(request):
    return make_reference(request.param)


def assert_predicts_the_same(one, other):
    new = pd.DataFrame(np.random.default_rng(1).standard_normal((6, 5)), columns=list("abcde"))
    for name in ("predict", "predict_response"):
        for mine, its in zip(getattr(one, name)(new), getattr(other, name)(new), strict=True):
            np.testing.assert_array_equal(mine, its)


def test_a_reference_comes_back(ref, kept, same):
    again = kept(ref)
    same(ref, again)
    same(ref.latent, again.latent)
    assert again.classes == ref.classes
    assert_predicts_the_same(ref, again)
    one, two = (gpproj.forward_search(own, progress=False) for own in (ref, again))
    assert one.order == two.order
    np.testing.assert_array_equal(one.errors, two.errors)
    np.testing.assert_array_equal(one.best_errors, two.best_errors)


def test_a_submodel_comes_back(ref, kept, same):
    sub = gpproj.project(ref, ["d", "a"])
    again = kept(sub)
    assert type(again) is gpproj.LinearSubmodel
    assert again.inputs == ("d", "a")
    same(sub.linear, again.linear)
    np.testing.assert_array_equal(again.errors, sub.errors)
    np.testing.assert_array_equal(again.extra, sub.extra)  # NaN without Gaussian noise
    assert (again.projection_error, again.posterior_kl) == (sub.projection_error, sub.posterior_kl)
    assert repr(again) == repr(sub)
    assert_predicts_the_same(sub, again)


def test_a_path_comes_back_and_goes_on(ref, kept):
    path = gpproj.forward_search(
        ref, 2, always=["e"], groups={"pair": ["b", "d"]}, costs={"a": 2.0}, progress=False
    )
    again = kept(path)
    pd.testing.assert_frame_equal(again.summary(), path.summary())
    pd.testing.assert_frame_equal(again.candidates, path.candidates)
    assert again.problems == path.problems
    assert again.clusters == path.clusters == "draws"
    for size in range(len(path)):
        assert again.best_inputs(size) == path.best_inputs(size)
        assert_predicts_the_same(path[size], again[size])
        assert_predicts_the_same(path.best(size), again.best(size))
    options = {"always": ["e"], "groups": {"pair": ["b", "d"]}, "costs": {"a": 2.0}}
    longer, whole = (
        gpproj.forward_search(own.reference, 3, extend=own, progress=False, **options)
        for own in (again, path)
    )
    assert longer.order == whole.order
    np.testing.assert_array_equal(longer.errors, whole.errors)
    assert again.repeat(ref).order == path.order


def test_other_paths_come_back(ref, kept, tmp_path):
    back = gpproj.backward_search(ref, 1, progress=False)
    np.testing.assert_array_equal(kept(back).errors, back.errors)
    given = gpproj.project_path(ref, "kl", max_inputs=2)
    given.save(tmp_path / "given")
    again = gpproj.load(tmp_path / "given")
    assert again.order == given.order
    assert again.recipe.keywords["order"] == "kl"


def test_a_validation_comes_back(kept):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    ref = gpproj.sample_linear(X, X[:, 1] + 0.5 * rng.standard_normal(60), 100, random_state=0)
    cv = gpproj.validate(ref, folds=3, random_state=0, progress=False)
    again = kept(cv)
    pd.testing.assert_frame_equal(again.summary(), cv.summary())
    assert again.answer() == cv.answer()
    # The recipe of gpproj's own sampler comes back too.
    other = again.reference.refit(X[:40], X[:40, 1])
    np.testing.assert_array_equal(other.weights, ref.refit(X[:40], X[:40, 1]).weights)
    assert again.path.repeat(other).order[0] == "x1"


def test_a_function_of_the_user_stays_behind(kept):
    ref = make_reference("gaussian", refit=lambda X, y: None)
    with pytest.raises(ValueError, match="from_linear_draws was called without refit="):
        kept(ref).refit(None, None)


def test_row_groups_come_back(kept):
    ref = make_reference("gaussian").with_row_groups(np.arange(50) // 5)
    np.testing.assert_array_equal(kept(ref).training.row_groups, np.arange(50) // 5)


def test_the_folder_says_what_it_holds(tmp_path):
    make_reference("poisson").save(tmp_path / "ref")
    manifest = json.loads((tmp_path / "ref" / "manifest.json").read_text())
    assert manifest["kind"] == "LinearReference"
    assert manifest["summary"].startswith("LinearReference(n=50, inputs=5, draws=30")


def test_what_makes_no_sense_is_refused(tmp_path):
    from gpproj import store
    from gpproj.io import folder

    make_reference("gaussian").save(tmp_path / "ref")
    content, arrays = store.read(tmp_path / "ref" / "reference.npz", "reference")
    content["LinearReference"]["linear"]["LinearDraws"]["family"] = "cauchy"
    changed = store.Stored(content, arrays)
    folder.write_folder(tmp_path / "odd", "LinearReference", "", {"reference": changed}, False)
    with pytest.raises(StoreError, match="makes no sense"):
        gpproj.load(tmp_path / "odd")
