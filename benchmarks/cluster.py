"""A search on Crime, on one Dask worker process and on two, with one BLAS thread each.

    python benchmarks/cluster.py --json                     needs the data folder in GPPROJ_DATA
    python benchmarks/cluster.py --n 150 --steps 4          a quick look

The same lines are timed both times. On a cluster of a single thread joblib hands nothing out, so
that "one" is the search in the process that asks for it, with nothing to send and all candidates of
a step in one batch: the best that one worker can do. Needs as many idle cores as there are workers;
`cpu_share` is the part of the time that the workers computed.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import joblib
import numpy as np
from dask.distributed import Client, LocalCluster

import gpproj


def reference(n: int, seed: int = 0) -> gpproj.Reference:
    """Fit as many random rows of Crime."""
    X, y = gpproj.datasets.crime()
    rows = np.sort(np.random.default_rng(seed).permutation(len(y))[:n])
    return gpproj.fit(X.iloc[rows], y.iloc[rows])


def searched(
    ref: gpproj.Reference, steps: int, workers: int
) -> tuple[gpproj.SearchPath, float, float]:
    """Return the path on a cluster, the seconds it took, and the workers' share of them."""
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        joblib.parallel_config("dask"),
    ):
        # Processes import the package when they first need it: before the clock starts.
        client.run(_warm_up)
        spent = time.process_time() + sum(client.run(time.process_time).values())
        start = time.perf_counter()
        path = gpproj.forward_search(ref, steps, progress=False, n_jobs=None)
        seconds = time.perf_counter() - start
        spent = time.process_time() + sum(client.run(time.process_time).values()) - spent
    return path, seconds, spent / seconds / workers


def _warm_up() -> None:
    X, y = gpproj.datasets.toy_sines(n=30, random_state=0)
    gpproj.forward_search(gpproj.fit(X[:, 6:], y), progress=False)


def measured(n: int, steps: int, repeats: int) -> dict[str, Any]:
    """Time both, in turn, and keep the shortest time of each."""
    ref = reference(n)
    paths: list[gpproj.SearchPath] = []
    seconds: dict[int, list[float]] = {1: [], 2: []}
    shares: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(repeats):
        for workers in (1, 2):
            path, took, share = searched(ref, steps, workers)
            paths.append(path)
            seconds[workers].append(took)
            shares[workers].append(share)
    first, *others = paths
    best = {workers: min(times) for workers, times in seconds.items()}
    return {
        "n": n,
        "inputs": ref.training.d,
        "steps": steps,
        "seconds_one": round(best[1], 2),
        "seconds_two": round(best[2], 2),
        "speed_up": round(best[1] / best[2], 2),
        "same_path": all(
            first.order == other.order and np.array_equal(first.errors, other.errors)
            for other in others
        ),
        "cpu_share_one": [round(share, 2) for share in shares[1]],
        "cpu_share_two": [round(share, 2) for share in shares[2]],
        "cores": os.cpu_count(),
    }


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=400, help="training rows")
    parser.add_argument("--steps", type=int, default=15, help="inputs to go up to")
    parser.add_argument("--repeats", type=int, default=1, help="the shortest time counts")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    arguments = parser.parse_args()
    figures = measured(arguments.n, arguments.steps, arguments.repeats)
    if arguments.json:
        print(json.dumps(figures))
        return
    for key, value in figures.items():
        print(f"    {key:16s} {value}")


if __name__ == "__main__":
    main()
