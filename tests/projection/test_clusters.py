"""Projections of clusters of draws: weights, means, caches and the limits of one and of all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

import gpproj
from gpproj.projection import CRITERIA, OBJECTIVES, ProjectionOptions, mask_of, projector_of
from gpproj.projection import clusters as clusters_module
from gpproj.projection.starts import starts_at
from gpproj.reference.draws import Draws
from tests.fitting import fit_mode

WEIGHTS = np.array([0.3, 0.05, 0.25, 0.02, 0.2, 0.18])
NAMES = ("a", "b", "c")
MEASURES = {"loo": "loo_divergence", "projection": "projection_error"}
both = pytest.mark.parametrize("learn", MEASURES)


def make_data(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 3)), columns=NAMES)
    y = 5 + 2 * np.sin(2 * X["a"]) + X["b"] + 0.4 * X["c"] + 0.4 * rng.standard_normal(n)
    return X, y


@pytest.fixture(scope="module")
def point():
    return fit_mode(*make_data())


def drawn(point, weights=WEIGHTS):
    """Six draws, the odd ones far from the even ones: wigglier functions and less noise."""
    rng = np.random.default_rng(1)
    parameters = point.draws.parameters + 0.1 * rng.standard_normal((6, 6))
    parameters[1::2] += [0.0, 0.5, -1.5, -1.5, -1.5, -2.0]
    return replace(point, draws=Draws(parameters, np.asarray(weights)))


@pytest.fixture(scope="module")
def ref(point):
    return drawn(point)


@pytest.fixture(scope="module")
def two(ref):
    return gpproj.project(ref, ["a", "b"], clusters=2)


def part_of(sub, k):
    """The Gaussian process of one cluster as a submodel of its own."""
    return replace(sub, parts=(sub.parts[k]._replace(weight=1.0),))


def same(one, other):
    assert one.posterior_kl == other.posterior_kl
    assert one.projection_error == other.projection_error
    assert one.loo_divergence == other.loo_divergence
    X, y = make_data(n=5, seed=9)
    np.testing.assert_array_equal(one.predict(X).mean, other.predict(X).mean)
    np.testing.assert_array_equal(one.log_density(X, y), other.log_density(X, y))


@both
def test_one_cluster_is_the_integrated_projection(ref, learn):
    plain = gpproj.project(ref, ["a", "b"], learn, clusters=1)
    usual = gpproj.project(ref, ["a", "b"], learn)
    same(usual, gpproj.project(ref, ["a", "b"], learn, clusters="draws" if learn == "loo" else 1))
    assert plain.clusters == 1
    assert plain.noise_variance == pytest.approx(ref.noise_variance)
    projector = projector_of(ref, ProjectionOptions(learn))
    (found,) = projector.project([mask_of((0, 1), 3)], check=True)
    found = projector.with_figures(found)
    assert (plain.posterior_kl, plain.projection_error, plain.loo_divergence) == found.figures
    unit = ref.training.scaling.target_scale**2
    assert plain.extra_variance == pytest.approx(np.exp(found.parameters[-1]) * unit)


@pytest.mark.slow
@both
def test_all_inputs_and_all_draws_reproduce_the_reference(ref, learn):
    sub = gpproj.project(ref, NAMES, learn, prior=None, clusters="draws")
    assert sub.clusters == 6
    minimised = {"loo": sub.loo_divergence, "projection": sub.posterior_kl}[learn]
    assert -1e-6 < minimised < 1e-4
    X, y = make_data(n=30, seed=2)
    for name in ("predict", "predict_response"):
        found, expected = getattr(sub, name)(X), getattr(ref, name)(X)
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-3)
        np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-3)
    np.testing.assert_allclose(sub.log_density(X, y), ref.log_density(X, y), atol=1e-3)
    # The integrated projection is one Gaussian process and cannot be this mixture.
    one = gpproj.project(ref, NAMES, learn, prior=None, clusters=1)
    assert np.abs(one.log_density(X, y) - ref.log_density(X, y)).max() > 1e-2


# Without a prior the divergence of posteriors has valleys that clusters do not look for.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("learn", "prior"),
    [("loo", None), ("loo", "weak"), ("loo", "reference"), ("projection", "weak")],
)
def test_draws_are_projected_one_by_one(ref, prior, learn):
    sub = gpproj.project(ref, ["b"], learn, prior=prior, clusters="draws")
    assert [part.weight for part in sub.parts] == pytest.approx(WEIGHTS.tolist())
    for k in (0, 1):
        alone = replace(ref, draws=Draws.equal(ref.draws.parameters[[k]]))
        expected = gpproj.project(alone, ["b"], learn, prior=prior)
        X, _ = make_data(n=5, seed=3)
        np.testing.assert_allclose(
            part_of(sub, k).predict(X).mean, expected.predict(X).mean, rtol=1e-2
        )
        assert sub.parts[k].likelihood.variance == pytest.approx(
            np.exp(ref.draws.parameters[k, -1])
        )


def test_draws_that_are_alike_share_a_cluster(ref, two):
    assert two.clusters == 2
    even, odd = two.parts
    assert even.weight == pytest.approx(WEIGHTS[::2].sum())
    assert odd.weight == pytest.approx(WEIGHTS[1::2].sum())
    noise = np.exp(ref.draws.parameters[:, -1])
    assert even.likelihood.variance == pytest.approx(WEIGHTS[::2] @ noise[::2] / even.weight)
    assert odd.likelihood.variance == pytest.approx(WEIGHTS[1::2] @ noise[1::2] / odd.weight)
    assert two.noise_variance == pytest.approx(ref.noise_variance)


def test_clusters_are_mixed_by_weight(point):
    X, y = make_data(n=20, seed=4)
    inputs, weights = ["a", "b"], np.array([0.9, 0.1])
    ref = drawn(point, np.tile(weights / 3, 3))
    sub = gpproj.project(ref, inputs, clusters=2)
    assert [part.weight for part in sub.parts] == pytest.approx([0.9, 0.1])
    parts = [part_of(sub, k) for k in (0, 1)]
    means = np.stack([one.predict(X).mean for one in parts])
    variances = np.stack([one.predict(X).variance for one in parts])
    densities = np.stack([one.log_density(X, y) for one in parts])
    mean, variance = sub.predict(X)
    np.testing.assert_allclose(mean, weights @ means, rtol=1e-10)
    expected = weights @ (variances + (means - weights @ means) ** 2)
    np.testing.assert_allclose(variance, expected, rtol=1e-9)
    mixture = logsumexp(densities, b=weights[:, None], axis=0)
    np.testing.assert_allclose(sub.log_density(X, y), mixture, rtol=1e-9)
    equal = logsumexp(densities, b=0.5, axis=0)
    assert np.abs(mixture - equal).max() > 0.1
    assert np.abs(mean - means.mean(axis=0)).max() > 0.1

    swapped = gpproj.project(drawn(point, np.tile(weights[::-1] / 3, 3)), inputs, clusters=2)
    assert [part.weight for part in swapped.parts] == pytest.approx([0.1, 0.9])
    for k in (0, 1):  # the clusters themselves stay
        np.testing.assert_allclose(
            part_of(swapped, k).predict(X).mean, parts[k].predict(X).mean, rtol=1e-3
        )
    assert np.abs(swapped.log_density(X, y) - sub.log_density(X, y)).max() > 0.1
    expected = logsumexp(densities, b=weights[::-1, None], axis=0)
    np.testing.assert_allclose(swapped.log_density(X, y), expected, atol=1e-2)


def test_kernel_and_extra_variance_are_weighted_means(two):
    parts = [part_of(two, k) for k in (0, 1)]
    weights = [part.weight for part in two.parts]
    logs = np.average([one.kernel.log_parameters(2) for one in parts], axis=0, weights=weights)
    np.testing.assert_allclose(two.kernel.log_parameters(2), logs)
    extra = np.average([one.extra_variance for one in parts], weights=weights)
    assert two.extra_variance == pytest.approx(extra)
    assert two.likelihood.variance == two.noise_variance


def own_divergences(ref, sub, clusters):
    """E / 2 and the errors of every cluster's process, from what the submodel holds."""
    found = []
    for draws, part in zip(ref.clustered_draws(clusters), sub.parts, strict=True):
        target, X = ref.cluster_of(draws).target, part.predictor.X
        target = replace(target, X=X, left_out=replace(target.left_out, X=X))
        parameters = np.append(part.predictor.log_parameters, np.log(part.extra))[None, :]
        everything = np.ones((1, len(sub.inputs)), dtype=bool)
        place = target, part.predictor.kernel, parameters, everything
        kl = 0.5 * OBJECTIVES["projection"].value(*place).value[0]
        errors = (CRITERIA[name](*place)[0] for name in ("projection_error", "loo_divergence"))
        found.append((kl, *errors))
    return np.array(found)


