"""Colours, axes, legends and labels of inputs that do not overlap, shared by all plots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"
GREEN, PINK = "#009E73", "#CC79A7"
"""Colours of the palette of Okabe and Ito, which every kind of colour vision tells apart."""
COLOURS = (BLUE, ORANGE, GREEN, PINK, "#E69F00", "#56B4E9")

WIDEST = 14.0
"""Largest width and height of a new figure in inches, which a page or a screen can show."""
SMALLEST = 6.0
"""Smallest font size of names, in points."""
SPACING = 1.25
"""Distance of lines of text in font sizes, with some reserve: labels that are added later may
still make the axes smaller."""
LONGEST = 24
"""Most characters of a name on an axis; longer names are cut."""
SLANT = 40.0
"""Degrees by which names below the axis slant where there is room."""
CHARACTER = 0.55
"""Average width of a character, in font sizes."""


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

    Names along the horizontal axis that do not fit as they are slant, or stand upright where they
    are close to each other.
    """
    room = room_for(ax, axis, len(names))
    size = min(font_size(axis), max(room / SPACING, SMALLEST))
    every = int(np.ceil(SMALLEST * SPACING / room))
    shown = [shortened(name) for name in names[::every]]
    longest = max(map(len, shown), default=0)
    fits = axis == "y" or CHARACTER * size * (1 + longest) <= every * room
    style: dict[str, Any] = {"fontsize": size}
    if not fits:
        slants = every * room * np.sin(np.radians(SLANT)) >= SPACING * size
        style["rotation"] = SLANT if slants else 90.0
        if slants:
            style |= {"ha": "right", "rotation_mode": "anchor"}
    set_ticks = ax.set_xticks if axis == "x" else ax.set_yticks
    set_ticks(range(0, len(names), every), shown, **style)


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


def cut(name: str, longest: int) -> str:
    """Return a name of at most `longest` characters: a longer one loses its middle.

    Examples
    --------
    >>> cut("PctKidsBornNeverMarried", 16)
    'PctKidsBo…arried'
    """
    if len(name) <= longest:
        return name
    end = (longest - 1) * 2 // 5
    return f"{name[: longest - 1 - end]}…{name[-end:]}"


def shortened(name: str) -> str:
    """Return a name as matplotlib can draw it on one line: cut, and with dollars as they are.

    Examples
    --------
    >>> shortened("PctKidsBornNeverMarriedInTheArea")
    'PctKidsBornNev…InTheArea'
    """
    line = cut(" ".join(str(name).split()), LONGEST)
    drawn = (one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in line)
    return "".join(drawn).replace("$", r"\$")  # a pair of them would be read as a formula


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
