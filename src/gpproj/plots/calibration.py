"""Whether what a reference predicts for left-out rows happens as often as it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpproj.plots.numbers import percent
from gpproj.plots.style import BLUE, GREY, legend_above, new_axes, put_heading

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from gpproj.reference import Reference


def calibration(ref: Reference, ax: Axes | None = None) -> Axes:
    """Draw the calibration of a reference on training rows that were left out.

    For real targets it is the histogram of the probability integral transform: the probability that
    was given to smaller targets than the one that was left out. It is flat if the reference is
    calibrated, has its middle high if intervals are too wide, and its ends if they are too narrow.
    The band holds each bar with a probability of 95 %, and the legend has the coverage of 50 and
    90 % intervals. For classes it is the share of the second class against its predicted
    probability, by bins; the bars hold each share with a probability of 95 %. Counts have no such
    picture.

    The tables are `ref.check().calibration()` and `ref.check().coverage`.

    Parameters
    ----------
    ref : Reference
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    check = ref.check()
    table = check.calibration()
    ax = new_axes(ax, width=5.0, height=4.0)
    if check.coverage is None:
        own, low, high = (table[name].to_numpy() for name in ("predicted", "low", "high"))
        (line,) = ax.plot([0.0, 1.0], [0.0, 1.0], "--", color=GREY, linewidth=1.0)
        bars = ax.vlines(own, low, high, color=GREY, alpha=0.4, linewidth=6.0)
        (points,) = ax.plot(own, table["share"].to_numpy(), "o-", color=BLUE, markersize=4.0)
        legend_above(ax, [points, (bars, line)], ["left-out rows", "expected, 95 %"])
        last = "" if ref.classes is None else f" of {ref.classes[-1]}"
        ax.set_xlabel(f"predicted probability{last}")
        ax.set_ylabel(f"share{last}")
        put_heading(ax, TITLE, _within_chance(table))
        return ax
    left, right = table["lower"].to_numpy(), table["upper"].to_numpy()
    shares = table["share"].to_numpy()
    drawn = ax.bar(left, shares, right - left, align="edge", color=BLUE, alpha=0.6)
    band = ax.axhspan(table["low"][0], table["high"][0], color=GREY, alpha=0.25, linewidth=0.0)
    line = ax.axhline(1.0 / len(table), color=GREY, linestyle="--", linewidth=1.0)
    held = ", ".join(
        f"{100.0 * found:.0f} % in {100.0 * level:.0f} % intervals"
        for level, found in check.coverage.items()
    )
    legend_above(ax, [drawn, (band, line)], [f"left-out rows: {held}", "expected, 95 %"])
    ax.set_xlim(0.0, 1.0)
    ax.set_xlabel("predicted probability of a smaller target")
    ax.set_ylabel("share of the rows")
    level, found = list(check.coverage.items())[-1]
    inside = f"Intervals of {percent(level)} hold {percent(found)} of the rows that were left out. "
    put_heading(ax, TITLE, inside + _within_chance(table))
    return ax


TITLE = "Are predictions as certain as they say?"


def _within_chance(table: pd.DataFrame) -> str:
    """Say how many bins are where they should be."""
    inside = int(((table["share"] >= table["low"]) & (table["share"] <= table["high"])).sum())
    return f"{inside} of {len(table)} bins are within what chance allows."
