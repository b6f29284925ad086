"""Curves over the size of the submodel: what is lost, and how well it predicts."""

from __future__ import annotations

import warnings
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from gpproj.plots.style import BLUE, GREY, ORANGE, legend_above, name_sizes, new_axes
from gpproj.projection import CRITERIA

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
    ax = new_axes(ax, width=max(5.0, 1.5 + 0.3 * len(table)), upright=entered)
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
    return ax


def score_curve(cv: Validation, stat: str = "elpd", ax: Axes | None = None) -> Axes:
    """Draw how well submodels predict unseen rows against their size.

    The bar of a submodel is one standard error of its *difference* to the reference: both predict
    the same rows, and what is hard to predict for both tells nothing about which is better. A bar
    that reaches the line of the reference is a difference within one standard error. The band is
    the standard error of the reference's own value, and mostly far wider: how much the value would
    change with other rows. The submodels are the best ones of each size; those of the path are
    drawn lightly where they predict otherwise.

    The size that `cv.suggest_size()` gives is marked, whatever is drawn. The
    tables are `cv.summary(stat)`, `cv.along_path().summary(stat)` and `cv.reference_summary(stat)`.

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
    entered = ["none", *table["input"][1:]]
    ax = new_axes(ax, width=max(6.5, 1.5 + 0.3 * len(table)), height=4.0, upright=entered)
    sizes, values = table.index.to_numpy(), table[stat].to_numpy()
    bars = ax.errorbar(
        sizes,
        values,
        yerr=table[f"{stat}_diff_se"].to_numpy(),
        fmt="o-",
        color=BLUE,
        markersize=4.0,
        capsize=2.0,
    )
    curve, _, (errors,) = bars.lines
    curve.set_gid("submodels")
    errors.set_gid("errors")
    level, error = reference[stat], np.nan_to_num(reference[f"{stat}_se"])
    line = ax.axhline(level, color=GREY, linestyle="--", linewidth=1.0, gid="reference")
    band = ax.axhspan(
        level - error, level + error, color=GREY, alpha=0.15, linewidth=0.0, gid="reference-band"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        size = cv.suggest_size()
    at = [] if size is None else [size]
    (mark,) = ax.plot(
        at, values[at], "o", color="none", markeredgecolor=ORANGE, markersize=10.0, gid="suggested"
    )
    if size is None:
        mark.set_marker(" ")
    else:
        ax.axvline(size, color=ORANGE, linestyle=":", linewidth=1.0)
    name_sizes(ax, entered)
    ax.set_ylabel(SCORES[stat])
    suggested = "no size is suggested" if size is None else f"suggested size: {size}"
    labels = ["submodels ± s.e. of the difference", "reference ± s.e.", suggested]
    handles = [bars, (band, line), mark]
    nested = cv.along_path().summary(stat)[stat].to_numpy()
    if not np.array_equal(nested, values, equal_nan=True):
        handles += ax.plot(sizes, nested, gid="nested-order", **LIGHT)
        labels.append(IN_ORDER)
    legend_above(ax, handles, labels)
    return ax


VERDICTS = {"enough": (BLUE, "o"), "not shown": (GREY, "D"), "not enough": (ORANGE, "X")}
"""Colour and marker of each verdict."""


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
    handles, labels = [], []
    for verdict, (colour, marker) in VERDICTS.items():
        own = (table["verdict"] == verdict).to_numpy()
        if own.any():
            length = np.abs(np.stack([kept - low, high - kept]))[:, own]
            style: dict[str, Any] = {"fmt": marker, "color": colour, "markersize": 5.0}
            handles.append(ax.errorbar(sizes[own], kept[own], yerr=length, capsize=2.0, **style))
            labels.append(verdict)
    known = kept[np.isfinite(kept)]
    bottom = min(-0.05, *known) if known.size else -0.05
    ax.set_ylim(bottom, max(1.1, *known) if known.size else 1.1)  # bounds may be far out
    name_sizes(ax, entered)
    ax.set_ylabel("share of what can be predicted")
    ax.yaxis.set_major_formatter("{x:.0%}")
    legend_above(ax, handles, labels)
    return ax
