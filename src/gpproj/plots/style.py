"""Colours, axes, legends and labels of inputs that do not overlap, shared by all plots."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np

from gpproj.plots.scripts import drawable, text_style, width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
BOLD = 0.65
"""The same of bold characters."""
NARROWEST = 120.0
"""Points that headings take at least, also above axes that are narrower."""
CONCLUSION = "conclusion"


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

    longest = max((width_of(shortened(name)) for name in upright), default=0)
    height += max(longest - 5, 0) * CHARACTER * font_size("x") / 72.0
    size = min(width, WIDEST), min(height, WIDEST)
    figure, new = plt.subplots(figsize=size, layout="constrained")
    figure.draw_without_rendering()  # lays out: from here on the axes know how wide they are
    return new


def legend_above(ax: Axes, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """Put the legend above the axes, where it hides nothing, in as many columns as fit."""
    size, room, labels = font_size("legend"), room_for(ax, "x"), [*map(drawable, labels)]
    widths = [size * (4.0 + CHARACTER * width_of(label)) for label in labels]
    fitting = (
        columns
        for columns in range(len(labels), 1, -1)
        if sum(part.max() for part in np.array_split(widths, columns)) <= room
    )
    legend = ax.legend(
        handles,
        labels,
        frameon=False,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=next(fitting, 1),
        prop={"size": size, "family": text_style(*labels).get("fontfamily")},
    )
    for text in legend.get_texts():
        text.set_parse_math(False)  # names may have dollars


class Heading(NamedTuple):
    """What is written above a plot."""

    title: str
    conclusion: str
    """What to conclude from it, in a sentence or two."""


def put_heading(ax: Axes, title: str, conclusion: str, settle: bool = True) -> None:
    """Put a title above the axes and their legend, and below it what to conclude.

    Where it is one of several panels, only the first one needs to `settle` their layout.
    """
    _remove_conclusion(ax)
    figure = cast("Figure", ax.figure)
    if settle and figure.get_layout_engine() is not None:
        figure.draw_without_rendering()  # labels that came meanwhile make axes narrower
    legend, size = ax.get_legend(), font_size("legend")
    above = 4.0
    if legend is not None:
        above += legend.get_window_extent().height * 72.0 / ax.figure.dpi
    room = max(room_for(ax, "x"), NARROWEST)
    conclusion, title = drawable(conclusion), drawable(title)
    lines = fill(conclusion, max(int(room / (CHARACTER * size)), 20))
    ax.annotate(
        lines,
        (0.0, 1.0),
        (0.0, above),
        xycoords="axes fraction",
        textcoords="offset points",
        va="bottom",
        fontsize=size,
        gid=CONCLUSION,
        parse_math=False,
        **text_style(lines),
    )
    ax.set_title(
        fill(title, max(int(room / (BOLD * font_size("title"))), 15)),
        loc="left",
        pad=above + 4.0 + 1.25 * size * (1 + lines.count("\n")),
        fontweight="bold",
        fontsize=font_size("title"),
        parse_math=False,
        **text_style(title),
    )


def take_heading(ax: Axes) -> Heading:
    """Return what is written above a plot, and leave it without."""
    title = " ".join(ax.get_title(loc="left").split())
    ax.set_title("", loc="left")
    return Heading(title, _remove_conclusion(ax))


def _remove_conclusion(ax: Axes) -> str:
    """Remove what was concluded, and return it."""
    found = [one for one in ax.texts if one.get_gid() == CONCLUSION]
    for one in found:
        one.remove()
    return " ".join(" ".join(one.get_text() for one in found).split())


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
    longest = max(map(width_of, shown), default=0)
    fits = axis == "y" or CHARACTER * size * (1 + longest) <= every * room
    style: dict[str, Any] = {"fontsize": size, **text_style(*shown)}
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


def shortened(name: str, longest: int = LONGEST) -> str:
    """Return a name as matplotlib can draw it on one line: cut, and with dollars as they are.

    Examples
    --------
    >>> shortened("PctKidsBornNeverMarriedInTheArea")
    'PctKidsBornNev…InTheArea'
    """
    line = cut(" ".join(str(name).split()), longest)
    return drawable(line).replace("$", r"\$")  # a pair of them would be read as a formula


def font_size(part: Literal["x", "y", "legend", "title"]) -> float:
    """Return the user's font size of tick labels, legends or headings, in points."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    sizes = {
        "x": rcParams["xtick.labelsize"],
        "y": rcParams["ytick.labelsize"],
        "legend": rcParams["legend.fontsize"],
        "title": rcParams["axes.labelsize"],
    }
    return float(FontProperties(size=sizes[part]).get_size_in_points())
