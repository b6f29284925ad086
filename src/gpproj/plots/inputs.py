"""What single inputs do: measures of relevance, and effects on the prediction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpproj.data import raw_rows
from gpproj.dependence import FEW, has_effects
from gpproj.dependence import effects as effect_table
from gpproj.plots.style import (
    BLUE,
    COLOURS,
    GREY,
    legend_above,
    name_inputs,
    new_axes,
    shortened,
)
from gpproj.projection import Submodel
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

EFFECTS = ("submodel, 95 % band", "reference")


def relevance_bars(
    relevances: Reference | Mapping[str, Any] | pd.DataFrame,
    methods: Sequence[str] = METHODS,
    top: int | None = None,
    *,
    random_state: int | np.random.Generator | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw relevances of the inputs side by side, each measure scaled to a largest value of one.

    Parameters
    ----------
    relevances : Reference, DataFrame or mapping of str to Series
        A reference, whose table is `gpproj.relevance_table(reference, methods)`; or such a table;
        or any measures by name, for instance
        `{"ARD": ref.ard_relevance(), "leave-input-out": errors}`, with the inputs of the first.
    methods : sequence of {"ard", "kl", "variance", "permutation"}
        Measures of a reference.
    top : int, optional
        Draw only so many inputs, those with the largest mean over the measures, in that order.
    random_state : int, Generator or None
        Of the permutation measure of a reference.
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
    return ax


def effects(
    submodel: Submodel,
    reference: Reference,
    inputs: Iterable[str | int] | None = None,
    *,
    rows: int | Sequence[int] = 100,
    points: int = 50,
    axes: Any = None,
) -> NDArray[np.object_]:
    """Draw what a submodel predicts as one input moves, averaged over training rows.

    Each panel has the mean and the 95 % band of the submodel, and behind them the mean of the
    reference. All panels of a new figure share their vertical axis, so that effects can be
    compared. The tables are `gpproj.effects(submodel, X)` and `gpproj.effects(reference, X)`, with
    X the training rows.

    A submodel gives what dropped inputs explained to those of its inputs that go with them: where
    inputs are correlated, its effects differ from the reference's, and should.

    Parameters
    ----------
    submodel : Submodel
        With at least one input.
    reference : Reference
        That it was projected from.
    inputs : sequence of str or int, optional
        Of the submodel, one panel each; all of them when left out.
    rows : int or sequence of int
        Training rows to average over, or how many of them at most: a fixed random choice.
    points : int
        As for `gpproj.effects`.
    axes : matplotlib Axes, or several of them, optional
        One for each panel.

    Returns
    -------
    array of matplotlib Axes
        One for each input.
    """
    X = raw_rows(reference.training, _rows_of(reference, rows)).X
    own = effect_table(submodel, X, inputs, points)
    names = list(dict.fromkeys(own["input"]))
    if not names:
        raise ValueError("there must be at least one input to draw the effect of")
    whole = effect_table(reference, X, names, points) if has_effects(reference) else own.iloc[:0]
    labels = EFFECTS if len(whole) else EFFECTS[:1]
    panels = _panels(axes, len(names))
    drawn = []
    for ax, name in zip(panels, names, strict=True):
        drawn.append(_draw_effect(ax, own[own["input"] == name], whole[whole["input"] == name]))
        ax.set_xlabel(shortened(name))
        place = ax.get_subplotspec()
        if place is None or place.is_first_col():
            ax.set_ylabel(f"average {reference.training.kind.effect}")
    first = panels[0]
    if axes is None:
        above = "outside upper center"
        first.figure.legend(drawn[0][: len(labels)], labels, frameon=False, loc=above, ncols=2)
    else:
        legend_above(first, drawn[0][: len(labels)], labels)
    return panels


def _draw_effect(ax: Axes, own: pd.DataFrame, behind: pd.DataFrame) -> list[Any]:
    """Draw one input's curves, with markers where it has few values; return the artists."""
    marker = "o" if len(own) <= FEW else ""
    (line,) = ax.plot("x", "mean", "--", data=behind, color=GREY, marker=marker, markersize=4.0)
    ends = own["x"], own["lower"], own["upper"]
    band = ax.fill_between(*ends, color=BLUE, alpha=0.2, linewidth=0.0)
    (curve,) = ax.plot("x", "mean", "-", data=own, color=BLUE, marker=marker, markersize=4.0)
    return [(band, curve), line]


def _rows_of(reference: Reference, rows: int | Sequence[int]) -> NDArray[np.intp]:
    """Return the rows to average over."""
    if isinstance(rows, Sequence) or np.ndim(rows) > 0:
        return np.asarray(rows, dtype=np.intp)
    check_count("rows", rows, 1)
    n = reference.training.n
    chosen = np.random.default_rng(0).choice(n, min(int(rows), n), replace=False)
    found: NDArray[np.intp] = np.sort(chosen)
    return found


def _panels(axes: Any, count: int) -> NDArray[np.object_]:
    """Return one axes for each panel: the first of those given, or of a new figure."""
    if axes is not None:
        given = np.ravel(np.asarray(axes, dtype=object))
        if given.size < count:
            raise ValueError(f"axes must be at least {count}, one for each input; got {given.size}")
        return given[:count]
    import matplotlib.pyplot as plt

    columns = min(count, 4)
    rows = -(-count // columns)
    figure, grid = plt.subplots(
        rows,
        columns,
        figsize=(max(4.5, 2.5 * columns + 0.5), 2.3 * rows + 0.6),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    panels: NDArray[np.object_] = grid.ravel()
    for ax in panels[count:]:
        figure.delaxes(ax)
    return panels[:count]
