"""Fit the Boston housing data by gpproj (all its starts) and by scikit-learn (one start).

    python benchmarks/fit.py --json            needs the data folder in GPPROJ_DATA

Both fit a constant plus a squared-exponential kernel with a length-scale for each input to the same
300 standardised rows, and are compared by the log marginal likelihood they reach.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import gpproj


def scikit_learn_fit(X: np.ndarray, y: np.ndarray) -> float:
    """Return the log marginal likelihood of scikit-learn's fit from one start."""
    wide = (1e-6, 1e6)
    kernel = (
        ConstantKernel(0.1, wide)
        + ConstantKernel(1.0, wide) * RBF(np.full(X.shape[1], X.shape[1] ** 0.5), (1e-2, 1e4))
        + WhiteKernel(0.1, (1e-6, 10.0))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # length-scales at their bounds
        model = GaussianProcessRegressor(kernel, alpha=0.0).fit(X, y)
    return float(model.log_marginal_likelihood_value_)


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=300, help="training rows")
    parser.add_argument("--seed", type=int, default=0, help="which rows")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    arguments = parser.parse_args()
    X, y = gpproj.datasets.boston()
    rows = np.random.default_rng(arguments.seed).permutation(len(y))[: arguments.n]
    X, y = X.to_numpy()[rows], y.to_numpy()[rows]
    X, y = (X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std()
    start = time.perf_counter()
    ours = gpproj.fit(X, y, prior=None).log_marginal_likelihood
    middle = time.perf_counter()
    theirs = scikit_learn_fit(X, y)
    end = time.perf_counter()
    figures = {
        "fit": {
            "seconds": middle - start,
            "log_marginal_likelihood": ours,
            "sklearn_seconds": end - middle,
            "sklearn_log_marginal_likelihood": theirs,
        }
    }
    if arguments.json:
        print(json.dumps(figures))
        return
    for key, value in figures["fit"].items():
        print(f"{key:34s} {value:.4f}")


if __name__ == "__main__":
    main()
