"""The calibration of references: drawn data against the table, and the table against counting."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import same_color
from scipy.stats import binom

import gpproj
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.plots import BLUE


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 1))
    return X, np.sin(X[:, 0]) + 0.3 * rng.standard_normal(80)


def condition(X, y, likelihood):
    return gpproj.condition(X, y, Constant(1.0) + SquaredExponential(1.0, [1.0]), likelihood)


def test_the_histogram_is_that_of_the_left_out_rows(data):
    ref = condition(*data, Gaussian(0.09))
    check = ref.check()
    table = check.calibration()
    count, _ = np.histogram(check.rows["pit"], 10, (0.0, 1.0))
    np.testing.assert_array_equal(table["count"], count)
    band = np.array(binom.interval(0.95, 80, 0.1)) / 80.0
    np.testing.assert_allclose(table[["low", "high"]].iloc[0], band)
    _, given = plt.subplots()
    ax = gpproj.plots.calibration(ref, ax=given)
    assert ax is given
    (bars,) = ax.containers
    np.testing.assert_allclose([bar.get_height() for bar in bars], count / 80.0)
    (own, expected) = [text.get_text() for text in ax.get_legend().get_texts()]
    inside = 100.0 * check.coverage
    assert f"{inside[0.5]:.0f} % in 50 % intervals, {inside[0.9]:.0f} % in 90 % intervals" in own
    assert expected == "expected, 95 %"


def test_bins_of_predicted_probabilities(data):
    X, y = data
    ref = condition(X, np.where(y > 0.2, "yes", "no"), "bernoulli")
    rows, table = ref.check().rows, ref.check().calibration()
    for one in table.itertuples():
        inside = rows[(rows["mean"] >= one.lower) & (rows["mean"] < one.upper)]
        assert len(inside) == one.count > 0
        assert inside["mean"].mean() == pytest.approx(one.predicted)
        assert inside["y"].mean() == pytest.approx(one.share)
    assert table["count"].sum() == 80
    ax = gpproj.plots.calibration(ref)
    points = next(line for line in ax.lines if same_color(line.get_color(), BLUE))
    np.testing.assert_allclose(points.get_xydata(), table[["predicted", "share"]])
    assert ax.get_xlabel() == "predicted probability of yes"


def test_counts_have_no_picture(data):
    X, _ = data
    y = np.random.default_rng(0).poisson(2.0, 80)
    with pytest.raises(ValueError, match="not of counts"):
        gpproj.plots.calibration(condition(X, y, "poisson"))
    assert not plt.get_fignums()
