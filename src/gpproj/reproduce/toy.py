"""The toy example: equally relevant inputs of different non-linearity (the paper's figures 1 to 3).

For every realisation of the data: a reference by maximum marginal likelihood, its ARD relevances,
and the projection errors of the submodels that miss one input. ARD favours the non-linear inputs,
the projection does not.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import gpproj
from gpproj.execute import run
from gpproj.reproduce.figures import save

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def reproduce_toy(
    folder: Path, realisations: int = 200, n: int = 300, n_jobs: int | None = 1
) -> pd.DataFrame:
    """Run the experiment, and write `toy.csv`, `toy_functions.png` and `toy_relevance.png`.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    realisations : int
        Data sets; their seeds are 0, 1, ...
    n : int
        Rows of each.
    n_jobs : int or None
        Workers.

    Returns
    -------
    DataFrame
        One row for each input: means over the realisations of its ARD relevance, its
        leave-input-out error, its drop (null error minus that), and the extra standard deviation
        as a share of the target's.
    """
    import pandas as pd

    folder.mkdir(parents=True, exist_ok=True)
    seeds = list(range(realisations))
    tables = run(partial(_realisation, n), seeds, n_jobs, progress="toy realisations")
    raw = pd.concat([pd.DataFrame(rows) for rows in tables], ignore_index=True)
    raw.to_csv(folder / "toy.csv", index=False, float_format="%.6g")
    save(_draw_functions(), folder / "toy_functions.png")
    summary = summarise(raw)
    save(_draw_relevance(summary), folder / "toy_relevance.png")
    return summary


def summarise(raw: pd.DataFrame) -> pd.DataFrame:
    """Return the means over realisations, input by input."""
    raw = raw.assign(drop=raw["null_error"] - raw["leave_input_out"])
    columns = ["ard_relevance", "leave_input_out", "drop", "extra_share"]
    return raw.groupby("input")[columns].mean()


def _realisation(n: int, seed: int) -> list[dict[str, Any]]:
    """Return one row for each input of one data set."""
    X, y = gpproj.datasets.toy_sines(n=n, random_state=seed)
    ref = gpproj.fit(X, y, prior=None)
    null = gpproj.project(ref, [], "projection", prior=None)
    full = gpproj.project(ref, ref.feature_names, "projection", prior=None)
    relevance = ref.ard_relevance()
    rows = []
    for name in ref.feature_names:
        rest = [other for other in ref.feature_names if other != name]
        sub = gpproj.project(ref, rest, "projection", prior=None)
        rows.append(
            {
                "realisation": seed,
                "input": name,
                "ard_relevance": relevance[name],
                "leave_input_out": sub.projection_error,
                "null_error": null.projection_error,
                "full_error": full.projection_error,
                "extra_share": np.sqrt(sub.extra_variance) / y.std(),
                "noise_sd": np.sqrt(ref.noise_variance),
                "converged": sub.converged,
            }
        )
    return rows


def _draw_functions() -> Axes:
    """Draw the latent functions, from the most linear to the least."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(2, 4, figsize=(8.0, 3.5), sharex=True, sharey=True, layout="constrained")
    grid = np.linspace(-1.0, 1.0, 200)
    values = gpproj.datasets.toy_functions(np.repeat(grid[:, None], 8, axis=1))
    for j, ax in enumerate(axes.flat):
        ax.plot(grid, values[:, j], color=gpproj.plots.BLUE)
        ax.set_title(f"f{j + 1}", fontsize=9)
    axes[1, 0].set_xlabel("x")
    first: Axes = axes[0, 0]
    return first


def _draw_relevance(summary: pd.DataFrame) -> Axes:
    """Draw mean ARD relevances beside mean leave-input-out errors."""
    return gpproj.plots.relevance_bars(
        {"ARD": summary["ard_relevance"], "leave-input-out": summary["leave_input_out"]}
    )
