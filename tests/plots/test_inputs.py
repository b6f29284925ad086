"""Bars of relevances and curves of effects against their tables."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import same_color

import gpproj
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.plots import BLUE, COLOURS, GREY


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-2.0, 2.0, (30, 4)), columns=["age", "bmi", "flag", "bp"])
    X["flag"] = (X["flag"] > 0).astype(float)
    y = 5.0 + np.sin(X["age"]) + X["bmi"] ** 2 + X["flag"] + 0.1 * rng.standard_normal(30)
    return X, y


@pytest.fixture(scope="module")
def ref(data):
    kernel = Constant(5.0) + SquaredExponential(4.0, [1.0, 1.5, 2.0, 5.0])
    return gpproj.condition(*data, kernel, Gaussian(0.05), standardize=True)


@pytest.fixture(scope="module")
def sub(ref):
    return gpproj.project(ref, ["flag", "age"])


def heights_of(ax):
    return np.array([[bar.get_height() for bar in bars] for bars in ax.containers])


def names_of(ax):
    return [tick.get_text() for tick in ax.get_xticklabels()]


def sorted_by_mean(table):
    return table.loc[table.mean(axis=1).sort_values(ascending=False).index]


def test_bars_of_a_reference_are_its_table(ref):
    ax = gpproj.plots.relevance_bars(ref, random_state=0)
    table = sorted_by_mean(gpproj.relevance_table(ref, random_state=0))
    np.testing.assert_allclose(heights_of(ax), table.to_numpy().T)
    assert names_of(ax) == list(table.index)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["ARD", "KL sensitivity", "variance sensitivity", "permutation"]
    again = gpproj.plots.relevance_bars(table)
    np.testing.assert_array_equal(heights_of(again), heights_of(ax))


def test_measures_can_be_chosen(ref):
    ax = gpproj.plots.relevance_bars(ref, ["kl", "ard"])
    expected = sorted_by_mean(gpproj.relevance_table(ref, ["kl", "ard"]))
    np.testing.assert_allclose(heights_of(ax), expected.to_numpy().T)
    colours = [bars[0].get_facecolor() for bars in ax.containers]
    assert all(same_color(one, two) for one, two in zip(colours, COLOURS, strict=False))


def test_the_top_inputs_by_the_mean_over_the_measures():
    table = pd.DataFrame(
        {"one": [0.0, 4.0, 2.0, 3.0], "two": [1.0, 0.5, 0.1, 0.5]}, index=["a", "b", "c", "d"]
    )
    ax = gpproj.plots.relevance_bars(table, top=3)
    assert names_of(ax) == ["b", "d", "a"]
    np.testing.assert_allclose(heights_of(ax), [[1.0, 0.75, 0.0], [0.5, 0.5, 1.0]])
    assert names_of(gpproj.plots.relevance_bars(table, top=9)) == ["b", "d", "a", "c"]
    with pytest.raises(ValueError, match="top must be a whole number of at least 1, got 0"):
        gpproj.plots.relevance_bars(table, top=0)


def test_measures_of_a_mapping_follow_the_inputs_of_the_first():
    one, two = pd.Series({"a": 2.0, "b": 1.0}), pd.Series({"b": 3.0, "a": 6.0})
    ax = gpproj.plots.relevance_bars({"mine": one, "yours": two})
    np.testing.assert_allclose(heights_of(ax), [[1.0, 0.5], [1.0, 0.5]])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["mine", "yours"]


def test_a_group_has_one_bar_as_high_as_its_largest():
    table = pd.DataFrame({"ard": [1.0, 0.2, 0.5]}, index=["a=x", "a=y", "b"])
    ax = gpproj.plots.relevance_bars(table, groups={"a": ["a=x", "a=y"]})
    assert names_of(ax) == ["a", "b"]
    np.testing.assert_allclose(heights_of(ax), [[1.0, 0.5]])
    assert names_of(gpproj.plots.relevance_bars(table, groups={"both": [2, "a=y"]}))[1] == "both"
    with pytest.raises(ValueError, match="groups must name inputs of the measures; saw 'c'"):
        gpproj.plots.relevance_bars(table, groups={"a": ["c"]})


def test_a_measure_that_is_zero_everywhere_has_no_bars():
    zero = pd.Series({"a": 0.0, "b": 0.0})
    assert not heights_of(gpproj.plots.relevance_bars({"none": zero})).any()


def test_bars_of_a_hundred_inputs(large_cv, overlap):
    ax = gpproj.plots.relevance_bars(large_cv.reference, ["ard", "kl"])
    assert heights_of(ax).shape == (2, 100)
    labels = ax.get_xticklabels()
    assert len(labels) == 100
    assert not overlap(labels)
    _, narrow = plt.subplots(figsize=(4.0, 3.0))
    assert gpproj.plots.relevance_bars(large_cv.reference, ["ard"], ax=narrow) is narrow
    assert 10 <= len(names_of(narrow)) <= 50


def curve_of(ax, colour):
    (line,) = (line for line in ax.lines if same_color(line.get_color(), colour))
    return line


def test_effects_are_those_of_the_tables(data, ref, sub):
    X, _ = data
    axes = gpproj.plots.effects(sub, ref, rows=range(20), points=12)
    assert [ax.get_xlabel() for ax in axes] == ["flag", "age"]
    for model, colour in [(sub, BLUE), (ref, GREY)]:
        table = gpproj.effects(model, X.iloc[:20], ["flag", "age"], points=12)
        for ax, (_, own) in zip(axes, table.groupby("input", sort=False), strict=True):
            line = curve_of(ax, colour)
            np.testing.assert_allclose(line.get_xdata(), own["x"])
            np.testing.assert_allclose(line.get_ydata(), own["mean"])
            if model is sub:
                (band,) = ax.collections
                corners = band.get_paths()[0].vertices
                assert corners[:, 1].min() == pytest.approx(own["lower"].min())
                assert corners[:, 1].max() == pytest.approx(own["upper"].max())
    assert len(curve_of(axes[0], BLUE).get_xdata()) == 2  # a flag has nothing in between
    assert curve_of(axes[0], BLUE).get_marker() == "o"
    assert axes[0].get_ylim() == axes[1].get_ylim()
    ticks = [next(line for line in ax.lines if line.get_gid() == "values") for ax in axes]
    np.testing.assert_allclose(ticks[0].get_xdata(), [0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(ticks[1].get_xdata(), np.sort(X["age"][:20]))


def test_rows_are_a_fixed_choice(ref, sub):
    def means(**options):
        (ax,) = gpproj.plots.effects(sub, ref, ["age"], points=5, **options)
        return curve_of(ax, BLUE).get_ydata()

    np.testing.assert_array_equal(means(rows=12), means(rows=12))
    assert np.abs(means(rows=12) - means(rows=29)).max() > 1e-3
    np.testing.assert_array_equal(means(rows=1000), means(rows=range(30)))


def test_effects_are_drawn_into_the_axes_given(ref, sub):
    figure, axes = plt.subplots(1, 3, layout="constrained")
    found = gpproj.plots.effects(sub, ref, rows=5, points=3, axes=axes)
    assert list(found) == list(axes[:2])
    (alone,) = gpproj.plots.effects(sub, ref, ["age"], rows=5, points=3, axes=axes[2])
    assert alone is axes[2]
    assert plt.get_fignums() == [figure.number]
    figure.draw_without_rendering()
    with pytest.raises(ValueError, match="axes must be at least 2, one for each input; got 1"):
        gpproj.plots.effects(sub, ref, rows=5, points=3, axes=axes[:1])


def test_many_effects_fill_rows_of_four(large_cv):
    ref = large_cv.reference
    sub = gpproj.project(ref, list(range(9)), prior=None)
    axes = gpproj.plots.effects(sub, ref, rows=5, points=3)
    assert len(axes) == len(axes[0].figure.axes) == 9
    assert axes[0].get_subplotspec().get_gridspec().get_geometry() == (3, 4)
    assert [bool(ax.get_ylabel()) for ax in axes] == [j % 4 == 0 for j in range(9)]
    axes[0].figure.draw_without_rendering()


def test_there_is_no_effect_of_no_input(ref):
    with pytest.raises(ValueError, match="at least one input"):
        gpproj.plots.effects(gpproj.project(ref, []), ref)
    sub = gpproj.project(ref, ["age"])
    with pytest.raises(ValueError, match="inputs must be among 'age'; saw 'bp'"):
        gpproj.plots.effects(sub, ref, ["bp"])
    with pytest.raises(ValueError, match="rows must be a whole number of at least 1, got 0"):
        gpproj.plots.effects(sub, ref, rows=0)
