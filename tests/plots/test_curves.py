"""Curves over the size: drawn data against the tables, labels, axes that are given."""

from __future__ import annotations

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import same_color

import gpproj
from gpproj.plots import BLUE, ORANGE
from gpproj.plots.curves import IN_ORDER, VERDICTS
from gpproj.plots.numbers import significant
from gpproj.plots.style import shortened, take_heading
from gpproj.projection import CRITERIA


def texts(ax, axis="x"):
    return [tick.get_text() for tick in getattr(ax, f"get_{axis}ticklabels")()]


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("stat", ["elpd", "mlpd", "rmse", "r2"])
def test_scores_are_those_of_the_table_with_errors_of_the_difference(small_cv, stat):
    ax = gpproj.plots.score_curve(small_cv, stat)
    table, reference = small_cv.summary(stat), small_cv.reference_summary(stat)
    (bars,) = ax.containers
    curve, _, (lengths,) = bars
    apart = stat in ("elpd", "mlpd")
    np.testing.assert_array_equal(curve.get_xdata(), table.index)
    np.testing.assert_allclose(curve.get_ydata(), table[f"{stat}_diff" if apart else stat])
    ends = np.array([segment[:, 1] for segment in lengths.get_segments()])
    np.testing.assert_allclose(ends[:, 1] - ends[:, 0], 2.0 * table[f"{stat}_diff_se"])
    line = next(one for one in ax.lines if one.get_gid() == "reference")
    np.testing.assert_allclose(line.get_ydata(), 0.0 if apart else reference[stat])
    if apart:
        assert not ax.patches
        return
    (band,) = ax.patches
    height = band.get_y(), band.get_y() + band.get_height()
    se = reference[f"{stat}_se"]
    np.testing.assert_allclose(height, [reference[stat] - se, reference[stat] + se])


@pytest.mark.parametrize("name", ["class_cv", "count_cv"])
def test_every_statistic_that_suits_the_targets_is_drawn(request, name):
    cv = request.getfixturevalue(name)
    labels = set()
    for stat in cv.statistics:
        ax = cv.plot(stat)
        column = f"{stat}_diff" if stat in ("elpd", "mlpd") else stat
        np.testing.assert_allclose(ax.containers[0][0].get_ydata(), cv.summary(stat)[column])
        labels.add(ax.get_ylabel())
    assert len(labels) == len(cv.statistics)
    other = "rmse" if name == "class_cv" else "auc"
    with pytest.raises(ValueError, match=r"stats must be among .* does not suit"):
        cv.plot(other)


def test_an_area_that_is_not_known_is_drawn_all_the_same(class_cv):
    ones = np.flatnonzero(class_cv.scores.y == 1.0)
    single = replace(class_cv, scores=class_cv.scores.take(ones))
    assert np.isnan(single.summary("auc")["auc"]).all()
    gpproj.plots.score_curve(single, "auc").figure.draw_without_rendering()


def test_a_bar_that_reaches_the_reference_is_the_rule_of_the_suggestion(small_cv):
    table = small_cv.summary("elpd")
    level = small_cv.reference_summary("elpd")["elpd"]
    reaches = table["elpd"] + table["elpd_diff_se"] >= level
    assert reaches.idxmax() == small_cv.suggest_size()


def test_the_suggested_size_is_marked(small_cv):
    size = small_cv.suggest_size()
    assert size == 3
    ax = gpproj.plots.score_curve(small_cv, "rmse")
    rings = [line for line in ax.lines if same_color(line.get_markeredgecolor(), ORANGE)]
    assert [size] in [ring.get_xdata().tolist() for ring in rings if ring.get_marker() == "o"]
    ring = next(ring for ring in rings if ring.get_marker() == "o")
    assert ring.get_ydata().tolist() == [small_cv.summary("rmse").loc[size, "rmse"]]
    assert "suggested size: 3" in legend_of(ax)


def test_no_suggestion_is_said_without_a_warning(poor_cv):
    ax = gpproj.plots.score_curve(poor_cv)
    assert "no size is suggested" in legend_of(ax)
    assert not [
        line for line in ax.lines if line.get_gid() == "suggested" and len(line.get_xdata())
    ]


