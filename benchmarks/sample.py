"""Time and evaluations of `gpproj.sample` on the paper's data sets.

    python benchmarks/sample.py --json                      needs the data folder in GPPROJ_DATA

One hundred draws after 200 steps of tuning, in two chains, with the weak prior and with the paper's
log-uniform one.
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
from gpproj.inference import exact

ROWS = {"boston": 300, "crime": 400}


def measured(name: str, prior: str, n_jobs: int) -> dict[str, Any]:
    """Sample once; count the evaluations of value and gradient."""
    X, y = getattr(gpproj.datasets, name)()
    rows = np.random.default_rng(0).permutation(len(y))[: ROWS[name]]
    count, evaluate = [0], exact.log_marginal_likelihood

    def counted(problem: exact.Problem, parameters: np.ndarray) -> exact.Evidence:
        count[0] += len(parameters)
        return evaluate(problem, parameters)

    exact.log_marginal_likelihood = counted
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ref = gpproj.sample(
            X.iloc[rows],
            y.iloc[rows],
            draws=100,
            tune=200,
            chains=2,
            prior=prior,
            random_state=0,
            n_jobs=n_jobs,
            progress=False,
        )
        import arviz

        rhat, size = arviz.rhat(ref.posterior), arviz.ess(ref.posterior)
    seconds = time.perf_counter() - start
    exact.log_marginal_likelihood = evaluate
    return {
        "seconds": round(seconds, 1),
        "evaluations": count[0],
        "divergences": int(ref.posterior.sample_stats["diverging"].sum()),
        "largest_rhat": round(max(float(rhat[one].max()) for one in rhat), 3),
        "smallest_effective_size": round(min(float(size[one].min()) for one in size), 1),
    }


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    arguments = parser.parse_args()
    figures = {
        name: {prior: measured(name, prior, arguments.n_jobs) for prior in ("weak", "log-uniform")}
        for name in ROWS
    }
    if arguments.json:
        print(json.dumps(figures))
        return
    for name, found in figures.items():
        for prior, values in found.items():
            print(name, prior, values)


if __name__ == "__main__":
    main()
