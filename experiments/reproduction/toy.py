"""The toy example: equally relevant inputs of different non-linearity (the paper's figures 1 to 3).

For every realisation of the data: a reference by maximum marginal likelihood, its ARD relevances,
and the projection errors of the submodels that miss one input. ARD favours the non-linear inputs,
the projection does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

import gpproj
from reproduction.results import write
from reproduction.running import fit_mode, repeated


def reproduce_toy(
    folder: Path, realisations: int = 200, n_jobs: int | None = 1, n: int = 300
) -> pd.DataFrame:
    """Run the experiment, and write `toy.csv`, `toy_functions.png` and `toy_relevance.png`.

    The summary has one row for each input: means over the realisations, of `n` rows each, of its
    ARD relevance, its leave-input-out error, its drop (null error minus that), and the extra
    standard deviation as a share of the target's.
    """
    work = partial(rows_of, n)
    raw = pd.DataFrame(repeated(work, realisations, folder, [n], n_jobs, "toy realisations"))
    summary = summarise(raw)
    errors = {"ARD": summary["ard_relevance"], "leave-input-out": summary["leave_input_out"]}
    figures = {
        "toy_functions": _draw_functions(),
        "toy_relevance": gpproj.plots.relevance_bars(errors),
    }
    write(folder, {"toy": raw}, figures, digits=6)
    return summary


def summarise(raw: pd.DataFrame) -> pd.DataFrame:
    """Return the means over realisations, input by input."""
    raw = raw.assign(drop=raw["null_error"] - raw["leave_input_out"])
    columns = ["ard_relevance", "leave_input_out", "drop", "extra_share"]
    return raw.groupby("input")[columns].mean()


def rows_of(n: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield one row for each input of one data set."""
    X, y = gpproj.datasets.toy_sines(n=n, random_state=seed)
    ref = fit_mode(X, y, prior=None)
    null = gpproj.project(ref, [], "projection", prior=None)
    full = gpproj.project(ref, ref.feature_names, "projection", prior=None)
    relevance = ref.ard_relevance()
    for name in ref.feature_names:
        rest = [other for other in ref.feature_names if other != name]
        sub = gpproj.project(ref, rest, "projection", prior=None)
        yield {
            "realisation": seed,
            "input": name,
            "ard_relevance": float(relevance[name]),
            "leave_input_out": float(sub.projection_error),
            "null_error": float(null.projection_error),
            "full_error": float(full.projection_error),
            "extra_share": float(np.sqrt(sub.extra_variance) / y.std()),
            "noise_sd": float(np.sqrt(ref.noise_variance)),
            "converged": bool(sub.converged),
        }


def _draw_functions() -> Axes:
    """Draw the latent functions, from the most linear to the least."""
    _, axes = plt.subplots(2, 4, figsize=(8.0, 3.5), sharex=True, sharey=True, layout="constrained")
    grid = np.linspace(-1.0, 1.0, 200)
    values = gpproj.datasets.toy_functions(np.repeat(grid[:, None], 8, axis=1))
    for j, ax in enumerate(axes.flat):
        ax.plot(grid, values[:, j], color=gpproj.plots.BLUE)
        ax.set_title(f"f{j + 1}", fontsize=9)
    axes[1, 0].set_xlabel("x")
    first: Axes = axes[0, 0]
    return first
