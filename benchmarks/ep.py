"""EP and Laplace: log evidence and gradient from a cold start.

    python benchmarks/ep.py --n 400 --d 102 --json

Seconds of one evaluation at unit hyperparameters on simulated classes and counts, and as a
yardstick of the machine the same for exact inference with Gaussian noise.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

from gpproj import inference
from gpproj.inference import Problem
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Bernoulli, Gaussian, Likelihood, NegativeBinomial, Poisson

MODELS: dict[str, tuple[Likelihood, Any]] = {
    "gaussian, exact": (Gaussian(), "exact"),
    "probit, EP": (Bernoulli("probit"), "ep"),
    "logit, EP": (Bernoulli("logit"), "ep"),
    "probit, Laplace": (Bernoulli("probit"), "laplace"),
    "Poisson, Laplace": (Poisson(), "laplace"),
    "Poisson, EP": (Poisson(), "ep"),
    "negative binomial, Laplace": (NegativeBinomial(), "laplace"),
}


def targets(likelihood: Likelihood, f: Any, rng: np.random.Generator) -> Any:
    """Return simulated observations of a latent function."""
    if likelihood.kind == "binary":
        return (f + rng.standard_normal(f.size) > 0).astype(float)
    return rng.poisson(np.exp(f)).astype(float) if likelihood.kind == "count" else f


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=400)
    parser.add_argument("--d", type=int, default=102)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.standard_normal((arguments.n, arguments.d))
    f = np.sin(X[:, 0]) + X[:, 1]
    mask = np.ones(arguments.d, dtype=bool)
    lengths = np.full(arguments.d, np.sqrt(arguments.d))
    figures: dict[str, float] = {}
    for name, (likelihood, method) in MODELS.items():
        kernel = Constant(1.0) + SquaredExponential(1.0, lengths)
        y = targets(likelihood, f, rng)
        problem = Problem(kernel, X, y, mask, likelihood=likelihood, method=method)
        theta = np.append(kernel.log_parameters(arguments.d), likelihood.log_parameters)
        seconds = []
        for _ in range(arguments.repeats):
            start = time.perf_counter()
            found = inference.log_evidence(problem, theta[None, :])
            seconds.append(time.perf_counter() - start)
        assert np.isfinite(found.value[0])
        figures[name] = round(float(np.median(seconds)), 5)
    if arguments.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:28s} {1e3 * value:8.1f} ms")


if __name__ == "__main__":
    main()
