"""References of predictions alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import gpproj
from gpproj.likelihoods import NegativeBinomial
from gpproj.reference.moment_making import tilted_sites
from tests.fitting import fit_mode


def sines(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 4)), columns=list("abcd"))
    f = np.sin(2.0 * X["a"]) + 0.5 * X["b"]
    return X, f.to_numpy(), rng


@pytest.fixture(scope="module")
def numbers():
    X, f, rng = sines()
    return X, f + 0.3 * rng.standard_normal(len(f))


@pytest.fixture(scope="module")
def process(numbers):
    return fit_mode(*numbers)


@pytest.fixture(scope="module")
def classes():
    X, f, rng = sines(80, 1)
    return X, np.where(3.0 * f + rng.standard_normal(len(f)) > 0.0, "yes", "no")


def test_left_out_predictions_of_a_process_give_the_submodels_of_the_process(numbers, process):
    X, y = numbers
    loo = process.loo()
    ref = gpproj.from_predictions(X, y, loo.mean, loo.variance)
    own, found = (gpproj.forward_search(one, 2, progress=False) for one in (process, ref))
    assert found.order == own.order == ("a", "b")
    new, f, rng = sines(500, 7)
    targets = f + 0.3 * rng.standard_normal(len(f))
    for size in range(3):
        expected = np.mean(own[size].log_density(new, targets))
        assert np.mean(found[size].log_density(new, targets)) == pytest.approx(expected, abs=0.03)
    np.testing.assert_allclose(ref.loo().log_density, loo.log_density, rtol=1e-6)
    np.testing.assert_allclose(ref.loo().mean, loo.mean, rtol=1e-9)


def test_left_out_probabilities_of_a_process_give_its_submodels(classes):
    X, y = classes
    process = fit_mode(X, y, "bernoulli")
    ref = gpproj.from_predictions(X, y, process.loo().mean, likelihood="bernoulli")
    np.testing.assert_allclose(ref.loo().mean, process.loo().mean, atol=0.5 / len(y))
    own, found = (gpproj.forward_search(one, 2, progress=False) for one in (process, ref))
    assert found.order == own.order
    new, f, rng = sines(500, 8)
    labels = np.where(3.0 * f + rng.standard_normal(len(f)) > 0.0, "yes", "no")
    for size in range(3):
        expected = np.mean(own[size].log_density(new, labels))
        assert np.mean(found[size].log_density(new, labels)) == pytest.approx(expected, abs=0.03)


@pytest.mark.slow
def test_sites_of_classes_are_those_that_ep_has_at_its_cavities(classes):
    """EP is at its fixed point where the sites match the tilted moments at the cavities."""
    X, y = classes
    process = fit_mode(X, y, "bernoulli", inference="ep")
    predicted = process.target.left_out
    observed = process.problem.observed(process.latent.likelihood)
    found = tilted_sites(observed, predicted.mean, predicted.variance)
    np.testing.assert_allclose(found.precision, process.latent.sites.precision, rtol=1e-3)
    np.testing.assert_allclose(found.shift, process.latent.sites.shift, atol=1e-3)


@pytest.mark.parametrize("link", ["probit", "logit"])
def test_class_probabilities_come_back(classes, link):
    X, y = classes
    p = np.linspace(0.02, 0.98, len(y))
    ref = gpproj.from_predictions(X, y, p, likelihood=link, predict=lambda new: p[: len(new)])
    np.testing.assert_allclose(ref.loo().mean, p, rtol=1e-8)
    # Class "yes", the second in sorted order, has these probabilities.
    expected = np.log(np.where(y == "yes", p, 1.0 - p))
    np.testing.assert_allclose(ref.loo().log_density, expected, rtol=1e-6)
    np.testing.assert_allclose(ref.predict_response(X.iloc[:9]).mean, p[:9], rtol=1e-8)


def test_probabilities_of_zero_and_one_are_held_back(classes):
    X, y = classes
    p = (y == "yes").astype(float)
    ref = gpproj.from_predictions(X, y, p, likelihood="bernoulli", predict=lambda new: p[:3])
    least = 0.5 / len(y)
    assert set(np.round(ref.loo().mean, 9)) == {round(least, 9), round(1.0 - least, 9)}
    assert np.all(np.isfinite(ref.log_density(X.iloc[:3], y[:3])))


def test_quantiles_and_samples_say_what_moments_say(numbers):
    X, y = numbers
    mean, sd = 0.5 * X["a"].to_numpy(), 0.3 + 0.1 * np.abs(X["b"].to_numpy())
    plain = gpproj.from_predictions(X, y, mean, sd**2)
    levels = (0.05, 0.5, 0.9)
    quantiles = {level: stats.norm.ppf(level, mean, sd) for level in levels}
    by_quantiles = gpproj.from_predictions(X, y, quantiles=quantiles).loo()
    np.testing.assert_allclose(by_quantiles.mean, mean, atol=1e-10)
    least = np.quantile(sd, 0.05)  # nobody is surer than that
    np.testing.assert_allclose(by_quantiles.variance, np.maximum(sd, least) ** 2, rtol=1e-9)
    scores = np.array(stats.norm.ppf((np.arange(4000) + 0.5) / 4000))
    by_draws = gpproj.from_predictions(X, y, samples=mean + sd * scores[:, None]).loo()
    np.testing.assert_allclose(by_draws.mean, mean, atol=1e-9)
    np.testing.assert_allclose(by_draws.variance, sd**2, rtol=5e-3)
    expected = stats.norm.logpdf(y, mean, sd)
    np.testing.assert_allclose(plain.loo().log_density, expected, rtol=1e-9)


def test_a_row_whose_quantiles_cross_is_as_sure_as_the_surest(numbers):
    X, y = numbers
    low, high = y - 1.0, y + np.linspace(0.5, 2.0, len(y))
    low[3], high[3] = high[3], low[3]
    ref = gpproj.from_predictions(X, y, quantiles={0.1: low, 0.9: high})
    others = np.delete(ref.loo().variance, 3)
    assert others.min() <= ref.loo().variance[3] <= np.quantile(others, 0.1)
    with pytest.raises(ValueError, match="quantiles must grow"):
        gpproj.from_predictions(X, y, quantiles={0.1: high + 1.0, 0.9: low - 1.0})


def test_the_usual_variance_is_the_mean_square_of_errors(numbers):
    X, y = numbers
    ref = gpproj.from_predictions(X, y, 0.9 * y, predict=lambda new: np.zeros(len(new)))
    np.testing.assert_allclose(ref.loo().variance, np.mean((0.1 * y) ** 2))
    np.testing.assert_allclose(ref.predict_response(X).variance, np.mean((0.1 * y) ** 2))


def test_counts_with_exposure():
    X, f, rng = sines(80, 3)
    time = rng.uniform(0.5, 4.0, len(f))
    expected = time * np.exp(0.5 + f)
    y = rng.poisson(expected)

    def rates(new):
        return np.exp(0.5 + np.sin(2.0 * new["a"]) + 0.5 * new["b"])

    ref = gpproj.from_predictions(
        X, y, expected, likelihood="poisson", exposure=time, predict=rates
    )
    np.testing.assert_allclose(ref.loo().mean, expected, rtol=1e-9)
    np.testing.assert_allclose(ref.predict_response(X, time).mean, expected, rtol=1e-9)
    exact = stats.poisson.logpmf(y, expected)
    # The rate is a little uncertain: var log rate = 0.01.
    assert np.mean(ref.log_density(X, y, time)) == pytest.approx(np.mean(exact), abs=0.05)
    path = gpproj.forward_search(ref, 1, progress=False)
    assert path.order == ("a",)
    gain = path[1].log_density(X, y, time) - path[0].log_density(X, y, time)
    assert np.mean(gain) > 0.2


def test_the_spread_of_counts_is_told_apart_from_that_of_their_rate():
    X, _, rng = sines(50)
    mean, variance = np.full(50, 4.0), np.full(50, 4.0 + 0.5 * 16.0)
    y = rng.poisson(4.0, 50)
    for likelihood in ("poisson", NegativeBinomial(0.2)):
        ref = gpproj.from_predictions(X, y, mean, variance, likelihood=likelihood)
        np.testing.assert_allclose(ref.loo().mean, mean, rtol=1e-9)
        np.testing.assert_allclose(ref.loo().variance, variance, rtol=1e-6)
    draws = rng.poisson(4.0, (300, 50))
    ref = gpproj.from_predictions(X, y, samples=draws, likelihood="poisson")
    np.testing.assert_allclose(ref.loo().mean, draws.mean(axis=0))


def test_equal_rows_are_predicted_as_one(numbers):
    X, y = numbers
    twice = pd.concat([X, X], ignore_index=True)
    both = np.concatenate([y + 0.2, y - 0.2])
    mean, variance = np.tile(0.9 * y, 2), np.full(2 * len(y), 0.4)
    target = gpproj.from_predictions(twice, both, mean, variance, standardize=False).target
    assert target.left_out.mean.shape == (len(y),)
    np.testing.assert_allclose(target.left_out.mean, 0.9 * y)
    # Noise is half the variance here, and half as loud in the mean of two targets.
    np.testing.assert_allclose(target.left_out.variance, 0.2 + 0.1)


def test_frames_lists_and_columns_are_read_alike(numbers):
    polars = pytest.importorskip("polars")
    X, y = numbers
    mean, variance = 0.9 * y, np.linspace(0.1, 0.2, len(y))
    expected = gpproj.from_predictions(X, y, mean, variance)
    for given in (
        (X.to_numpy().tolist(), y.tolist(), mean.tolist(), variance.tolist()),
        (polars.from_pandas(X), polars.Series(y), polars.Series(mean), polars.Series(variance)),
        (X, pd.Series(y), pd.Series(mean), pd.DataFrame({"v": variance})),
        (X, y, mean[:, None], variance[:, None]),
    ):
        found = gpproj.from_predictions(*given)
        np.testing.assert_array_equal(found.loo().log_density, expected.loo().log_density)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "mean is missing"),
        ({"mean": np.zeros(7)}, "mean must have one value for each of 60 rows; saw 7"),
        ({"mean": np.full(60, np.nan)}, "mean must be finite"),
        ({"mean": np.zeros((60, 2))}, "mean must have one dimension"),
        ({"mean": np.zeros(60), "variance": np.ones(3)}, "variance must have one value"),
        ({"mean": np.zeros(60), "variance": 0.0}, "variance must be positive"),
        ({"samples": np.zeros(60)}, "samples must have two draws"),
        ({"samples": np.zeros((5, 60))}, "samples must differ"),
        ({"quantiles": {0.5: np.zeros(60)}}, "quantiles must map two"),
        ({"quantiles": {0.5: np.zeros(60), 1.5: np.ones(60)}}, "between 0 and 1"),
        ({"quantiles": {0.5: np.zeros(60), 0.9: np.ones(6)}}, r"quantiles\[0.9\] must have one"),
        ({"samples": np.eye(60), "variance": 1.0}, "give one of variance, quantiles and samples"),
        ({"mean": np.zeros(60), "likelihood": "student-t"}, "likelihood must be"),
        ({"mean": np.zeros(60), "inference": "exact"}, "inference must be"),
    ],
)
def test_what_cannot_be_read_is_named(numbers, given, message):
    with pytest.raises(ValueError, match=message):
        gpproj.from_predictions(*numbers, **given)


def test_predictions_of_training_rows_are_refused_where_they_show(numbers):
    X, y = numbers
    with pytest.raises(ValueError, match="mean equals y"):
        gpproj.from_predictions(X, y, y)


def test_predictions_in_another_order_are_refused(numbers):
    X, y = numbers
    with pytest.raises(ValueError, match="different order"):
        gpproj.from_predictions(X, y, pd.Series(0.9 * y, index=X.index[::-1]))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mean": np.full(80, 1.2)}, "probabilities of the second class"),
        ({"mean": np.full(80, 0.2), "variance": 1.0}, "variance: targets"),
        ({"quantiles": {0.1: np.zeros(80), 0.9: np.ones(80)}}, "quantiles: targets"),
    ],
)
def test_what_classes_do_not_have_is_refused(classes, given, message):
    with pytest.raises(ValueError, match=message):
        gpproj.from_predictions(*classes, likelihood="bernoulli", **given)


def test_counts_are_positive_and_so_are_exposures():
    X, _, rng = sines()
    y, one = rng.poisson(3.0, 60), {"likelihood": "poisson"}
    with pytest.raises(ValueError, match="mean must hold expected counts"):
        gpproj.from_predictions(X, y, np.zeros(60), **one)
    with pytest.raises(ValueError, match="exposure must be positive"):
        gpproj.from_predictions(X, y, np.ones(60), exposure=-np.ones(60), **one)
    with pytest.raises(ValueError, match="exposure must have one value"):
        gpproj.from_predictions(X, y, np.ones(60), exposure=np.ones(6), **one)


def test_three_classes_are_refused(numbers):
    X, _ = numbers
    with pytest.raises(ValueError, match="two classes"):
        gpproj.from_predictions(X, np.arange(60) % 3, np.full(60, 0.5), likelihood="bernoulli")


def test_saved_and_loaded_it_projects_the_same_but_does_not_predict(numbers, tmp_path):
    X, y = numbers
    ref = gpproj.from_predictions(X, y, 0.8 * y, predict=lambda new: np.zeros(len(new)))
    path = gpproj.forward_search(ref, 1, progress=False)
    path.save(tmp_path / "path")
    loaded = gpproj.load(tmp_path / "path")
    assert loaded.order == path.order
    np.testing.assert_array_equal(loaded[1].predict(X).mean, path[1].predict(X).mean)
    found = loaded.reference
    np.testing.assert_array_equal(found.loo().log_density, ref.loo().log_density)
    assert gpproj.forward_search(found, 1, progress=False).errors == pytest.approx(path.errors)
    with pytest.raises(ValueError, match="cannot predict"):
        found.predict(X)
    with pytest.raises(ValueError, match="cannot be refitted"):
        gpproj.validate(found, loaded, folds=2, progress=False)


def test_other_predictions_are_another_reference(numbers):
    X, y = numbers
    one, other = (gpproj.from_predictions(X, y, 0.8 * y, v) for v in (0.1, 0.2))
    assert not all(np.array_equal(a, b) for a, b in zip(one.facts, other.facts, strict=True))


def test_many_rows_have_inducing_points_and_lose_little():
    X, f, rng = sines(1001, 5)
    y = f + 0.3 * rng.standard_normal(len(f))
    mean = f + 0.1 * rng.standard_normal(len(f))
    assert 0 < gpproj.from_predictions(X, y, mean).inducing.count <= 200
    some = X[:150], y[:150], mean[:150]
    dense = gpproj.from_predictions(*some)
    assert dense.inducing is None
    sparse = gpproj.from_predictions(*some, inference=gpproj.Sparse(40))
    new = X[500:]
    for inputs in (["a"], ["a", "b"]):
        few, all_rows = (gpproj.project(one, inputs) for one in (sparse, dense))
        expected = np.mean(all_rows.log_density(new, y[500:]))
        assert np.mean(few.log_density(new, y[500:])) == pytest.approx(expected, abs=0.02)


def test_a_search_on_some_rows(numbers):
    X, y = numbers
    ref = gpproj.from_predictions(X, y, fit_mode(X, y).loo().mean)
    path = gpproj.forward_search(ref, 2, search_rows=40, progress=False)
    assert path.order[0] == "a"
    assert path.searched.rows == 40
    whole = gpproj.project(ref, path.order[:1])
    assert path[1].loo_divergence == pytest.approx(whole.loo_divergence, rel=1e-3)
