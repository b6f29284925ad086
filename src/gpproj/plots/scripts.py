"""Names in any script: the fonts that have their characters, and what is drawn where none has."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font

MISSING = "\N{REPLACEMENT CHARACTER}"
"""What stands for a character that no font of this machine has."""

_READER: ContextVar[bool] = ContextVar("reader", default=False)


@contextmanager
def readers_fonts() -> Iterator[None]:
    """Leave characters to the fonts of whoever reads: text stays text, as on a page."""
    token = _READER.set(True)
    try:
        yield
    finally:
        _READER.reset(token)


def drawable(text: str) -> str:
    r"""Return text with a mark for each character that cannot be drawn.

    Examples
    --------
    >>> drawable("age\x00") == f"age{MISSING}"
    True
    """
    return "".join(map(_drawn, text))


def text_style(*texts: str) -> dict[str, Any]:
    """Return the properties of text that names the fonts of its characters, if it needs any.

    The user's own font comes first: what it has is drawn by it.
    """
    from matplotlib import rcParams

    if _READER.get():
        return {}
    others = {char: _family(char) for text in texts for char in text if ord(char) > 127}
    families = dict.fromkeys(one for one in others.values() if one)
    return {"fontfamily": [*rcParams["font.family"], *families]} if families else {}


def width_of(text: str) -> int:
    r"""Return the width of text in characters: those of East Asia are twice as wide.

    Examples
    --------
    >>> width_of("age"), width_of("\u5e74\u9f62")
    (3, 4)
    """
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def _drawn(char: str) -> str:
    if char == " " or "!" <= char <= "~":
        return char
    if not char.isprintable():
        joins = unicodedata.category(char) == "Cf"  # as between the parts of an emoji
        return "" if joins else MISSING
    if _READER.get() or _family(char) is not None:
        return char
    return "" if unicodedata.category(char) in ("Mn", "Me") else MISSING


def _family(char: str) -> str | None:
    """Return the font that has a character: an empty name for the user's own, None for none."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties, findfont

    own = findfont(FontProperties(family=rcParams["font.family"]))
    font = _font(own)
    if font is not None and font.get_char_index(ord(char)):
        return ""
    return _other_family(char)


@cache
def _other_family(char: str) -> str | None:
    from matplotlib.font_manager import fontManager

    upright = (one for one in fontManager.ttflist if one.style == "normal")
    for entry in sorted(upright, key=lambda one: (abs(_weight(one.weight) - 400), one.name)):
        font = _font(entry.fname)
        if font is not None and font.get_char_index(ord(char)) and _draws(font, char):
            return str(entry.name)
    return None


def _weight(weight: Any) -> float:
    return float(weight) if isinstance(weight, int | float) else 400.0


@cache
def _font(file: str) -> FT2Font | None:
    from matplotlib.font_manager import get_font

    try:
        return get_font(file)
    except (OSError, RuntimeError):  # a file that is no longer there, or is damaged
        return None


def _draws(font: FT2Font, char: str) -> bool:
    """Say whether a font has an outline of a character: those of coloured pictures have none."""
    try:
        font.set_size(12.0, 72.0)
        font.load_char(ord(char))
    except (RuntimeError, ValueError):
        return False
    return True
