"""Clusters of hyperparameter draws: what mixtures give back that one projection of all draws loses.

For every random split of the Boston data: a reference by hyperparameter draws, one search, and at
some sizes the mean test log density of its submodels as one projection of all draws, as a mixture
of 20 clusters of them, and with every draw by itself. Not in the paper, which projects all draws
at once. Finished splits are kept in a folder of their own, so that a run goes on where it was
stopped.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import gpproj
from gpproj.plots import BLUE, GREEN, ORANGE
from gpproj.reproduce.figures import save
from gpproj.reproduce.stages import repeated

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ROWS, DRAWS, TUNE = 300, 100, 200
"""Training rows, posterior draws kept, and steps of tuning before them."""
SIZES = (3, 5, 8, 13)

SINGLE = "one projection"
MODELS: dict[str, Any] = {SINGLE: None, "20 clusters": 20, "every draw": "draws"}
"""`clusters` of the submodels."""
COLOURS = dict(zip(MODELS, (BLUE, GREEN, ORANGE), strict=True))


def reproduce_clusters(folder: Path, splits: int = 10, n_jobs: int | None = 1) -> pd.DataFrame:
    """Run the study and write `clusters.csv` and `clusters.png`.

    Parameters
    ----------
    folder : Path
        Made if it is not there; finished splits are kept in `folder/finished`.
    splits : int
        Random splits; their seeds are 0, 1, ...
    n_jobs : int or None
        Splits that run at the same time.

    Returns
    -------
    DataFrame
        Mean test log density over the splits: one row for each size, one column for each model.
    """
    import pandas as pd

    settings = [ROWS, DRAWS, TUNE, list(SIZES), list(MODELS.values())]
    raw = pd.DataFrame(repeated(rows_of, splits, folder, settings, n_jobs, "cluster splits"))
    raw.to_csv(folder / "clusters.csv", index=False, float_format="%.5g")
    save(_draw(raw), folder / "clusters.png")
    return summarise(raw)


def rows_of(seed: int) -> Iterator[dict[str, Any]]:
    """Yield the reference and each model at each size of one split.

    `seconds` are those of sampling for the reference, and for submodels those of making them from
    the path that the search has found.
    """
    X, y = gpproj.datasets.boston()
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:ROWS], order[ROWS:]

    def row(model: str, size: int, make: Callable[[], Any]) -> tuple[dict[str, Any], Any]:
        start = time.perf_counter()
        made = make()
        seconds = time.perf_counter() - start
        score = float(np.mean(made.log_density(X.iloc[test], y.iloc[test])))
        found = {"split": seed, "model": model, "size": size, "log_density": score}
        return {**found, "seconds": round(seconds, 2)}, made

    sampled = partial(
        gpproj.sample,
        X.iloc[train],
        y.iloc[train],
        draws=DRAWS,
        tune=TUNE,
        prior="log-uniform",
        random_state=seed,
        progress=False,
    )
    with warnings.catch_warnings():
        # Constant columns of a split, and short chains.
        warnings.simplefilter("ignore", UserWarning)
        one, ref = row("reference", X.shape[1], sampled)
        yield one
        path = gpproj.forward_search(
            ref, max(SIZES), learn="projection", exchange=False, prior=None, progress=False
        )
    for model, clusters in MODELS.items():
        for size in SIZES:
            yield row(model, size, partial(path.submodel, size, clusters))[0]


def summarise(raw: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over splits of every model at every size."""
    table = raw.pivot_table(index="size", columns="model", values="log_density")
    return table[["reference", *MODELS]]


def _draw(raw: pd.DataFrame) -> Axes:
    """Draw the means, and the differences to one projection with their 95 % intervals."""
    import matplotlib.pyplot as plt

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
            half = 1.96 * gained.std() / np.sqrt(splits) if splits > 1 else None
            difference.errorbar(
                mean.index + 0.1 * place, gained.mean(), half, color=colour, marker="o", capsize=3
            )
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
