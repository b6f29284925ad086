"""Inducing points: how time and memory grow with the rows.

    python benchmarks/scaling.py --json                 time of one evaluation against n, memory
    python benchmarks/scaling.py --search --json        fit and first five inputs at n = 100000

The evaluation is value and gradient of the projection on all of 20 inputs, with one BLAS thread.
What inducing points cost in quality is measured by `benchmarks/gpu.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

import gpproj
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.projection import OBJECTIVES, family_of

ROWS = (2000, 4000, 8000, 16000, 32000, 64000)
INPUTS, POINTS, REPEATS = 20, 200, 3
SEARCH_ROWS = 2000


def simulated(n: int, d: int = INPUTS, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return data in which the first five inputs matter: sines, a slope, a product, a kink."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    f = np.sin(1.5 * X[:, 0]) + X[:, 1] + 0.5 * X[:, 2] * X[:, 3] + 0.3 * np.abs(X[:, 4])
    return X, f + 0.3 * rng.standard_normal(n)


def gigabytes() -> float:
    """Return the most memory that the process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def evaluation(n: int) -> float:
    """Return the seconds of one value and gradient at n rows: the best of some."""
    X, y = simulated(n)
    kernel = Constant(0.1) + SquaredExponential(1.0, np.full(INPUTS, 4.0))
    ref = gpproj.condition(
        X, y, kernel, Gaussian(0.1), inference=gpproj.Sparse(POINTS), standardize=True
    )
    family, mask = family_of(ref), np.ones((1, INPUTS), dtype=bool)
    start = family.starts(mask[0])[:1]
    seconds = []
    for _ in range(REPEATS + 1):  # the first one chooses the inducing points
        begun = time.perf_counter()
        OBJECTIVES["projection"].value(ref.target, family.kernel, start, mask)
        seconds.append(time.perf_counter() - begun)
    return min(seconds[1:])


def scaling() -> dict[str, Any]:
    """Measure evaluations from few to many rows."""
    seconds = {n: evaluation(n) for n in ROWS}
    logs = np.log(list(seconds)), np.log(list(seconds.values()))
    slope = float(np.polyfit(*logs, 1)[0])
    evaluation(100_000)
    return {
        "milliseconds": {n: round(1e3 * one, 1) for n, one in seconds.items()},
        "slope": round(slope, 3),
        "gigabytes_at_100000": round(gigabytes(), 2),
    }


def search(n: int, n_jobs: int) -> dict[str, Any]:
    """Time a fit, and the first five inputs of a search from it."""
    X, y = simulated(n)
    begun = time.perf_counter()
    ref = gpproj.fit(X, y, inference=gpproj.Sparse(POINTS))
    fitted = time.perf_counter()
    path = gpproj.forward_search(ref, 5, search_rows=SEARCH_ROWS, n_jobs=n_jobs)
    done = time.perf_counter()
    return {
        "rows": n,
        "fit_seconds": round(fitted - begun, 1),
        "search_seconds": round(done - fitted, 1),
        "order": path.order,
        "relative_errors": path.relative_errors.round(4).tolist(),
        "searched": path.searched.relative_errors if path.searched else None,
        "gigabytes": round(gigabytes(), 2),
    }


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--rows", type=int, default=100_000, help="of --search")
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    arguments = parser.parse_args()
    figures = search(arguments.rows, arguments.n_jobs) if arguments.search else scaling()
    if arguments.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
