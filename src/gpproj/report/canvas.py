"""What the drawings share: scales, ticks, axes and labels, in pixels from the upper left."""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gpproj.report.markup import Markup, joined, number, tag

FONT = 12.0
GAP = 6.0


@dataclass(frozen=True)
class Scale:
    """From values to pixels."""

    low: float
    high: float
    start: float
    """Where the lowest value is drawn."""
    end: float

    def __call__(self, value: float) -> float:
        """Return where a value is drawn."""
        share = (value - self.low) / (self.high - self.low)
        return float(self.start + share * (self.end - self.start))


class Ticks(NamedTuple):
    """Round values along a scale."""

    values: list[float]
    labels: list[str]


class Frame(NamedTuple):
    """The rectangle that is drawn into."""

    left: float
    top: float
    right: float
    bottom: float


def extent(*values: Any, margin: float = 0.06) -> tuple[float, float]:
    """Return the smallest and the largest of all finite values, a little apart from them."""
    every = np.concatenate([np.ravel(np.asarray(part, dtype=float)) for part in values])
    finite = every[np.isfinite(every)]
    if not finite.size:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    away = margin * (high - low)
    # A span that rounding eats would leave nothing to divide by.
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        away = 0.05 * abs(high) or 1.0
    return low - away, high + away


def ticks_of(low: float, high: float, about: int = 5) -> Ticks:
    """Return round values from low to high, about so many of them.

    Examples
    --------
    >>> ticks_of(0.17, 0.72).labels
    ['0.2', '0.4', '0.6']
    """
    wanted = (high - low) / about
    unit = 10.0 ** math.floor(math.log10(wanted))
    step = next(unit * factor for factor in (1.0, 2.0, 5.0, 10.0) if unit * factor >= wanted * 0.99)
    first, last = math.ceil(low / step), math.floor(high / step)
    values = [place * step for place in range(first, last + 1)]
    decimals = max(-math.floor(math.log10(step) + 1e-9), 0)
    largest = max(map(abs, values), default=0.0)
    if decimals <= 6 and largest < 1e7:
        return Ticks(values, [number(value, decimals) for value in values])
    digits = 1 + round(math.log10(max(largest / step, 1.0)) + 0.5)
    return Ticks(values, [f"{value:.{digits}g}".replace("-", "\N{MINUS SIGN}") for value in values])


def room_for(labels: list[str]) -> float:
    """Return the width of the widest label."""
    return max(map(width_of, labels), default=0.0)


def width_of(label: str) -> float:
    """Return about how wide a label is, and rather more: fonts differ."""

    def width(character: str) -> float:
        if character in "mwMW@%…" or unicodedata.east_asian_width(character) in "WF":
            return 1.0
        return 0.72 if character.isupper() else 0.6

    return FONT * sum(map(width, label))


def text(x: float, y: float, label: Any, anchor: str = "middle", **attributes: Any) -> Markup:
    """Return a line of text."""
    return tag("text", label, x=x, y=y, text_anchor=anchor, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """Return a straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def curve(xs: Any, ys: Any, class_: str) -> Markup:
    """Return a line through points; points that are not finite break it."""
    places, pen = [], "M"
    for x, y in zip(xs, ys, strict=True):
        if math.isfinite(x) and math.isfinite(y):
            places.append(f"{pen}{x:.1f} {y:.1f}")
            pen = "L"
        else:
            pen = "M"
    return tag("path", d="".join(places), class_=class_)


def area(xs: Any, lower: Any, upper: Any, class_: str) -> Markup:
    """Return the area between two curves."""
    edge = [*zip(xs, upper, strict=True), *reversed([*zip(xs, lower, strict=True)])]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in edge)
    return tag("polygon", points=points, class_=class_)


def upright_axis(frame: Frame, scale: Scale, ticks: Ticks) -> Markup:
    """Return grid lines with their labels on the left."""
    parts = []
    for value, label in zip(*ticks, strict=True):
        y = scale(value)
        parts += [
            line(frame.left, y, frame.right, y, "grid"),
            text(frame.left - GAP, y + 0.35 * FONT, label, "end"),
        ]
    return joined(*parts)


def level_axis(frame: Frame, scale: Scale, ticks: Ticks) -> Markup:
    """Return ticks with their labels below the frame."""
    parts = [line(frame.left, frame.bottom, frame.right, frame.bottom, "axis")]
    for value, label in zip(*ticks, strict=True):
        x = scale(value)
        parts += [
            line(x, frame.bottom, x, frame.bottom + 4.0, "axis"),
            text(x, frame.bottom + FONT + GAP, label),
        ]
    return joined(*parts)


def picture(width: float, height: float, label: str, *parts: Any, **attributes: Any) -> Markup:
    """Return a drawing with its name; `role` is "img" unless told otherwise."""
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        role=attributes.pop("role", "img"),
        aria_label=label,
        **attributes,
    )
