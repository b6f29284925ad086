"""Known truth: whether the suggested size finds the inputs that matter, and none where none does.

Simulated data sets with five relevant inputs of twenty, and others of pure noise. Not in the paper:
it is what a user of the method would ask first.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

import gpproj
from reproduction.results import write
from reproduction.running import fit_mode, repeated

INPUTS, RELEVANT, ROWS, TEST_ROWS = 20, 5, 200, 2000
NOISE_SD = 1.0
STEPS = 10
"""Inputs that paths go up to."""

ORDERS = ("projection", "ard")


def simulate(n: int, random_state: Any, relevant: bool = True) -> tuple[Any, Any]:
    """Return inputs and targets, of which the first five inputs matter, or none.

    Non-linear and linear effects and an interaction; inputs 5, 6 and 7 are correlated with the
    relevant inputs 0, 1 and 2 (0.8) and do nothing themselves. The noise leaves a true R2 of 0.86.
    """
    rng = np.random.default_rng(random_state)
    X = rng.standard_normal((n, INPUTS))
    X[:, 5:8] = 0.8 * X[:, :3] + 0.6 * X[:, 5:8]
    e = NOISE_SD * rng.standard_normal(n)
    if not relevant:
        return X, e
    f = 2.0 * np.sin(1.5 * X[:, 0]) + 1.2 * X[:, 1] + 0.8 * (X[:, 2] ** 2 - 1.0)
    f += 1.5 * np.tanh(2.0 * X[:, 3]) + X[:, 4] * X[:, 1]
    return X, f + e


def reproduce_known_truth(folder: Path, sets: int = 100, n_jobs: int | None = 1) -> pd.DataFrame:
    """Run the study and write `known_truth.csv`, `pure_noise.csv` and `known_truth.png`.

    There are as many sets of pure noise. The summary has a row for each of the two orders, and one
    for noise: how many sets passed, the median suggested size and how many relevant inputs it has
    on average.
    """
    settings = [INPUTS, ROWS, TEST_ROWS, NOISE_SD, STEPS]
    truth = pd.DataFrame(repeated(truth_of, sets, folder, settings, n_jobs, "known truth"))
    noise = pd.DataFrame(repeated(noise_of, sets, folder, settings, n_jobs, "pure noise"))
    tables = {"known_truth": truth, "pure_noise": noise}
    write(folder, tables, {"known_truth": _draw(truth)})
    return summarise(truth, noise)


def truth_of(seed: int) -> Iterator[dict[str, Any]]:
    """Yield what each order finds in one data set with five relevant inputs."""
    X, y = simulate(ROWS, [seed, 0])
    X_test, y_test = simulate(TEST_ROWS, [seed, 1])
    ref = fit_mode(X, y)
    explained = _r2(ref, X_test, y_test)
    paths = {
        "projection": gpproj.forward_search(ref, STEPS, progress=False),
        "ard": gpproj.project_path(ref, "ard", max_inputs=STEPS),
    }
    for order, path in paths.items():
        size = _suggested(ref, path, seed)
        taken = STEPS if size is None else size
        yield {
            "seed": seed,
            "order": order,
            "suggested": size,
            "relevant": sum(int(name[1:]) < RELEVANT for name in path.best(taken).inputs),
            "reference_r2": explained,
            "r2": _r2(path.best(taken), X_test, y_test),
        }


def noise_of(seed: int) -> Iterator[dict[str, Any]]:
    """Yield what the default route suggests where no input matters."""
    X, y = simulate(ROWS, [seed, 2], relevant=False)
    ref = fit_mode(X, y)
    # One step is enough: larger sizes cannot change whether none is suggested.
    size = _suggested(ref, gpproj.forward_search(ref, 1, progress=False), seed)
    share = float(ref.noise_variance / np.var(y))
    yield {"seed": seed, "suggested": size, "noise_share": share}


def _suggested(ref: gpproj.Reference, path: gpproj.SearchPath, seed: int) -> int | None:
    """Return the size that the default validation suggests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # on noise the null model should be best
        cv = gpproj.validate(ref, path, random_state=seed, progress=False)
        return cv.suggest_size()


def summarise(truth: pd.DataFrame, noise: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each order, and one for pure noise."""
    passed = truth["r2"] >= 0.95 * truth["reference_r2"]
    rows = []
    for order in ORDERS:
        mine = truth["order"] == order
        sizes = truth.loc[mine, "suggested"].fillna(STEPS + 1)
        rows.append(
            {
                "study": f"{order} order",
                "sets": int(mine.sum()),
                "passed": int(passed[mine].sum()),
                "median_size": float(sizes.median()),
                "relevant": float(truth.loc[mine, "relevant"].mean()),
            }
        )
    rows.append(
        {
            "study": "pure noise",
            "sets": len(noise),
            "passed": int((noise["suggested"] == 0).sum()),
            "median_size": float(noise["suggested"].fillna(STEPS + 1).median()),
            "relevant": 0.0,
        }
    )
    return pd.DataFrame(rows).set_index("study")


def _r2(model: Any, X: Any, y: Any) -> float:
    """Return the explained variance on new rows."""
    return 1.0 - float(np.mean((y - model.predict_response(X).mean) ** 2) / np.var(y))


def _draw(truth: pd.DataFrame) -> Axes:
    _, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
    width = 0.8 / len(ORDERS)
    sizes = truth["suggested"].fillna(STEPS + 1)
    for place, order in enumerate(ORDERS):
        counts = sizes[truth["order"] == order].value_counts()
        ax.bar(counts.index + (place - 0.5) * width, counts, width, label=f"{order} order")
    ax.axvline(RELEVANT, color="0.6", linestyle=":", zorder=0)
    ax.set_xlabel(f"suggested size (true: {RELEVANT}; {STEPS + 1}: none enough)")
    ax.set_ylabel("data sets")
    ax.legend(frameon=False)
    return ax
