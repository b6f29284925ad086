"""What experiments write: tables, and figures with 95 % intervals over the repetitions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes


def write(
    folder: Path,
    tables: Mapping[str, pd.DataFrame],
    figures: Mapping[str, Axes],
    digits: int = 5,
) -> None:
    """Write `NAME.csv` for each table and `NAME.png` for each figure, which is then closed.

    Numbers have some digits, and an index is written if it has a name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        named = table.index.name is not None
        table.to_csv(folder / f"{name}.csv", index=named, float_format=f"%.{digits}g")
    for name, ax in figures.items():
        figure = ax.get_figure(root=True)
        assert figure is not None  # axes that were just drawn have one
        figure.savefig(folder / f"{name}.png", dpi=120)
        plt.close(figure)


def half_width(scores: Any, repeats: int) -> Any:
    """Return half of the 95 % interval of means over repetitions; None if there is only one."""
    return 1.96 * scores.std() / np.sqrt(repeats) if repeats > 1 else None


def draw_curves(
    ax: Axes,
    raw: pd.DataFrame,
    curves: Mapping[str, tuple[str, str, str]],
    score: str = "log_density",
    middle: str = "mean",
) -> None:
    """Draw a score against the number of inputs, one line with a band for each curve.

    Parameters
    ----------
    ax : Axes
    raw : DataFrame
        Columns `split`, `curve`, `size` and the score.
    curves : mapping of str to (label, colour, line)
        The one called "reference" has all inputs, and is a line across without a band.
    score : str
    middle : {"mean", "median"}
        Bands are 95 % intervals around means, and from quartile to quartile around medians.
    """
    splits = raw["split"].nunique()
    for curve, (label, colour, line) in curves.items():
        own = raw[raw["curve"] == curve]
        if curve == "reference":
            ax.axhline(own[score].agg(middle), color=colour, linestyle=line, label=label)
            continue
        grouped = own.groupby("size")[score]
        value = grouped.agg(middle)
        ax.plot(value.index, value, label=label, color=colour, linestyle=line)
        if splits > 1:
            half = half_width(grouped, splits)
            low, high = value - half, value + half
            if middle == "median":
                low, high = grouped.quantile(0.25), grouped.quantile(0.75)
            ax.fill_between(value.index, low, high, color=colour, alpha=0.15, lw=0)
    ax.set_xlabel("inputs")
