"""Figures of matplotlib as SVG inside the page: text stays text, colours follow the page."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
from matplotlib import style
from matplotlib.figure import Figure

from gpproj.plots import BLUE, GREEN, GREY, ORANGE, PINK
from gpproj.plots.scripts import readers_fonts
from gpproj.report.markup import Markup, replaced

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FONT = 12.0
"""Font size of labels in pixels: one point of a figure is one pixel of the page."""
LEFT = 40.0
"""About how many pixels tick labels to the left of axes take."""
PADDING = 3.0
"""Pixels between labels and the edge of a drawing."""
INK, RULE = "#57606a", "#d5d9de"
VARIABLES = {
    BLUE.lower(): "var(--blue)",
    ORANGE.lower(): "var(--orange)",
    GREY.lower(): "var(--grey)",
    GREEN.lower(): "var(--teal)",
    PINK.lower(): "var(--pink)",
    INK: "var(--faded)",
    RULE: "var(--rule)",
}
"""Colours of the figures, and the variables of page.css that take their place."""

STYLE = {
    "svg.fonttype": "none",
    "figure.dpi": 72.0,
    "font.size": FONT,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": RULE,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "ytick.major.size": 0.0,
    "axes.formatter.useoffset": False,
    "lines.markersize": 5.0,
    "lines.linewidth": 1.8,
}


@contextmanager
def page_style(name: str) -> Iterator[None]:
    """Draw in the style of the page, whatever the user's own is.

    Parameters
    ----------
    name : str
        Name of the drawing, from which matplotlib derives the ids in it: no two drawings of a page
        may have the same.
    """
    with (
        style.context(["default", STYLE | {"svg.hashsalt": name}]),
        warnings.catch_warnings(),
        readers_fonts(),
    ):
        # The reader's fonts draw the text; those of matplotlib only say how much room it takes.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        yield


def page_axes(width: float, height: float) -> Axes:
    """Return the axes of a new figure of some pixels, with room for tick labels to their left.

    Plots go by the width of the axes in choosing their labels; `fit` gives them their final place.
    """
    figure = Figure(figsize=(width / 72.0, height / 72.0))
    figure.patch.set_visible(False)
    ax = figure.add_axes((LEFT / width, 0.0, 1.0 - LEFT / width, 1.0))
    ax.patch.set_visible(False)
    return ax


def fit(ax: Axes, width: float | None = None, height: float | None = None) -> None:
    """Put axes into their figure so that all labels fit.

    Parameters
    ----------
    ax : Axes
    width, height : float, optional
        Pixels of the axes; without them, the figure keeps its own width or height.
    """
    figure = cast(Figure, ax.figure)
    whole = 72.0 * figure.get_size_inches()
    for _ in range(2):  # how far labels reach out depends a little on the place of the axes
        around, box = ax.get_tightbbox(), ax.get_window_extent()
        assert around is not None
        start = np.subtract(box.min, around.min) + PADDING
        end = np.subtract(around.max, box.max) + PADDING
        room = whole - start - end
        own = (room[0] if width is None else width, room[1] if height is None else height)
        whole = start + own + end
        figure.set_size_inches(*(whole / 72.0))
        ax.set_position((*(start / whole), *(own / whole)))


def to_svg(ax: Axes, label: str, class_: str, role: str = "img") -> Element:
    """Return the figure of some axes as an element of the page.

    The element scales with the page. Artists that have a gid become groups of that class.

    Parameters
    ----------
    ax : Axes
    label : str
        What the drawing shows, for those who cannot see it.
    class_ : str
    role : {"img", "group"}
        "group" if parts of the drawing have labels of their own.
    """
    file, figure = io.StringIO(), cast(Figure, ax.figure)
    figure.savefig(file, format="svg", metadata={"Date": None})
    drawn = ElementTree.fromstring(file.getvalue())
    for element in list(drawn.iter()):
        _clean(element)
    width = drawn.get("viewBox", "").split()[2]
    svg = Element(
        "svg",
        {
            "viewBox": drawn.get("viewBox", ""),
            "width": width,
            "role": role,
            "aria-label": replaced(label),
            "class": class_,
        },
    )
    svg.extend(drawn)
    return svg


def add_title(element: Element, text: str) -> None:
    """Add a tool tip to an element of a drawing."""
    title = Element("title")
    title.text = replaced(text)
    element.insert(0, title)


def markup_of(svg: Element) -> Markup:
    """Return a drawing as markup."""
    return Markup(ElementTree.tostring(svg, encoding="unicode"))


def _clean(element: Element) -> None:
    """Turn an element of matplotlib's SVG file into one of the page.

    The style sheet and the metadata go, names lose their namespaces, and groups have classes in
    place of ids, which would clash between drawings. Declarations of style become attributes, which
    page.css can overrule, with the variables of the page as colours and without font names.
    """
    for child in [one for one in element if one.tag.endswith(("}metadata", "}style"))]:
        element.remove(child)
    element.tag = element.tag.rpartition("}")[2]
    element.text, element.tail = (element.text or "").strip(), ""
    attributes = {name.rpartition("}")[2]: value for name, value in element.attrib.items()}
    if element.tag == "g" and "id" in attributes:
        gid = attributes.pop("id")
        if not re.search(r"_\d+$", gid):  # matplotlib's own end in a number
            attributes["class"] = gid
    for declaration in attributes.pop("style", "").split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font":  # size and family in one, in some versions of matplotlib
            name, value = "font-size", re.findall(r"[\d.]+px", value)[0]
        if name not in ("", "font-family"):
            attributes[name] = VARIABLES.get(value, value)
    for name in ("d", "x", "y", "transform"):
        if name in attributes:
            attributes[name] = re.sub(r"(\.\d\d)\d+", r"\1", attributes[name])
    element.attrib.clear()
    element.attrib.update(attributes)
