"""`project` and `Submodel`: recovery, closed forms, invariance, names and bad input."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm

import gpproj
from gpproj.kernels import Constant, Matern52, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.linalg import to_host
from gpproj.projection import ProjectionOptions, mask_of, projector_of
from tests.fitting import fit_mode

MEASURES = {"loo": "loo_divergence", "projection": "projection_error"}
"""What submodels that were learned in either way are compared by."""

both = pytest.mark.parametrize("learn", MEASURES)


def make_data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)) * [1.0, 5.0, 0.1, 1.0]
    y = 20 + 3 * np.sin(X[:, 0]) + 0.4 * X[:, 1] + 100 * X[:, 2] ** 2 + 0.5 * rng.standard_normal(n)
    return X, y


@pytest.fixture(scope="module")
def ref():
    X, y = make_data()
    return fit_mode(pd.DataFrame(X, columns=["a", "b", "c", "d"]), y)


@pytest.fixture(scope="module")
def nulls(ref):
    return {learn: gpproj.project(ref, [], learn) for learn in MEASURES}


@pytest.mark.parametrize(("learn", "prior"), [("projection", None), ("loo", None), ("loo", "auto")])
def test_all_inputs_recover_the_reference(ref, nulls, learn, prior):
    sub = gpproj.project(ref, ["a", "b", "c", "d"], learn, prior=prior)
    assert sub.converged
    assert sub.problems == ()
    assert -1e-6 < sub.posterior_kl < 1e-4
    for figure in ("projection_error", "loo_divergence"):
        assert -1e-9 <= getattr(sub, figure) < 1e-4 * getattr(nulls[learn], figure)
    X, _ = make_data()
    Z = (X - X.mean(0)) / X.std(0)
    np.testing.assert_allclose(sub.kernel(Z), ref.kernel(Z), rtol=1e-3)
    assert sub.extra_variance < 1e-3 * ref.noise_variance
    np.testing.assert_allclose(sub.predict(X).mean, ref.predict(X).mean, rtol=1e-3)
    np.testing.assert_allclose(sub.predict(X).variance, ref.predict(X).variance, rtol=1e-2)


@both
def test_the_error_orders_submodels_and_the_null_model_is_worst(ref, nulls, learn):
    subs = [gpproj.project(ref, own, learn) for own in (["a", "b", "c"], ["a", "b"], ["a"])]
    errors = [getattr(sub, MEASURES[learn]) for sub in (*subs, nulls[learn])]
    assert 0 < errors[0] < errors[1] < errors[2] < errors[3]


def test_each_way_to_learn_is_best_by_what_it_minimises(ref):
    by_rows, by_posterior = (
        gpproj.project(ref, ["a", "b"], learn, prior=None) for learn in MEASURES
    )
    assert by_rows.loo_divergence < by_posterior.loo_divergence - 1e-3
    assert by_posterior.posterior_kl < by_rows.posterior_kl - 1e-3


@pytest.mark.parametrize(("learn", "prior"), [("loo", "reference"), ("projection", "weak")])
def test_every_way_to_learn_has_a_prior_of_its_own(ref, learn, prior):
    found, expected = (gpproj.project(ref, ["a", "b"], learn, prior=own) for own in ("auto", prior))
    assert found.loo_divergence == expected.loo_divergence
    assert found.loo_divergence != gpproj.project(ref, ["a", "b"], learn, prior=None).loo_divergence
    if learn == "loo":
        assert gpproj.project(ref, ["a", "b"]).loo_divergence == expected.loo_divergence


@pytest.mark.parametrize("nugget", [1e-4, 1e-2])
def test_null_model_without_a_constant_has_its_closed_form(nugget):
    """K = s I with s = extra + eps: E = tr(S)/s + n log s - y'y/(s + v) - n log(s + v) + const."""
    X, y = make_data()
    y = y - y.mean() + 0.7
    kernel = SquaredExponential(3.0, [1.0, 5.0, 0.1, 1.0])
    ref = gpproj.condition(X, y, kernel, Gaussian(0.25), nugget=nugget)
    null = gpproj.project(ref, [], "projection")
    n, v = len(y), 0.25
    trace = np.sum(np.diag(ref.latent_cov)) + np.sum(ref.latent_mean**2)

    def E(log_s):
        s = np.exp(log_s)
        return trace / s + n * np.log(s) - y @ y / (s + v) - n * np.log(s + v)

    best = minimize_scalar(E, bounds=(-5, 8), method="bounded", options={"xatol": 1e-10})
    s = np.exp(best.x)
    assert null.extra_variance + nugget * v == pytest.approx(s, rel=1e-5)
    # mu' = 0 and Sigma' = s I: the whole signal is independent noise
    log_det = ref.latent_cov.log_determinant()
    assert null.projection_error == pytest.approx(
        0.5 * (trace / s + n * np.log(s) - log_det - n), rel=1e-8
    )
    prediction = null.predict(X[:3])
    np.testing.assert_array_equal(prediction.mean, 0.0)
    np.testing.assert_allclose(prediction.variance, s, rtol=1e-5)
    assert null.inputs == ()


