"""Heat map of the rankings and scatter of the predictions against their tables."""

from __future__ import annotations

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

import gpproj
from gpproj.plots.folds import ranking_part
from gpproj.plots.numbers import significant


@pytest.mark.parametrize("cumulate", [True, False])
def test_cells_are_the_ranking_proportions(small_cv, cumulate):
    ax = gpproj.plots.ranking_heatmap(small_cv, cumulate)
    table = small_cv.ranking_proportions(cumulate)
    (cells,) = ax.collections
    np.testing.assert_array_equal(cells.get_array(), table.to_numpy().T)
    assert cells.get_clim() == (0.0, 1.0)
    assert ax.get_xlim() == (0.5, 5.5)
    assert ax.get_ylim() == (4.5, -0.5)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(table.columns)
    assert ax.get_xlabel().startswith("size by which" if cumulate else "size at which")


def test_few_cells_have_numbers_and_empty_ones_none(small_cv):
    ax = gpproj.plots.ranking_heatmap(small_cv)
    table = small_cv.ranking_proportions(cumulate=True)
    written = {
        (round(text.get_position()[0]), table.columns[round(text.get_position()[1])]): (
            text.get_text()
        )
        for text in ax.texts
        if text.get_gid() is None
    }
    expected = table.stack()
    expected = expected[expected > 0]
    assert written == {place: f"{share:.0%}" for place, share in expected.items()}
    assert len(ax.figure.axes) == 1


def test_a_large_map_can_be_drawn_in_part(large_cv):
    ax = gpproj.plots.ranking_heatmap(large_cv, size=3, max_sizes=5, max_inputs=4)
    table = large_cv.ranking_proportions(cumulate=True).iloc[:5]
    chosen = large_cv.path.best_inputs(3)
    entered = [name for name in table if (table[name] > 0.0).any() and name not in chosen]
    names = [name for name in table if name in {*chosen, entered[0]}]
    np.testing.assert_array_equal(ax.collections[0].get_array(), table[names].to_numpy().T)
    (mark,) = ax.lines
    assert list(mark.get_xdata()) == [3.5, 3.5]
    whole = gpproj.plots.ranking_heatmap(large_cv, max_sizes=5)
    assert whole.collections[0].get_array().shape == (100, 5)
    assert not whole.lines


def test_a_hundred_inputs_have_names_and_no_numbers(large_cv, overlap):
    ax = gpproj.plots.ranking_heatmap(large_cv)
    assert ax.collections[0].get_array().shape == (100, 100)
    assert [one.get_gid() for one in ax.texts] == ["conclusion"]
    assert len(ax.figure.axes) == 2  # a colour bar says what the shares are
    labels = ax.get_yticklabels()
    assert len(labels) == 100
    assert not overlap(labels)


def test_names_are_thinned_in_small_axes(large_cv):
    _, ax = plt.subplots(figsize=(5.0, 3.0))
    assert gpproj.plots.ranking_heatmap(large_cv, ax=ax) is ax
    places = ax.get_yticks()
    assert 5 <= len(places) <= 40
    names = large_cv.ranking_proportions().columns
    shown = [tick.get_text() for tick in ax.get_yticklabels()]
    assert shown[1] in (names[int(places[1])], gpproj.plots.style.shortened(names[int(places[1])]))
    assert len(set(np.diff(places))) == 1


def test_a_map_needs_the_search_in_every_fold(poor_cv):
    once = replace(poor_cv, orders=(poor_cv.path.order,), search="once")
    with pytest.raises(ValueError, match='search="inside"'):
        gpproj.plots.ranking_heatmap(once)


@pytest.mark.parametrize("size", [0, 2, 5])
def test_points_are_the_predictions_of_unseen_rows(small_cv, size):
    ax = gpproj.plots.prediction_scatter(small_cv, size)
    points = next(line for line in ax.lines if line.get_label() == "rows")
    np.testing.assert_array_equal(points.get_xdata(), small_cv.scores.mean[0])
    np.testing.assert_array_equal(points.get_ydata(), small_cv.scores.mean[1 + size])
    diagonal = next(line for line in ax.lines if line.get_label() == "no difference")
    np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    both = small_cv.scores.mean[[0, 1 + size]]
    assert diagonal.get_xdata().tolist() == [both.min(), both.max()]
    assert ax.get_aspect() == 1.0
    assert f"size {size}" in ax.get_ylabel()


