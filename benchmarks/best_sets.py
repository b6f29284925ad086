"""The best sets that a search finds, against everything else that could have found them.

    python benchmarks/best_sets.py --json                       hours on one core
    python benchmarks/best_sets.py --sets yacht yacht+ --splits 2
    python benchmarks/best_sets.py --sets simulated
    python benchmarks/best_sets.py --jobs 8 --device cuda

On random rows of a data set (needs the data folder in GPPROJ_DATA) or of the simulated families,
`path.best(k)` of a race is compared with the sets of an exhaustive and of a backward search and of
the orders by ARD, KL and permutation relevances, each learned and measured in the same way. A plus
behind the name adds twelve decoys: noisy copies of six inputs, and six columns of noise.
`excess` is the relative error of the path above the best of its rivals, the largest over the sizes;
a split holds where that is at most 0.01.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import joblib
import numpy as np
from families import FAMILIES, with_decoys

import gpproj

ROWS = {"parkinsons": 300, "energy": 300, "yacht": 150}
SETS = [f"{name}{more}" for name in ROWS for more in ("", "+")]
SIZES, HOLDS = 6, 0.01
SIMULATED_ROWS, SIMULATED_INPUTS = 100, 10


def rows_of(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of one split."""
    rng = np.random.default_rng([seed, 8])
    if name in FAMILIES:
        X, y, _ = FAMILIES[name](rng, SIMULATED_ROWS, SIMULATED_INPUTS)
        return X, y
    table, target = getattr(gpproj.datasets, name.rstrip("+"))()
    rows = np.sort(rng.permutation(len(target))[: ROWS[name.rstrip("+")]])
    X, y = table.to_numpy(dtype=float)[rows], target.to_numpy(dtype=float)[rows]
    if name.endswith("+"):
        X = with_decoys(rng, X)
    return X, y


def split_of(name: str, seed: int, device: str | None = None) -> dict[str, Any]:
    """Compare the path of one split with its rivals."""
    warnings.simplefilter("ignore")
    X, y = rows_of(name, seed)
    reference = gpproj.fit(X, y, device=device)
    most = min(SIZES, X.shape[1])
    start = time.perf_counter()
    path = gpproj.forward_search(reference, most, progress=False)
    seconds = time.perf_counter() - start
    rivals = {
        "exhaustive": gpproj.forward_search(
            reference, most, "exhaustive", exchange=False, progress=False
        ),
        "backward": gpproj.backward_search(reference, progress=False),
    }
    for method in ("ard", "kl", "permutation"):
        rivals[method] = gpproj.project_path(reference, method, max_inputs=most)
    errors = np.stack([rival.errors[: most + 1] for rival in rivals.values()])
    span = path.null_error - min(path.full_error, *(rival.full_error for rival in rivals.values()))
    excess = ((path.best_errors - errors) / span).max(axis=0)
    nested = ((path.errors - errors) / span).max(axis=0)
    worst = int(excess.argmax())
    return {
        "data": name,
        "split": seed,
        "excess": round(float(excess.max()), 4),
        "size": worst,
        "rival": list(rivals)[int(errors[:, worst].argmin())],
        "nested_excess": round(float(nested.max()), 4),
        "greedy_excess": round(float(((errors[0] - path.best_errors) / span).max()), 4),
        "relative_errors": np.round((path.best_errors - path.full_error) / span, 3).tolist(),
        "problems": list(path.problems),
        "seconds": round(seconds, 1),
    }


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=SETS, help="data sets, or simulated")
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", help="where to compute, such as cuda; this processor if not")
    parser.add_argument("--json", action="store_true", help="print one line of JSON for a split")
    given = parser.parse_args()
    names = list(FAMILIES) if given.sets == ["simulated"] else given.sets
    parallel = joblib.Parallel(given.jobs, return_as="generator_unordered")
    found = []
    for one in parallel(
        joblib.delayed(split_of)(name, seed, given.device)
        for name in names
        for seed in range(given.splits)
    ):
        found.append(one)
        text = "  ".join(f"{key} {value}" for key, value in one.items())
        print(json.dumps(one) if given.json else text, flush=True)
    held = sum(one["excess"] <= HOLDS for one in found)
    print(json.dumps({"splits": len(found), "held": held}))


if __name__ == "__main__":
    main()