def test_sizes_are_named_by_the_input_that_entered(small_cv):
    ax = small_cv.plot()
    assert texts(ax) == ["none", "age", "bmi", "bp", "sex", "glu"]
    assert ax.get_xlabel() == "input added"
    assert ax.get_ylabel() == "elpd, difference to all inputs"
    assert small_cv.plot("r2").get_ylabel() == "explained share of the variance"
    assert ax.xaxis.get_majorticklabels()[0].get_rotation() == 0.0


def test_curves_are_drawn_into_the_axes_given(small_cv):
    _, (one, two) = plt.subplots(1, 2)
    assert gpproj.plots.score_curve(small_cv, ax=one) is one
    assert small_cv.plot("r2", ax=two) is two
    assert gpproj.plots.error_curve(small_cv.path, ax=one) is one
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize("draw", ["score", "error"])
def test_a_hundred_names_are_upright_and_do_not_overlap(large_cv, draw, overlap):
    score = draw == "score"
    ax = gpproj.plots.score_curve(large_cv) if score else gpproj.plots.error_curve(large_cv.path)
    labels = ax.get_xticklabels()
    assert texts(ax)[:3] == ["none", shortened("PctOfPeopleWithSomething0"), "input1"]
    assert len(labels) == 101
    assert {label.get_rotation() for label in labels} == {90.0}
    assert min(label.get_fontsize() for label in labels) >= 6.0
    assert not overlap(labels)
    width, height = ax.figure.get_size_inches()
    assert width <= 14.0
    # Names are not what most of the height is for.
    assert ax.get_window_extent().height > 0.5 * height * ax.figure.dpi


def test_axes_too_narrow_for_names_have_numbers(large_cv, overlap):
    _, ax = plt.subplots(figsize=(4.0, 3.0))
    gpproj.plots.score_curve(large_cv, ax=ax)
    ax.figure.draw_without_rendering()
    assert ax.get_xlabel() == "size of the submodel"
    assert all(text.isdigit() for text in texts(ax) if not text.startswith("\N{MINUS SIGN}"))
    assert not overlap(ax.get_xticklabels())


def test_a_few_long_names_slant_and_do_not_meet(make):
    cv = make([f"PctOfPeopleWithSomething{j}" for j in range(8)])
    labels = gpproj.plots.score_curve(cv).get_xticklabels()
    assert {label.get_rotation() for label in labels} == {40.0}
    assert {label.get_horizontalalignment() for label in labels} == {"right"}
    labels[0].figure.draw_without_rendering()
    distance = labels[1].get_window_extent().x1 - labels[0].get_window_extent().x1
    height = labels[0].get_fontsize() * labels[0].figure.dpi / 72.0
    assert distance * np.sin(np.radians(40.0)) > height


@pytest.mark.parametrize("draw", ["score", "error"])
def test_the_legend_stays_within_a_new_figure(exchanged_cv, draw):
    own = exchanged_cv if draw == "score" else exchanged_cv.path
    figure = own.plot().figure
    figure.draw_without_rendering()
    legend = figure.axes[0].get_legend().get_window_extent()
    assert legend.x0 >= 0.0
    assert legend.x1 <= figure.bbox.x1
    assert legend.y0 >= figure.axes[0].get_window_extent().y1


def test_a_single_row_has_no_errors_and_is_drawn_all_the_same(small_cv):
    worst = np.argmin(small_cv.scores.log_density[1])
    single = replace(small_cv, scores=small_cv.scores.take(np.array([worst])))
    assert np.isnan(single.summary("rmse")["rmse_se"]).all()
    gpproj.plots.score_curve(single, "rmse").figure.draw_without_rendering()


def test_an_unknown_statistic_is_named(small_cv):
    with pytest.raises(ValueError, match=r"stats must be among .*'auc'"):
        gpproj.plots.score_curve(small_cv, "auc")


def test_the_colour_of_submodels_is_the_same_in_all_curves(small_cv):
    error = gpproj.plots.error_curve(small_cv.path)
    score = gpproj.plots.score_curve(small_cv)
    curve = next(line for line in error.lines if line.get_label() == "submodels")
    assert curve.get_color() == score.containers[0][0].get_color() == BLUE