@pytest.mark.parametrize("nugget", [1e-4, 1e-2])
def test_null_model_of_single_rows_has_its_closed_form(nugget):
    """Rows are predicted as N(0, s + v), whatever the others are: s + v is the mean of m^2 + v."""
    X, y = make_data()
    y = y - y.mean() + 0.7
    kernel = SquaredExponential(3.0, [1.0, 5.0, 0.1, 1.0])
    ref = gpproj.condition(X, y, kernel, Gaussian(0.25), nugget=nugget)
    null = gpproj.project(ref, [], "loo")
    A = kernel(X) + 0.25 * (1.0 + nugget) * np.eye(len(y))
    variance = 1.0 / np.diag(np.linalg.inv(A))
    mean = y - variance * np.linalg.solve(A, y)
    total = np.mean(mean**2 + variance)
    assert null.extra_variance + (1.0 + nugget) * 0.25 == pytest.approx(total, rel=1e-5)
    expected = 0.5 * np.sum(np.log(total / variance))
    assert null.loo_divergence == pytest.approx(expected, rel=1e-8)
    np.testing.assert_array_equal(null.predict(X[:3]).mean, 0.0)


@both
def test_null_model_with_a_constant_predicts_the_mean(nulls, learn):
    X, y = make_data()
    mean, variance = nulls[learn].predict_response(X[:5])
    np.testing.assert_allclose(mean, y.mean(), rtol=1e-2)
    np.testing.assert_allclose(variance, y.var(), rtol=0.1)


@pytest.mark.slow
@both
@pytest.mark.parametrize("prior", [None, "auto"])
def test_what_is_minimised_never_grows_when_an_input_is_added(ref, learn, prior):
    path = gpproj.project_path(ref, ["d", "c", "b", "a"], learn, prior=prior)
    values = np.array([found.value for found in path.projections])
    assert np.all(np.diff(values) <= 1e-9)
    assert values[-1] < 0.1 * values[0]
    if prior is None:
        figure = path.summary()[{"loo": "loo_divergence", "projection": "posterior_kl"}[learn]]
        assert np.all(np.diff(figure.to_numpy()) <= 1e-9)


@both
def test_where_the_parent_is_better_it_is_the_answer(ref, learn):
    """An input that can only hurt leaves the submodel exactly as it was."""
    projector = projector_of(ref, ProjectionOptions(learn))
    (parent,) = projector.project([mask_of([0, 1], 4)])
    better = parent._replace(value=parent.value - 1e4)
    (child,) = projector.project([mask_of([0, 1, 3], 4)], [better])
    assert child.inputs.tolist() == [True, True, False, True]
    assert child.active.tolist() == [True, True, False, False]
    assert np.array_equal(child.parameters, parent.parameters)
    assert child.error == parent.error
    # On other inputs it is no answer.
    (other,) = projector.project([mask_of([0, 3], 4)], [better])
    assert other.active.tolist() == [True, False, False, True]


