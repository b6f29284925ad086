"""The drawing of a statistic against the size, whose points can be asked one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpproj.plots.curves import SCORES
from gpproj.report.answer import apart
from gpproj.report.canvas import (
    FONT,
    GAP,
    Frame,
    Scale,
    Ticks,
    curve,
    extent,
    level_axis,
    line,
    picture,
    room_for,
    text,
    ticks_of,
    upright_axis,
    width_of,
)
from gpproj.report.findings import Findings
from gpproj.report.markup import LONGEST, Markup, cut, joined, number, percent, tag

NARROW, WIDE = 340.0, 720.0
"""For a phone, and for everything else: scaled down, its labels could not be read."""
LABEL = 18
"""Characters of a name below the axis."""
SLANT = 40.0
"""Degrees by which names below the axis fall."""


def score_curve(found: Findings, stat: str) -> Markup:
    """Return the drawing in both widths, of which the style sheet shows one."""
    return joined(
        _drawn(found, stat, WIDE, 330.0, "wide"), _drawn(found, stat, NARROW, 280.0, "narrow")
    )


def told(found: Findings, size: int) -> str:
    """Return the figures of a size in a sentence."""
    row = found.scores.loc[size]
    entered = f" (+ {cut(row['input'], LONGEST)})" if size else ""
    if found.cv.path.is_better(size):
        entered = f" ({cut(row['best_inputs'], LONGEST)})"
    words = [
        f"Size {size}{entered}: elpd {number(row['elpd'])}, "
        f"{apart(row['elpd_diff'], row['elpd_diff_se'])}",
        *(f"{one.label} {one.text(row[one.stat])}" for one in found.shown),
    ]
    if size and found.shares is not None and not found.cv.path.is_better(size):
        words.append(f"agreement {percent(row['agreement'])}")
    return "; ".join(words)


def in_order(found: Findings, stat: str) -> list[float]:
    """Return a statistic of the first inputs that entered; nothing where the best are the same."""
    own, along = found.scores[stat], found.in_order[stat]
    return [] if own.equals(along) else along.tolist()


def _drawn(found: Findings, stat: str, width: float, height: float, name: str) -> Markup:
    table = found.scores
    values = table[stat].to_numpy(dtype=float)
    errors = np.nan_to_num(table[f"{stat}_diff_se"].to_numpy(dtype=float))
    level, spread = found.reference[stat], float(np.nan_to_num(found.reference[f"{stat}_se"]))
    lightly = in_order(found, stat)
    low, high = extent(values - errors, values + errors, lightly, [level - spread, level + spread])
    ticks = ticks_of(low, high)
    left = room_for(ticks.labels) + 2.0 * GAP
    right = width - 2.0 * GAP
    room = (right - left) / len(values)
    named = room >= 1.4 * FONT
    labels = [cut(one, LABEL) for one in ["none", *table["input"][1:]]]
    slant = math.radians(SLANT)
    below = FONT + 3.0 * GAP
    if named:
        below = room_for(labels) * math.sin(slant) + FONT + 2.0 * GAP
        # Labels end below their point and reach to the left of it: the first ones must not be cut.
        reach = max(
            width_of(label) * math.cos(slant) - (place + 0.5) * room
            for place, label in enumerate(labels)
        )
        left = max(left, reach + GAP)
        room = (right - left) / len(values)
    frame = Frame(left, FONT + 2.0 * GAP, right, height)
    across = Scale(-0.5, len(values) - 0.5, frame.left, frame.right)
    up = Scale(low, high, frame.bottom, frame.top)
    parts = [upright_axis(frame, up, ticks)]
    if math.isfinite(level):
        box = {"width": frame.right - frame.left, "height": up(level - spread) - up(level + spread)}
        parts = [
            tag("rect", x=frame.left, y=up(level + spread), **box, class_="band"),
            *parts,
            line(frame.left, up(level), frame.right, up(level), "reference"),
        ]
    if found.suggested is not None:
        at = across(found.suggested)
        near = "start" if at < width / 2.0 else "end"
        parts += [
            line(at, frame.top, at, frame.bottom, "suggested"),
            text(at, frame.top - GAP, f"suggested size: {found.suggested}", near, class_="mark"),
        ]
    if named:
        parts.append(_names(frame, across, labels))
    else:
        every = ticks_of(0.0, len(values) - 1.0, about=max(int(width / 60.0), 2))
        whole = [value for value in every.values if value == int(value)]
        parts += [
            level_axis(frame, across, Ticks(whole, [number(value, 0) for value in whole])),
            text((frame.left + frame.right) / 2.0, frame.bottom + below + 2.0, "size"),
        ]
        below += FONT
    sizes = [across(size) for size in range(len(values))]
    if lightly:
        parts.append(curve(sizes, map(up, lightly), "in-order"))
    parts.append(curve(sizes, map(up, values), "submodels"))
    parts += [
        _point(found, size, across(size), room, frame, up, values[size], errors[size])
        for size in range(len(values))
    ]
    label = (
        f"{SCORES[stat]} of the submodels against their size, with bars of one standard error of "
        f"the difference to the reference; the reference has {number(level, 2)}"
    )
    return picture(
        width, frame.bottom + below, label, *parts, role="group", class_=f"scores {name}"
    )


def _point(
    found: Findings,
    size: int,
    x: float,
    room: float,
    frame: Frame,
    up: Scale,
    value: float,
    error: float,
) -> Markup:
    """Return what stands for a size: all of its column answers."""
    said = told(found, size)
    place: dict[str, Any] = {"x": x - room / 2.0, "y": frame.top}
    box = {"width": room, "height": frame.bottom - frame.top}
    parts = [tag("title", said), tag("rect", **place, **box, class_="column")]
    if math.isfinite(value):
        parts += [
            line(x, up(value - error), x, up(value + error), "bar"),
            tag("circle", cx=x, cy=up(value), r=max(min(3.5, room / 2.5), 1.5)),
        ]
        if size == found.suggested:
            parts.append(tag("circle", cx=x, cy=up(value), r=7.5, class_="ring"))
    chosen = " shown" if size == found.size else ""
    return tag("g", *parts, class_=f"point{chosen}", tabindex=0, role="img", aria_label=said)


def _names(frame: Frame, across: Scale, labels: list[str]) -> Markup:
    """Return the input that entered at each size, below the axis."""
    parts = [line(frame.left, frame.bottom, frame.right, frame.bottom, "axis")]
    for place, label in enumerate(labels):
        x, y = across(place), frame.bottom + FONT + 2.0
        parts += [
            line(x, frame.bottom, x, frame.bottom + 4.0, "axis"),
            text(x, y, label, "end", transform=f"rotate(-{SLANT:.0f} {x:.1f} {y:.1f})"),
        ]
    return joined(*parts)
