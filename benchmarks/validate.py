"""Validation of a forward search on Boston housing: seconds, and what it says.

    python benchmarks/validate.py --json                  needs the data folder in GPPROJ_DATA

Five folds with the search in each, a fitted reference, 300 rows and 13 inputs, on two workers; and
leave-one-out with the search done once.
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

import numpy as np

import gpproj


def figures(rows: int, n_jobs: int) -> dict[str, Any]:
    """Return seconds and suggested sizes."""
    X, y = gpproj.datasets.boston()
    chosen = np.sort(np.random.default_rng(0).permutation(len(y))[:rows])
    ref = gpproj.fit(X.iloc[chosen], y.iloc[chosen])
    path = gpproj.forward_search(ref, n_jobs=n_jobs, progress=False)
    found: dict[str, Any] = {"rows": rows, "workers": n_jobs}
    for method in ("kfold", "loo"):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            cv = gpproj.validate(ref, path, method, random_state=0, n_jobs=n_jobs, progress=False)
            size = cv.suggest_size()
        found[f"{method}_seconds"] = round(time.perf_counter() - start, 1)
        found[f"{method}_size"] = size
        found[f"{method}_elpd_diff"] = cv.summary("elpd")["elpd_diff"].round(1).tolist()
    return found


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    arguments = parser.parse_args()
    found = figures(arguments.rows, arguments.n_jobs)
    if arguments.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f"{name:20s} {value}")


if __name__ == "__main__":
    main()
