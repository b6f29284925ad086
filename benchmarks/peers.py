"""The same task by this package and by others: choose four inputs, and predict with them.

    python benchmarks/peers.py --data boston energy parkinsons --rows 300 --splits 3
    python benchmarks/peers.py --data boston --methods gpproj botorch --json

Every method gets the same random rows to learn from, and is scored by the mean log density of
others, a thousand at most:

    gpproj          `gpproj.fit` on all inputs, `gpproj.forward_search`, and `path.best(4)`
    scikit-learn    SequentialFeatureSelector, forward and with five folds, around a Gaussian
                    process with one length-scale; then a process with one for each of the chosen
    botorch         SingleTaskGP on all inputs, those with the shortest length-scales, and another
                    SingleTaskGP on these alone

The selector clones one model for any number of inputs, which forces one length-scale for all of
them. The length-scales of BoTorch are in units of the range of each input, as is its default. Fits
check nothing. Seconds are from the rows to the model on the chosen inputs, of one process with one
thread, after each method has run once on a few rows. Packages that are missing are named and left
out. Needs the data folder in GPPROJ_DATA.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
import pandas as pd

import gpproj
from references import Fitted, fit_botorch, fit_scikit_learn

SETS = ("boston", "automobile", "crime", "energy", "yacht", "parkinsons", "bike")
LOGS = ("yacht", "bike")
"""Sets whose targets are taken as logarithms, as in `benchmarks/references.py`."""

TEST_ROWS = 1000

Method = Callable[[np.ndarray, np.ndarray, int], tuple[list[int], Fitted]]
"""From inputs, targets and a count to the inputs chosen, and the log density of new rows."""


def with_gpproj(X: np.ndarray, y: np.ndarray, count: int) -> tuple[list[int], Fitted]:
    """Search forward from a process on all inputs."""
    reference = gpproj.fit(X, y, check=False)
    path = gpproj.forward_search(reference, max_inputs=count, progress=False)
    units = path.best_subset(count).units
    return [place for unit in units for place in unit.positions], path.best(count).log_density


def with_scikit_learn(X: np.ndarray, y: np.ndarray, count: int) -> tuple[list[int], Fitted]:
    """Select by cross-validation with one length-scale, and fit one for each of the chosen."""
    from sklearn.feature_selection import SequentialFeatureSelector
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    kernel = ConstantKernel() * RBF(1.0, (1e-2, 1e4)) + WhiteKernel(0.1, (1e-6, 10))
    model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    scale = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(scale > 0.0, scale, 1.0)
    selector = SequentialFeatureSelector(model, n_features_to_select=count, cv=5).fit(Z, y)
    chosen = np.flatnonzero(selector.get_support()).tolist()
    return chosen, on_columns(chosen, fit_scikit_learn(X[:, chosen], y))


def with_botorch(X: np.ndarray, y: np.ndarray, count: int) -> tuple[list[int], Fitted]:
    """Take the inputs with the shortest length-scales, and fit to these alone."""
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Normalize
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.set_num_threads(1)
    torch.manual_seed(0)
    inputs, targets = (torch.tensor(part, dtype=torch.double) for part in (X, y[:, None]))
    model = SingleTaskGP(inputs, targets, input_transform=Normalize(X.shape[1]))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    lengths = model.covar_module.lengthscale.detach().numpy().ravel()
    chosen = np.argsort(lengths, kind="stable")[:count].tolist()
    return chosen, on_columns(chosen, fit_botorch(X[:, chosen], y))


def on_columns(chosen: list[int], log_density: Fitted) -> Fitted:
    """Return the log density of rows with all inputs by a model on some."""
    return lambda X, y: log_density(X[:, chosen], y)


METHODS: dict[str, Method] = {
    "gpproj": with_gpproj,
    "scikit-learn": with_scikit_learn,
    "botorch": with_botorch,
}
MODULES = {"scikit-learn": "sklearn"}
"""What a package is imported as, where that is another name."""


def installed(methods: list[str]) -> list[str]:
    """Return the methods whose packages are there, and name the others."""
    there = []
    for method in methods:
        if importlib.util.find_spec(MODULES.get(method, method)) is None:
            print(f"{method} is not installed and is left out.", file=sys.stderr)
        else:
            there.append(method)
    return there


def compared(name: str, n: int, seed: int, method: str, count: int) -> dict[str, Any]:
    """Return what one method chooses from one split, its seconds and its score."""
    X, y = getattr(gpproj.datasets, name)()
    names, target = list(X.columns), np.asarray(y, dtype=float)
    values, target = X.to_numpy(dtype=float), np.log(target) if name in LOGS else target
    rows = np.random.default_rng(seed).permutation(len(target))
    train, test = rows[:n], rows[n:][:TEST_ROWS]
    began = time.perf_counter()
    chosen, log_density = METHODS[method](values[train], target[train], count)
    seconds = time.perf_counter() - began
    score = np.mean(np.asarray(log_density(values[test], target[test])))
    return {
        "data": name,
        "split": seed,
        "method": method,
        "rows": n,
        "test_rows": len(test),
        "seconds": round(seconds, 2),
        "inputs": [names[place] for place in chosen],
        "log_density": round(float(score), 4),
    }


def warm_up(methods: list[str]) -> None:
    """Run each method once on a few rows, so that imports are not timed."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    for method in methods:
        METHODS[method](X, X[:, 0] + 0.1 * rng.standard_normal(30), 1)


def print_table(found: list[dict[str, Any]]) -> None:
    """Print means over splits, and what was chosen on each."""
    table = pd.DataFrame(found)
    groups = table.groupby(["data", "method"], sort=False)
    means = groups[["seconds", "log_density"]].mean()
    means.insert(0, "splits", groups.size())
    means["standard_error"] = groups["log_density"].sem()
    print(means.round(3).to_string())
    for one in found:
        inputs = ", ".join(one["inputs"])
        print(f"{one['data']}, split {one['split']}, {one['method']}: {inputs}")


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", nargs="+", choices=SETS, default=["boston", "energy", "parkinsons"]
    )
    parser.add_argument("--rows", type=int, default=300, help="to learn from")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--inputs", type=int, default=4, help="how many to choose")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    given = parser.parse_args()
    methods, found = installed(given.methods), []
    warnings.simplefilter("ignore")
    warm_up(methods)
    for name in given.data:
        for seed in range(given.splits):
            for method in methods:
                found.append(compared(name, given.rows, seed, method, given.inputs))
                if given.json:
                    print(json.dumps(found[-1]), flush=True)
    if found and not given.json:
        print_table(found)


if __name__ == "__main__":
    main()
