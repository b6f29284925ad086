"""What `ref.check()` says: each pathology beside a healthy twin, and every kind of reference."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict

import gpproj
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Gaussian, StudentT
from gpproj.reference.baselines import baselines, ridge_errors
from tests.fitting import fit_mode


def smooth(n=60, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    f = np.sin(3.0 * X[:, 0]) + X[:, 1] ** 2
    return X, f, f + noise * rng.standard_normal(n)


def kernel(*lengthscales, signal=1.0):
    return Constant(1.0) + SquaredExponential(signal, lengthscales)


def given(X, y, variance, *lengthscales):
    return gpproj.condition(X, y, kernel(*lengthscales), Gaussian(variance))


def said(ref, part):
    return [problem for problem in ref.check().problems if part in problem]


def test_a_healthy_reference():
    X, _, y = smooth()
    check = gpproj.fit(X, y).check()
    assert check.problems == ()
    assert repr(check) == "ReferenceCheck: nothing was found to be wrong"
    assert check.left_out == "row"
    assert check.log_density["reference"] > check.log_density["ridge"] > check.log_density["null"]


# Eight pathologies ----------------------------------------------------------------------------


def test_noise_at_its_floor():
    X, f, y = smooth()
    assert said(fit_mode(X, f), "noise_variance is at its lower bound")
    assert not said(fit_mode(X, f), "interpolates")  # and predicts left-out rows as well
    assert not fit_mode(X, y).check().problems


def test_rows_that_are_copies():
    X, f, y = smooth()
    twice = np.tile(X[:30], (2, 1))
    (text,) = said(given(twice, np.tile(y[:30], 2), 0.09, 0.7, 0.7), "repeat the inputs and the")
    assert text.startswith("60 rows")
    noise = 0.3 * np.random.default_rng(1).standard_normal(60)
    assert not said(given(twice, np.tile(f[:30], 2) + noise, 0.09, 0.7, 0.7), "rows repeat")


def test_whole_numbers_are_equal_by_chance():
    X, f, _ = smooth()
    noise = 0.5 * np.random.default_rng(1).standard_normal(60)
    twice, y = np.tile(X[:30], (2, 1)), np.round(2.0 * (np.tile(f[:30], 2) + noise))
    assert np.sum(y[:30] == y[30:]) > 5
    assert not said(given(twice, y, 1.0, 0.7, 0.7), "rows repeat")
    assert said(given(twice, np.tile(y[:30], 2), 1.0, 0.7, 0.7), "rows repeat")


def test_equal_rows_with_other_targets():
    X, f, _ = smooth()
    y = np.tile(f[:30], 2) + 0.3 * np.random.default_rng(1).standard_normal(60)
    twice = np.tile(X[:30], (2, 1))
    (text,) = said(given(twice, y, 0.001, 0.7, 0.7), "another target")
    within = np.sqrt(np.sum((y[:30] - y[30:]) ** 2 / 2.0) / 30.0)
    assert text.startswith("60 rows have the inputs of another row")
    assert f"standard deviation of {within:.3g}, and the model has noise of 0.0316" in text
    assert not given(twice, y, 0.09, 0.7, 0.7).check().problems


def test_a_length_scale_at_its_lower_bound():
    X, _, _ = smooth(80)
    noise = 0.05 * np.random.default_rng(1).standard_normal(80)
    prior = {"lengthscale": gpproj.priors.LogUniform(0.4, 100.0)}
    fast = fit_mode(X, np.sin(14.0 * X[:, 0]) + noise, prior=prior)
    assert said(fast, "lengthscale of x0 is at its lower bound: the function jumps")
    assert not said(fast, "lengthscale of x1")
    assert not said(fit_mode(X, np.sin(2.0 * X[:, 0]) + noise, prior=prior), "lengthscale")


def test_a_model_that_interpolates_noise():
    X, _, y = smooth()
    (text,) = said(given(X, y, 1e-7, 0.1, 0.1), "the model interpolates")
    assert "misses left-out ones by" in text
    assert not said(given(X, y, 0.09, 0.7, 0.7), "interpolates")


@pytest.mark.parametrize("seed", [0, 3])
def test_pure_noise(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((60, 3)), rng.standard_normal(60)
    (text,) = said(gpproj.fit(X, y), "no better than a model without inputs")
    assert "nothing to select" in text
    assert not said(gpproj.fit(X, y + X[:, 0]), "without inputs")
    assert "it overfits" in said(given(X, y, 0.01, 1.0, 1.0, 1.0), "without inputs")[0]


def test_a_line_that_ridge_regression_predicts_better():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 30))
    y = X @ rng.standard_normal(30) + rng.standard_normal(60)
    assert said(given(X, y, 1.0, *[2.0] * 30), "a ridge regression predicts")
    linear = gpproj.condition(X, y, gpproj.kernels.Linear([1.0] * 30), Gaussian(1.0))
    assert not said(linear, "ridge")


def test_heavy_tails():
    X, f, y = smooth(200)
    heavy = f + 0.1 * np.random.default_rng(0).standard_t(2.0, 200)
    (text,) = said(fit_mode(X, heavy), 'likelihood="student-t"')
    assert "far out" in text
    assert not fit_mode(X, y).check().problems
    robust = gpproj.condition(X, heavy, kernel(0.7, 0.7), StudentT(0.01, 2.5))
    assert not robust.check().problems


def test_intervals_that_are_too_narrow():
    X, _, y = smooth(100)
    assert said(given(X, y, 0.02, 0.7, 0.7), "too sure of itself")
    assert not said(given(X, y, 0.09, 0.7, 0.7), "too sure")


def test_probabilities_that_are_too_extreme():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 1))
    y = rng.uniform(size=150) < stats.norm.cdf(0.5 * X[:, 0])
    sure = gpproj.condition(X, y, kernel(0.05, signal=25.0), "bernoulli")
    assert said(sure, "probabilities of left-out rows are too sure")
    calm = gpproj.condition(X, y, kernel(3.0), "bernoulli")
    assert not said(calm, "probabilities")


def test_constant_targets():
    X, _, _ = smooth(40)
    y = np.where(np.arange(40) < 5, 2.0, 1.0)
    check = given(X, y, 0.1, 1.0, 1.0).on_rows(np.arange(5, 40)).check()
    assert check.problems == (
        "all targets are equal: there is nothing to predict, and nothing to select",
    )


def test_few_rows_are_not_judged():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 3)), rng.standard_normal(12)
    assert given(X, y, 0.01, 1.0, 1.0, 1.0).check().problems == ()
    assert given(X[:3], y[:3], 0.5, 1.0, 1.0, 1.0).check().problems == ()


# Against other computations -------------------------------------------------------------------


def test_pit_and_coverage_are_those_of_left_out_rows():
    X, _, y = smooth(40)
    check = given(X, y, 0.09, 0.7, 0.7).check()
    model = ConstantKernel(1.0, "fixed") + RBF(0.7, "fixed") + WhiteKernel(0.09, "fixed")
    for row in (0, 17, 39):
        others = np.arange(40) != row
        rival = GaussianProcessRegressor(model).fit(X[others], y[others])
        mean, sd = rival.predict(X[[row]], return_std=True)
        assert check.rows["pit"][row] == pytest.approx(
            stats.norm.cdf(y[row], mean, sd)[0], abs=1e-4
        )
    inside = np.abs(check.rows["pit"] - 0.5) < 0.45
    assert check.coverage[0.9] == inside.mean()


def test_groups_and_equal_rows_leave_together():
    X, _, y = smooth(40)
    X[39] = X[0]
    groups = np.arange(40) // 4
    check = given(X, y, 0.09, 0.7, 0.7).with_row_groups(groups).check()
    assert check.left_out == "group"
    model = ConstantKernel(1.0, "fixed") + RBF(0.7, "fixed") + WhiteKernel(0.09, "fixed")
    for row, away in ((6, {1}), (38, {0, 9}), (0, {0, 9})):
        others = ~np.isin(groups, list(away))
        rival = GaussianProcessRegressor(model).fit(X[others], y[others])
        mean, sd = rival.predict(X[[row]], return_std=True)
        assert check.rows["mean"][row] == pytest.approx(mean[0], abs=1e-4)
        density = stats.norm.logpdf(y[row], mean, sd)[0]
        assert check.rows["log_density"][row] == pytest.approx(density, abs=1e-3)


def test_rows_of_a_group_look_too_good_one_by_one():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(30), 4)
    X = rng.standard_normal((30, 1))[person] + 1e-3 * rng.standard_normal((120, 1))
    y = rng.standard_normal(30)[person] + 0.1 * rng.standard_normal(120)
    ref = given(X, y, 0.01, 0.02)
    assert not said(ref, "without inputs")
    assert said(ref.with_row_groups(person), "without inputs")


def test_ridge_errors_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((24, 3)), np.arange(24) // 3
    y = X[:, 0] + 0.1 * rng.standard_normal(24) + 5.0
    for label in (np.arange(24), groups):
        errors = [
            y - cross_val_predict(Ridge(24.0 * one), X, y, groups=label, cv=LeaveOneGroupOut())
            for one in np.logspace(-4.0, 4.0, 33)
        ]
        best = min(errors, key=lambda one: np.sum(one**2))
        # The intercept of the ones that stay is not that of all, by a term of second order.
        assert ridge_errors(X, y, label) == pytest.approx(best, abs=0.02)


def test_null_models_by_brute_force():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 2)), rng.standard_normal(30)
    training = given(X, y, 0.1, 1.0, 1.0).training
    found = baselines(training, y, Gaussian(0.1), None)["null"]
    left = np.array([y[i] - np.delete(y, i).mean() for i in range(30)])
    spread = np.sqrt([np.mean(np.delete(left, i) ** 2) for i in range(30)])
    assert found == pytest.approx(stats.norm.logpdf(left, 0.0, spread))
    classes = gpproj.condition(X, y > 0.5, kernel(1.0, 1.0), "bernoulli").check()
    own = np.where(y > 0.5, np.sum(y > 0.5), np.sum(y <= 0.5))
    assert classes.log_density["null"] == pytest.approx(np.log((own - 0.5) / 30.0).mean())


@pytest.mark.parametrize("model", [Gaussian(0.3), StudentT(0.3, 4.0), StudentT(1e-3, 2.5)])
def test_cumulative_probabilities_are_those_of_draws(model):
    rng = np.random.default_rng(0)
    f = 0.2 + np.sqrt(0.5) * rng.standard_normal(200_000)
    noise = rng.standard_normal(f.size) if isinstance(model, Gaussian) else None
    noise = rng.standard_t(model.degrees, f.size) if noise is None else noise
    drawn = f + np.sqrt(model.variance) * noise
    at = np.array([-1.0, 0.2, 1.5])
    found = model.cumulative(at, np.full(3, 0.2), np.full(3, 0.5))
    assert found == pytest.approx(np.mean(drawn[:, None] < at, axis=0), abs=0.004)


# Every kind of reference ----------------------------------------------------------------------


def test_references_of_every_kind(tmp_path):
    X, f, y = smooth(40)
    rng = np.random.default_rng(2)
    draws = f + 0.1 * rng.standard_normal((500, 40))
    mode = fit_mode(X, y)
    mode.save(tmp_path / "saved")
    noise = {"likelihood": Gaussian(0.09)}
    references = {
        "process": gpproj.fit(X, y, draws=4),
        "mode": mode,
        "loaded": gpproj.load(tmp_path / "saved"),
        "sparse": gpproj.fit(X, y, inference=gpproj.Sparse(10)),
        "moments": gpproj.from_moments(X, y, f, 0.01 * np.eye(40), **noise),
        "draws": gpproj.from_draws(X, y, draws, **noise),
        "predictions": gpproj.from_predictions(X, y, mean=f, variance=0.1),
        "linear": gpproj.sample_linear(X, y, random_state=0),
    }
    for name, ref in references.items():
        for one in (ref, ref.with_row_groups(np.arange(40) // 2)):
            check = one.check()
            assert check is one.check(), name  # computed once
            assert np.isfinite(check.log_density).all(), name
            assert check.left_out in ("row", "group"), name
    assert references["mode"].check().problems == references["loaded"].check().problems
    assert references["predictions"].check().problems == ()


def test_rows_that_cannot_be_left_out():
    X, f, y = smooth(40)
    spread = 4.0 * np.cov(np.random.default_rng(0).standard_normal((40, 90)))
    ref = gpproj.from_moments(X, y, f, spread, likelihood=Gaussian(0.09))
    few = gpproj.from_linear_draws(X, y, np.ones((3, 2)), 0.1)
    for one in (ref, few):
        check = one.check()
        assert (check.left_out, check.rows, check.coverage) == ("nothing", None, None)
        assert check.log_density.empty
        with pytest.raises(ValueError, match="no row could be left out"):
            check.calibration()


def test_classes_and_counts():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    counts = gpproj.condition(X, rng.poisson(np.exp(X[:, 0])), kernel(2.0, 20.0), "poisson")
    classes = gpproj.condition(X, X[:, 0] > rng.standard_normal(60), kernel(2.0, 9.0), "bernoulli")
    for ref in (counts, classes, counts.with_row_groups(np.arange(60) // 2)):
        assert ref.check().coverage is None
        assert ref.check().problems == ()
        assert list(ref.check().log_density.index) == ["reference", "null"]
    with pytest.raises(ValueError, match="not of counts"):
        counts.check().calibration()
    with pytest.raises(ValueError, match="bins must be"):
        classes.check().calibration(bins=1)


def test_counts_with_more_dispersion_than_the_model_has():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 1)), rng.negative_binomial(0.5, 0.1, 80)
    ref = gpproj.condition(X, y, kernel(100.0, signal=1e-3), "poisson")
    assert said(ref, "without inputs")
    assert not said(
        gpproj.condition(X, rng.poisson(np.exp(X[:, 0])), kernel(3.0), "poisson"), "without inputs"
    )


# Warnings -------------------------------------------------------------------------------------


def test_fit_warns_once_and_folds_do_not():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 2)), rng.standard_normal(40)
    options = {"draws": 1, "kernel": Constant() + SquaredExponential(), "prior": "weak"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", gpproj.ReferenceWarning)
        ref = gpproj.fit(X, y, **options)
    said = [str(one.message) for one in caught]
    assert said == list(ref.check().problems)
    assert len(said) == 1
    assert all(one.category is gpproj.ReferenceWarning for one in caught)
    assert caught[0].filename == __file__
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gpproj.fit(X, y, check=False, **options)
        ref.refit(X[:30], y[:30])
        cv = gpproj.validate(ref, folds=2, max_inputs=1, random_state=0, progress=False)
    assert not [one for one in caught if one.category is gpproj.ReferenceWarning]
    assert said[0] in cv.problems
