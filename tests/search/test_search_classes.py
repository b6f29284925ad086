"""Searches, rival measures and effects of classes and counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.reference.draws import Draws
from gpproj.store import StoreError
from tests.fitting import fit_mode

NAMES = list("abcdef")
RELEVANT = ("b", "e")
TARGETS = ("probit", "logit", "poisson", "negative-binomial", "student-t")
FITTED = ("probit", "poisson")


def make_data(name, n=45, seed=0):
    """Two of six inputs matter."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 6)), columns=NAMES)
    f = 2.5 * np.sin(X["b"]) + 1.5 * X["e"]
    if name in ("probit", "logit"):
        return X, np.where(f + 0.5 * rng.standard_normal(n) > 0, "yes", "no")
    if name == "student-t":
        return X, f + 0.2 * rng.standard_t(4, size=n)
    return X, rng.poisson(np.exp(0.6 * f))


KERNEL = gpproj.kernels.Constant(0.3) + gpproj.kernels.SquaredExponential(
    4.0, [20.0, 2.5, 20.0, 20.0, 4.0, 20.0]
)


@pytest.fixture(scope="module")
def refs():
    """Two are fitted, the others at plausible values."""
    made = {name: fit_mode(*make_data(name), name) for name in FITTED}
    for name in set(TARGETS) - set(FITTED):
        made[name] = gpproj.condition(*make_data(name), KERNEL, name, standardize=True)
    return made


@pytest.fixture(scope="module")
def paths(refs):
    return {name: gpproj.forward_search(refs[name], 3, progress=False) for name in TARGETS}


def same(one, two):
    assert one.order == two.order
    np.testing.assert_allclose(one.errors, two.errors, rtol=0, atol=1e-10)
    pd.testing.assert_frame_equal(one.candidates, two.candidates)


@pytest.mark.parametrize("name", TARGETS)
def test_the_search_finds_the_inputs_that_matter(refs, paths, name):
    path = paths[name]
    assert set(path.order[:2]) == set(RELEVANT)
    assert np.all(np.diff(path.errors) < 1e-6)
    assert path.relative_errors[2] < 0.5
    assert np.all(np.isfinite(path.summary()[["error", "posterior_kl", "extra_sd"]].to_numpy()))
    X, y = make_data(name, seed=1)
    scores = [path[size].log_density(X, y).mean() for size in range(3)]
    assert scores[0] < scores[1] < scores[2]
    assert scores[2] > refs[name].log_density(X, y).mean() - 0.1


@pytest.mark.slow
def test_exhaustive_and_backward_searches_agree(refs, paths):
    name = "probit"
    exhaustive = gpproj.forward_search(refs[name], 2, strategy="exhaustive", progress=False)
    assert (paths[name].relative_errors[:3] - exhaustive.relative_errors).max() <= 0.02
    back = gpproj.backward_search(refs[name], 2, progress=False)
    assert set(back[0].inputs) == set(RELEVANT)


@pytest.mark.slow
@pytest.mark.parametrize("name", FITTED)
def test_workers_change_nothing(refs, paths, name):
    same(gpproj.forward_search(refs[name], 3, n_jobs=2, progress=False), paths[name])


@pytest.mark.parametrize("name", FITTED)
def test_a_checkpoint_is_gone_on_from(refs, paths, name, tmp_path):
    file = tmp_path / "search.npz"
    gpproj.forward_search(refs[name], 1, checkpoint=file, progress=False)
    resumed = gpproj.forward_search(refs[name], 3, checkpoint=file, progress=False)
    same(resumed, paths[name])
    X, _ = make_data(name)
    np.testing.assert_allclose(resumed[2].predict(X).mean, paths[name][2].predict(X).mean)
    other = next(one for one in FITTED if one != name)
    with pytest.raises(StoreError, match="other data or settings"):
        gpproj.forward_search(refs[other], 3, checkpoint=file, progress=False)


def test_a_checkpoint_knows_the_link(tmp_path):
    X, y = make_data("probit", n=20)
    file = tmp_path / "search.npz"
    probit, logit = (
        gpproj.condition(X, y, KERNEL, link, standardize=True) for link in ("probit", "logit")
    )
    gpproj.forward_search(probit, 1, checkpoint=file, progress=False)
    with pytest.raises(StoreError, match="other data or settings"):
        gpproj.forward_search(logit, 1, checkpoint=file, progress=False)


