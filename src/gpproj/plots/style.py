"""What all plots share: colours, axes, legends, and names of inputs that do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"
GREEN, PINK = "#009E73", "#CC79A7"
"""From the palette of Okabe and Ito, told apart by every kind of colour vision."""
COLOURS = (BLUE, ORANGE, GREEN, PINK, "#E69F00", "#56B4E9")

WIDEST = 14.0
"""Inches: what a page or a screen can show at once."""
SMALLEST = 6.0
"""Points: names in a smaller font are not read."""
SPACING = 1.25
"""Of lines, in font sizes; labels that come later may still make the axes smaller."""
LONGEST = 24
"""Characters of a name; longer ones are cut."""
CHARACTER = 0.55
"""Width of a character, in font sizes."""


def new_axes(
    ax: Axes | None, width: float, height: float = 3.5, upright: Sequence[str] = ()
) -> Axes:
    """Return the axes given, or those of a new figure.

    Parameters
    ----------
    ax : matplotlib Axes or None
    width, height : float
        In inches, with room for upright labels of a few characters.
    upright : sequence of str
        Labels below the axes; long ones make the figure higher.
    """
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    longest = max((len(shortened(name)) for name in upright), default=0)
    height += max(longest - 5, 0) * CHARACTER * font_size("x") / 72.0
    size = min(width, WIDEST), min(height, WIDEST)
    figure, new = plt.subplots(figsize=size, layout="constrained")
    figure.draw_without_rendering()  # lays out: from here on the axes know how wide they are
    return new


def legend_above(ax: Axes, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """Put the legend above the axes, where it hides nothing, in as many columns as fit."""
    size, room = font_size("legend"), room_for(ax, "x")
    widths = [size * (4.0 + CHARACTER * len(label)) for label in labels]
    fitting = (
        columns
        for columns in range(len(labels), 1, -1)
        if sum(part.max() for part in np.array_split(widths, columns)) <= room
    )
    ax.legend(
        handles,
        labels,
        frameon=False,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=next(fitting, 1),
    )


def room_for(ax: Axes, axis: Literal["x", "y"], count: int = 1) -> float:
    """Return how many points each of so many labels has along an axis."""
    box = ax.get_window_extent()
    length = box.width if axis == "x" else box.height
    return float(length * 72.0 / ax.figure.dpi / max(count, 1))


def name_inputs(ax: Axes, axis: Literal["x", "y"], names: Sequence[str]) -> None:
    """Label 0, 1, ... with the names of inputs: smaller where there are many, some of very many.

    Names along the horizontal axis stand upright unless they fit as they are.
    """
    room = room_for(ax, axis, len(names))
    size = min(font_size(axis), max(room / SPACING, SMALLEST))
    every = int(np.ceil(SMALLEST * SPACING / room))
    shown = [shortened(name) for name in names[::every]]
    longest = max(map(len, shown), default=0)
    fits = axis == "y" or CHARACTER * size * (1 + longest) <= every * room
    set_ticks = ax.set_xticks if axis == "x" else ax.set_yticks
    set_ticks(range(0, len(names), every), shown, fontsize=size, rotation=0 if fits else 90)


def name_sizes(ax: Axes, names: Sequence[str]) -> None:
    """Label sizes with the input that entered at each, or by number where names do not fit."""
    from matplotlib.ticker import MaxNLocator, ScalarFormatter

    ax.margins(x=min(0.05, 0.6 / len(names)))
    if room_for(ax, "x", len(names)) >= SMALLEST * SPACING:
        name_inputs(ax, "x", names)
        ax.set_xlabel("input added")
        return
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.xaxis.set_major_formatter(ScalarFormatter())
    ax.set_xlabel("size of the submodel")


def shortened(name: str) -> str:
    """Return a name for a label: without its middle if it is long, dollars as they are.

    Examples
    --------
    >>> shortened("PctKidsBornNeverMarriedInTheArea")
    'PctKidsBornNev…InTheArea'
    """
    name = str(name)
    if len(name) > LONGEST:
        name = f"{name[: LONGEST - 10]}…{name[-9:]}"
    return name.replace("$", r"\$")  # a pair of them would be read as a formula


def font_size(part: Literal["x", "y", "legend"]) -> float:
    """Return the user's font size of tick labels along an axis, or of legends, in points."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    sizes = {
        "x": rcParams["xtick.labelsize"],
        "y": rcParams["ytick.labelsize"],
        "legend": rcParams["legend.fontsize"],
    }
    return float(FontProperties(size=sizes[part]).get_size_in_points())
