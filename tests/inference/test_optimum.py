"""The batched optimiser on the package's own objectives, held to SciPy's L-BFGS-B."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from gpproj.inference import Problem, exact
from gpproj.kernels import Constant, Matern32, Matern52, SquaredExponential
from gpproj.optimise import minimise

pytestmark = pytest.mark.slow

KERNELS = (Constant() + SquaredExponential(), Matern32(), Constant() + Matern52())
BOUND = 7.0


def random_problem(seed):
    """Return an objective to minimise and a start, of random size, kernel and signal."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(15, 30)), int(rng.integers(1, 4))
    X = rng.standard_normal((n, d))
    signal = np.sin(2 * X[:, 0]) + X.sum(axis=1) * (seed % 3 > 0)
    y = signal + rng.uniform(0.1, 1.0) * rng.standard_normal(n)
    kernel = KERNELS[seed % len(KERNELS)]
    problem = Problem(kernel, X, (y - y.mean()) / y.std(), np.ones(d, dtype=bool))
    start = rng.normal(0.0, 1.0, len(kernel.parameters(d)) + 1)

    def objective(x, lanes=None):
        evidence = exact.log_marginal_likelihood(problem, np.atleast_2d(x))
        return -evidence.value, -evidence.gradient

    return objective, start


def scipy_minimise(objective, start):
    def one(x):
        value, gradient = objective(x)
        return value[0], gradient[0]

    options = {"maxiter": 2000, "ftol": 1e-14, "gtol": 1e-8}
    box = [(-BOUND, BOUND)] * start.size
    return minimize(one, start, jac=True, method="L-BFGS-B", bounds=box, options=options)


def our_minimum(objective, start):
    side = np.full(start.size, BOUND)
    ours = minimise(objective, start[None], -side, side, max_iterations=1000)
    assert ours.converged[0], ours.reason[0]
    return ours


def test_scipy_finds_nothing_better_from_our_answer():
    for seed in range(80):
        objective, start = random_problem(seed)
        ours = our_minimum(objective, start)
        polished = scipy_minimise(objective, ours.x[0])
        assert ours.value[0] - polished.fun <= 1e-6 * max(1.0, abs(ours.value[0])), seed


def test_from_the_same_start_neither_ends_in_worse_valleys_more_often():
    """Two good methods may end in different optima of the same function."""
    differences = []
    for seed in range(40):
        objective, start = random_problem(seed)
        ours, theirs = our_minimum(objective, start), scipy_minimise(objective, start)
        differences.append((ours.value[0] - theirs.fun) / max(1.0, abs(theirs.fun)))
    worse, better = np.sum(np.array(differences) > 1e-6), np.sum(np.array(differences) < -1e-6)
    assert worse <= better + 2
