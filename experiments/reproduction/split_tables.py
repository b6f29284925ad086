"""Tables and figures of the experiment on real data, from its raw results."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from gpproj.plots import BLUE, GREEN, GREY, ORANGE, PINK
from reproduction.results import draw_curves

PAPER = {
    "projection": (BLUE, "-"),
    "projection, marginal likelihood": (BLUE, "--"),
    "ARD": (ORANGE, "-"),
    "ARD, marginal likelihood": (ORANGE, "--"),
}
"""Colour and line of the paper's curves: an order, and how its submodels are learned, which is by
plain projection unless it says otherwise."""

BEYOND = {
    "projection, weak prior": (GREEN, "-"),
    "projection, clusters": (GREEN, "--"),
    "projection, every draw": (BLUE, "-"),
    "ARD, weak prior": (PINK, "-"),
    "KL, weak prior": (BLUE, ":"),
    "lasso, weak prior": (GREY, "-"),
}
"""What gpproj adds: a prior of the submodels, mixtures, and other orders."""

PAIRS = (
    ("projection", "ARD"),
    ("projection, marginal likelihood", "ARD, marginal likelihood"),
    ("projection, weak prior", "ARD, weak prior"),
)
"""Curves that differ in their order alone."""

NEAR = 0.05
"""Distance to the reference in mean log density that counts as having come to it."""


def summarise(raw: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over splits of every curve at every size."""
    table = raw.pivot_table(index="size", columns="curve", values="log_density")
    return table[[curve for curve in ("reference", *PAPER, *BEYOND) if curve in table]]


def shown(raw: pd.DataFrame, sizes: Sequence[int]) -> pd.DataFrame:
    """Return the same at some sizes, one row for each curve; the reference has all inputs."""
    table = summarise(raw)
    table["reference"] = table["reference"].dropna().iloc[-1]
    return table.loc[[size for size in sizes if size in table.index]].T


def needed(raw: pd.DataFrame) -> pd.DataFrame:
    """Return how many inputs every curve needs to come near the reference, and what it takes.

    `inputs` is the first size whose mean log density is within `NEAR` of the reference's on the
    same splits; missing where no size is.
    """
    away = raw.pivot_table(index="size", columns="curve", values="difference")
    found = {}
    for curve in (one for one in (*PAPER, *BEYOND) if one in away):
        enough = away[curve].dropna() >= -NEAR
        found[curve] = {
            "inputs": float(enough.idxmax()) if enough.any() else np.nan,
            "seconds": raw.loc[raw["curve"] == curve, "seconds"].mean(),
        }
    return pd.DataFrame(found).T.rename_axis("curve")


def paired(raw: pd.DataFrame) -> pd.DataFrame:
    """Return differences between orders split by split: their mean, with a 95 % interval."""
    rows = []
    for curve, other in PAIRS:
        own, theirs = (
            raw[raw["curve"] == one].pivot_table("log_density", "split", "size")
            for one in (curve, other)
        )
        away = own - theirs
        half = 1.96 * away.std() / np.sqrt(away.count())
        for size in away.columns[1:]:  # without inputs there is no order
            mean, width = away[size].mean(), half[size]
            rows.append((f"{curve} - {other}", size, mean, mean - width, mean + width))
    columns = ["difference", "size", "mean", "low", "high"]
    return pd.DataFrame(rows, columns=columns).set_index("difference")


def suggested(raw: pd.DataFrame) -> pd.DataFrame:
    """Return what became of the suggested sizes.

    Of so many `splits` some had a size to suggest (`found`), and of those some submodels were
    `found_within` two standard errors of the reference on the test rows. Where no size is enough,
    the others take the whole path, as `gpproj.validate` does in its folds: `within`.
    """
    every = raw[raw["curve"] == "projection, every draw"].sort_values("size")
    last = every.groupby("split").tail(1)
    found = {}
    for curve in ("suggested", "suggested, one standard error"):
        own = raw[raw["curve"] == curve]
        whole = pd.concat([own, last[~last["split"].isin(own["split"])]])
        found[curve] = {
            "splits": len(whole),
            "found": len(own),
            "found_within": _within(own),
            "median_size": own["size"].median(),
            "within": _within(whole),
            "difference": whole["difference"].mean(),
        }
    return pd.DataFrame(found).T.rename_axis("curve")


def _within(rows: pd.DataFrame) -> int:
    """Return how many rows are at most two standard errors below the reference."""
    return int((rows["difference"] > -2.0 * rows["difference_se"]).sum())


def draw(raw: pd.DataFrame, curves: dict[str, tuple[str, str]]) -> Axes:
    """Draw the mean test log densities with 95 % intervals, the reference as a dotted line."""
    _, ax = plt.subplots(figsize=(7.0, 4.5), layout="constrained")
    lines = {curve: (curve, *style) for curve, style in curves.items()}
    draw_curves(ax, raw, {**lines, "reference": ("all inputs, sampled", "black", ":")})
    ax.set_ylabel("mean test log density")
    ax.legend(fontsize=8)
    return ax
