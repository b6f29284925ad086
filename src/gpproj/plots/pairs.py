"""Which pairs of inputs act together, and how: the effect of one at a few values of the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpproj.dependence import Scale, joint_effect
from gpproj.dependence import interactions as interaction_table
from gpproj.dependence.factors import Inputs
from gpproj.plots.numbers import percent, significant
from gpproj.plots.panels import averaged_rows, effect_label, name_prediction, new_panels
from gpproj.plots.scripts import text_style
from gpproj.plots.style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
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

MATTERS = 0.01
"""Share of the variance of the predictions from which on a pair is worth a word."""

LINES = ((ORANGE, "--"), (GREY, "-"), (BLUE, "-."), (GREEN, ":"), (PINK, "-"))
"""Colours and dashes of the values of the other input, which printers tell apart, too."""


def interactions(
    submodel: Submodel,
    reference: Reference,
    most: int = 3,
    *,
    rows: int = 40,
    points: int = 20,
    scale: Scale = "response",
    groups: Mapping[str, Inputs] | None = None,
    target: str | None = None,
    axes: Any = None,
) -> NDArray[np.object_]:
    """Draw the pairs of inputs whose joint effect differs most from the sum of their own.

    Each panel has the average prediction of the submodel as one input moves, a line for each of a
    few values of the other one. Lines that are parallel on the scale of the link are a sum: the
    inputs do not act together. The tables are `gpproj.interactions(submodel, X)`, with X the
    training rows, and for each pair `gpproj.dependence.joint_effect`.

    Parameters
    ----------
    submodel : Submodel
        A submodel with at least two inputs.
    reference : Reference
        The reference that it was projected from.
    most : int
        Pairs that are drawn, at most.
    rows, points, scale, groups, target
        As for `gpproj.plots.effects`. The time to find the pairs grows with the square of the
        number of rows.
    axes : matplotlib Axes, or several of them, optional
        One for each panel.

    Returns
    -------
    array of matplotlib Axes
        One for each pair.
    """
    check_count("most", most, 1)
    X = averaged_rows(reference, rows)
    pairs = interaction_table(submodel, X, groups=groups).head(most)
    if pairs.empty:
        raise ValueError("there must be at least two inputs that may act together")
    panels = new_panels(axes, len(pairs))
    label = effect_label(reference, scale, target)
    for ax, pair in zip(panels, pairs.itertuples(), strict=True):
        table = joint_effect(
            submodel, X, (pair.input, pair.other), points, scale=scale, groups=groups
        )
        draw_pair(ax, table)
        if ax is panels[0]:
            name_prediction(ax, label)
        put_heading(ax, pair_title(table), pair_said(pair.share, pair.h), ax is panels[0])
    return panels


def draw_pair(ax: Axes, table: pd.DataFrame) -> None:
    """Draw a table of `joint_effect`: a line for each value of the other input."""
    values = list(dict.fromkeys(table["at"]))
    levels = isinstance(table["x"].iloc[0], str)
    names = list(dict.fromkeys(table["x"]))
    handles, labels = [], []
    for place, value in enumerate(values):
        own = table[table["at"] == value]
        colour, dashes = LINES[place % len(LINES)]
        x: Any = np.arange(len(own)) if levels else own["x"].to_numpy(dtype=float)
        marker = "o" if len(own) <= len(LINES) else ""
        style: dict[str, Any] = {
            "color": colour,
            "linestyle": dashes,
            "marker": marker,
            "markersize": 4.0,
        }
        handles += ax.plot(x, own["mean"].to_numpy(), gid=f"at-{place}", **style)
        labels.append(value_text(value))
    if levels:
        name_inputs(ax, "x", names)
    name = table["input"].iloc[0]
    ax.set_xlabel(shortened(name), **text_style(name))
    legend_above(ax, handles, labels)


def value_text(value: Any) -> str:
    """Return a value of an input: a level, or a number."""
    return shortened(value) if isinstance(value, str) else significant(float(value))


def pair_title(table: pd.DataFrame) -> str:
    """Say which input moves, and which is held at a few values."""
    return f"{table['input'].iloc[0]}, at values of {table['other'].iloc[0]}"


def pair_said(share: float, h: float) -> str:
    """Say how much a pair does together."""
    if share < MATTERS:
        return "Next to nothing beyond the sum of their own effects."
    return (
        f"{percent(share)} of the variance of the predictions is from both together (H = {h:.2f})."
    )


def pairs_that_matter(table: pd.DataFrame, most: int) -> Sequence[Any]:
    """Return the rows of `gpproj.interactions` that are worth a picture, at most so many."""
    return list(table[table["share"] >= MATTERS].head(most).itertuples(index=False))
