"""HTML from Python: whatever is not markup already is escaped."""

from __future__ import annotations

import html
import re
from typing import Any

from gpproj.plots.style import Heading, cut

VOID = frozenset({"br", "col", "link", "meta"})
"""Elements that have no content, and no end."""

FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that a page cannot hold, or a file in UTF-8 cannot."""


LONGEST = 60
"""Characters of a name in running text; tables to copy have all of them."""


class Markup(str):
    """Text that is HTML already and is not escaped again."""

    __slots__ = ()


def escaped(value: Any) -> Markup:
    """Return anything as HTML, with characters that a page cannot hold replaced.

    Examples
    --------
    >>> escaped('<a href="x">')
    '&lt;a href=&quot;x&quot;&gt;'
    """
    if isinstance(value, Markup):
        return value
    return Markup(html.escape(replaced(str(value))))


def replaced(text: str) -> str:
    """Return text with a replacement character for each one that a page cannot hold."""
    return FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def tag(element: str, *children: Any, **attributes: Any) -> Markup:
    """Return an element.

    Parameters
    ----------
    element : str
        Its name.
    *children : Markup, str or number
        What it holds.
    **attributes : str, number, bool or None
        By name, with `_` for `-`, and one more `_` where the name is a word of Python. None and
        False leave an attribute out, True gives one without a value.

    Examples
    --------
    >>> tag("p", "a < b", tag("br"), class_="note", aria_label='"', hidden=True)
    '<p class="note" aria-label="&quot;" hidden>a &lt; b<br></p>'
    """
    parts = [element]
    for key, value in attributes.items():
        name = key.rstrip("_").replace("_", "-")
        if value is True:
            parts.append(name)
        elif value is not None and value is not False:
            parts.append(f'{name}="{escaped(value)}"')
    opened = Markup(f"<{' '.join(parts)}>")
    if element in VOID:
        return opened
    return Markup(f"{opened}{joined(*children)}</{element}>")


def joined(*parts: Any) -> Markup:
    """Return parts one after the other."""
    return Markup("".join(map(escaped, parts)))


def section(name: str, title: str, *parts: Any) -> Markup:
    """Return a section with its heading."""
    head = tag("h2", title, id=f"{name}-heading")
    return tag("section", head, *parts, id=name, aria_labelledby=f"{name}-heading")


def quiet(*parts: Any) -> Markup:
    """Return a paragraph in small print that explains."""
    return tag("p", *parts, class_="quiet")


def figure(heading: Heading, *parts: Any, class_: str | None = None) -> Markup:
    """Return a picture with its title and what to conclude from it."""
    said = tag("span", heading.conclusion, class_="said") if heading.conclusion else ""
    return tag("figure", tag("figcaption", heading.title, said), *parts, class_=class_)


def named(name: str) -> Markup:
    """Return the name of an input, kept apart from the direction of the text around it."""
    shown = cut(name, LONGEST)
    return tag("bdi", shown, class_="name", title=None if shown == name else name)


def listing(names: list[str], most: int = 15) -> Markup:
    """Return names in a row: the first ones only, and how many more, if they are very many.

    Examples
    --------
    >>> listing(["age", "bmi"])
    '<bdi class="name">age</bdi>, <bdi class="name">bmi</bdi>'
    """
    shown = [named(name) for name in names]
    if len(names) > most + 1:
        shown = [*shown[:most], escaped(f"and {len(names) - most} more")]
    return Markup(", ".join(shown))
