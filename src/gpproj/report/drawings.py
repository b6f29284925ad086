"""Drawings that stand still: what the folds found, effects of inputs, predictions side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpproj.dependence import FEW
from gpproj.linalg import Host
from gpproj.report.canvas import (
    FONT,
    GAP,
    Frame,
    Scale,
    area,
    curve,
    extent,
    level_axis,
    line,
    picture,
    room_for,
    text,
    ticks_of,
    upright_axis,
)
from gpproj.report.findings import Findings
from gpproj.report.markup import LONGEST, Markup, cut, joined, significant, tag

if TYPE_CHECKING:
    import pandas as pd

DARK = (0, 114, 178)
"""The colour of a share of one."""
SIZES, INPUTS = 20, 40
"""How much of the heat map is drawn at most; its table has all of it."""
POINTS = 1000
"""Rows in the scatter plot at most."""


def heat_map(shares: pd.DataFrame, size: int) -> Markup:
    """Draw which share of the folds has each input by each size.

    Parameters
    ----------
    shares : DataFrame
        Sizes by inputs, from `cv.ranking_proportions(cumulate=True)`.
    size : int
        That is marked.
    """
    sizes, names = drawn_part(shares, size)
    cell, high, top = 34.0, 22.0, FONT + 2.0 * GAP
    labels = [cut(name, 24) for name in names]
    left = room_for(labels) + 2.0 * GAP
    width, height = left + cell * len(sizes) + GAP, top + high * len(names) + GAP
    box = {"width": cell * len(sizes), "height": high * len(names)}
    parts = [tag("rect", x=left, y=top, **box, class_="paper")]
    parts += [text(left + cell * (j + 0.5), top - GAP, one) for j, one in enumerate(sizes)]
    for i, (name, label) in enumerate(zip(names, labels, strict=True)):
        y = top + high * i
        parts.append(text(left - GAP, y + high / 2.0 + 0.35 * FONT, label, "end"))
        for j, one in enumerate(sizes):
            if (share := float(shares.loc[one, name])) > 0.0:
                parts.append(_cell(left + cell * j, y, cell, high, share))
    if 0 < size <= len(sizes):
        x = left + cell * size
        parts.append(line(x, top, x, top + high * len(names), "suggested"))
    return picture(
        width, height, "share of the folds that have an input by each size", *parts, class_="heat"
    )


def drawn_part(shares: pd.DataFrame, size: int) -> tuple[list[int], list[str]]:
    """Return the sizes and inputs of a heat map that there is room for."""
    sizes = list(shares.index[: max(SIZES, min(size + 2, 2 * SIZES))])
    seen = shares.columns[(shares.loc[sizes] > 0.0).any()] if sizes else shares.columns
    return sizes, list(seen[:INPUTS])


def _cell(x: float, y: float, width: float, height: float, share: float) -> Markup:
    """Return a cell in its colour, with its share in black or white, whichever is read better."""
    red, green, blue = (round(255 + min(share, 1.0) * (one - 255)) for one in DARK)
    # From about nine tenths on, white has the larger contrast.
    ink = "white" if share > 0.9 else "black"
    middle = text(
        x + width / 2.0, y + height / 2.0 + 0.35 * FONT, f"{100.0 * share:.0f}", class_=ink
    )
    box = tag("rect", x=x, y=y, width=width, height=height, fill=f"rgb({red},{green},{blue})")
    return joined(box, middle)


def effect_panels(found: Findings) -> list[Markup]:
    """Draw the effect of each input, all on the same vertical scale."""
    table = found.effects
    own, whole = (table[table["model"] == label] for label in ("submodel", "reference"))
    limits = extent(own["lower"], own["upper"], whole["mean"])
    return [
        _panel(
            name,
            own[own["input"] == name],
            whole[whole["input"] == name],
            found.values(name),
            limits,
            averaged(found),
        )
        for name in found.drawn
    ]


def averaged(found: Findings) -> str:
    """Return what effects are averages of, in words."""
    return found.kind.effect


def _panel(
    name: str,
    own: pd.DataFrame,
    behind: pd.DataFrame,
    values: Host,
    limits: tuple[float, float],
    what: str,
) -> Markup:
    width, height = 230.0, 160.0
    upright = ticks_of(*limits)
    frame = Frame(room_for(upright.labels) + 2.0 * GAP, GAP, width - 2.0 * GAP, height - 24.0)
    up = Scale(*limits, frame.bottom, frame.top)
    across = Scale(*extent(own["x"], margin=0.03), frame.left, frame.right)
    xs = [across(x) for x in own["x"]]
    rug = frame.bottom
    parts = [
        upright_axis(frame, up, upright),
        level_axis(frame, across, ticks_of(across.low, across.high, about=4)),
        *(line(across(x), rug, across(x), rug - 5.0, "rug") for x in np.unique(values)),
        area(xs, map(up, own["lower"]), map(up, own["upper"]), "spread"),
        *(
            [curve(map(across, behind["x"]), map(up, behind["mean"]), "reference")]
            if len(behind)
            else []
        ),
        curve(xs, map(up, own["mean"]), "submodels"),
    ]
    if len(own) <= FEW:
        places = zip(xs, own["mean"], strict=True)
        parts += [tag("circle", cx=x, cy=up(y), r=3.0, class_="dot") for x, y in places]
    whose = "of the submodel and of the reference" if len(behind) else "of the submodel"
    label = f"average {what} as {name} moves, {whose}"
    return picture(width, height, label, *parts, class_="effect")


def scatter(found: Findings) -> Markup:
    """Draw the predictions of the submodel against those of the reference."""
    table = found.predictions
    if len(table) > POINTS:
        table = table.sample(POINTS, random_state=0).sort_index()
    side = 330.0
    limits = extent(table["reference_mean"], table["submodel_mean"], margin=0.04)
    ticks = ticks_of(*limits)
    frame = Frame(room_for(ticks.labels) + FONT + 3.0 * GAP, GAP, side - GAP, side - 46.0)
    across = Scale(*limits, frame.left, frame.right)
    up = Scale(*limits, frame.bottom, frame.top)
    middle = (frame.top + frame.bottom) / 2.0
    parts = [
        upright_axis(frame, up, ticks),
        level_axis(frame, across, ticks),
        line(frame.left, frame.bottom, frame.right, frame.top, "reference"),
        text((frame.left + frame.right) / 2.0, side - GAP, "reference"),
        text(FONT, middle, "submodel", transform=f"rotate(-90 {FONT:.0f} {middle:.1f})"),
    ]
    for row in table.itertuples():
        if not np.isfinite([row.reference_mean, row.submodel_mean]).all():
            continue
        seen = cut(found.observed(row.y), LONGEST)
        said = (
            f"row {row.observation}: reference {significant(row.reference_mean)}, "
            f"submodel {significant(row.submodel_mean)}, observed {seen}"
        )
        x, y = across(row.reference_mean), up(row.submodel_mean)
        parts.append(tag("circle", tag("title", said), cx=x, cy=y, r=3.0, class_="row"))
    label = "predictions of the submodel against those of the reference, row by row"
    return picture(side, side, label, *parts, class_="scatter")
