"""Fits with the weak prior and without: pure noise, and test log density on the paper's data.

    python benchmarks/fit_prior.py --splits 10 --json       needs the data folder in GPPROJ_DATA

On pure noise (n = 200, 20 inputs) a good fit puts everything into the noise; one that has
overfitted puts the noise at its lower bound.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
from joblib import Parallel, delayed

import gpproj

ROWS = {"boston": 300, "automobile": 150, "crime": 400}
PRIORS = {"none": None, "weak": "weak"}


def noise_found(seed: int) -> list[float]:
    """Return the noise variance that each fit finds in noise of variance one."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((200, 20)), rng.standard_normal(200)
    return [gpproj.fit(X, y, prior=prior).noise_variance for prior in PRIORS.values()]


def scores(name: str, seed: int) -> list[float]:
    """Return the mean test log density of each fit to one split."""
    X, y = getattr(gpproj.datasets, name)()
    rows = np.random.default_rng(seed).permutation(len(y))
    train, test = rows[: ROWS[name]], rows[ROWS[name] :]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # constant columns of a split
        fits = [gpproj.fit(X.iloc[train], y.iloc[train], prior=one) for one in PRIORS.values()]
    return [float(np.mean(fit.log_density(X.iloc[test], y.iloc[test]))) for fit in fits]


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--noises", type=int, default=20, help="data sets of pure noise")
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    arguments = parser.parse_args()
    run = Parallel(n_jobs=arguments.n_jobs)
    noise = np.array(run(delayed(noise_found)(seed) for seed in range(arguments.noises)))
    figures = {"priors": list(PRIORS)}
    figures["share of pure noise found, median"] = np.median(noise, axis=0).round(4).tolist()
    figures["fits to noise with less than 1 % of it"] = (noise < 0.01).mean(axis=0).tolist()
    for name in ROWS:
        found = run(delayed(scores)(name, seed) for seed in range(arguments.splits))
        figures[f"{name}, test log density"] = np.mean(found, axis=0).round(4).tolist()
    if arguments.json:
        print(json.dumps(figures))
        return
    for key, value in figures.items():
        print(f"{key:40s} {value}")


if __name__ == "__main__":
    main()
