"""References through inducing points, from end to end."""

from __future__ import annotations

import numpy as np
import pytest

import gpproj
from gpproj import inference
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.linalg import LowRankCovariance
from tests.fitting import fit_mode


def make_data(n=100, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    return X, np.sin(1.5 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def ref(data):
    return fit_mode(*data, inference=gpproj.Sparse(30))


@pytest.fixture(scope="module")
def exact(data):
    return fit_mode(*data)


@pytest.fixture
def no_matrices(monkeypatch):
    def refuse(self):
        raise AssertionError("an n x n matrix was formed")

    monkeypatch.setattr(LowRankCovariance, "dense", refuse)


@pytest.mark.parametrize("method", ["vfe", "fitc"])
@pytest.mark.parametrize("selection", ["greedy", "kmeans"])
def test_fits_predict_as_exact_ones_do(data, exact, method, selection):
    few = fit_mode(*data, inference=gpproj.Sparse(30, method, selection))
    X, y = make_data(seed=1)
    mine, its = few.log_density(X, y).mean(), exact.log_density(X, y).mean()
    assert mine == pytest.approx(its, abs=0.02)
    assert few.noise_variance == pytest.approx(exact.noise_variance, rel=0.1)
    assert few.predict(X).mean == pytest.approx(exact.predict(X).mean, abs=0.15)
    assert few.loo().log_density.sum() == pytest.approx(exact.loo().log_density.sum(), abs=4.0)
    if method == "vfe":
        assert few.log_marginal_likelihood < exact.log_marginal_likelihood + 1.0


@pytest.mark.slow
def test_no_matrix_over_rows_is_formed(data, ref, no_matrices):
    assert isinstance(ref.latent_cov, LowRankCovariance)
    path = gpproj.forward_search(ref, 2, progress=False)
    assert set(path.order) == {"x0", "x1"}
    assert gpproj.leave_input_out(ref).size == 4
    assert ref.loo().log_density.shape == (100,)
    for method in ("ard", "kl", "variance", "permutation"):
        assert gpproj.relevance(ref, method, random_state=0).size == 4
    assert np.isfinite(path[2].log_density(*data)).all()
    cv = gpproj.validate(ref, path, folds=2, random_state=0, progress=False)
    assert cv.suggest_size() == 2


def test_the_latent_mean_is_the_prediction_at_the_rows(data, ref):
    X, _ = data
    np.testing.assert_allclose(ref.latent_mean, ref.predict(X).mean, atol=0.01)
    sd = np.sqrt(ref.latent_cov.diagonal())
    np.testing.assert_allclose(sd, np.sqrt(ref.predict(X).variance), rtol=0.05)


@pytest.mark.filterwarnings("ignore:no candidate improved")
def test_leave_one_out_where_the_points_are_far_too_few(data):
    X, y = data
    kernel = Constant(1.0) + SquaredExponential(2.0, [0.5, 0.5, 2.0, 2.0])
    few = gpproj.condition(X, y, kernel, Gaussian(0.1), inference=gpproj.Sparse(5))
    found = few.loo()
    assert (found.variance > 0.1).all()
    assert found.log_density.sum() > -3.0 * y.size
    path = gpproj.forward_search(few, 1, progress=False)
    cv = gpproj.validate(few, path, method="loo", points=5, random_state=0, progress=False)
    assert np.isfinite(cv.summary()["elpd"]).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:some submodels seem")
def test_leave_one_out_of_submodels(ref, exact):
    paths = [gpproj.forward_search(one, 2, progress=False) for one in (exact, ref)]
    settings = {"method": "loo", "points": 12, "random_state": 0, "progress": False}
    tables = [
        gpproj.validate(one, path, **settings).summary()
        for one, path in zip((exact, ref), paths, strict=True)
    ]
    assert paths[0].order == paths[1].order
    np.testing.assert_allclose(tables[1]["elpd"], tables[0]["elpd"], rtol=0.05, atol=3.0)


def test_many_rows_have_inducing_points_by_themselves(data, monkeypatch):
    monkeypatch.setattr(inference, "SPARSE_ABOVE", 60)
    X, y = data
    kernel, noise = SquaredExponential(1.0, 1.0), Gaussian(0.1)
    assert gpproj.condition(X, y, kernel, noise).problem.inducing.method == "vfe"
    assert gpproj.condition(X, y, kernel, noise, inference="exact").problem.inducing is None
    assert gpproj.condition(X[:50], y[:50], kernel, noise).problem.inducing is None


def test_points_of_the_user_are_in_the_units_of_the_inputs(data):
    X, y = data
    kernel, noise = SquaredExponential(1.0, [1.0] * 4), Gaussian(0.1)
    settings = {"kernel": kernel, "likelihood": noise, "standardize": True}
    one = gpproj.condition(X, y, inference=gpproj.Sparse(X[:20]), **settings)
    other = gpproj.condition(
        100.0 * X + 7.0, y, inference=gpproj.Sparse(100.0 * X[:20] + 7.0), **settings
    )
    np.testing.assert_allclose(one.latent_mean, other.latent_mean, atol=1e-8)
    with pytest.raises(ValueError, match="inducing, read as X is: X must have 4 columns"):
        gpproj.condition(X, y, inference=gpproj.Sparse(X[:20, :2]), **settings)


@pytest.mark.slow
def test_points_can_be_optimised(data):
    X, y = data
    plain = fit_mode(X, y, inference=gpproj.Sparse(6))
    moved = fit_mode(X, y, inference=gpproj.Sparse(6, optimise=True))
    assert moved.log_marginal_likelihood > plain.log_marginal_likelihood + 1.0
    assert moved.problem.inducing.count == 6
    assert moved.optimum.converged.all()
    slope = inference.log_evidence(moved.problem, moved.draws.parameters).gradient[0]
    assert np.abs(slope).max() < 1.0  # the weak prior's own, at most
    assert not np.array_equal(moved.problem.inducing.Z, plain.problem.inducing.Z)
    assert moved.recipe.keywords["inference"].optimise
    with pytest.raises(ValueError, match="Gaussian noise only"):
        fit_mode(X, y > 0.0, "probit", inference=gpproj.Sparse(6, optimise=True))


def test_refitting_keeps_the_plan(data, ref):
    X, y = data
    again = ref.refit(X[:70], y[:70])
    assert again.problem.inducing.count == 30
    assert again.problem.inducing.method == "vfe"


def test_the_same_data_give_the_same_answer(data, ref):
    again = fit_mode(*data, inference=gpproj.Sparse(30))
    np.testing.assert_array_equal(again.latent_mean, ref.latent_mean)


@pytest.mark.slow
def test_a_search_on_some_rows(ref, no_matrices):
    path = gpproj.forward_search(ref, 3, search_rows=60, progress=False)
    whole = gpproj.project_path(ref, path.order)
    assert set(path.order[:2]) == {"x0", "x1"}
    np.testing.assert_allclose(path.errors, whole.errors, rtol=2e-3)
    assert path.null_error == pytest.approx(whole.null_error)
    assert path.full_error == pytest.approx(whole.full_error, rel=1e-2, abs=0.5)
    assert path.searched.rows == 60
    table = path.summary()
    np.testing.assert_allclose(table["searched"], path.searched.relative_errors)
    assert np.abs(table["searched"] - table["relative_error"])[:3].max() < 0.1
    other = gpproj.forward_search(ref, 3, search_rows=60, random_state=1, progress=False)
    assert other.searched.relative_errors != path.searched.relative_errors
    again = path.recipe(ref)
    assert again.searched.relative_errors == path.searched.relative_errors


@pytest.mark.slow
def test_a_search_on_some_rows_of_an_exact_reference(exact):
    path = gpproj.forward_search(exact, 2, search_rows=60, progress=False)
    whole = gpproj.forward_search(exact, 2, progress=False)
    assert path.order == whole.order
    np.testing.assert_allclose(path.errors, whole.errors, rtol=1e-4)


@pytest.mark.parametrize(("rows", "error"), [(1, ValueError), (-3, ValueError), (2.5, TypeError)])
def test_bad_numbers_of_rows_are_named(ref, rows, error):
    with pytest.raises(error, match="search_rows"):
        gpproj.forward_search(ref, 1, search_rows=rows, progress=False)


@pytest.mark.slow
def test_paths_on_some_rows_and_on_all_do_not_extend_each_other(ref):
    path = gpproj.forward_search(ref, 1, progress=False)
    with pytest.raises(ValueError, match="search_rows"):
        gpproj.forward_search(ref, 2, search_rows=50, extend=path, progress=False)
    some = gpproj.forward_search(ref, 1, search_rows=50, progress=False)
    with pytest.raises(ValueError, match="extend"):
        gpproj.forward_search(ref, 2, extend=some, progress=False)


@pytest.mark.slow
def test_few_rows_decide_the_order_alone(exact):
    path = gpproj.forward_search(exact, search_rows=8, progress=False)
    along = gpproj.project_path(exact, path.order)
    np.testing.assert_allclose(path.relative_errors, along.relative_errors, atol=0.02)


@pytest.mark.slow
def test_folds_with_fewer_rows_than_the_search_wants(exact):
    path = gpproj.forward_search(exact, 1, search_rows=99, progress=False)
    cv = gpproj.validate(exact, path, folds=2, random_state=0, progress=False)
    assert len(cv.path) == 2


def test_conditioning_moves_no_points(data):
    with pytest.raises(ValueError, match="are optimised by"):
        gpproj.condition(
            *data,
            SquaredExponential(1.0, 1.0),
            Gaussian(0.1),
            inference=gpproj.Sparse(5, optimise=True),
        )


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["probit", "poisson"])
def test_classes_and_counts(likelihood):
    X, f = make_data(120)
    rng = np.random.default_rng(1)
    y = (f > 0.0).astype(int) if likelihood == "probit" else rng.poisson(np.exp(0.5 * f))
    few = fit_mode(X, y, likelihood, inference=gpproj.Sparse(30))
    exact = fit_mode(X, y, likelihood)
    assert few.loo().log_density.sum() == pytest.approx(exact.loo().log_density.sum(), abs=4.0)
    path = gpproj.forward_search(few, 2, progress=False)
    assert set(path.order) == {"x0", "x1"}
    whole = gpproj.project(exact, path.order)
    np.testing.assert_allclose(
        path[2].predict_response(X[:20, list(path.positions)]).mean,
        whole.predict_response(X[:20, list(path.positions)]).mean,
        atol=0.1,
    )


@pytest.mark.slow
def test_sampled_references(no_matrices):
    pytest.importorskip("nutpie")
    X, y = make_data(80)
    with pytest.warns(UserWarning, match="draws|chains"):
        ref = gpproj.sample(
            X, y, draws=8, tune=30, inference=gpproj.Sparse(20), random_state=0, progress=False
        )
    assert isinstance(ref.latent_cov, LowRankCovariance)
    assert ref.latent_cov.rank <= 40 + 8
    path = gpproj.forward_search(ref, 2, clusters=2, progress=False)
    assert set(path.order) == {"x0", "x1"}
    assert path[2].clusters == 2
    assert np.isfinite(path[2].log_density(X, y)).all()
    with pytest.raises(ValueError, match="needs whole covariance matrices"):
        gpproj.validate(ref, path, method="loo", hyperparameters="held", progress=False)
