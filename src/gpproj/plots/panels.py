"""What the inputs of a submodel do: a panel for each input, or for each categorical column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpproj.data import raw_rows
from gpproj.dependence import FEW, Factor, Scale, factors_of, has_effects
from gpproj.dependence import effects as effect_table
from gpproj.dependence.factors import Inputs
from gpproj.linalg import Host, to_host
from gpproj.plots.numbers import percent, significant
from gpproj.plots.scripts import drawable, text_style
from gpproj.plots.style import (
    BLUE,
    GREY,
    LONGEST,
    font_size,
    legend_above,
    name_inputs,
    put_heading,
    shortened,
)
from gpproj.projection import Submodel
from gpproj.reference import Reference
from gpproj.reference.sampling import check_count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

EFFECTS = ("submodel, 95 % band", "reference")


def effects(
    submodel: Submodel,
    reference: Reference,
    inputs: Iterable[str | int] | None = None,
    *,
    rows: int | Sequence[int] = 100,
    points: int = 50,
    scale: Scale = "response",
    groups: Mapping[str, Inputs] | None = None,
    target: str | None = None,
    axes: Any = None,
) -> NDArray[np.object_]:
    """Draw what a submodel predicts as one input moves, averaged over training rows.

    Each panel has the mean and the 95 % band of the submodel, and behind them the mean of the
    reference; ticks along the bottom are the values of the input in the rows. A categorical column
    is one panel with a bar for each level, the largest first, from the average over the rows. All
    panels of a new figure share their vertical axis, so that effects can be compared. The tables
    are `gpproj.effects(submodel, X, scale=scale)` and the same of the reference, with X the
    training rows.

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
    scale : {"response", "latent"}
        Probabilities of classes and rates of counts, or the scale of the link.
    groups : mapping of str to inputs, optional
        Groups of inputs, as for `gpproj.effects`: those that are levels of a column have one panel.
    target : str, optional
        What the target is called.
    axes : matplotlib Axes, or several of them, optional
        One for each panel.

    Returns
    -------
    array of matplotlib Axes
        One for each input.
    """
    X = averaged_rows(reference, rows)
    table = effects_of_both(submodel, reference, X, inputs, points, scale=scale, groups=groups)
    names = list(dict.fromkeys(table["input"]))
    if not names:
        raise ValueError("there must be at least one input to draw the effect of")
    factors = {one.name: one for one in factors_of(submodel.columns, groups) if one.levels}
    panels = new_panels(axes, len(names))
    label = effect_label(reference, scale, target)
    parts = {name: table[table["input"] == name] for name in names}
    drawn = []
    for ax, name in zip(panels, names, strict=True):
        values = values_of(reference, X, factors.get(name, name))
        drawn.append(draw_effect(ax, parts[name], values))
        ax.set_xlabel(shortened(name), **text_style(name))
        place = ax.get_subplotspec()
        if place is None or place.is_first_col():
            name_prediction(ax, label)
    handles = drawn[next((j for j, name in enumerate(names) if name not in factors), 0)]
    labels = EFFECTS[: len(handles)]
    if axes is None:
        _head(panels[0].figure, handles, labels, f"What each input does to {label}")
    else:
        legend_above(panels[0], handles, labels)
    for ax, name in zip(panels, names, strict=True):
        put_heading(ax, shortened(name), moved_by(parts[name], reference, scale), ax is panels[0])
    return panels


def effect_label(reference: Reference, scale: Scale, target: str | None) -> str:
    """Return what effects are about: the target, the probability of a class, or a rate."""
    kind, classes = reference.training.kind, reference.classes
    if scale == "latent" and not kind.is_scaled:
        return f"the {kind.effect}"
    if not kind.has_classes:
        return target or ("the prediction" if kind.is_scaled else "the rate")
    second = "the second class" if classes is None else str(classes[1])
    return f"the probability of {second if target is None else f'{target} = {second}'}"


def name_prediction(ax: Axes, label: str) -> None:
    """Name the vertical axis of a panel, in as many lines as it takes."""
    words = shortened(label.removeprefix("the "), 2 * LONGEST)
    ax.set_ylabel(fill(f"average {words}", LONGEST), **text_style(words))


def moved_by(table: pd.DataFrame, reference: Reference, scale: Scale) -> str:
    """Say from where to where the prediction of a submodel goes in a table of one effect."""
    means = table.loc[table["model"] == "submodel", "mean"]
    shares = reference.training.kind.has_classes and scale == "response"
    low, high = (percent(one) if shares else significant(one) for one in (means.min(), means.max()))
    return f"between {low} and {high}"


def effects_of_both(
    submodel: Submodel,
    reference: Reference,
    X: Any,
    inputs: Iterable[str | int] | None,
    points: int,
    **how: Any,
) -> pd.DataFrame:
    """Return `gpproj.effects` of a submodel and of its reference, told apart by a column `model`.

    References whose effects are not known are left out.
    """
    import pandas as pd

    own = effect_table(submodel, X, inputs, points, **how).assign(model="submodel")
    if not has_effects(reference):
        return own
    names = list(dict.fromkeys(own["input"]))
    whole = effect_table(reference, X, names, points, **how).assign(model="reference")
    return pd.concat([own, whole], ignore_index=True)


def draw_effect(ax: Axes, table: pd.DataFrame, values: Any) -> list[Any]:
    """Draw the effect of one input, with markers where it has few values, or of a column by bars.

    Parameters
    ----------
    ax : matplotlib Axes
    table : DataFrame
        The input's rows of `effects_of_both`.
    values : array
        The input's values in the data, drawn as ticks along the bottom, or the column's levels.

    Returns
    -------
    list
        Handles of the legend, in the order of `EFFECTS`.
    """
    own, whole = (table[table["model"] == model] for model in ("submodel", "reference"))
    if isinstance(own["x"].iloc[0], str):
        return _draw_levels(ax, own.set_index("x"), whole.set_index("x"), values)
    marker = "o" if len(own) <= FEW else ""
    style: dict[str, Any] = {"marker": marker, "markersize": 4.0}
    draw_values(ax, values)
    x, mean, lower, upper = (own[name].to_numpy(dtype=float) for name in COLUMNS)
    lines = []
    if len(whole):
        far = whole["x"].to_numpy(dtype=float)
        lines = ax.plot(far, whole["mean"], "--", color=GREY, gid="reference", **style)
    band = ax.fill_between(x, lower, upper, color=BLUE, alpha=0.2, linewidth=0.0)
    (curve,) = ax.plot(x, mean, "-", color=BLUE, gid="submodels", **style)
    return [(band, curve), *lines]


COLUMNS = ("x", "mean", "lower", "upper")


def draw_values(ax: Axes, values: Host) -> None:
    """Draw the values that an input has in the data as ticks along the bottom."""
    from matplotlib import rcParams

    ticks = np.unique(values)
    ax.plot(
        ticks,
        np.full(len(ticks), 0.02),
        "|",
        transform=ax.get_xaxis_transform(),
        color=rcParams["xtick.color"],
        alpha=0.5,
        markersize=5.0,
        gid="values",
    )


def _draw_levels(ax: Axes, own: pd.DataFrame, whole: pd.DataFrame, values: Any) -> list[Any]:
    """Draw the levels of a column, by bars from the average over the rows."""
    own = own.sort_values("mean", ascending=False, kind="stable")
    shares = np.array([np.mean(values == level) for level in own.index])
    means, places = own["mean"].to_numpy(), np.arange(len(own))
    # Of rows that have none of the levels, which a choice of rows may leave, nothing is known.
    base = float(shares @ means / shares.sum()) if shares.sum() > 0.0 else float(means.mean())
    ax.axhline(base, color=GREY, linewidth=0.8)
    bars = ax.bar(places, means - base, 0.7, bottom=base, color=BLUE, alpha=0.35, gid="levels")
    length = np.abs(np.stack([means - own["lower"], own["upper"] - means]))
    errors = ax.errorbar(places, means, length, fmt="o", color=BLUE, markersize=3.5, capsize=2.0)
    errors.lines[0].set_gid("submodels")
    lines = []
    if len(whole):
        level = whole["mean"].loc[own.index].to_numpy()
        lines = ax.plot(places, level, "D", color=GREY, markersize=4.0, gid="reference")
    name_inputs(ax, "x", list(own.index))
    ax.set_xlim(-0.6, len(own) - 0.4)
    return [(bars, errors), *lines]


def averaged_rows(reference: Reference, rows: int | Sequence[int]) -> Any:
    """Return training rows as the user gave them: those named, or a fixed choice of so many."""
    training = reference.training
    if isinstance(rows, Sequence) or np.ndim(rows) > 0:
        return raw_rows(training, np.asarray(rows, dtype=np.intp)).X
    check_count("rows", rows, 1)
    count = min(int(rows), training.n)
    chosen = np.random.default_rng(0).choice(training.n, count, replace=False)
    return raw_rows(training, np.sort(chosen)).X


def values_of(reference: Reference, X: Any, name: str | Factor) -> Any:
    """Return the values of an input in rows of `averaged_rows`, or the levels of a column."""
    if isinstance(name, Factor):
        own = {one: values_of(reference, X, one) > 0.5 for one in name.inputs}
        coded = [own.get(f"{name.name}={level}") for level in name.levels]
        # Of two levels the first has no input: it is where the other is not.
        known = [one for one in coded if one is not None]
        rest = ~np.any(known, axis=0)
        return np.select([rest if one is None else one for one in coded], name.levels, "")
    training = reference.training
    if training.named:
        named: Host = X[name].to_numpy()
        return named
    return to_host(X)[:, training.feature_names.index(name)]


def new_panels(axes: Any, count: int) -> NDArray[np.object_]:
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
        figsize=(max(4.5, 2.5 * columns + 0.5), 2.5 * rows + 1.0),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    panels: NDArray[np.object_] = grid.ravel()
    for ax in panels[count:]:
        figure.delaxes(ax)
    return panels[:count]


def _head(figure: Any, handles: list[Any], labels: Sequence[str], title: str) -> None:
    """Put a title above the panels of a figure, and a legend below them."""
    size = font_size("legend")
    beside = {"frameon": False, "ncols": len(labels), "fontsize": size}
    figure.legend(handles, labels, loc="outside lower center", **beside)
    style = {"fontsize": font_size("title"), "fontweight": "bold", **text_style(title)}
    figure.suptitle(drawable(title), parse_math=False, **style)
