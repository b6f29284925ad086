"""Classes and counts that are hard on a model, through fit, search and validation."""

from __future__ import annotations

import numpy as np
import pytest

import gpproj
from tests.fitting import fit_mode

# That the null model is best is the right answer for some of these data.
pytestmark = pytest.mark.filterwarnings(
    "ignore:the null model predicts better:UserWarning",
    "ignore:some submodels seem to predict better:UserWarning",
)


def separable(rng):
    X = rng.standard_normal((14, 2))
    return X, X[:, 0] > 0


def three_members(rng):
    X = rng.standard_normal((16, 2))
    y = np.zeros(16)
    y[np.argsort(X[:, 0])[-3:]] = 1
    return X, y


def three_events(rng):
    X = rng.standard_normal((16, 2))
    y = np.zeros(16)
    y[np.argsort(X[:, 0])[-3:]] = [1, 4, 2]
    return X, y


def fewer_rows_than_inputs(rng):
    X = rng.standard_normal((8, 10))
    return X, X[:, 0] + 0.3 * rng.standard_normal(8) > 0


def fewer_rows_than_inputs_of_counts(rng):
    X = rng.standard_normal((8, 10))
    return X, rng.poisson(np.exp(1 + X[:, 0]))


def contradictions(rng):
    """Every row twice, once of either class."""
    return np.repeat(rng.standard_normal((8, 2)), 2, axis=0), np.tile([0, 1], 8)


def one_huge_count(rng):
    X = rng.standard_normal((20, 2))
    y = rng.poisson(np.exp(X[:, 0]))
    y[3] = 1_000_000
    return X, y


def large_counts(rng):
    X = rng.standard_normal((20, 2))
    return X, rng.poisson(np.exp(10 + 0.5 * X[:, 0]))


def equal_counts(rng):
    return rng.standard_normal((15, 2)), np.full(15, 3)


CASES = [
    (separable, "probit"),
    (three_members, "probit"),
    (three_events, "negative-binomial"),
    (contradictions, "poisson"),
    (one_huge_count, "poisson"),
    (equal_counts, "poisson"),
]
MORE_CASES = [
    (three_events, "poisson"),
    (fewer_rows_than_inputs, "probit"),
    (fewer_rows_than_inputs_of_counts, "poisson"),
    (contradictions, "probit"),
    (one_huge_count, "negative-binomial"),
    (large_counts, "poisson"),
]


@pytest.mark.parametrize(
    ("make", "name"),
    [*CASES, *(pytest.param(*case, marks=pytest.mark.slow) for case in MORE_CASES)],
    ids=[f"{make.__name__}-{name}" for make, name in CASES + MORE_CASES],
)
def test_ill_posed_data_have_finite_answers(make, name):
    X, y = make(np.random.default_rng(0))
    ref = fit_mode(X, y, name)
    assert np.isfinite(ref.log_marginal_likelihood)
    everything = [*ref.predict(X), *ref.predict_response(X), ref.log_density(X, y), *ref.loo()]
    assert all(np.all(np.isfinite(part)) for part in everything)
    for method in ("kl", "permutation"):
        assert np.all(np.isfinite(gpproj.relevance(ref, method, random_state=0)))
    path = gpproj.forward_search(ref, 1, progress=False)
    assert np.all(np.isfinite(path.errors))
    assert np.all(path.errors >= -1e-6)
    cv = gpproj.validate(ref, path, folds=2, progress=False, random_state=0)
    # Shares of a gain that is not certain are not known.
    shares = ["agreement", "kept", "kept_low", "kept_high", "expected_kept"]
    scores = cv.summary().select_dtypes("number").drop(columns=shares).to_numpy(dtype=float)
    assert np.all(np.isfinite(scores))
    held = gpproj.validate(
        ref, path, "loo", hyperparameters="held", points=3, progress=False, random_state=0
    )
    assert np.all(np.isfinite(held.scores.log_density))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["probit", "logit", "poisson"])
def test_separable_data_are_told_apart(name):
    X, y = separable(np.random.default_rng(0))
    ref = fit_mode(X, y.astype(int), name)
    path = gpproj.forward_search(ref, 1, progress=False)
    assert path.order == ("x0",)
    probability = path[1].predict_response(X).mean
    assert probability[y].min() > probability[~y].max()


def test_contradictions_leave_both_classes_equally_likely():
    X, y = contradictions(np.random.default_rng(0))
    ref = fit_mode(X, y, "probit")
    np.testing.assert_allclose(ref.predict_response(X).mean, 0.5, atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["probit", "poisson"])
def test_constant_inputs_come_last(name):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(16), rng.standard_normal((16, 2))])
    y = (X[:, 1] + 0.3 * rng.standard_normal(16) > 0).astype(int)
    with pytest.warns(UserWarning, match="constant"):
        ref = fit_mode(X, y, name)
    path = gpproj.forward_search(ref, progress=False)
    assert path.order[0] == "x1"
    assert path.order[-1] == "x0"
    assert gpproj.relevance(ref, "kl")["x0"] == 0
    cv = gpproj.validate(ref, path, folds=2, progress=False, random_state=0)
    assert np.all(np.isfinite(cv.scores.log_density))


@pytest.mark.parametrize("name", ["poisson", "negative-binomial"])
def test_a_single_event(name):
    X = np.random.default_rng(0).standard_normal((20, 2))
    y = np.zeros(20, dtype=int)
    y[4] = 1
    ref = fit_mode(X, y, name)
    path = gpproj.forward_search(ref, progress=False)
    assert np.all(np.isfinite(path.errors))
    assert ref.predict_response(X).mean.sum() == pytest.approx(1.0, abs=0.5)
    cv = gpproj.validate(ref, path, "loo", points=5, progress=False, random_state=0)
    assert np.all(np.isfinite(cv.scores.log_density))
    with pytest.raises(ValueError, match="no event"):
        gpproj.validate(ref, path, folds=4, progress=False)


def test_the_units_of_inputs_do_not_matter():
    X, y = three_members(np.random.default_rng(0))
    one = fit_mode(X, y, "probit")
    other = fit_mode(X * [1e6, 1e-6] + [0.0, 5.0], y, "probit")
    assert other.log_marginal_likelihood == pytest.approx(one.log_marginal_likelihood, abs=1e-5)