@pytest.mark.parametrize("stat", ["elpd", "rmse"])
def test_the_path_is_drawn_lightly_where_other_sets_predict_better(exchanged_cv, stat):
    ax = gpproj.plots.score_curve(exchanged_cv, stat)
    ((curve, *_),) = ax.containers
    column = "elpd_diff" if stat == "elpd" else stat
    np.testing.assert_array_equal(curve.get_ydata(), exchanged_cv.summary(stat)[column])
    light = curve_named(ax, IN_ORDER)
    along = exchanged_cv.along_path().summary(stat)[column]
    assert not along.equals(exchanged_cv.summary(stat)[column])
    np.testing.assert_array_equal(light.get_ydata(), along)
    assert light.get_alpha() < 1.0
    assert same_color(light.get_color(), BLUE)


def curve_named(ax, label):
    """The line that an entry of the legend stands for, by its looks."""
    (text,) = [place for place, one in enumerate(legend_of(ax)) if one == label]
    alpha = ax.get_legend().legend_handles[text].get_alpha()
    (line,) = [one for one in ax.lines if one.get_alpha() == alpha]
    return line


def test_nothing_is_drawn_lightly_where_the_path_is_the_best(small_cv):
    assert IN_ORDER not in legend_of(gpproj.plots.score_curve(small_cv))
    assert IN_ORDER not in legend_of(gpproj.plots.error_curve(small_cv.path))


def test_errors_are_those_of_the_best_sets_and_lightly_of_the_path(exchanged_cv):
    path = exchanged_cv.path
    ax = gpproj.plots.error_curve(path)
    drawn = {line.get_label(): line for line in ax.lines}
    np.testing.assert_array_equal(
        drawn["submodels"].get_ydata(), path.summary()["best_relative_error"]
    )
    np.testing.assert_array_equal(drawn[IN_ORDER].get_ydata(), path.relative_errors)
    assert path.relative_errors[2] > path.summary()["best_relative_error"][2]
    assert drawn[IN_ORDER].get_alpha() < 1.0
    assert drawn["submodels"].get_alpha() is None


@pytest.mark.parametrize(
    ("criterion", "label"),
    [
        ("loo_divergence", "relative divergence of leave-one-out predictions"),
        ("projection_error", "relative projection error"),
    ],
)
def test_the_error_is_named_and_its_name_fits(small_cv, criterion, label):
    projector = replace(small_cv.path.projector, criterion=CRITERIA[criterion])
    ax = gpproj.plots.error_curve(replace(small_cv.path, projector=projector))
    assert ax.get_ylabel().replace("\n", " ") == label
    ax.figure.draw_without_rendering()
    box = ax.yaxis.label.get_window_extent()
    assert box.y0 >= 0.0
    assert box.y1 <= ax.figure.bbox.y1


def test_dollars_are_no_formulas():
    table = pd.DataFrame({"ard": [1.0, 0.5]}, index=["$\\frac{$", "a"])
    ax = gpproj.plots.relevance_bars(table)
    ax.figure.draw_without_rendering()


def test_names_that_cannot_be_drawn_are_replaced():
    assert shortened("one\n two\x00") == "one two\N{REPLACEMENT CHARACTER}"


def test_long_names_keep_their_ends():
    assert shortened("short") == "short"
    first, second = (shortened(f"PctOfPeopleWithSomethingSpecial{j}") for j in range(2))
    assert first != second
    assert len(first) == 24


def test_the_trade_off_draws_shares_with_bounds_and_verdicts(small_cv):
    ax = small_cv.plot("kept")
    table = small_cv.summary("elpd")
    line = next(one for one in ax.lines if one.get_gid() == "kept")
    np.testing.assert_allclose(line.get_ydata(), table["kept"])
    (margin,) = (one for one in ax.lines if one.get_gid() == "margin")
    assert margin.get_ydata()[0] == pytest.approx(0.95)
    assert legend_of(ax) == [one for one in VERDICTS if one in set(table["verdict"])]
    for verdict in legend_of(ax):
        own = table[table["verdict"] == verdict]
        (marks,) = (one for one in ax.lines if one.get_gid() == verdict.replace(" ", "-"))
        np.testing.assert_array_equal(marks.get_xdata(), own.index)
    (lengths,) = ax.containers[0].lines[2]
    ends = np.array([segment[:, 1] for segment in lengths.get_segments()])
    np.testing.assert_allclose(ends, table[["kept_low", "kept_high"]], atol=1e-12)
    assert not any(
        one.get_gid() == "margin" for one in small_cv.with_margin(4, "elpd").plot("kept").lines
    )


