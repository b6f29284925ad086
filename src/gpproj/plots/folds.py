"""What the folds of a validation found and predicted."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from gpproj.plots.style import BLUE, GREY, name_inputs, new_axes, room_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpproj.validation import Validation


def ranking_heatmap(cv: Validation, cumulate: bool = True, ax: Axes | None = None) -> Axes:
    """Draw in which share of the folds each input entered at each size.

    Inputs are in the order of the path of all rows, then those that only folds have found. Shares
    are written into their cells where there is room, zeros are left out. The table is
    `cv.ranking_proportions(cumulate)`.

    Parameters
    ----------
    cv : Validation
        With the search repeated in every fold.
    cumulate : bool
        Count inputs that entered at that size or before.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    from matplotlib.ticker import MaxNLocator

    table = cv.ranking_proportions(cumulate)
    sizes, names = table.index.to_numpy(), list(table.columns)
    shares = table.to_numpy().T
    width, height = max(5.0, 2.5 + 0.45 * len(sizes)), max(3.0, 1.0 + 0.25 * len(names))
    ax = new_axes(ax, width, height)
    extent = (0.5, len(sizes) + 0.5, len(names) - 0.5, -0.5)
    image = ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto", extent=extent)
    ax.figure.colorbar(image, ax=ax, aspect=30.0).set_label("share of the folds")
    name_inputs(ax, "y", names)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel(f"size {'by' if cumulate else 'at'} which the input has entered")
    ax.set_ylabel("input")
    if room_for(ax, "x", len(sizes)) >= 28.0 and room_for(ax, "y", len(names)) >= 11.0:
        for row, column in np.argwhere(shares > 0.0):
            share = shares[row, column]
            colour, text = "white" if share > 0.5 else "black", f"{share:.0%}"
            ax.text(sizes[column], row, text, ha="center", va="center", color=colour, fontsize=8.0)
    return ax


def prediction_scatter(cv: Validation, size: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw the predictions of a submodel against those of the reference, both of unseen rows.

    Points on the diagonal are rows where nothing is lost. The table is `cv.pointwise`.

    Parameters
    ----------
    cv : Validation
    size : int, optional
        Of the submodel; the suggested size when left out.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    if size is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            size = cv.suggest_size()
        if size is None:
            raise ValueError("no size is suggested: give one")
    if not 0 <= size < len(cv.path):
        raise ValueError(f"size must be from 0 to {len(cv.path) - 1}, got {size}")
    table = cv.pointwise
    reference = table.loc[table["size"].isna(), "mean"].to_numpy()
    submodel = table.loc[(table["size"] == size).fillna(False), "mean"].to_numpy()
    ax = new_axes(ax, width=4.5, height=4.5)
    ends = [min(reference.min(), submodel.min()), max(reference.max(), submodel.max())]
    ax.plot(ends, ends, color=GREY, linestyle="--", linewidth=1.0, label="no difference")
    ax.plot(
        reference,
        submodel,
        "o",
        color=BLUE,
        markersize=4.0,
        alpha=0.6,
        markeredgewidth=0.0,
        label="rows",
    )
    ax.set_aspect("equal")
    ax.set_xlabel("prediction, reference")
    ax.set_ylabel(f"prediction, submodel of size {size}")
    ax.legend(frameon=False, loc="upper left")
    return ax
