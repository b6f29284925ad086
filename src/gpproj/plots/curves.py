"""Curves over the size of the submodel: what is lost, and how well it predicts."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from gpproj.plots.numbers import percent, significant
from gpproj.plots.style import (
    BLUE,
    GREY,
    ORANGE,
    legend_above,
    name_sizes,
    new_axes,
    put_heading,
)
from gpproj.projection import CRITERIA
from gpproj.validation.scores import STATISTICS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpproj.search import SearchPath
    from gpproj.validation import Validation

LIGHT: dict[str, Any] = {
    "color": BLUE,
    "alpha": 0.5,
    "marker": ".",
    "linewidth": 0.8,
    "zorder": 1.5,
}
"""Style of the nested order of the search, where better sets of the same size are drawn too."""

IN_ORDER = "first inputs that entered"

SCORES = {
    "elpd": "expected log predictive density",
    "mlpd": "mean log predictive density",
    "rmse": "root mean squared error",
    "r2": "explained share of the variance",
    "accuracy": "share of the classes that were right",
    "auc": "area under the ROC curve",
    "brier": "Brier score",
    "deviance": "mean deviance",
}

DIFFERENCES = ("elpd", "mlpd")
"""Statistics whose level says nothing by itself: the difference to the reference is drawn."""


def error_curve(path: SearchPath, ax: Axes | None = None) -> Axes:
    """Draw the relative error against the number of inputs.

    The curve is that of the best set of each size; the nested order of the path is drawn lightly
    where it loses more. Submodels of the path whose optimisation did not converge are marked with a
    cross. The null model is the line at one, the submodel on all inputs the line at zero. The table
    is `path.summary()`.

    Parameters
    ----------
    path : SearchPath
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    table = path.summary()
    entered = ["none", *table["input"][1:]]
    ax = new_axes(ax, width=max(5.0, 1.5 + 0.3 * len(table)), height=4.3, upright=entered)
    sizes, errors = table.index.to_numpy(), table["relative_error"].to_numpy()
    ax.axhline(1.0, color=GREY, linestyle="--", linewidth=1.0, label="null model")
    ax.axhline(0.0, color=GREY, linestyle=":", linewidth=1.0, label="all inputs")
    best = table["best_relative_error"].to_numpy()
    ax.plot(sizes, best, "o-", color=BLUE, markersize=4.0, label="submodels")
    if (best != errors).any():
        ax.plot(sizes, errors, label=IN_ORDER, **LIGHT)
    failed = ~table["converged"].to_numpy()
    if failed.any():
        ax.plot(sizes[failed], errors[failed], "x", color=ORANGE, label="not converged")
    name_sizes(ax, entered)
    # In two lines where one would be longer than the axes.
    ax.set_ylabel(fill(f"relative {CRITERIA[path.criterion].title}", 28))
    legend_above(ax, *ax.get_legend_handles_labels())
    put_heading(ax, "How the search compared sets of inputs", NOT_A_VERDICT)
    return ax


NOT_A_VERDICT = (
    "The search's own measure, on the rows that it has used: it says which inputs to try, not how "
    "many are enough. A small rest may matter, or be noise; a validation tells."
)


def score_curve(cv: Validation, stat: str = "elpd", ax: Axes | None = None) -> Axes:
    """Draw how well submodels predict unseen rows against their size.

    Of elpd and mlpd it is the difference to the reference, which is zero, with the share of the
    reference's gain over the null model that is kept on the right axis; the dashed line is the
    largest loss that would not matter. Of other statistics it is the value, beside the reference's
    with its standard error as a band: how much that would change with other rows.

    The bar of a submodel is one standard error of its *difference* to the reference: both predict
    the same rows, and what is hard to predict for both tells nothing about which is better.
    Markers are the verdicts on sizes, whatever is drawn. The submodels are the best ones of each
    size; those of the path are drawn lightly where they predict otherwise.

    The size that `cv.suggest_size()` gives is marked. The tables are `cv.summary(stat)`,
    `cv.along_path().summary(stat)` and `cv.reference_summary(stat)`.

    Parameters
    ----------
    cv : Validation
    stat : str
        One of `cv.statistics`: "elpd", "mlpd"; "rmse", "r2" of real targets and counts; "accuracy",
        "auc", "brier" of classes; "deviance" of classes and counts.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    table, reference = cv.summary(stat), cv.reference_summary(stat)
    column = f"{stat}_diff" if stat in DIFFERENCES else stat
    entered = ["none", *table["input"][1:]]
    ax = new_axes(ax, width=max(6.5, 1.5 + 0.3 * len(table)), height=4.6, upright=entered)
    sizes, values = table.index.to_numpy(), table[column].to_numpy()
    bars = ax.errorbar(
        sizes,
        values,
        yerr=table[f"{stat}_diff_se"].to_numpy(),
        fmt="o-",
        color=BLUE,
        markersize=4.0,
        linewidth=1.2,
        capsize=2.0,
    )
    curve, _, (errors,) = bars.lines
    curve.set_gid("submodels")
    errors.set_gid("errors")
    level = 0.0 if column != stat else float(reference[stat])
    line = ax.axhline(level, color=GREY, linewidth=1.2, gid="reference")
    handles, labels = [bars, line], ["submodels ± s.e.", "all inputs"]
    if column == stat:
        error = float(np.nan_to_num(reference[f"{stat}_se"]))
        band = ax.axhspan(level - error, level + error, color=GREY, alpha=0.15, linewidth=0.0)
        band.set_gid("reference-band")
        handles[1], labels[1] = (band, line), "all inputs ± s.e."
    elif (null := values[0]) < 0.0 and cv.sizes.gains:
        if cv.margin.unit == "gain":
            lost = cv.margin.value * null
            margin = ax.axhline(lost, color=GREY, linestyle="--", linewidth=1.0, gid="margin")
            handles.append(margin)
            labels.append(f"{percent(cv.margin.value)} lost")
        shares = ax.secondary_yaxis("right", functions=_shares_of(float(null)))
        shares.yaxis.set_major_formatter("{x:.0%}")
        shares.set_ylabel("share kept of what inputs tell")
    marks, verdicts = _mark_verdicts(ax, table["verdict"], values)
    size = cv.smallest_enough()
    if size is not None:
        (ring,) = ax.plot([size], values[[size]], "o", color="none", markersize=12.0)
        ring.set(markeredgecolor=ORANGE, gid="suggested")
        marks.append(ring)
        verdicts.append(f"suggested size: {size}")
        ax.axvline(size, color=ORANGE, linestyle=":", linewidth=1.0)
    name_sizes(ax, entered)
    ax.set_ylabel(SCORES[stat] if column == stat else f"{stat}, difference to all inputs")
    nested = cv.along_path().summary(stat)[column].to_numpy()
    if not np.array_equal(nested, values, equal_nan=True):
        handles += ax.plot(sizes, nested, gid="nested-order", **LIGHT)
        labels.append(IN_ORDER)
    if size is None:
        marks.append(ax.plot([], [], " ", gid="suggested")[0])
        verdicts.append("no size is suggested")
    legend_above(ax, handles + marks, labels + verdicts)
    put_heading(ax, *_score_heading(cv, stat, table, reference))
    return ax


def _shares_of(null: float) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return the share that is kept at a loss, with the null model's, and the inverse."""
    return lambda lost: 1.0 - lost / null, lambda share: (1.0 - share) * null


