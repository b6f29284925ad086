"""How often `gpproj.fit(prior=None)` finds the optimum on the paper's toy data.

    python benchmarks/fit_quality.py --realisations 200 --n-jobs 2 --json

For every realisation: the noise sd found (truth 0.3), and the log marginal likelihood lost against
the best of `--restarts` random restarts, each optimised to convergence from a point drawn
log-uniformly over plausible values.
"""

from __future__ import annotations

import argparse
import json
import os
import time

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
from joblib import Parallel, delayed

import gpproj
from gpproj.kernels import Constant, SquaredExponential
from gpproj.optimise import minimise
from gpproj.priors import parameter_units, scales
from gpproj.reference.log_posterior import LogPosterior

RANGES = {
    "constant": (0.01, 1.0),
    "signal": (0.1, 1e4),
    "lengthscale": (0.3, 100.0),
    "noise": (1e-3, 1.0),
}
"""Restarts are uniform in the logarithm between these, in units of the data, input by input."""


def restarts(reference: gpproj.Reference, count: int, rng: np.random.Generator) -> float:
    """Return the best log marginal likelihood of random restarts, on the model's scale."""
    posterior = LogPosterior(reference.problem, scales(reference.training), None)
    kinds = parameter_units(reference.problem.kernel, posterior.units)
    low, high = (
        np.append(
            kinds.typical(
                RANGES["constant"][side],
                RANGES["signal"][side],
                slope=1.0,
                lengthscale=RANGES["lengthscale"][side],
            ),
            np.log(RANGES["noise"][side]) + posterior.last_units,
        )
        for side in (0, 1)
    )
    starts = rng.uniform(low, high, size=(count, low.size))
    found = minimise(posterior.loss(), starts, *posterior.bounds, max_iterations=1000)
    return float(-found.value.min())


def realisation(seed: int, count: int) -> dict[str, float]:
    """Fit one data set and compare."""
    X, y = gpproj.datasets.toy_sines(n=300, random_state=seed)
    start = time.perf_counter()
    reference = gpproj.fit(
        X, y, kernel=Constant() + SquaredExponential(), prior=None, draws=1, check=False
    )
    seconds = time.perf_counter() - start
    scale = reference.training.scaling.target_scale
    own = reference.log_marginal_likelihood + len(y) * np.log(scale)
    best = restarts(reference, count, np.random.default_rng(seed))
    return {
        "noise_sd": float(np.sqrt(reference.noise_variance)),
        "lost": best - own,
        "seconds": seconds,
    }


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--realisations", type=int, default=200)
    parser.add_argument("--restarts", type=int, default=20)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    arguments = parser.parse_args()
    rows = Parallel(n_jobs=arguments.n_jobs)(
        delayed(realisation)(seed, arguments.restarts) for seed in range(arguments.realisations)
    )
    noise, lost, seconds = (
        np.array([row[key] for row in rows]) for key in ("noise_sd", "lost", "seconds")
    )
    figures = {
        "realisations": arguments.realisations,
        "noise_within_factor_2": float(np.mean((noise > 0.15) & (noise < 0.6))),
        "within_half_nat_of_restarts": float(np.mean(lost < 0.5)),
        "largest_loss": float(lost.max()),
        "restarts_worse_by_half_nat": float(np.mean(lost < -0.5)),
        "median_seconds": float(np.median(seconds)),
    }
    if arguments.json:
        print(json.dumps(figures))
        return
    for key, value in figures.items():
        print(f"{key:28s} {value:.4g}")


if __name__ == "__main__":
    main()
