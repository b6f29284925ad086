"""Clusters of hyperparameter draws: what mixtures give back that one projection of all draws loses.

For every random split of the Boston data: a reference by hyperparameter draws, one search, and at
some sizes the mean test log density of its submodels as one projection of all draws, as a mixture
of 20 clusters of them, and with every draw by itself. Not in the paper, which projects all draws
at once. Splits are those of the experiment on real data, but for a second chain of the sampler.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from gpproj.plots import BLUE, GREEN, ORANGE
from reproduction.results import half_width, write
from reproduction.running import Made, repeated, timed
from reproduction.splits import SETTINGS, Setting, Split

SETTING = SETTINGS["boston"]._replace(chains=2)
SIZES = (3, 5, 8, 13)

SINGLE = "one projection"
MODELS: dict[str, Any] = {SINGLE: None, "20 clusters": 20, "every draw": "draws"}
"""`clusters` of the submodels."""
COLOURS = dict(zip(MODELS, (BLUE, GREEN, ORANGE), strict=True))


def reproduce_clusters(folder: Path, splits: int = 10, n_jobs: int | None = 1) -> pd.DataFrame:
    """Run the study and write `clusters.csv` and `clusters.png`.

    The summary has mean test log densities: one row for each size, one column for each model.
    """
    settings = [SETTING, SIZES, list(MODELS.values())]
    work = partial(rows_of, SETTING, folder / "finished")
    raw = pd.DataFrame(repeated(work, splits, folder, settings, n_jobs, "cluster splits"))
    write(folder, {"clusters": raw}, {"clusters": _draw(raw)})
    return summarise(raw)


def rows_of(setting: Setting, folder: Path, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the reference and each model at each size of one split.

    `seconds` are those of sampling for the reference, and for submodels those of making them from
    the path that the search has found.
    """
    split = Split(setting, folder, seed)
    with warnings.catch_warnings():
        # Constant columns of a split, and short chains.
        warnings.simplefilter("ignore", UserWarning)
        path = split.path("projection").thing

    def row(model: str, size: int, made: Made) -> dict[str, Any]:
        score, seconds = split.density(made.thing).mean(), round(made.seconds, 2)
        found = {"split": seed, "model": model, "size": size}
        return {**found, "log_density": float(score), "seconds": seconds}

    yield row("reference", len(split.inputs), split.sampled)
    for model, clusters in MODELS.items():
        for size in SIZES:
            yield row(model, size, timed(partial(path.submodel, size, clusters)))


def summarise(raw: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over splits of every model at every size."""
    table = raw.pivot_table(index="size", columns="model", values="log_density")
    return table[["reference", *MODELS]]


def _draw(raw: pd.DataFrame) -> Axes:
    """Draw the means, and the differences to one projection with their 95 % intervals."""
    _, axes = plt.subplots(1, 2, figsize=(8.5, 3.8), layout="constrained")
    ax: Axes = axes[0]
    difference: Axes = axes[1]
    splits = raw["split"].nunique()
    scores = raw[raw["model"] != "reference"].pivot(
        index="split", columns=["model", "size"], values="log_density"
    )
    for place, (model, colour) in enumerate(COLOURS.items()):
        mean = scores[model].mean()
        ax.plot(mean.index, mean, label=model, color=colour, marker="o", markersize=4)
        if model != SINGLE:
            gained = scores[model] - scores[SINGLE]
            at, half = mean.index + 0.1 * place, half_width(gained, splits)
            difference.errorbar(at, gained.mean(), half, color=colour, marker="o", capsize=3)
    full = raw.loc[raw["model"] == "reference", "log_density"].mean()
    ax.axhline(full, color="black", linestyle=":", label="reference")
    ax.set_ylabel("mean test log density")
    difference.axhline(0.0, color=COLOURS[SINGLE], linestyle=":", zorder=0)
    difference.set_ylabel(f"difference to {SINGLE}")
    for one in (ax, difference):
        one.set_xlabel("inputs")
        one.set_xticks(SIZES)
    ax.legend(fontsize=8)
    return ax
