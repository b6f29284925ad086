"""Measures of relevance of single inputs, and their effects on the prediction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpproj.data import raw_rows
from gpproj.dependence import FEW, has_effects
from gpproj.dependence import effects as effect_table
from gpproj.linalg import Host, to_host
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
        Measures to draw for a reference.
    top : int, optional
        Draw only so many inputs, those with the largest mean over the measures, in that order.
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
    reference; ticks along the bottom are the values of the input in the rows. All panels of a new
    figure share their vertical axis, so that effects can be compared. The tables are
    `gpproj.effects(submodel, X)` and `gpproj.effects(reference, X)`, with X the training rows.

    A submodel gives what dropped inputs explained to those of its inputs that go with them: where
    inputs are correlated, its effects differ from the reference's, and should.

    Parameters
    ----------
    submodel : Submodel
        A submodel with at least one input.
    reference : Reference
        The reference that it was projected from.
    inputs : sequence of str or int, optional
        Inputs of the submodel to draw, one panel each; all of them when left out.
    rows : int or sequence of int
        Training rows to average over, or how many of them at most: a fixed random choice.
    points : int
        Number of values of each input, see `gpproj.effects`.
    axes : matplotlib Axes, or several of them, optional
        One for each panel.

    Returns
    -------
    array of matplotlib Axes
        One for each input.
    """
    X = averaged_rows(reference, rows)
    table = effects_of_both(submodel, reference, X, inputs, points)
    names = list(dict.fromkeys(table["input"]))
    if not names:
        raise ValueError("there must be at least one input to draw the effect of")
    panels = _panels(axes, len(names))
    for ax, name in zip(panels, names, strict=True):
        handles = draw_effect(ax, table[table["input"] == name], values_of(reference, X, name))
        ax.set_xlabel(shortened(name))
        place = ax.get_subplotspec()
        if place is None or place.is_first_col():
            ax.set_ylabel(f"average {reference.training.kind.effect}")
    first, labels = panels[0], EFFECTS[: len(handles)]
    if axes is None:
        first.figure.legend(handles, labels, frameon=False, loc="outside upper center", ncols=2)
    else:
        legend_above(first, handles, labels)
    return panels


def effects_of_both(
    submodel: Submodel,
    reference: Reference,
    X: Any,
    inputs: Iterable[str | int] | None,
    points: int,
) -> pd.DataFrame:
    """Return `gpproj.effects` of a submodel and of its reference, told apart by a column `model`.

    References whose effects are not known are left out.
    """
    import pandas as pd

    own = effect_table(submodel, X, inputs, points).assign(model="submodel")
    if not has_effects(reference):
        return own
    names = list(dict.fromkeys(own["input"]))
    whole = effect_table(reference, X, names, points).assign(model="reference")
    return pd.concat([own, whole], ignore_index=True)


def draw_effect(ax: Axes, table: pd.DataFrame, values: Host) -> list[Any]:
    """Draw the effect of one input, with markers where it has few values.

    Parameters
    ----------
    ax : matplotlib Axes
    table : DataFrame
        The input's rows of `effects_of_both`.
    values : array
        The input's values in the data, drawn as ticks along the bottom.

    Returns
    -------
    list
        Handles of the legend, in the order of `EFFECTS`.
    """
    from matplotlib import rcParams

    own, whole = (table[table["model"] == model] for model in ("submodel", "reference"))
    marker = "o" if len(own) <= FEW else ""
    style: dict[str, Any] = {"marker": marker, "markersize": 4.0}
    bottom = ax.get_xaxis_transform()
    ticks = np.unique(values)
    ax.plot(
        ticks,
        np.full(len(ticks), 0.02),
        "|",
        transform=bottom,
        color=rcParams["xtick.color"],
        alpha=0.5,
        markersize=5.0,
        gid="values",
    )
    (line,) = ax.plot("x", "mean", "--", data=whole, color=GREY, gid="reference", **style)
    band = ax.fill_between(
        own["x"], own["lower"], own["upper"], color=BLUE, alpha=0.2, linewidth=0.0
    )
    (curve,) = ax.plot("x", "mean", "-", data=own, color=BLUE, gid="submodels", **style)
    return [(band, curve), line] if len(whole) else [(band, curve)]


def averaged_rows(reference: Reference, rows: int | Sequence[int]) -> Any:
    """Return training rows as the user gave them: those named, or a fixed choice of so many."""
    training = reference.training
    if isinstance(rows, Sequence) or np.ndim(rows) > 0:
        return raw_rows(training, np.asarray(rows, dtype=np.intp)).X
    check_count("rows", rows, 1)
    count = min(int(rows), training.n)
    chosen = np.random.default_rng(0).choice(training.n, count, replace=False)
    return raw_rows(training, np.sort(chosen)).X


def values_of(reference: Reference, X: Any, name: str) -> Host:
    """Return the values of an input in rows of `averaged_rows`."""
    training = reference.training
    if training.named:
        named: Host = X[name].to_numpy()
        return named
    return to_host(X)[:, training.feature_names.index(name)]


def _panels(axes: Any, count: int) -> NDArray[np.object_]:
    """Return one axes for each panel: the first ones of those given, or those of a new figure."""
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
