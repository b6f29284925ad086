"""Searches and paths on small problems."""

from __future__ import annotations

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import gpproj
from tests.fitting import fit_mode


def make_reference(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 4)), columns=["a", "b", "c", "d"])
    y = 2 * np.sin(X["a"]) + 0.3 * X["b"] + 3 * X["d"] + 0.3 * rng.standard_normal(n)
    return fit_mode(X, y)


@pytest.fixture(scope="module")
def ref():
    return make_reference()


@pytest.fixture(scope="module")
def path(ref):
    return gpproj.forward_search(ref, strategy="exhaustive", progress=False)


def test_the_order_follows_what_each_input_explains(ref, path):
    assert path.order == ("d", "a", "b", "c")
    assert path.positions == (3, 0, 1, 2)
    assert path.errors.shape == (5,)
    assert path.null_error == path.errors[0]
    assert np.all(np.diff(path.errors) < 1e-6)
    assert path.relative_errors[0] == 1.0
    assert path.relative_errors[-1] == pytest.approx(0.0, abs=1e-4)


def test_each_step_takes_the_candidate_with_the_smallest_error(ref, path):
    table = path.candidates
    assert list(table.columns) == ["step", "input", "error", "evaluations", "converged"]
    assert table.groupby("step").size().tolist() == [4, 3, 2, 1]
    for step, group in table.groupby("step"):
        best = group.loc[group["error"].idxmin()]
        assert best["input"] == path.order[step - 1]
        # The winner is polished after the race, on the scale of the null model's error.
        tolerance = 1e-5 * path.null_error
        assert path.errors[step] == pytest.approx(best["error"], rel=1e-4, abs=tolerance)
    assert (table["evaluations"] > 0).all()
    first = gpproj.project(ref, ["d"])
    assert path.errors[1] == pytest.approx(first.loo_divergence, rel=1e-3)


def test_submodels_and_summary(ref, path):
    assert len(path) == 5
    assert path[0].inputs == ()
    assert path[2].inputs == ("d", "a")
    assert path.criterion == "loo_divergence"
    assert path[2].loo_divergence == pytest.approx(path.errors[2], rel=1e-9)
    assert path[np.int64(4)].inputs == path.order
    summary = path.summary()
    assert summary.index.name == "size"
    assert summary["input"].tolist() == ["", "d", "a", "b", "c"]
    np.testing.assert_array_equal(summary["error"], path.errors)
    extra = [path[k].extra_variance ** 0.5 for k in range(5)]
    np.testing.assert_allclose(summary["extra_sd"], extra)
    assert summary["converged"].all()
    assert np.all(np.diff(summary["posterior_kl"]) <= 1e-9)
    assert "d, a, b, c" in repr(path)
    for wrong, error in ((5, IndexError), (-1, IndexError), ("a", TypeError), (1.5, TypeError)):
        with pytest.raises(error, match="size must be"):
            path[wrong]


def test_a_shorter_search_is_the_beginning_of_a_longer_one(ref, path):
    short = gpproj.forward_search(ref, 2, strategy="exhaustive", progress=False)
    assert short.order == path.order[:2]
    np.testing.assert_array_equal(short.errors, path.errors[:3])
    none = gpproj.forward_search(ref, max_inputs=0, progress=False)
    assert none.order == ()
    assert "no steps" in repr(none)


def test_the_path_does_not_depend_on_the_number_of_workers(ref, path):
    parallel = gpproj.forward_search(ref, strategy="exhaustive", n_jobs=2, progress=False)
    assert parallel.order == path.order
    np.testing.assert_array_equal(parallel.errors, path.errors)
    pd.testing.assert_frame_equal(parallel.candidates, path.candidates)


def test_a_given_order(ref, path):
    given = gpproj.project_path(ref, ["c", 1, "d"])
    assert given.order == ("c", "b", "d")
    assert given.null_error == path.null_error
    assert given.full_error == path.full_error
    assert given.candidates.empty
    assert given.errors[1] > path.errors[1]
    learned = gpproj.project_path(ref, ["d", "a"], learn="marginal_likelihood")
    expected = gpproj.project(ref, ["d", "a"], learn="marginal_likelihood")
    assert learned.errors[2] == pytest.approx(expected.projection_error, rel=1e-2)


