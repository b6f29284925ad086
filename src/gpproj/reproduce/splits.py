"""Real data: test log density against the number of inputs (the paper's section 4.2).

For every random split of a data set: a reference by hyperparameter draws, submodels along the
projection's order and along that of the ARD relevances, learned by projection or by marginal
likelihood, with and without a prior, and their mean log predictive density on the test rows.
Finished splits are kept in a folder of their own, so that a run goes on where it was stopped.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import gpproj
from gpproj.plots import BLUE, GREEN, ORANGE, PINK
from gpproj.reproduce.figures import save
from gpproj.reproduce.stages import repeated

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class Setting(NamedTuple):
    """One data set of the paper."""

    name: str
    n: int
    """Training rows."""
    sizes: int
    """Inputs that the curves go up to."""
    draws: int = 100
    tune: int = 200


SETTINGS = {
    "boston": Setting("boston", 300, 13),
    "automobile": Setting("automobile", 150, 20),
    "crime": Setting("crime", 400, 20),
}

CURVES = {
    "projection": (BLUE, "-"),
    "projection, weak prior": (GREEN, "-"),
    "projection, marginal likelihood": (BLUE, "--"),
    "ARD": (ORANGE, "-"),
    "ARD, weak prior": (PINK, "-"),
    "ARD, marginal likelihood": (ORANGE, "--"),
}
"""Colour and line of each curve: an order, and how its submodels are learned, which is by plain
projection unless it says otherwise."""


def reproduce_splits(
    name: str, folder: Path, splits: int = 50, n_jobs: int | None = 1
) -> pd.DataFrame:
    """Run the experiment, and write `NAME.csv` and `NAME.png`.

    Parameters
    ----------
    name : {"boston", "automobile", "crime"}
    folder : Path
        Made if it is not there; finished splits are kept in `folder/finished`.
    splits : int
        Random splits; their seeds are 0, 1, ...
    n_jobs : int or None
        Splits that run at the same time.

    Returns
    -------
    DataFrame
        Mean test log density over the splits: one row for each size, one column for each curve.
    """
    import pandas as pd

    setting = SETTINGS[name]
    work = partial(_rows, setting)
    raw = pd.DataFrame(repeated(work, splits, folder, list(setting), n_jobs, f"{name} splits"))
    raw.to_csv(folder / f"{name}.csv", index=False, float_format="%.5g")
    save(_draw(raw), folder / f"{name}.png")
    return summarise(raw)


def summarise(raw: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over splits of every curve at every size."""
    table = raw.pivot_table(index="size", columns="curve", values="log_density")
    return table[[curve for curve in ("reference", *CURVES) if curve in table]]


def _rows(setting: Setting, seed: int) -> Iterator[dict[str, Any]]:
    """Yield one row for each curve and size of one split."""
    X, y = getattr(gpproj.datasets, setting.name)()
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: setting.n], order[setting.n :]
    X_train, y_train, X_test, y_test = X.iloc[train], y.iloc[train], X.iloc[test], y.iloc[test]

    def row(curve: str, size: int, model: Any, seconds: float) -> dict[str, Any]:
        score = float(np.mean(model.log_density(X_test, y_test)))
        return {
            "split": seed,
            "curve": curve,
            "size": size,
            "log_density": score,
            "added": "".join(getattr(model, "inputs", ())[-1:]),
            "seconds": round(seconds, 2),
        }

    with warnings.catch_warnings():
        # Constant columns of a split, and the short chains of the paper.
        warnings.simplefilter("ignore", UserWarning)
        start = time.perf_counter()
        ref = gpproj.sample(
            X_train,
            y_train,
            draws=setting.draws,
            tune=setting.tune,
            prior="log-uniform",
            random_state=seed,
            progress=False,
        )
        sampled = time.perf_counter() - start
        fitted = gpproj.fit(X_train, y_train, prior=None)
        ard = fitted.ard_relevance().sort_values(ascending=False).index[: setting.sizes]
    yield row("reference", X.shape[1], ref, sampled)
    yield row("marginal likelihood fit", X.shape[1], fitted, 0.0)
    search = partial(gpproj.forward_search, ref, setting.sizes, progress=False)
    along = partial(gpproj.project_path, ref)
    found: dict[str, Any] = {}
    ways: dict[str, Any] = {
        "projection": lambda: search(prior=None),
        "projection, weak prior": lambda: search(prior="weak"),
        "projection, marginal likelihood": lambda: along(
            found["projection"].order, "marginal_likelihood", prior=None
        ),
        "ARD": lambda: along(ard, prior=None),
        "ARD, weak prior": lambda: along(ard, prior="weak"),
        "ARD, marginal likelihood": lambda: along(ard, "marginal_likelihood", prior=None),
    }
    for curve, way in ways.items():
        start = time.perf_counter()
        found[curve] = way()
        seconds = time.perf_counter() - start
        for size in range(len(found[curve])):
            yield row(curve, size, found[curve][size], seconds)


def _draw(raw: pd.DataFrame) -> Axes:
    """Draw the mean test log densities with 95 % intervals, the reference as a dotted line."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(7.0, 4.5), layout="constrained")
    splits = raw["split"].nunique()
    for curve, (colour, line) in CURVES.items():
        grouped = raw[raw["curve"] == curve].groupby("size")["log_density"]
        mean, half = grouped.mean(), 1.96 * grouped.std() / np.sqrt(splits)
        ax.plot(mean.index, mean, label=curve, color=colour, linestyle=line)
        if splits > 1:
            ax.fill_between(mean.index, mean - half, mean + half, color=colour, alpha=0.15, lw=0)
    full = raw[raw["curve"] == "reference"]["log_density"].mean()
    ax.axhline(full, color="black", linestyle=":", label="all inputs, sampled")
    ax.set_xlabel("inputs")
    ax.set_ylabel("mean test log density")
    ax.legend(fontsize=8)
    return ax
