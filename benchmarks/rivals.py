"""Orders of inputs by the projection and by its rivals, on diabetes and Boston: time and quality.

    python benchmarks/rivals.py --json                      needs the data folder in GPPROJ_DATA
    python benchmarks/rivals.py --sets diabetes --skip-slow
    python benchmarks/rivals.py --slow-inputs 7             the selector at all sizes

On each random split (300 rows to train, the rest to test) every method orders the inputs from the
same training rows, in units of their standard deviations:

    projection      gpproj.forward_search on a GP fitted to all inputs
    ard             inverse length-scales of that GP
    kl              sensitivity of its predictions, Paananen et al. (2019)
    permutation     rise of its squared error on the training rows when an input is shuffled
    lasso           the order in which inputs enter the lasso path
    sequential      scikit-learn's SequentialFeatureSelector, forward, around its GP regression

Every order is scored in the same two ways, by the mean log density of the test rows at 3, 5 and 7
inputs. `projected`: the submodel is the projection of the GP on all inputs. `refitted`: a new GP is
fitted to the chosen inputs alone, which is what lasso and the selector imply. `sequential` has
`own` too, the model it selects with: its interface clones one model for any number of inputs, which
forces one length-scale for all of them. The selector is slow (85 s for 3 of 13 inputs on Boston),
so it stops at 3 inputs unless told otherwise, and has no figures beyond.

Seconds are of one process with one BLAS thread. `seconds` is from the training rows to the order
and the submodels a user of that method would have: the GP on all inputs, where the method uses it;
the order; and projections up to 7 inputs, or fits at 3, 5 and 7 for lasso and the selector.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import lars_path

import gpproj

SETS = ("diabetes", "boston")
SIZES = (3, 5, 7)
IMPLY_REFITS = ("lasso", "sequential")


class Split:
    """Training and test rows, in units of the training rows' standard deviations."""

    def __init__(self, name: str, n: int, seed: int) -> None:
        X, y = getattr(gpproj.datasets, name)()
        rows = np.random.default_rng(seed).permutation(len(y))
        train, test = rows[:n], rows[n:]
        centre, scale = X.iloc[train].mean(), X.iloc[train].std(ddof=0).replace(0.0, 1.0)
        X = (X - centre) / scale
        self.X, self.y = X.iloc[train], y.iloc[train]
        self.X_test, self.y_test = X.iloc[test], y.iloc[test]

    def score(self, model: Any, inputs: list[str] | None = None) -> float:
        """Return the mean log density of the test rows."""
        X = self.X_test if inputs is None else self.X_test[inputs]
        return float(np.mean(model.log_density(X, self.y_test)))


