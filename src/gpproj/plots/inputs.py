"""Measures of relevance of single inputs, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpproj.data.frames import listed
from gpproj.dependence.factors import Inputs
from gpproj.linalg import Host
from gpproj.plots.style import COLOURS, legend_above, name_inputs, new_axes, put_heading, shortened
from gpproj.reference import Reference
from gpproj.reference.sampling import check_count
from gpproj.sensitivity import METHODS, relevance_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MEASURES = {
    "ard": "ARD",
    "kl": "KL sensitivity",
    "variance": "variance sensitivity",
    "permutation": "permutation",
}


def relevance_bars(
    relevances: Reference | Mapping[str, Any] | pd.DataFrame,
    methods: Sequence[str] = METHODS,
    top: int | None = None,
    *,
    groups: Mapping[str, Inputs] | None = None,
    random_state: int | np.random.Generator | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw relevances of the inputs side by side, each measure scaled to a largest value of one.

    Inputs are sorted by the mean of the measures, the largest first.

    Parameters
    ----------
    relevances : Reference, DataFrame or mapping of str to Series
        A reference, whose table is `gpproj.relevance_table(reference, methods)`; or such a table;
        or any measures by name, for instance
        `{"ARD": ref.ard_relevance(), "leave-input-out": errors}`, with the inputs of the first.
    methods : sequence of {"ard", "kl", "variance", "permutation"}
        Measures to draw for a reference.
    top : int, optional
        Draw only so many inputs, those with the largest mean over the measures.
    groups : mapping of str to inputs, optional
        Groups of inputs, as a search takes them: one bar for each, as high as its largest.
    random_state : int, Generator or None
        Seed or generator of the permutation measure of a reference.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    if isinstance(relevances, Reference):
        relevances = relevance_table(relevances, methods, random_state=random_state)
    measures = {str(label): relevances[label] for label in relevances}
    if not measures:
        raise ValueError("relevances must hold at least one measure, got none")
    names = list(next(iter(measures.values())).index)
    heights = np.stack([values.loc[names].to_numpy(dtype=float) for values in measures.values()])
    names, heights = _grouped(names, heights, groups or {})
    heights = heights / np.maximum(heights.max(axis=1, keepdims=True), np.finfo(float).tiny)
    if top is not None:
        check_count("top", top, 1)
    order = np.argsort(-heights.mean(axis=0), kind="stable")[:top]
    names, heights = [names[place] for place in order], heights[:, order]
    ax = new_axes(ax, width=max(5.0, 1.5 + 0.35 * len(names)), upright=names)
    width = 0.8 / len(measures)
    places = np.arange(len(names))
    for rank, label in enumerate(measures):
        shift = (rank - (len(measures) - 1) / 2) * width
        ax.bar(
            places + shift,
            heights[rank],
            width,
            label=MEASURES.get(label, label),
            color=COLOURS[rank % len(COLOURS)],
        )
    name_inputs(ax, "x", names)
    ax.set_xlim(-0.6, len(names) - 0.4)
    ax.set_ylabel("relevance, largest = 1")
    legend_above(ax, *ax.get_legend_handles_labels())
    said = (
        f"{shortened(names[0])} comes first on average. Inputs that can stand for each other are "
        "all relevant by such measures, or none: a search tells which are enough."
    )
    put_heading(ax, "Relevance of single inputs, the largest first", said)
    return ax


def _grouped(
    names: list[str], heights: Host, groups: Mapping[str, Inputs]
) -> tuple[list[str], Host]:
    """Return the largest value of each group, and the values of inputs that are in none."""
    grouped = {
        names[one] if isinstance(one, int) else one: group
        for group, inputs in groups.items()
        for one in inputs
    }
    if unknown := [name for name in grouped if name not in names]:
        raise ValueError(f"groups must name inputs of the measures; saw {listed(unknown)}")
    labels = [grouped.get(name, name) for name in names]
    own = list(dict.fromkeys(labels))
    members = [[place for place, label in enumerate(labels) if label == one] for one in own]
    return own, np.stack([heights[:, places].max(axis=1) for places in members], axis=1)