@both
@pytest.mark.parametrize(
    "inputs",
    [
        (),
        pytest.param((0,), marks=pytest.mark.slow),
        (1, 2),
        pytest.param((0, 1, 2), marks=pytest.mark.slow),
    ],
)
def test_no_cluster_is_worse_than_the_integrated_optimum(ref, inputs, learn):
    (integrated,) = projector_of(ref, ProjectionOptions(learn, prior=None)).project(
        [mask_of(inputs, 3)]
    )
    sub = gpproj.project(ref, inputs, learn, prior=None, clusters=2)
    objective = OBJECTIVES[learn]
    kept = [
        objective.value(
            objective.compared_with(ref.cluster_of(draws).target),
            integrated.kernel,
            integrated.parameters[None, :],
            integrated.active[None, :],
        ).value[0]
        for draws in ref.clustered_draws(2)
    ]
    found = own_divergences(ref, sub, 2)
    minimised = {"loo": found[:, 2], "projection": 2.0 * found[:, 0]}[learn]
    better = np.array(kept) - minimised
    assert better.min() > -2e-6
    assert better.max() > 0.06


@pytest.mark.slow
@both
def test_clusters_start_from_the_integrated_optimum(ref, monkeypatch, learn):
    """Other starts may all be hopeless: no signal, and length-scales that nothing can move."""
    asked = []

    def hopeless(family, mask, shares):
        asked.append(mask)
        start = family.bounds.upper.copy()
        start[1] = family.bounds.lower[1]
        return starts_at([start], mask)

    good = gpproj.project(ref, ["a", "b"], learn, prior=None, clusters=2)
    monkeypatch.setattr("gpproj.projection.clusters.reference_starts", hopeless)
    found = gpproj.project(ref, ["a", "b"], learn, prior=None, clusters=2)
    assert len(asked) == 2
    minimised = {"loo": "loo_divergence", "projection": "posterior_kl"}[learn]
    assert getattr(found, minimised) == pytest.approx(getattr(good, minimised), rel=1e-4)


