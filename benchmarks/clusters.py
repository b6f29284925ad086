"""What clusters of hyperparameter draws give back: Boston, test log density by clusters and size.

    python benchmarks/clusters.py --splits 10 --json        needs the data folder in GPPROJ_DATA

For every random split (300 rows to train, 100 draws): the mean log predictive density on the other
rows of the sampled reference, and of submodels on 3, 5, 8 and all inputs as one projection of all
draws, 20 clusters of them, and every draw by itself.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
from joblib import Parallel, delayed

import gpproj

SIZES = (3, 5, 8, 13)
CLUSTERS = {"one projection": None, "20 clusters": 20, "every draw": "draws"}


def scores(seed: int, prior: str | None, sampled_with: str) -> dict[str, Any]:
    """Return the test log densities of one split."""
    X, y = gpproj.datasets.boston()
    rows = np.random.default_rng(seed).permutation(len(y))
    train, test = rows[:300], rows[300:]

    def score(model: Any) -> float:
        return float(np.mean(model.log_density(X.iloc[test], y.iloc[test])))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ref = gpproj.sample(
            X.iloc[train],
            y.iloc[train],
            tune=200,
            prior=sampled_with,
            random_state=seed,
            progress=False,
        )
        path = gpproj.forward_search(ref, prior=prior, progress=False)
    found: dict[str, Any] = {"reference": score(ref)}
    for name, clusters in CLUSTERS.items():
        found[name] = [score(path.submodel(size, clusters)) for size in SIZES]
    return found


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--prior", choices=["weak", "none"], default="none", help="of submodels")
    parser.add_argument("--sampled-with", choices=["weak", "log-uniform"], default="log-uniform")
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    arguments = parser.parse_args()
    prior = None if arguments.prior == "none" else arguments.prior
    rows = Parallel(n_jobs=arguments.n_jobs)(
        delayed(scores)(seed, prior, arguments.sampled_with) for seed in range(arguments.splits)
    )
    figures: dict[str, Any] = {
        "sizes": SIZES,
        "reference": round(float(np.mean([row["reference"] for row in rows])), 4),
    }
    for name in CLUSTERS:
        figures[name] = np.mean([row[name] for row in rows], axis=0).round(4).tolist()
    if arguments.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:16s} {value}")


if __name__ == "__main__":
    main()