def clock(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what some work gives, and the seconds it took."""
    start = time.perf_counter()
    found = work()
    return found, time.perf_counter() - start


def by_relevance(ref: gpproj.Reference, method: str) -> list[str]:
    """Return the inputs by one of the usual measures, the largest first."""
    relevance = gpproj.relevance(ref, method, random_state=0)
    return list(relevance.sort_values(ascending=False, kind="stable").index)


def by_lasso(split: Split) -> list[str]:
    """Return the inputs in the order they enter the lasso path."""
    _, _, path = lars_path(
        split.X.to_numpy(), (split.y - split.y.mean()).to_numpy(), method="lasso"
    )
    used = path != 0.0
    entry = np.where(used.any(axis=1), used.argmax(axis=1), path.shape[1])
    return [split.X.columns[j] for j in np.argsort(entry, kind="stable")]


def isotropic() -> GaussianProcessRegressor:
    """Return the model that the selector clones for any number of inputs."""
    kernel = ConstantKernel() * RBF(3.0) + WhiteKernel(0.3, (1e-3, 1e1))
    return GaussianProcessRegressor(kernel, normalize_y=True)


def by_selector(split: Split, sizes: list[int]) -> tuple[list[str], float]:
    """Return the inputs that are selected at growing sizes, and the seconds of the largest one.

    The selector tells which inputs it has chosen and not in what order, so that it is run for every
    size; who wants one size runs it once.
    """
    order: list[str] = []
    seconds = 0.0
    for size in sizes:
        selector = SequentialFeatureSelector(isotropic(), n_features_to_select=size, cv=5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            _, seconds = clock(lambda own=selector: own.fit(split.X, split.y))
        chosen = split.X.columns[selector.get_support()]
        order += [name for name in chosen if name not in order]
    return order, seconds


def own_score(split: Split, inputs: list[str]) -> float:
    """Return the mean test log density of the selector's own model on some inputs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = isotropic().fit(split.X[inputs], split.y)
    mean, sd = model.predict(split.X_test[inputs], return_std=True)
    return float(np.mean(norm.logpdf(split.y_test, mean, sd)))


def compared(
    name: str, n: int, seed: int, sizes: tuple[int, ...], slow: int
) -> dict[str, dict[str, Any]]:
    """Order the inputs of one split by every method, and score every order."""
    split = Split(name, n, seed)
    ref, fitting = clock(lambda: gpproj.fit(split.X, split.y))
    longest = max(sizes)
    orders: dict[str, Callable[[], Any]] = {
        "projection": lambda: gpproj.forward_search(ref, longest, progress=False),
        **{m: lambda m=m: by_relevance(ref, m) for m in ("ard", "kl", "permutation")},
        "lasso": lambda: by_lasso(split),
    }
    if slow:
        orders["sequential"] = lambda: by_selector(split, [s for s in sizes if s < slow] + [slow])
    found: dict[str, dict[str, Any]] = {
        "all inputs": {"seconds": fitting, "test_log_density": split.score(ref)}
    }
    for method, work in orders.items():
        answer, ordering = clock(work)
        if method == "sequential":
            answer, ordering = answer
        if isinstance(answer, gpproj.SearchPath):
            order, path, projecting = list(answer.order), answer, 0.0
        else:
            order = answer[:longest]
            path, projecting = clock(lambda order=order: gpproj.project_path(ref, order))
        reached = [size for size in sizes if size <= len(order)]
        refits = {
            size: clock(lambda own=order[:size]: gpproj.fit(split.X[own], split.y))
            for size in reached
        }
        refitting = sum(seconds for _, seconds in refits.values())
        implied = refitting if method in IMPLY_REFITS else fitting + projecting
        figures = {
            "projected": {size: split.score(path[size]) for size in reached},
            "refitted": {size: split.score(refits[size][0], order[:size]) for size in reached},
        }
        if method == "sequential":
            figures["own"] = {size: own_score(split, order[:size]) for size in reached}
        found[method] = {
            "seconds": ordering + implied,
            "seconds_order": ordering,
            "order": order,
            "test_log_density": figures,
        }
    return found


def averaged(splits: list[dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Return means over splits, and every split's order."""

    def mean(values: list[Any]) -> Any:
        if isinstance(values[0], dict):
            return {key: mean([value[key] for value in values]) for key in values[0]}
        if isinstance(values[0], list):
            return values
        return round(float(np.mean(values)), 4)

    return {method: mean([one[method] for one in splits]) for method in splits[0]}


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--n", type=int, default=300, help="training rows")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--slow-inputs", type=int, default=3, help="where the selector stops")
    parser.add_argument("--skip-slow", action="store_true", help="leave the selector out")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    arguments = parser.parse_args()
    slow = 0 if arguments.skip_slow else arguments.slow_inputs
    figures: dict[str, Any] = {
        "n": arguments.n,
        "splits": arguments.splits,
        "selector": f"stops at {slow} inputs" if slow else "left out",
    }
    sizes = tuple(sorted(arguments.sizes))
    for name in arguments.sets:
        splits = [
            compared(name, arguments.n, seed, sizes, slow) for seed in range(arguments.splits)
        ]
        figures[name] = averaged(splits)
    if arguments.json:
        print(json.dumps(figures))
        return
    print(f"{arguments.n} training rows, {arguments.splits} splits; selector {figures['selector']}")
    for name in arguments.sets:
        rows = {
            (method, way): {"seconds": one["seconds"], **scores}
            for method, one in figures[name].items()
            if method != "all inputs"
            for way, scores in one["test_log_density"].items()
        }
        whole = figures[name]["all inputs"]
        print(f"\n{name}: mean test log density; all inputs {whole['test_log_density']}")
        print(pd.DataFrame(rows).T.round(3).to_string())


if __name__ == "__main__":
    main()
