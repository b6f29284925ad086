"""Full forward searches on the paper's data sets, and the race against the exhaustive search.

    python benchmarks/search.py --json                      wall seconds of full paths
    python benchmarks/search.py --compare --json            race against exhaustive, 30 minutes

Both need the data folder in GPPROJ_DATA. The paper's times were taken on other machines, with
another program: they tell orders of magnitude.
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

ROWS = {"boston": 300, "automobile": 150, "crime": 400, "toy": 300, "diabetes": 442}
PAPER_SECONDS = {"boston": 40 * 60, "automobile": 4 * 3600, "crime": 15 * 3600}
COMPARED = {"toy": None, "diabetes": None, "boston": None, "automobile": None, "crime": 15}
"""Sets that the race is compared on, and up to how many inputs."""


def reference(name: str, seed: int = 0) -> gpproj.Reference:
    """Fit a data set, or as many random rows of it as the paper took."""
    if name == "toy":
        return gpproj.fit(*gpproj.datasets.toy_sines(n=ROWS[name], random_state=seed))
    X, y = getattr(gpproj.datasets, name)()
    rows = np.sort(np.random.default_rng(seed).permutation(len(y))[: ROWS[name]])
    return gpproj.fit(X.iloc[rows], y.iloc[rows])


def searched(ref: gpproj.Reference, **options: Any) -> tuple[gpproj.SearchPath, float, int]:
    """Return a path, the seconds it took and its evaluations of value and gradient."""
    start = time.perf_counter()
    path = gpproj.forward_search(ref, progress=False, **options)
    return path, time.perf_counter() - start, int(path.candidates["evaluations"].sum())


def full_path(name: str) -> dict[str, Any]:
    """Time the search through all inputs, with one worker and with two."""
    ref = reference(name)
    busy = time.process_time()
    path, seconds, evaluations = searched(ref)
    busy = time.process_time() - busy
    other, seconds_2, _ = searched(ref, n_jobs=2)
    return {
        "inputs": len(path.units),
        "evaluations": evaluations,
        "seconds": round(seconds, 2),
        "processor_seconds": round(busy, 2),
        "seconds_two_workers": round(seconds_2, 2),
        "speed_up": round(seconds / seconds_2, 2),
        "same_path": path.order == other.order and bool(np.all(path.errors == other.errors)),
        "paper_seconds": PAPER_SECONDS[name],
        "peak_memory_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 3),
    }


def comparison(name: str) -> dict[str, Any]:
    """Run the race and the exhaustive search, and compare their error curves."""
    ref, steps = reference(name), COMPARED[name]
    race, seconds, evaluations = searched(ref, max_inputs=steps, n_jobs=2)
    full, seconds_full, evaluations_full = searched(
        ref, max_inputs=steps, strategy="exhaustive", n_jobs=2
    )
    excess = race.relative_errors - full.relative_errors
    best = (race.best_errors - full.best_errors) / (race.null_error - race.full_error)
    return {
        "steps": len(race.units),
        "largest_excess": round(float(excess.max()), 5),
        "smallest_excess": round(float(excess.min()), 5),
        "largest_excess_of_best_sets": round(float(best.max()), 5),
        "smallest_excess_of_best_sets": round(float(best.min()), 5),
        "evaluations": evaluations,
        "evaluations_exhaustive": evaluations_full,
        "fewer_evaluations": round(evaluations_full / evaluations, 2),
        "seconds": round(seconds, 1),
        "seconds_exhaustive": round(seconds_full, 1),
    }


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compare", action="store_true", help="race against exhaustive")
    parser.add_argument("--sets", nargs="+", choices=list(ROWS), help="which data sets")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    arguments = parser.parse_args()
    measure = comparison if arguments.compare else full_path
    names = arguments.sets or list(COMPARED if arguments.compare else PAPER_SECONDS)
    figures = {name: measure(name) for name in names}
    if arguments.json:
        print(json.dumps(figures))
        return
    for name, found in figures.items():
        print(name)
        for key, value in found.items():
            print(f"    {key:24s} {value}")
    if not arguments.compare:
        print("The paper's seconds are of other machines and another program.")


if __name__ == "__main__":
    main()
