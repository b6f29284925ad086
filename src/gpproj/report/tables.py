"""Tables to read, and tables to copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gpproj.report.markup import Markup, joined, tag

if TYPE_CHECKING:
    import pandas as pd


class Line(NamedTuple):
    """A row of a table."""

    name: Any
    """The first cell, which heads the others."""
    cells: Sequence[Any]
    marked: bool = False


def table(
    label: str,
    head: Sequence[Any],
    lines: Sequence[Line],
    text: Sequence[int] = (),
    last: Line | None = None,
) -> Markup:
    """Return a table in a box that scrolls where it is too wide, and too long.

    Parameters
    ----------
    label : str
        Its name, for those who cannot see it.
    head : sequence of str or Markup
    lines : sequence of Line
    text : sequence of int
        Columns that are not numbers.
    last : Line, optional
        Set off from the others.
    """

    def row(line: Line) -> Markup:
        cells = [
            tag("td", cell, class_="text" if place in text else None)
            for place, cell in enumerate(line.cells, start=1)
        ]
        first = tag("th", line.name, scope="row", class_="text" if 0 in text else None)
        return tag("tr", first, *cells, class_="marked" if line.marked else None)

    top = [
        tag("th", name, scope="col", class_="text" if place in text else None)
        for place, name in enumerate(head)
    ]
    parts = [tag("thead", tag("tr", *top)), tag("tbody", *map(row, lines))]
    if last is not None:
        parts.append(tag("tfoot", row(last)))
    return scrolling(label, tag("table", *parts))


def scrolling(label: str, *parts: Any) -> Markup:
    """Return a box that scrolls by itself, also with the keyboard."""
    return tag("div", *parts, class_="scrolling", role="region", aria_label=label, tabindex=0)


def to_copy(name: str, title: str, frame: pd.DataFrame, index: bool = True) -> Markup:
    """Return a table as text, and a button that copies it."""
    field = f"csv-{name}"
    text = frame.to_csv(index=index, float_format="%.8g", lineterminator="\n")
    area = tag(
        "textarea",
        text,
        id=field,
        readonly=True,
        rows=min(len(frame) + 1, 12),
        spellcheck="false",
        aria_label=f"{title}, as CSV",
        wrap="off",
    )
    button = tag("button", "Copy CSV", type="button", data_copies=field, hidden=True)
    shape = f"{len(frame)} \N{MULTIPLICATION SIGN} {frame.shape[1] + int(index)}"
    summary = tag("summary", title, " ", tag("span", shape, class_="quiet"))
    return joined(tag("div", tag("details", summary, area), button, class_="copy"))