def test_where_nothing_is_gained_there_are_no_shares_to_draw(make):
    cv = make(["a", "b"])
    flat = cv.scores._replace(log_density=np.zeros_like(cv.scores.log_density))
    ax = gpproj.plots.trade_off(replace(cv, scores=flat))
    line = next(one for one in ax.lines if one.get_gid() == "kept")
    assert np.isnan(line.get_ydata()).all()


# What pictures say


def test_the_right_axis_has_the_share_that_is_kept(small_cv):
    ax = small_cv.plot()
    ax.figure.draw_without_rendering()
    (shares,) = ax.child_axes
    table = small_cv.summary("elpd")
    to_share, back = shares._functions
    np.testing.assert_allclose(to_share(table["elpd_diff"].to_numpy()), table["kept"])
    np.testing.assert_allclose(back(to_share(np.array([-3.0, 2.0]))), [-3.0, 2.0])
    (margin,) = (one for one in ax.lines if one.get_gid() == "margin")
    assert to_share(margin.get_ydata()[0]) == pytest.approx(0.95)
    assert "5 % lost" in legend_of(ax)
    assert not small_cv.plot("r2").child_axes
    other = small_cv.with_margin(4, "elpd").plot()
    assert not [one for one in other.lines if one.get_gid() == "margin"]


def test_where_nothing_is_gained_no_share_is_kept(make):
    cv = make(["a", "b"])
    flat = cv.scores._replace(log_density=np.zeros_like(cv.scores.log_density))
    assert gpproj.plots.score_curve(replace(cv, scores=flat)).child_axes == []


def test_markers_are_the_verdicts(small_cv):
    table = small_cv.summary("elpd")
    for stat in ("elpd", "rmse"):
        ax = small_cv.plot(stat)
        for verdict in set(table["verdict"]):
            (marks,) = (one for one in ax.lines if one.get_gid() == verdict.replace(" ", "-"))
            np.testing.assert_array_equal(
                marks.get_xdata(), table.index[table["verdict"] == verdict]
            )
            assert verdict in legend_of(ax)


def heading_of(ax):
    (said,) = [one.get_text() for one in ax.texts if one.get_gid() == "conclusion"]
    return " ".join(ax.get_title(loc="left").split()), " ".join(said.split())


def test_every_curve_has_a_title_and_says_what_to_conclude(small_cv):
    title, said = heading_of(small_cv.plot())
    assert title == "What is lost with few inputs, in rows that were left out"
    assert said.startswith("3 of 5 inputs predict as well as all. Higher is better;")
    title, said = heading_of(small_cv.plot("rmse"))
    row, whole = small_cv.summary("rmse"), small_cv.reference_summary("rmse")["rmse"]
    assert title.startswith("Root mean squared error")
    own, null = significant(row["rmse"][3]), significant(row["rmse"][0])
    wanted = f"RMSE is {own} at size 3, {significant(whole)} with all inputs, {null} at size 0"
    assert said == f"{wanted}; smaller is better."
    assert heading_of(small_cv.plot("kept"))[1] == small_cv.trade_off()
    _, said = heading_of(small_cv.path.plot())
    assert "not how many are enough" in said


def test_headings_stay_within_a_new_figure_and_above_the_legend(exchanged_cv):
    for ax in (exchanged_cv.plot(), exchanged_cv.path.plot(), exchanged_cv.plot("kept")):
        ax.figure.draw_without_rendering()
        (said,) = [one for one in ax.texts if one.get_gid() == "conclusion"]
        legend, below = ax.get_legend().get_window_extent(), said.get_window_extent()
        title = ax._left_title.get_window_extent()
        assert legend.y1 <= below.y0 + 3.0
        assert below.y1 <= title.y0 + 1.0
        assert title.y1 <= ax.figure.bbox.y1
        assert max(below.x1, title.x1) <= ax.figure.bbox.x1


def test_axes_that_are_drawn_into_again_have_one_heading(small_cv):
    _, ax = plt.subplots()
    small_cv.plot(ax=ax)
    small_cv.path.plot(ax=ax)
    assert heading_of(ax)[0] == "How the search compared sets of inputs"
    heading = take_heading(ax)
    assert heading.title == "How the search compared sets of inputs"
    assert heading.conclusion.endswith("a validation tells.")
    assert not ax.texts
    assert not ax.get_title(loc="left")
