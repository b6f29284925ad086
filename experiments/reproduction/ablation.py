"""Ablation: what submodels become if they are learned by the error that they are compared by.

The paper learns a submodel by the divergence of its posterior, compares submodels by the divergence
of their predictions at the training inputs, and warns that learning by the latter interpolates the
targets where the noise is small (its section 3.2.1). It shows no figures of that. Here are some:
along one order for each random split, submodels by the paper's projection, with gpproj's weak
prior, and by minimising the predictive divergence, on data with little noise (Boston) and with
much (diabetes, which comes with scikit-learn).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

import gpproj
from gpproj.plots import BLUE, GREEN, ORANGE
from gpproj.priors import PriorLike
from reproduction.predictive import (
    EXTRA_LIMITS,
    NUGGET,
    STARTS,
    Host,
    Standardised,
    at_training_rows,
    conditioned,
    family_of,
    minimise,
    parameters_of,
)
from reproduction.results import half_width, write
from reproduction.running import fit_mode, random_split, repeated, timed
from reproduction.splits import SETTINGS

ROWS = {"boston": SETTINGS["boston"].n, "diabetes": 200}
"""Training rows of the data sets."""
SIZES = (1, 2, 3, 5, 8)

PROJECTIONS: dict[str, PriorLike] = {"projection": None, "projection, weak prior": "weak"}
"""Priors of the submodels that are projected."""
PREDICTIVE = "predictive divergence"
COLOURS = dict(zip((*PROJECTIONS, PREDICTIVE), (BLUE, GREEN, ORANGE), strict=True))
"""Of the ways to learn submodels."""


def reproduce_ablation(
    folder: Path,
    splits: int = 10,
    n_jobs: int | None = 1,
    data: Sequence[str] = tuple(ROWS),
) -> pd.DataFrame:
    """Run the study and write `ablation.csv` and `ablation.png`.

    The summary has mean test log densities: one row for each size, one column for each data set and
    way of learning.
    """
    rows: list[dict[str, Any]] = []
    for name in data:
        settings = [name, ROWS[name], list(SIZES), NUGGET, EXTRA_LIMITS, STARTS]
        work = partial(rows_of, name)
        rows += repeated(work, splits, folder, settings, n_jobs, f"{name} ablation")
    raw = pd.DataFrame(rows)
    write(folder, {"ablation": raw}, {"ablation": _draw(raw)})
    return summarise(raw)


def standardised(name: str, seed: int) -> Standardised:
    """Return a random split of a data set: for Boston, that of the other experiments."""
    split = random_split(name, seed, ROWS[name])
    X, y, X_test, y_test = (np.ascontiguousarray(part, dtype=float) for part in split)
    centre, spread = X.mean(axis=0), X.std(axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    middle, unit = y.mean(), float(y.std())
    return Standardised(
        X=(X - centre) / spread,
        y=(y - middle) / unit,
        X_test=(X_test - centre) / spread,
        y_test=(y_test - middle) / unit,
        unit=unit,
    )


def rows_of(name: str, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the reference, and each way of learning at each size, of one split.

    `log_density` and `rmse` are of the test rows, in the target's units. The others are of the
    training rows on the standardised scale, on which all is done: see `at_training_rows`. `start`
    is where the lowest end of the minimiser came from.
    """
    split = standardised(name, seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*constant in X.*", UserWarning)
        ref = fit_mode(split.X, split.y, standardize=False, nugget=NUGGET)
        path = gpproj.forward_search(
            ref, max(SIZES), learn="projection", exchange=False, progress=False
        )

    def row(way: str, size: int, model: Any, X: Host, told: dict[str, Any]) -> dict[str, Any]:
        density = np.mean(model.log_density(X, split.y_test)) - np.log(split.unit)
        errors = split.unit * (split.y_test - model.predict_response(X).mean)
        found = {"data": name, "split": seed, "way": way, "size": size}
        scores = {"log_density": float(density), "rmse": float(np.sqrt(np.mean(errors**2)))}
        return {**found, **scores, **told}

    residual = float(np.mean((ref.latent_mean - split.y) ** 2) / ref.noise_variance)
    told = {"residual": residual, "noise_variance": float(ref.noise_variance)}
    yield row("reference", split.X.shape[1], ref, split.X_test, told)
    for size in SIZES:
        inputs = list(path.positions[:size])
        family = family_of(ref, split, inputs)
        ends: dict[str, Host] = {}
        for way in COLOURS:
            if way == PREDICTIVE:
                (ends[way], start), seconds = timed(partial(minimise, family, ends))
            else:
                prior = PROJECTIONS[way]
                project = partial(gpproj.project, ref, inputs, "projection", prior=prior)
                (sub, seconds), start = timed(project), ""
                ends[way] = parameters_of(sub)
            own = {"start": start, "seconds": round(seconds, 2)}
            told = {**at_training_rows(family, ends[way]), **own}
            model = conditioned(family, ends[way])
            yield row(way, size, model, split.X_test[:, inputs], told)


def summarise(raw: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over splits of every way of learning at every size."""
    learned = raw[raw["way"] != "reference"]
    table = learned.pivot_table(
        index="size", columns=["data", "way"], values="log_density", sort=False
    ).sort_index()
    table.columns = [f"{name}, {way}" for name, way in table.columns]
    return table


def _draw(raw: pd.DataFrame) -> Axes:
    """Draw test log densities above errors at the training rows, with 95 % intervals."""
    names = list(raw["data"].unique())
    _, axes = plt.subplots(
        2, len(names), figsize=(4.5 * len(names), 6.0), layout="constrained", squeeze=False
    )
    panels = {
        "log_density": "mean test log density",
        "projection_error": "predictive divergence, training rows",
    }
    splits = raw["split"].nunique()
    for column, name in enumerate(names):
        own = raw[raw["data"] == name]
        for line, (score, label) in enumerate(panels.items()):
            ax = axes[line, column]
            for place, (way, colour) in enumerate(COLOURS.items()):
                grouped = own[own["way"] == way].groupby("size")[score]
                mean = grouped.mean()
                half = half_width(grouped, splits)
                at = mean.index + 0.12 * (place - 1)  # apart, where they agree
                ax.errorbar(at, mean, half, label=way, color=colour, marker="o", ms=3, capsize=2)
            ax.set_xticks(SIZES)
            ax.set_xlabel("inputs")
            ax.set_ylabel(label)
        full = own.loc[own["way"] == "reference", "log_density"].mean()
        axes[0, column].axhline(full, color="black", linestyle=":", label="all inputs")
        axes[0, column].set_title(name.capitalize())
    axes[0, 0].legend(fontsize=8)
    first: Axes = axes[0, 0]
    return first