@both
def test_clusters_start_from_their_own_values(ref, monkeypatch, learn):
    asked = []

    def noted(family, mask, shares):
        asked.append(family.known)
        return starts_at([family.at(family.known, 0.1)], mask)

    monkeypatch.setattr("gpproj.projection.clusters.reference_starts", noted)
    # With all inputs each cluster is a submodel of its own.
    gpproj.project(ref, ref.feature_names, learn, clusters="draws")
    np.testing.assert_allclose(asked, ref.draws.parameters[:, :-1])


@both
def test_errors_are_weighted_means_over_clusters(ref, learn):
    sub = gpproj.project(ref, ["a"], learn, clusters=3)
    weights = np.array([part.weight for part in sub.parts])
    assert weights.sum() == pytest.approx(1.0)
    found = own_divergences(ref, sub, 3)
    assert sub.posterior_kl == pytest.approx(weights @ found[:, 0], rel=1e-9)
    assert sub.projection_error == pytest.approx(weights @ found[:, 1], rel=1e-9)
    assert sub.loo_divergence == pytest.approx(weights @ found[:, 2], rel=1e-9)
    assert np.ptp(found, axis=0).min() > 0.1


@both
def test_null_model_with_clusters(ref, learn):
    X, y = make_data()
    null = gpproj.project(ref, [], learn, clusters=2)
    assert null.clusters == 2
    assert null.inputs == ()
    one = gpproj.project(ref, ["a"], learn, clusters=2)
    assert getattr(null, MEASURES[learn]) > getattr(one, MEASURES[learn])
    np.testing.assert_allclose(null.predict(X[:3]).mean, y.mean(), rtol=1e-6)
    for k in (0, 1):
        alone = replace(ref, draws=ref.draws.take(np.arange(k, 6, 2)))
        expected = gpproj.project(alone, [], learn, clusters=1).predict_response(X[:3])
        found = part_of(null, k).predict_response(X[:3])
        np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-3)


def test_other_ways_to_learn_and_other_kernels(ref, two):
    by_data = gpproj.project(ref, ["a", "b"], "marginal_likelihood", clusters=2)
    assert by_data.clusters == 2
    by_posterior = gpproj.project(ref, ["a", "b"], "projection", clusters=2)
    assert by_data.posterior_kl > by_posterior.posterior_kl
    assert by_data.loo_divergence > two.loo_divergence
    assert two.posterior_kl > by_posterior.posterior_kl
    assert by_posterior.loo_divergence > two.loo_divergence
    kernel = gpproj.kernels.Constant() + gpproj.kernels.Matern52()
    other = gpproj.project(ref, ["a", "b"], kernel=kernel, clusters=2)
    assert isinstance(other.kernel.right, gpproj.kernels.Matern52)
    assert other.clusters == 2


