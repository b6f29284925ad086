"""Pictures, drawn from tables that users can get too; each function returns its axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpproj.search import SearchPath

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"
GREEN, PINK = "#009E73", "#CC79A7"
"""From the palette of Okabe and Ito, told apart by every kind of colour vision."""


def error_curve(path: SearchPath, ax: Axes | None = None) -> Axes:
    """Draw the relative projection error against the number of inputs.

    Submodels whose optimisation did not converge are marked with a cross. The null model is the
    line at one, the submodel on all inputs the line at zero.

    Parameters
    ----------
    path : SearchPath
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    table = path.summary()
    ax = _axes(ax, width=max(5.0, 1.5 + 0.3 * len(table)))
    sizes, errors = table.index.to_numpy(), table["relative_error"].to_numpy()
    ax.axhline(1.0, color=GREY, linestyle="--", linewidth=1.0, label="null model")
    ax.axhline(0.0, color=GREY, linestyle=":", linewidth=1.0, label="all inputs")
    ax.plot(sizes, errors, "o-", color=BLUE, markersize=4.0, label="submodels")
    failed = ~table["converged"].to_numpy()
    if failed.any():
        ax.plot(sizes[failed], errors[failed], "x", color=ORANGE, label="not converged")
    ax.set_xticks(sizes, ["none", *table["input"][1:]], rotation=90)
    ax.set_xlabel("input added")
    ax.set_ylabel("relative projection error")
    ax.legend(frameon=False)
    return ax


def relevance_bars(relevances: Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Draw relevances of the inputs side by side, each measure scaled to a largest value of one.

    Parameters
    ----------
    relevances : mapping of str to Series
        For instance `{"ARD": ref.ard_relevance(), "leave-input-out": errors}`; inputs are taken
        from the first one.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    if not relevances:
        raise ValueError("relevances must hold at least one measure, got none")
    names = list(next(iter(relevances.values())).index)
    ax = _axes(ax, width=max(5.0, 1.5 + 0.35 * len(names)))
    width = 0.8 / len(relevances)
    places = np.arange(len(names))
    for rank, (label, values) in enumerate(relevances.items()):
        heights = values.loc[names].to_numpy()
        heights = heights / max(heights.max(), np.finfo(float).tiny)
        shift = (rank - (len(relevances) - 1) / 2) * width
        ax.bar(places + shift, heights, width, label=label, color=COLOURS[rank % len(COLOURS)])
    ax.set_xticks(places, names, rotation=90)
    ax.set_ylabel("relevance, largest = 1")
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return ax


COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


def _axes(ax: Axes | None, width: float) -> Axes:
    """Return the axes given, or new ones wide enough for their labels."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    _, new = plt.subplots(figsize=(width, 3.5), layout="constrained")
    return new
