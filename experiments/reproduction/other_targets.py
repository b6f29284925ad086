"""Classes and counts: test scores against the number of inputs.

The paper says that the projection works for other likelihoods through expectation propagation, and
shows none. Here are two sets of classes and one of counts: for every random split, two thirds to
train, submodels along the projection's order and along that of the ARD relevances.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from sklearn.metrics import roc_auc_score

import gpproj
from gpproj.plots import BLUE, ORANGE
from reproduction.results import draw_curves, write
from reproduction.running import random_split, repeated, timed


class Setting(NamedTuple):
    """One data set, and how it is modelled."""

    name: str
    likelihood: str
    score: str
    """What is shown beside the log density."""


SETTINGS = {
    "heart": Setting("heart", "bernoulli", "auc"),
    "pima": Setting("pima", "bernoulli", "auc"),
    "bike": Setting("bike", "negative-binomial", "rmse"),
}

CURVES = {"projection": BLUE, "ARD": ORANGE}

MIDDLES = {"log_density": "mean", "auc": "mean", "rmse": "median"}
"""How splits are summed up. An expected count is the mean of a log-normal, exp(m + v / 2): a single
row far from the training rows can make it as large as a number can be."""


def reproduce_other_targets(
    name: str, folder: Path, splits: int = 20, n_jobs: int | None = 1
) -> pd.DataFrame:
    """Run the experiment, and write `NAME.csv` and `NAME.png`.

    The summary has one row for each size, one column for each curve and score.
    """
    setting = SETTINGS[name]
    work = partial(rows_of, setting)
    raw = pd.DataFrame(repeated(work, splits, folder, list(setting), n_jobs, f"{name} splits"))
    write(folder, {name: raw}, {name: _draw(raw, setting)})
    values = {one: MIDDLES[one] for one in ("log_density", setting.score)}
    table = raw.pivot_table(index="size", columns="curve", values=list(values), aggfunc=values)
    table.columns = [f"{curve}, {score}" for score, curve in table.columns]
    return table


def rows_of(setting: Setting, seed: int) -> Iterator[dict[str, Any]]:
    """Yield one row for each curve and size of one split."""
    X, y, X_test, y_test = random_split(setting.name, seed)

    def row(curve: str, size: int, model: Any, seconds: float) -> dict[str, Any]:
        mean = model.predict_response(X_test).mean
        return {
            "split": seed,
            "curve": curve,
            "size": size,
            "log_density": float(np.mean(model.log_density(X_test, y_test))),
            setting.score: _score(setting, y_test, mean, ref.classes),
            "added": "".join(getattr(model, "inputs", ())[-1:]),
            "seconds": round(seconds, 2),
        }

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*constant in X.*", UserWarning)
        ref, seconds = timed(partial(gpproj.fit, X, y, setting.likelihood))
    yield row("reference", X.shape[1], ref, seconds)
    ways = {
        "projection": partial(gpproj.forward_search, ref, progress=False),
        "ARD": partial(gpproj.project_path, ref, "ard"),
    }
    for curve, way in ways.items():
        path, seconds = timed(way)
        for size in range(len(path)):
            yield row(curve, size, path[size], seconds)


def _score(setting: Setting, y: Any, mean: Any, classes: tuple[Any, ...] | None) -> float:
    if setting.score == "rmse" or classes is None:
        return float(np.sqrt(np.mean((np.asarray(y) - mean) ** 2)))
    return float(roc_auc_score(np.asarray(y) == classes[1], mean))


def _draw(raw: pd.DataFrame, setting: Setting) -> Axes:
    """Draw scores: means with 95 % intervals, or medians with quartiles; reference dotted."""
    names = {
        "log_density": "mean test log density",
        "auc": "test AUC",
        "rmse": "test RMSE, median and quartiles",
    }
    _, axes = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
    lines = {curve: (f"{curve} order", colour, "-") for curve, colour in CURVES.items()}
    lines["reference"] = ("all inputs", "black", ":")
    for ax, score in zip(axes, ("log_density", setting.score), strict=True):
        draw_curves(ax, raw, lines, score, MIDDLES[score])
        ax.set_ylabel(names[score])
    if setting.score == "rmse":  # the null model's is the largest that makes sense
        null = raw[raw["size"] == 0]["rmse"].median()
        axes[1].set_ylim(0.0, 1.2 * null)
    axes[0].legend(fontsize=8)
    first: Axes = axes[0]
    return first
