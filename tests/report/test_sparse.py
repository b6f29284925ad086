"""What people see of a reference with inducing points, without any matrix of all rows."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import gpproj
from gpproj import plots
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.linalg import LowRankCovariance


@pytest.fixture(scope="module")
def cv():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(300)
    kernel = Constant(1.0) + SquaredExponential(2.0, [1.0, 2.0, 6.0])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(LowRankCovariance, "dense", refuse)
        ref = gpproj.condition(X, y, kernel, Gaussian(0.1), gpproj.Sparse(30), standardize=True)
        path = gpproj.project_path(ref, ["x1", "x0"])
        return gpproj.validate(ref, path, folds=2, random_state=0, progress=False)


def refuse(self):
    raise AssertionError(f"{self!r} as a matrix")


@pytest.fixture(autouse=True)
def nothing_dense(monkeypatch):
    monkeypatch.setattr(LowRankCovariance, "dense", refuse)
    yield
    plt.close("all")


def test_a_report_is_written(cv, tmp_path):
    page = gpproj.write_report(cv, tmp_path / "report.html", size=2, rows=20, points=5).read_text()
    assert "<dt>Inducing points</dt><dd>30, vfe</dd>" in page
    assert "What the chosen inputs do" in page


def test_a_report_of_all_rows_names_no_inducing_points(small_cv, tmp_path):
    page = gpproj.write_report(small_cv, tmp_path / "report.html", effects=0).read_text()
    assert "Inducing points" not in page


def test_everything_is_drawn(cv):
    sub = cv.path[2]
    for ax in (
        cv.plot(),
        cv.path.plot(),
        plots.ranking_heatmap(cv),
        plots.prediction_scatter(cv, 1),
        plots.relevance_bars(cv.reference),
        plots.effects(sub, cv.reference, rows=20, points=5),
    ):
        assert ax is not None


def test_effects_and_relevances_are_close_to_the_exact_ones(cv):
    training = cv.reference.training
    X, y = (np.asarray(part) for part in (training.X, training.y))
    kernel = cv.reference.kernel.scaled(1.0 / training.scaling.target_scale**2)
    noise = cv.reference.noise_variance / training.scaling.target_scale**2
    exact = gpproj.condition(X, y, kernel, Gaussian(noise))
    table = gpproj.relevance_table(cv.reference, repeats=2, random_state=0)
    other = gpproj.relevance_table(exact, repeats=2, random_state=0)
    np.testing.assert_allclose(table, other, atol=0.1)
    rows = X[:40] * training.scaling.input_scale + training.scaling.input_mean
    scale, centre = training.scaling.target_scale, training.scaling.target_mean
    found = gpproj.effects(cv.reference, rows, ["x0"], points=5)["mean"]
    expected = gpproj.effects(exact, X[:40], ["x0"], points=5)["mean"]
    np.testing.assert_allclose(found, centre + scale * expected, atol=0.2)