def _score_heading(cv: Validation, stat: str, table: Any, reference: Any) -> tuple[str, str]:
    """Return the title of a score curve, and what to conclude from it."""
    if stat in DIFFERENCES:
        said = f"{cv.verdict()[0]}. Higher is better; zero is the model on all inputs."
        return "What is lost with few inputs, in rows that were left out", said
    metric = STATISTICS[cv.reference.training.kind][stat]
    size = cv.size_in_question
    better = "larger is better" if metric.larger_is_better else "smaller is better"
    label = f"{metric.label[0].upper()}{metric.label[1:]}"
    own, whole, none = map(significant, (table[stat][size], reference[stat], table[stat][0]))
    said = f"{label} is {own} at size {size}, {whole} with all inputs, {none} at size 0; {better}."
    return f"{SCORES[stat][0].upper()}{SCORES[stat][1:]} in rows that were left out", said


VERDICTS = {"enough": (BLUE, "o"), "not shown": (GREY, "D"), "not enough": (ORANGE, "X")}
"""Colour and marker of each verdict."""


def _mark_verdicts(ax: Axes, verdicts: Any, values: Any) -> tuple[list[Any], list[str]]:
    """Mark each size by its verdict; return the handles and labels of a legend."""
    handles, labels = list[Any](), list[str]()
    for verdict, (colour, marker) in VERDICTS.items():
        own = (verdicts == verdict).to_numpy()
        if own.any():
            style: dict[str, Any] = {"color": colour, "markersize": 6.5, "zorder": 3.0}
            gid = verdict.replace(" ", "-")
            handles += ax.plot(np.flatnonzero(own), values[own], marker, gid=gid, **style)
            labels.append(verdict)
    return handles, labels


def trade_off(cv: Validation, ax: Axes | None = None) -> Axes:
    """Draw the share of what can be predicted that each size keeps, with its bounds and verdict.

    Zero is the null model and one the reference; the share is that of the reference's gain in elpd
    over the null model, and the bars are its bounds of two standard errors, where the gain itself
    is certain enough to have a share of it. The dashed line is that of the margin. The table is
    `cv.summary()`.

    Parameters
    ----------
    cv : Validation
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    table = cv.summary("elpd")
    entered = ["none", *table["input"][1:]]
    ax = new_axes(ax, width=max(6.5, 1.5 + 0.3 * len(table)), height=4.0, upright=entered)
    sizes, kept = table.index.to_numpy(), table["kept"].to_numpy()
    low, high = (table[name].fillna(table["kept"]).to_numpy() for name in ("kept_low", "kept_high"))
    ax.axhline(1.0, color=GREY, linestyle=":", linewidth=1.0)
    if cv.margin.unit == "gain":
        ax.axhline(1.0 - cv.margin.value, color=GREY, linestyle="--", linewidth=1.0, gid="margin")
    ax.plot(sizes, kept, color=BLUE, linewidth=0.8, zorder=1.0, gid="kept")
    length = np.abs(np.stack([kept - low, high - kept]))
    ax.errorbar(sizes, kept, yerr=length, fmt="none", color=BLUE, capsize=2.0)
    handles, labels = _mark_verdicts(ax, table["verdict"], kept)
    known = kept[np.isfinite(kept)]
    bottom = min(-0.05, *known) if known.size else -0.05
    ax.set_ylim(bottom, max(1.1, *known) if known.size else 1.1)  # bounds may be far out
    name_sizes(ax, entered)
    ax.set_ylabel("share of what can be predicted")
    ax.yaxis.set_major_formatter("{x:.0%}")
    legend_above(ax, handles, labels)
    put_heading(ax, "How much of what inputs tell each size keeps", cv.trade_off())
    return ax