def test_a_path_of_clusters(ref, two):
    path = gpproj.project_path(ref, ["a", "b"], clusters=2)
    assert [path[k].clusters for k in range(3)] == [2, 2, 2]
    assert path[2] is path[2]
    assert path[2] is path.submodel(2, clusters=2)
    assert path[2].inputs == ("a", "b")
    assert path[2].loo_divergence == pytest.approx(two.loo_divergence, rel=1e-3)
    every = path.submodel(1, clusters="draws")
    assert every.clusters == 6
    assert path.submodel(1).clusters == 6
    plain = gpproj.project_path(ref, ["a", "b"], clusters=1)
    np.testing.assert_array_equal(plain.errors, path.errors)
    assert plain[2].clusters == 1
    same(plain.submodel(2, clusters=2), path[2])
    assert plain.submodel(2, 1).loo_divergence == pytest.approx(plain.errors[2], rel=1e-9)
    by_posterior = gpproj.project_path(ref, ["a", "b"], "projection", clusters=2)
    expected = gpproj.project(ref, ["a", "b"], "projection", clusters=2)
    assert by_posterior[2].posterior_kl == pytest.approx(expected.posterior_kl, rel=1e-3)
    assert by_posterior.submodel(2, 1).projection_error == by_posterior.errors[2]


def test_a_search_hands_back_clusters(ref):
    path = gpproj.forward_search(ref, 2, clusters=2, progress=False)
    plain = gpproj.forward_search(ref, 2, progress=False)
    assert path.order == plain.order
    np.testing.assert_array_equal(path.errors, plain.errors)
    assert path[1].clusters == 2
    assert plain[1].clusters == 6  # of a few draws, every one
    same(path[2], plain.submodel(2, clusters=2))
    longer = gpproj.forward_search(ref, extend=plain, clusters=3, progress=False)
    assert longer[1].clusters == 3


@pytest.mark.slow
def test_workers_change_nothing(ref, two):
    same(gpproj.project(ref, ["a", "b"], clusters=2, n_jobs=2), two)
    path = gpproj.project_path(ref, ["a", "b"])
    other = gpproj.project_path(ref, ["a", "b"])
    same(path.submodel(1, "draws", n_jobs=2), other.submodel(1, "draws"))


def test_a_fitted_reference_has_one_cluster(point):
    sub = gpproj.project(point, ["a", "c"], clusters=5)
    assert sub.clusters == 1
    same(sub, gpproj.project(point, ["a", "c"]))
    assert gpproj.project(point, ["a"], clusters="draws").clusters == 1


def test_more_clusters_than_draws_are_the_draws(ref):
    many, every = (gpproj.project(ref, ["a"], clusters=value) for value in (50, "draws"))
    assert many.clusters == 6
    same(many, every)


@pytest.mark.parametrize("clusters", [0, -1, True, 1.5, "all"])
def test_bad_clusters_are_named(ref, clusters):
    text = f"clusters must be .*got {clusters!r}"
    with pytest.raises(ValueError, match=text):
        gpproj.project(ref, ["a"], clusters=clusters)
    with pytest.raises(ValueError, match=text):
        gpproj.project_path(ref, ["a"], clusters=clusters)
    with pytest.raises(ValueError, match=text):
        gpproj.forward_search(ref, 1, clusters=clusters, progress=False)
    with pytest.raises(ValueError, match=text):
        gpproj.project_path(ref, ["a"]).submodel(1, clusters=clusters)


def test_one_cluster_learns_nothing_anew(ref, point, monkeypatch):
    """Its projection is known, and gradients of many rows take long."""
    monkeypatch.setattr(clusters_module, "_curvature", lambda *_: pytest.fail("not needed"))
    assert gpproj.project(ref, ["a"], clusters=1).clusters == 1
    assert gpproj.project(point, ["a"]).clusters == 1


def test_draws_learned_on_few_rows_are_those_of_all_rows(monkeypatch):
    """By how much draws differ from all of them together shows on few rows as well."""
    X, y = make_data(n=120, seed=3)
    many = gpproj.fit(X, y, draws=16)
    X_new, y_new = make_data(n=300, seed=5)
    alone = gpproj.project(many, ["a", "b"], clusters="draws")
    asked = []

    def on_few(rows):
        asked.append(rows)
        return [80]

    monkeypatch.setattr("gpproj.projection.clusters.stage_sizes", on_few)
    staged = gpproj.project(many, ["a", "b"], clusters="draws")
    assert asked == [120]
    assert {one.coefficients.shape[-1] for one in (p.predictor for p in staged.parts)} == {120}
    away = staged.log_density(X_new, y_new) - alone.log_density(X_new, y_new)
    assert abs(away.mean()) < 0.02
    found, expected = (one.predict(X_new).variance.mean() for one in (staged, alone))
    assert found == pytest.approx(expected, rel=0.15)
    # Figures are those of all rows, computed where they are asked for.
    assert staged.loo_divergence == pytest.approx(alone.loo_divergence, rel=0.2)
