"""Test log density along the projection's order and along ARD's, on Boston housing.

    python benchmarks/orders.py --splits 3 --json         needs the data folder in GPPROJ_DATA

For every random split (300 rows to train): a fitted reference, submodels by
projection along the forward search and along the order of the ARD relevances, with the same starts
for both, and their mean log predictive density on the rest.
"""

from __future__ import annotations

import argparse
import json

import numpy as np

import gpproj


def curves(seed: int, n: int, sizes: int, n_jobs: int) -> tuple[list[float], list[float], float]:
    """Return the mean test log densities of both orders, the null model first, and the full's."""
    X, y = gpproj.datasets.boston()
    rows = np.random.default_rng(seed).permutation(len(y))
    train, test = rows[:n], rows[n:]
    ref = gpproj.fit(X.iloc[train], y.iloc[train])
    ard = ref.ard_relevance().sort_values(ascending=False).index[:sizes]
    paths = gpproj.forward_search(ref, sizes, n_jobs=n_jobs), gpproj.project_path(ref, ard)

    def score(model) -> float:
        return float(np.mean(model.log_density(X.iloc[test], y.iloc[test])))

    projected, by_ard = ([score(path[k]) for k in range(sizes + 1)] for path in paths)
    return projected, by_ard, score(ref)


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--n", type=int, default=300, help="training rows")
    parser.add_argument("--sizes", type=int, default=4, help="inputs to go up to")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    arguments = parser.parse_args()
    found = [
        curves(seed, arguments.n, arguments.sizes, arguments.n_jobs)
        for seed in range(arguments.splits)
    ]
    figures = {
        "projection": np.mean([projected for projected, _, _ in found], axis=0).round(4).tolist(),
        "ard": np.mean([by_ard for _, by_ard, _ in found], axis=0).round(4).tolist(),
        "full": round(float(np.mean([full for _, _, full in found])), 4),
        "splits": [{"projection": p, "ard": a, "full": f} for p, a, f in found],
    }
    if arguments.json:
        print(json.dumps(figures))
        return
    print(f"mean test log density over {arguments.splits} splits; full model {figures['full']}")
    print("size  projection order  ARD order")
    for size, pair in enumerate(zip(figures["projection"], figures["ard"], strict=True)):
        print(f"{size:4d}  {pair[0]:16.3f}  {pair[1]:9.3f}")


if __name__ == "__main__":
    main()
