"""Time one value-and-gradient of each objective against one matrix product of the same run.

    python benchmarks/evaluation.py --n 400 --d 102 --json

Ratios travel between machines, seconds do not. One BLAS thread throughout; repetitions of the
different calls are interleaved, so that a busy moment of the machine falls on all of them.
`wrapped_ratio` is the time with LAPACK by SciPy's wrappers divided by that with the calls in use.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

import gpproj
from gpproj.inference import exact
from gpproj.kernels import Constant, SquaredExponential
from gpproj.linalg import lapack
from gpproj.linalg.lapack_wrapped import Wrapped
from gpproj.projection import OBJECTIVES


def interleaved_seconds(
    calls: dict[str, Callable[[], object]], repetitions: int
) -> dict[str, float]:
    """Return the median seconds of each call."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for repetition in range(repetitions + 2):
        # Every second time backwards: what a call finds in the caches is left by the one before.
        for name, call in list(calls.items())[:: 1 - 2 * (repetition % 2)]:
            start = time.perf_counter()
            call()
            if repetition >= 2:  # the first rounds warm caches up
                seconds[name].append(time.perf_counter() - start)
    return {name: float(np.median(taken)) for name, taken in seconds.items()}


def with_calls(calls: lapack.Calls, call: Callable[[], object]) -> Callable[[], object]:
    """Return a call that has LAPACK in one of the ways."""

    def changed() -> object:
        lapack.CALLS = calls
        return call()

    return changed


def scikit_learn_evaluation(X: np.ndarray, y: np.ndarray) -> Callable[[], object]:
    """Return the same evaluation by scikit-learn's Gaussian process."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    d = X.shape[1]
    kernel = ConstantKernel(1.0) + ConstantKernel(1.0) * RBF(np.full(d, np.sqrt(d)))
    model = GaussianProcessRegressor(kernel + WhiteKernel(0.1), optimizer=None).fit(X, y)
    return lambda: model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=400, help="rows")
    parser.add_argument("--d", type=int, default=102, help="inputs")
    parser.add_argument("--repetitions", type=int, default=50)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    arguments = parser.parse_args()
    n, d = arguments.n, arguments.d
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = np.sin(X[:, 0]) + X[:, 1 % d] + 0.3 * rng.standard_normal(n)
    kernel = Constant(1.0) + SquaredExponential(1.0, np.sqrt(d))
    problem = exact.Problem(kernel, X, y, np.ones(d, dtype=bool))
    parameters = np.append(kernel.log_parameters(d), np.log(0.1))[None, :]
    A, B, C = rng.standard_normal((n, n)), rng.standard_normal((n, n)), np.empty((n, n))
    target = gpproj.condition(X, y, kernel, gpproj.likelihoods.Gaussian(0.1)).target
    everything = np.ones((1, d), dtype=bool)
    loo = OBJECTIVES["loo"]
    compared_with = loo.compared_with(target)
    evaluations: dict[str, Callable[[], object]] = {
        "marginal_likelihood": lambda: exact.log_marginal_likelihood(problem, parameters),
        "projection": lambda: OBJECTIVES["projection"].value(
            target, kernel, parameters, everything
        ),
        "loo": lambda: loo.value(compared_with, kernel, parameters, everything),
    }
    chosen, wrapped = lapack.CALLS, Wrapped()
    calls: dict[str, Callable[[], object]] = {"dgemm": lambda: np.matmul(A, B, out=C)}
    for name, call in evaluations.items():
        calls[name] = with_calls(chosen, call)
        calls[f"{name}, wrapped"] = with_calls(wrapped, call)
    ours = interleaved_seconds(calls, arguments.repetitions)
    lapack.CALLS = chosen
    theirs = interleaved_seconds({"scikit-learn": scikit_learn_evaluation(X, y)}, 3)
    figures = {
        name: {
            "seconds": ours[name],
            "dgemm_seconds": ours["dgemm"],
            "ratio": ours[name] / ours["dgemm"],
            "wrapped_ratio": ours[f"{name}, wrapped"] / ours[name],
        }
        for name in evaluations
    }
    figures["marginal_likelihood"]["sklearn_seconds"] = theirs["scikit-learn"]
    if arguments.json:
        print(json.dumps(figures))
        return
    for name, figure in figures.items():
        print(f"{name} at n = {n}, d = {d}")
        for key, value in figure.items():
            print(f"  {key:16s} {value:.6f}")


if __name__ == "__main__":
    main()
