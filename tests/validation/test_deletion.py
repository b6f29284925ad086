"""Leaving single rows out: held hyperparameters, posteriors without a row, and weighted draws."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

import gpproj
from gpproj.inference import exact
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.reference.draws import Draws
from gpproj.validation.deletion import PointDeletion, SampledDeletion, downdated
from gpproj.validation.loo import worst_k
from tests.fitting import fit_mode

# What a validation warns of is another file's subject.
pytestmark = pytest.mark.filterwarnings(
    "ignore:some submodels seem to predict better:UserWarning",
    "ignore:the .* predicts better:UserWarning",
)

N, D = 18, 3
NUGGET = 1e-3
# constant variance, signal variance, three length-scales, noise variance
VALUES = np.array(
    [
        [1.0, 2.0, 1.0, 2.5, 4.0, 0.10],
        [0.5, 3.0, 1.3, 2.0, 6.0, 0.15],
        [2.0, 1.5, 0.9, 3.0, 5.0, 0.08],
    ]
)
PRIOR = np.array([0.2, 0.5, 0.3])


def make_data(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    return X, 1.0 + np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(n)


def single(X, y, values=VALUES[0]):
    kernel = Constant(values[0]) + SquaredExponential(values[1], values[2:-1])
    return gpproj.condition(X, y, kernel, Gaussian(values[-1]), nugget=NUGGET)


def discrete(X, y, values=VALUES, prior=None):
    """A reference whose posterior is known: a few hyperparameter vectors of given prior weights."""
    prior = PRIOR if prior is None else prior
    references = [single(X, y, one) for one in values]
    logs = np.log(prior) + [one.log_marginal_likelihood for one in references]
    weights = np.exp(logs - logsumexp(logs))
    parameters = np.vstack([one.draws.parameters for one in references])
    return replace(
        references[0],
        draws=Draws(parameters, weights),
        recipe=lambda X, y: discrete(X, y, values, prior),
    )


def smooth(X, Z, constant, signal, lengthscales, active=None):
    """K_smooth of some inputs, between the rows of X and of Z."""
    active = np.ones(D, dtype=bool) if active is None else active
    scaled = (X[:, None, active] - Z[None, :, active]) / np.asarray(lengthscales)[active]
    return constant + signal * np.exp(-0.5 * np.sum(scaled**2, axis=-1))


def predicted(X, y, i, kernel, diagonal):
    """Mean and log density of y_i from the other rows: A = K_smooth + diagonal I."""
    rest = np.arange(len(y)) != i
    A = smooth(X[rest], X[rest], *kernel) + diagonal * np.eye(len(y) - 1)
    k = smooth(X[[i]], X[rest], *kernel)[0]
    mean = k @ np.linalg.solve(A, y[rest])
    prior = smooth(X[[i]], X[[i]], *kernel)[0, 0] + diagonal
    variance = prior - k @ np.linalg.solve(A, k)
    return mean, norm(mean, math.sqrt(variance)).logpdf(y[i])


def submodel_predicted(path, size, i, noise):
    """The same of a submodel along a path, with its parameters held."""
    found = path.projections[size]
    values = np.exp(found.parameters)
    if found.active.any():
        kernel = (values[0], values[1], values[2:-1], found.active)
    else:
        kernel = (values[0], 0.0, np.ones(D))
    X, y = path.reference.training.X, path.reference.training.y
    return predicted(X, y, i, kernel, values[-1] + (1 + NUGGET) * noise)


def posterior_without(X, y, i, values):
    """Latent posterior at all rows from the others alone, by explicit matrices."""
    rest = np.arange(len(y)) != i
    K = smooth(X, X, values[0], values[1], values[2:-1]) + NUGGET * values[-1] * np.eye(len(y))
    A = K[np.ix_(rest, rest)] + values[-1] * np.eye(len(y) - 1)
    gain = np.linalg.solve(A, K[rest])
    return gain.T @ y[rest], K - K[:, rest] @ gain


def weights_without(X, y, i):
    """Weights of the hyperparameter vectors, had y_i not been seen."""
    rest = np.arange(len(y)) != i
    return discrete(X[rest], y[rest]).draws.weights


def close(found, expected, tolerance=1e-8):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def ref(data):
    return single(*data)


@pytest.fixture(scope="module")
def path(ref):
    return gpproj.forward_search(ref, progress=False)


@pytest.fixture(scope="module")
def mixed(data):
    pytest.importorskip("arviz")
    return discrete(*data)


@pytest.fixture
def trusted(monkeypatch):
    """Three draws are too few for a Pareto k: trust their weights, which are exact."""
    monkeypatch.setattr("gpproj.validation.loo.worst_k", lambda draws: math.inf)


def leave_one_out(reference, path, **options):
    return gpproj.validate(reference, path, "loo", progress=False, **options).scores


# Hyperparameters held


def test_held_predictions_are_those_of_refits(data, ref, path):
    X, y = data
    scores = leave_one_out(ref, path, hyperparameters="held")
    assert scores.mean.shape == scores.log_density.shape == (1 + len(path), N)
    np.testing.assert_array_equal(scores.rows, np.arange(N))
    values = VALUES[0]
    kernel = (values[0], values[1], values[2:-1])
    for i in range(N):
        expected = [predicted(X, y, i, kernel, (1 + NUGGET) * values[-1])]
        expected += [submodel_predicted(path, size, i, values[-1]) for size in range(len(path))]
        close(scores.mean[:, i], [mean for mean, _ in expected])
        close(scores.log_density[:, i], [density for _, density in expected])


def test_held_predictions_of_other_paths(ref, path):
    """Inputs that are always in, and submodels learned by marginal likelihood."""
    for other in (
        gpproj.forward_search(ref, 1, always=["x2"], progress=False),
        gpproj.project_path(ref, ["x1"], learn="marginal_likelihood"),
    ):
        scores = leave_one_out(ref, other, hyperparameters="held", points=5, random_state=0)
        for place, i in enumerate(scores.rows):
            for size in range(len(other)):
                mean, density = submodel_predicted(other, size, i, VALUES[0, -1])
                close(scores.mean[1 + size, place], mean)
                close(scores.log_density[1 + size, place], density)


def test_held_predictions_are_in_the_users_units():
    X, y = make_data(20)
    found = []
    for target in (y, 50.0 * y - 300.0):
        ref = fit_mode(X, target)
        scores = leave_one_out(ref, gpproj.project_path(ref, ["x0"]), hyperparameters="held")
        np.testing.assert_allclose(scores.mean[0], ref.loo().mean, rtol=1e-9)
        close(scores.log_density[0], ref.loo().log_density)
        np.testing.assert_allclose(scores.y, target)
        found.append(scores)
    one, two = found
    close(two.mean, 50.0 * one.mean - 300.0, 0.01)
    close(two.log_density, one.log_density - math.log(50.0), 1e-4)


def test_given_hyperparameters_stay_where_they_are(ref, path):
    """They were not learned from the data; those of the submodels were."""
    held = leave_one_out(ref, path, hyperparameters="held")
    updated = leave_one_out(ref, path)
    close(updated.log_density[0], held.log_density[0], 1e-12)
    assert np.abs(updated.log_density[1:] - held.log_density[1:]).max() > 1e-3


def test_some_of_the_points(ref, path):
    every = leave_one_out(ref, path)
    some = leave_one_out(ref, path, points=6, random_state=3)
    assert some.rows.size == 6
    assert np.all(np.diff(some.rows) > 0)
    close(some.log_density, every.log_density[:, some.rows], 1e-12)
    again = leave_one_out(ref, path, points=np.int64(6), random_state=3)
    np.testing.assert_array_equal(some.rows, again.rows)
    held = leave_one_out(ref, path, hyperparameters="held")
    close(some.approximate, held.log_density, 1e-12)
    assert leave_one_out(ref, path, hyperparameters="held", points=6).approximate is None


@pytest.mark.filterwarnings("ignore:some submodels seem to predict better")  # by six rows
def test_other_seeds_choose_other_points(ref, path):
    one, other = (leave_one_out(ref, path, points=6, random_state=seed) for seed in (3, 4))
    assert one.rows.tolist() != other.rows.tolist()


def test_rows_searched_anew_correct_the_rows_of_the_path(ref, path):
    """The search is repeated without four rows; all rows are predicted along the path besides."""
    some = leave_one_out(ref, path, search="inside", points=4, random_state=0)
    once = leave_one_out(ref, path)
    close(some.approximate, once.log_density, 1e-12)
    close(some.density.mean(axis=1), once.log_density.mean(axis=1) + error_of(some, once))


def error_of(some, once):
    return (some.log_density - once.log_density[:, some.rows]).mean(axis=1)


# Posteriors without a row


def test_a_downdate_is_the_posterior_of_the_other_rows(data, ref):
    X, y = data
    for i in (0, 7, N - 1):
        found = downdated(ref.latent, i)
        mean, cov = posterior_without(X, y, i, VALUES[0])
        close(found.latent_mean, mean)
        close(found.latent_cov.dense(), cov)
        assert found.likelihood == ref.latent.likelihood


def check_target(target, X, y, i, mean, cov, noise):
    rest = np.arange(len(y)) != i
    np.testing.assert_array_equal(target.X, X[rest])
    close(target.latent_mean, mean[rest])
    close(target.latent_cov.dense(), cov[np.ix_(rest, rest)])
    np.testing.assert_allclose(target.site_precision, np.full(len(y) - 1, 1 / noise))
    np.testing.assert_allclose(target.site_shift, y[rest] / noise)
    assert target.nugget == pytest.approx(NUGGET * noise)


def test_projections_are_held_to_the_posterior_of_the_other_rows(data, ref):
    X, y = data
    deletion = PointDeletion(ref, held=True)
    for i in (0, 7, N - 1):
        rest = np.arange(N) != i
        left = deletion(i)
        check_target(left.target, X, y, i, *posterior_without(X, y, i, VALUES[0]), VALUES[0, -1])
        target = single(X[rest], y[rest]).target
        close(left.target.latent_mean, target.latent_mean)
        close(left.target.latent_cov.dense(), target.latent_cov.dense())
        assert left.likelihood.variance == pytest.approx(VALUES[0, -1])


def test_projections_of_draws_are_held_to_their_mixture(data, mixed):
    X, y = data
    deletion = SampledDeletion(mixed)
    for i in (0, 7, N - 1):
        w = weights_without(X, y, i)
        assert np.abs(w - mixed.draws.weights).max() > 1e-3
        each = [posterior_without(X, y, i, values) for values in VALUES]
        mean = sum(weight * own for weight, (own, _) in zip(w, each, strict=True))
        second = sum(weight * (S + np.outer(m, m)) for weight, (m, S) in zip(w, each, strict=True))
        left = deletion(i)
        noise = w @ VALUES[:, -1]
        check_target(left.target, X, y, i, mean, second - np.outer(mean, mean), noise)
        assert left.likelihood.variance == pytest.approx(noise)


def test_every_draw_is_downdated_by_itself(data, mixed):
    X, y = data
    for parameters, values in zip(mixed.draws.parameters, VALUES, strict=True):
        given = exact.conditioned(mixed.problem, parameters)
        found = downdated(exact.posterior(mixed.problem, parameters, given), 4)
        mean, cov = posterior_without(X, y, 4, values)
        close(found.latent_mean, mean)
        close(found.latent_cov.dense(), cov)


# Draws that are weighted anew


def test_draws_are_weighted_as_if_the_row_had_not_been_seen(data, mixed, trusted):
    """The posterior without a row is known here: the prior weights and the other rows give it."""
    X, y = data
    deletion = SampledDeletion(mixed)
    np.testing.assert_allclose(np.exp(deletion.log_weights).sum(axis=0), 1.0)
    scores = leave_one_out(mixed, gpproj.project_path(mixed, []))
    for i in range(N):
        rest = np.arange(N) != i
        refitted = discrete(X[rest], y[rest])
        np.testing.assert_allclose(np.exp(deletion.log_weights[:, i]), refitted.draws.weights)
        close(scores.mean[0, i], refitted.predict_response(X[[i]]).mean[0])
        close(scores.log_density[0, i], refitted.log_density(X[[i]], y[[i]])[0])
    close(scores.log_density[0], mixed.loo().log_density)


@pytest.mark.parametrize("clusters", ["draws", 2])
def test_mixtures_weigh_clusters_by_their_draws(data, mixed, trusted, clusters):
    X, y = data
    path = gpproj.project_path(mixed, ["x0", "x1"], clusters=clusters)
    rows = mixed.partition(clusters)
    assert sorted(len(own) for own in rows) == ([1, 1, 1] if clusters == "draws" else [1, 2])
    scores = leave_one_out(mixed, path)
    for size in range(len(path)):
        names = [int(name[1:]) for name in path[size].inputs]
        active = np.isin(np.arange(D), names)
        for i in range(N):
            w = weights_without(X, y, i)
            means, densities = [], []
            for part in path[size].parts:
                values = np.exp(part.predictor.log_parameters)
                scales = np.ones(D)
                if names:
                    scales[names] = values[2:]
                kernel = (values[0], values[1] if names else 0.0, scales, active)
                diagonal = part.extra + (1 + NUGGET) * part.likelihood.variance
                mean, density = predicted(X, y, i, kernel, diagonal)
                means.append(mean)
                densities.append(density)
            own = np.array([w[draws].sum() for draws in rows])
            close(scores.mean[1 + size, i], own @ means)
            close(scores.log_density[1 + size, i], logsumexp(densities, b=own))


def test_one_projection_of_all_draws_has_the_noise_of_the_weights(data, mixed, trusted):
    X, y = data
    path = gpproj.project_path(mixed, ["x0"], clusters=1)
    scores = leave_one_out(mixed, path, hyperparameters="held")
    for i in range(0, N, 4):
        noise = weights_without(X, y, i) @ VALUES[:, -1]
        for size in range(2):
            mean, density = submodel_predicted(path, size, i, noise)
            close(scores.mean[1 + size, i], mean)
            close(scores.log_density[1 + size, i], density)


@pytest.fixture(scope="module")
def many():
    """Enough draws for a Pareto k, few rows."""
    pytest.importorskip("arviz")
    rng = np.random.default_rng(3)
    values = VALUES[1] * np.exp(0.3 * rng.standard_normal((40, D + 3)))
    X, y = make_data(10, seed=1)
    return discrete(X, y, values, rng.dirichlet(np.full(40, 50.0)))


def test_smoothed_weights_sum_to_one(many):
    deletion = SampledDeletion(many)
    w = np.exp(deletion.log_weights)
    np.testing.assert_allclose(w.sum(axis=0), 1.0)
    raw = many.draws.weights[:, None] / np.exp(deletion.loo_density)
    raw /= raw.sum(axis=0)
    assert 1e-6 < np.abs(w - raw).max() < 0.2
    scores = leave_one_out(many, gpproj.project_path(many, []), hyperparameters="held")
    good = np.flatnonzero(deletion.k_hat <= worst_k(40))
    assert 0 < good.size < 10
    assert sorted(scores.rows[: good.size]) == good.tolist()
    close(scores.log_density[0, : good.size], many.loo().log_density[good])


@pytest.mark.slow
def test_rows_with_a_large_k_are_refitted(many, monkeypatch):
    path = gpproj.project_path(many, ["x0"], clusters=2)
    k_hat = SampledDeletion(many).k_hat
    order = np.argsort(k_hat)
    limit = 0.5 * (k_hat[order[-3]] + k_hat[order[-2]])
    X, y = many.training.X, many.training.y
    found = {}
    for name, value in (("none", math.inf), ("two", limit), ("all", -math.inf)):
        monkeypatch.setattr("gpproj.validation.loo.worst_k", lambda draws, value=value: value)
        found[name] = gpproj.validate(many, path, "loo", progress=False)
    with pytest.warns(UserWarning, match="10 of 10 rows cannot be trusted"):
        kept = gpproj.validate(many, path, "loo", refit=False, progress=False)
    assert kept.refitted == ()
    close(kept.scores.log_density, found["none"].scores.log_density, 1e-12)
    assert found["none"].refitted == ()
    assert found["two"].refitted == tuple(sorted(order[-2:].tolist()))
    assert found["all"].refitted == tuple(range(10))
    np.testing.assert_allclose(found["two"].k_hat, k_hat)
    two = found["two"].scores
    assert sorted(two.rows.tolist()) == list(range(10))
    for i in range(10):
        column = two.log_density[:, two.rows == i][:, 0]
        name = "all" if i in found["two"].refitted else "none"
        close(column, found[name].scores.log_density[:, i], 1e-12)
    for i in found["two"].refitted:
        rest = np.arange(10) != i
        own = many.refit(X[rest], y[rest])
        along = path.reproject(own)
        expected = [model.log_density(X[[i]], y[[i]])[0] for model in (own, along[0], along[1])]
        close(two.log_density[:, two.rows == i][:, 0], expected)
    assert not np.allclose(found["all"].scores.log_density, found["none"].scores.log_density)


def test_only_the_chosen_points_are_refitted(many, monkeypatch):
    monkeypatch.setattr("gpproj.validation.loo.worst_k", lambda draws: -math.inf)
    path = gpproj.project_path(many, [])
    cv = gpproj.validate(many, path, points=2, random_state=0, progress=False)
    assert cv.method == "loo"
    assert cv.refitted == tuple(cv.scores.rows.tolist())
    assert len(cv.refitted) == 2


def test_the_limit_of_k_grows_with_the_draws():
    assert worst_k(4) < 0 < worst_k(11) < worst_k(100) == 0.5
    assert worst_k(10_000) == 0.7


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_sampled_references_against_refits():
    """Weighted draws come closer to sampling anew than the draws as they were."""
    pytest.importorskip("nutpie")
    rng = np.random.default_rng(2)
    X = rng.standard_normal((30, 2))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(30)
    ref = gpproj.sample(X, y, draws=400, random_state=0, progress=False)
    path = gpproj.project_path(ref, ["x0", "x1"], clusters=4)
    cv = gpproj.validate(ref, path, points=12, random_state=0, progress=False)
    rows = cv.scores.rows
    exact_values = np.empty((1 + len(path), rows.size))
    seen = np.empty_like(exact_values)
    for place, i in enumerate(rows):
        rest = np.arange(30) != i
        own = ref.refit(X[rest], y[rest])
        along = path.reproject(own)
        models = (own, *(along[size] for size in range(len(along))))
        known = (ref, *(path[size] for size in range(len(path))))
        exact_values[:, place] = [model.log_density(X[[i]], y[[i]])[0] for model in models]
        seen[:, place] = [model.log_density(X[[i]], y[[i]])[0] for model in known]
    away, before = np.abs(cv.scores.log_density - exact_values), np.abs(seen - exact_values)
    # Four hundred draws know the density of an outlier to some tenths only, either way.
    assert np.median(away[0]) < 0.1
    assert 3 * away[0].sum() < before[0].sum()
    # Clusters of submodels are made anew without the row: an outlier of theirs is known less well.
    assert np.median(away[1:], axis=1).max() < 0.1
    assert 1.5 * away[1:].sum() < before[1:].sum()