def test_learning_by_marginal_likelihood_maximises_it(ref):
    X, y = make_data()
    inputs = ["a", "b"]
    by_data = gpproj.project(ref, inputs, learn="marginal_likelihood")
    others = [gpproj.project(ref, inputs, learn) for learn in MEASURES]

    def log_evidence(sub):
        Z = ((X - X.mean(0)) / X.std(0))[:, :2]
        diagonal = sub.extra_variance + ref.noise_variance * (1 + ref.problem.nugget)
        A = sub.kernel(Z) + diagonal * np.eye(len(y))
        centred = y - y.mean()
        return -0.5 * (centred @ np.linalg.solve(A, centred) + np.linalg.slogdet(A).logabsdet)

    for other in others:
        assert log_evidence(by_data) > log_evidence(other) + 0.1
    assert by_data.posterior_kl > 0
    assert by_data.loo_divergence > 0


@both
def test_another_kernel_family(ref, learn):
    sub = gpproj.project(ref, ["a", "c"], learn, kernel=Constant() + Matern52())
    assert isinstance(sub.kernel.right, Matern52)
    assert sub.kernel.right.lengthscales.shape == (2,)
    assert sub.converged


@both
def test_order_rows_and_units_change_results_by_little(learn):
    X, y = make_data()
    columns, rows = [2, 0, 3, 1], np.random.default_rng(0).permutation(len(y))
    kernel = Constant(1.0) + SquaredExponential(1.0, 2.0)
    plain = gpproj.condition(X, y, kernel.scaled(y.var()), Gaussian(0.05 * y.var()), "auto", True)
    moved_y = 1e-3 * y[rows] - 4
    moved = gpproj.condition(
        1e2 * X[rows][:, columns] + 1,
        moved_y,
        kernel.scaled(moved_y.var()),
        Gaussian(0.05 * moved_y.var()),
        "auto",
        True,
    )
    null = gpproj.project(plain, [], learn)
    one, two = gpproj.project(plain, [0, 2], learn), gpproj.project(moved, [1, 0], learn)
    assert two.posterior_kl == pytest.approx(one.posterior_kl, abs=1e-3)
    for name in MEASURES.values():
        away = abs(getattr(two, name) - getattr(one, name))
        assert away < 1e-3 * getattr(null, name)
    np.testing.assert_allclose(
        two.predict(1e2 * X[:, columns] + 1).mean * 1e3 + 4e3, one.predict(X).mean, rtol=1e-3
    )


@both
def test_predictions_are_those_of_the_small_gaussian_process(ref, learn):
    X, y = make_data()
    sub = gpproj.project(ref, ["c", "a"], learn)
    Z = ((X - X.mean(0)) / X.std(0))[:, [2, 0]]
    K = sub.kernel(Z)
    independent = sub.extra_variance + ref.problem.nugget * ref.noise_variance
    A = K + (independent + sub.noise_variance) * np.eye(len(y))
    new = np.random.default_rng(4).standard_normal((5, 4)) * X.std(0) + X.mean(0)
    k = sub.kernel(Z, ((new - X.mean(0)) / X.std(0))[:, [2, 0]])
    mean, variance = sub.predict(new)
    np.testing.assert_allclose(mean, y.mean() + k.T @ np.linalg.solve(A, y - y.mean()), rtol=1e-8)
    prior = sub.kernel(Z[:1])[0, 0] + independent
    expected = prior - np.sum(k * np.linalg.solve(A, k), axis=0)
    np.testing.assert_allclose(variance, expected, rtol=1e-6)
    target = np.full(5, 21.0)
    density = norm(mean, np.sqrt(variance + sub.noise_variance)).logpdf(target)
    np.testing.assert_allclose(sub.log_density(new, target), density, rtol=1e-9)
    assert sub.likelihood.variance == pytest.approx(ref.noise_variance)