@pytest.mark.parametrize("name", FITTED)
def test_the_order_of_length_scales(refs, name):
    path = gpproj.project_path(refs[name], order="ard")
    relevances = refs[name].ard_relevance()
    assert path.order == tuple(relevances.sort_values(ascending=False, kind="stable").index)
    assert len(path) == 7
    assert path.relative_errors[0] == 1.0
    assert path.relative_errors[-1] == pytest.approx(0.0, abs=0.02)


@pytest.mark.parametrize("name", FITTED)
def test_leaving_one_input_out(refs, name):
    missed = gpproj.leave_input_out(refs[name])
    assert set(missed.sort_values(ascending=False).index[:2]) == set(RELEVANT)


@pytest.mark.parametrize("method", ["kl", "variance", "permutation"])
@pytest.mark.parametrize("name", TARGETS)
def test_rival_measures_put_relevant_inputs_first(refs, name, method):
    found = gpproj.relevance(refs[name], method, random_state=0)
    assert found.max() == 1.0
    assert set(found.sort_values(ascending=False).index[:2]) == set(RELEVANT)
    assert found.drop(list(RELEVANT)).max() < 0.5 * found[list(RELEVANT)].min()


@pytest.mark.parametrize("method", ["kl", "variance", "permutation"])
@pytest.mark.parametrize("name", FITTED)
def test_a_draw_that_is_there_twice_counts_as_one(refs, name, method):
    ref = refs[name]
    doubled = replace(ref, draws=Draws.equal(np.repeat(ref.draws.parameters, 2, axis=0)))
    expected = gpproj.relevance(ref, method, random_state=0)
    found = gpproj.relevance(doubled, method, random_state=0)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)


def test_kl_of_a_mixture_of_classes_is_that_of_its_probability(refs):
    """Classes are known by p alone, whose rate is |p'| / sqrt(p (1 - p))."""
    ref = refs["probit"]
    parameters = np.repeat(ref.draws.parameters, 2, axis=0)
    parameters[1, 1:] += np.array([0.7, -0.3, 0.4, 0.1, 0.2, -0.6, 0.3])
    mixed = replace(ref, draws=Draws(parameters, np.array([0.3, 0.7])))
    X, _ = make_data("probit")
    p = mixed.predict_response(X).mean
    rates = []
    for name in NAMES:
        ahead, back = X.copy(), X.copy()
        step = 1e-4 * X[name].std(ddof=0)
        ahead[name] += step
        back[name] -= step
        slope = (mixed.predict_response(ahead).mean - mixed.predict_response(back).mean) / 2e-4
        rates.append(np.mean(np.abs(slope) / np.sqrt(p * (1 - p))))
    expected = np.array(rates) / np.max(rates)
    np.testing.assert_allclose(gpproj.relevance(mixed, "kl"), expected, rtol=1e-4, atol=1e-6)


def test_kl_of_counts_is_the_change_of_the_expected_count(refs):
    ref = refs["poisson"]
    X, _ = make_data("poisson")
    rates = []
    _mean, variance = ref.predict_response(X)
    for name in NAMES:
        ahead, back = X.copy(), X.copy()
        step = 1e-4 * X[name].std(ddof=0)
        ahead[name] += step
        back[name] -= step
        slope = (ref.predict_response(ahead).mean - ref.predict_response(back).mean) / 2e-4
        rates.append(np.mean(np.abs(slope) / np.sqrt(variance)))
    expected = np.array(rates) / np.max(rates)
    np.testing.assert_allclose(gpproj.relevance(ref, "kl"), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", TARGETS)
def test_effects_are_averages_of_the_latent_function(refs, paths, name):
    X, _ = make_data(name)
    rows = X[:12]
    for model in (refs[name], paths[name][2]):
        found = gpproj.effects(model, rows, inputs=["b"], points=4)
        values = found[["x", "mean", "lower", "upper"]].to_numpy()
        assert np.all(np.isfinite(values))
        assert np.all((found["lower"] < found["mean"]) & (found["mean"] < found["upper"]))
        for x, mean in zip(found["x"], found["mean"], strict=True):
            moved = rows.assign(b=x)
            assert mean == pytest.approx(model.predict(moved).mean.mean(), rel=1e-9, abs=1e-9)
    assert len(gpproj.effects(paths[name][2], rows, points=3)) == 6