@pytest.mark.slow
def test_leave_input_out_is_one_error_for_each_input(ref, path):
    errors = gpproj.leave_input_out(ref)
    assert list(errors.index) == ["a", "b", "c", "d"]
    assert errors.idxmax() == "d"
    assert errors.idxmin() == "c"
    for name in ("a", "c"):
        rest = [other for other in "abcd" if other != name]
        assert errors[name] == pytest.approx(gpproj.project(ref, rest).loo_divergence, rel=1e-4)
    pd.testing.assert_series_equal(gpproj.leave_input_out(ref, n_jobs=2), errors)


def test_leave_input_out_of_a_single_input_is_the_null_model():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 1))
    ref = fit_mode(X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(30))
    errors = gpproj.leave_input_out(ref)
    assert errors["x0"] == pytest.approx(gpproj.project(ref, []).loo_divergence)
    assert errors.name == "loo_divergence"
    theirs = gpproj.leave_input_out(ref, learn="projection")
    assert theirs["x0"] == pytest.approx(gpproj.project(ref, [], "projection").projection_error)
    assert theirs.name == "projection_error"


@pytest.mark.slow
def test_the_toy_example_is_flat_because_of_equal_drops_and_not_because_of_a_collapse():
    """All inputs explain one eighth of the variance; see the first trap of the design."""
    X, y = gpproj.datasets.toy_sines(n=300, random_state=1)
    ref = fit_mode(X, y)
    null = gpproj.project(ref, []).projection_error
    chosen = [0, 3, 7]
    drops, extra = [], []
    for left in chosen:
        sub = gpproj.project(ref, [j for j in range(8) if j != left])
        drops.append(null - sub.projection_error)
        extra.append(np.sqrt(sub.extra_variance) / y.std())
    assert min(drops) > 100
    assert max(drops) < 1.35 * min(drops)
    np.testing.assert_allclose(extra, 1 / np.sqrt(8), rtol=0.3)


def test_duplicated_columns_share_their_relevance():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    X = np.column_stack([X, X[:, 0]])
    ref = fit_mode(X, np.sin(X[:, 0]) + 0.2 * X[:, 1] + 0.1 * rng.standard_normal(40))
    path = gpproj.forward_search(ref)
    assert set(path.order[:2]) in ({"x0", "x1"}, {"x2", "x1"})
    assert path.relative_errors[2] < 0.02


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"max_inputs": 5}, ValueError, "max_inputs must be from 0 to .* 4; got 5"),
        ({"max_inputs": -1}, ValueError, "max_inputs"),
        ({"max_inputs": 2.0}, TypeError, "max_inputs"),
        ({"strategy": "random"}, ValueError, "strategy must be .*'random'"),
        ({"n_jobs": 0}, ValueError, "n_jobs"),
        ({"n_jobs": "many"}, ValueError, "n_jobs"),
    ],
)
def test_bad_arguments_are_named(ref, options, error, text):
    with pytest.raises(error, match=text):
        gpproj.forward_search(ref, **options)


def test_plots_draw_what_the_tables_say(ref, path):
    ax = path.plot()
    labels = [tick.get_text() for tick in ax.get_xticklabels()]
    assert labels == ["none", "d", "a", "b", "c"]
    curve = next(line for line in ax.lines if line.get_label() == "submodels")
    np.testing.assert_allclose(curve.get_ydata(), path.relative_errors)
    assert "null model" in [line.get_label() for line in ax.lines]
    failed = (*path.projections[:2], path.projections[2]._replace(converged=False))
    partly = replace(path, units=path.units[:2], projections=failed)
    crosses = [line for line in partly.plot(ax).lines if line.get_label() == "not converged"]
    assert crosses[0].get_xdata().tolist() == [2]
    plt.close("all")


def test_bars_are_scaled_to_one_and_share_their_inputs(ref):
    errors = gpproj.leave_input_out(ref)
    ax = gpproj.plots.relevance_bars({"ARD": ref.ard_relevance(), "leave-input-out": errors})
    assert len(ax.patches) == 8
    heights = np.array([bar.get_height() for bar in ax.patches]).reshape(2, 4)
    np.testing.assert_allclose(heights.max(axis=1), 1.0)
    shown = [tick.get_text() for tick in ax.get_xticklabels()]
    np.testing.assert_allclose(heights[1], (errors / errors.max())[shown])
    with pytest.raises(ValueError, match="relevances"):
        gpproj.plots.relevance_bars({})
    plt.close("all")