def test_new_data_are_read_by_name(ref):
    X, y = make_data()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    sub = gpproj.project(ref, ["c", "a"])
    expected = sub.predict(frame).mean
    only = frame[["a", "c"]].assign(other="text")
    np.testing.assert_array_equal(sub.predict(only).mean, expected)
    np.testing.assert_array_equal(sub.predict(pl.DataFrame(frame)).mean, expected)
    np.testing.assert_array_equal(sub.predict(X).mean, expected)
    np.testing.assert_array_equal(sub.predict(X[:, [2, 0]]).mean, expected)
    with pytest.raises(ValueError, match="c"):
        sub.predict(frame[["a", "b"]])
    with pytest.raises(ValueError, match="columns"):
        sub.predict(X[:, :3])
    with pytest.raises(ValueError, match="y"):
        sub.log_density(frame, y[:3])


def test_a_submodel_keeps_no_more_than_it_needs(ref):
    sub = gpproj.project(ref, ["a"])
    assert sub.parts[0].predictor.X.shape == (60, 1)
    with pytest.raises(AttributeError):
        sub.converged = False
    assert repr(sub) == f"GaussianProcessSubmodel(a; divergence={sub.loo_divergence:.4g})"
    assert "no inputs" in repr(gpproj.project(ref, []))


@both
def test_constant_inputs_are_accepted_and_never_used(learn):
    X, y = make_data()
    with pytest.warns(UserWarning, match="constant"):
        ref = fit_mode(np.column_stack([X[:, :2], np.ones(len(y))]), y)
    for inputs in ([], [0], [0, 1]):
        with_constant, without = (gpproj.project(ref, own, learn) for own in ([*inputs, 2], inputs))
        for name in MEASURES.values():
            found, expected = getattr(with_constant, name), getattr(without, name)
            assert found == pytest.approx(expected, rel=1e-9)
        assert with_constant.inputs == (*without.inputs, "x2")
        np.testing.assert_allclose(
            with_constant.predict(X[:, [0, 1, 1]]).mean, without.predict(X[:, [0, 1, 1]]).mean
        )


@both
def test_projection_runs_under_array_api_strict(learn):
    X, y = make_data(n=30)
    kernel = Constant(1.0) + SquaredExponential(9.0, 2.0)
    host = gpproj.condition(X, y, kernel, Gaussian(1.0), standardize=True)
    X_strict, y_strict = array_api_strict.asarray(X), array_api_strict.asarray(y)
    ref = gpproj.condition(X_strict, y_strict, kernel, Gaussian(1.0), standardize=True)
    found, expected = (gpproj.project(one, [0, 1], learn) for one in (ref, host))
    null = gpproj.project(host, [], learn)
    for name in MEASURES.values():
        away = abs(getattr(found, name) - getattr(expected, name))
        assert away < 1e-3 * getattr(null, name)
    prediction = found.predict(X_strict)
    assert isinstance(prediction.mean, type(X_strict))
    np.testing.assert_allclose(to_host(prediction.mean), expected.predict(X).mean, rtol=1e-2)


@pytest.mark.parametrize(
    ("inputs", "options", "error", "text"),
    [
        (["a", "zz"], {}, ValueError, "zz"),
        ([0, 9], {}, ValueError, "9"),
        (["a", "a"], {}, ValueError, "a.* more than once"),
        ("ab", {}, ValueError, "saw the name 'ab'"),
        (7, {}, TypeError, "inputs must be a list"),
        (["a"], {"learn": "magic"}, ValueError, "learn must be .*'magic'"),
        (["a"], {"kernel": "se"}, TypeError, "kernel must be"),
        (["a"], {"kernel": SquaredExponential(1.0, [1.0, 2.0])}, ValueError, "2 values.* 4 inputs"),
    ],
)
def test_bad_arguments_are_named(ref, inputs, options, error, text):
    with pytest.raises(error, match=text):
        gpproj.project(ref, inputs, **options)