def test_of_many_rows_some_are_drawn(small_cv):
    def points(**options):
        ax = gpproj.plots.prediction_scatter(small_cv, 2, **options)
        return next(line for line in ax.lines if line.get_label() == "rows").get_xdata()

    assert len(points(max_rows=7)) == 7
    np.testing.assert_array_equal(points(max_rows=7), points(max_rows=7))
    assert set(points(max_rows=7)) < set(points())
    np.testing.assert_array_equal(points(max_rows=40), points())


def test_the_suggested_size_is_drawn_when_none_is_given(small_cv):
    _, ax = plt.subplots()
    assert gpproj.plots.prediction_scatter(small_cv, ax=ax) is ax
    assert "size 3" in ax.get_ylabel()


def test_sizes_that_do_not_exist_are_refused(small_cv, poor_cv):
    with pytest.raises(ValueError, match="no size is suggested: give one"):
        gpproj.plots.prediction_scatter(poor_cv)
    with pytest.raises(ValueError, match="size must be from 0 to 5, got 6"):
        gpproj.plots.prediction_scatter(small_cv, 6)
    with pytest.raises(ValueError, match="size must be from 0 to 5, got -1"):
        gpproj.plots.prediction_scatter(small_cv, -1)


def test_chosen_inputs_are_never_missing_from_the_map(large_cv):
    shares = large_cv.ranking_proportions(cumulate=True)
    late = shares.columns[90]
    chosen = (late, "never seen", large_cv.path.order[0])
    part = ranking_part(shares, 5, 3, chosen)
    assert set(part.columns) == set(chosen)
    assert part["never seen"].tolist() == [0.0] * 5
    assert part[late].tolist() == shares[late].iloc[:5].tolist()
    assert set(chosen) <= set(ranking_part(shares, 5, 10, chosen))
    assert ranking_part(shares, None, None).shape == shares.shape


def test_chosen_inputs_stand_out_in_the_map(exchanged_cv):
    ax = gpproj.plots.ranking_heatmap(exchanged_cv, size=2)
    bold = {one.get_text() for one in ax.get_yticklabels() if one.get_fontweight() == "bold"}
    assert bold == set(exchanged_cv.path.best_inputs(2)) == {"a", "b"}


def said_by(ax):
    (found,) = [one.get_text() for one in ax.texts if one.get_gid() == "conclusion"]
    return " ".join(found.split())


def test_the_map_says_which_inputs_most_searches_agree_on(small_cv):
    said = said_by(gpproj.plots.ranking_heatmap(small_cv, size=2))
    orders, first = small_cv.orders, small_cv.path.order[:2]
    sure = [name for name in first if sum(name in one[:2] for one in orders) >= len(orders) / 2]
    rest = [name for name in first if name not in sure]
    wanted = f"Chosen and among the first 2 in half of 4 searches or more: {', '.join(sure)}."
    assert said == wanted + (f" Chosen, but in fewer of them: {', '.join(rest)}." if rest else "")
    assert said_by(gpproj.plots.ranking_heatmap(small_cv, size=0)).endswith("no input is chosen.")


def test_the_scatter_says_how_far_apart_the_models_are(small_cv, class_cv):
    scores = small_cv.scores
    said = said_by(gpproj.plots.prediction_scatter(small_cv, 2))
    apart = np.median(np.abs(scores.mean[3] - scores.mean[0]))
    assert f"less than {significant(apart)} apart" in said
    alike = np.mean((class_cv.scores.mean[0] >= 0.5) == (class_cv.scores.mean[3] >= 0.5))
    said = said_by(gpproj.plots.prediction_scatter(class_cv, 2))
    assert said.endswith(f"in {100.0 * alike:.0f} % of the rows.")
