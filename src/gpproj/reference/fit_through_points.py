"""Optimisation of hyperparameters, and of inducing points that are chosen along with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpproj.data import TrainingSet
from gpproj.inference import Sparse
from gpproj.inference.sparse import inducing_gradient
from gpproj.linalg import Host, like, to_host
from gpproj.optimise import Outcome, advance, begin
from gpproj.reference.conditioning import inducing_of
from gpproj.reference.fit_starts import default_starts
from gpproj.reference.log_posterior import LogPosterior

SCREENED = 2000
"""Rows on which the starts compete, where there are inducing points."""

ROUNDS = 3
"""Times that inducing points are chosen anew at most."""

GAIN = 1e-4
"""Rise of the log posterior per row below which they are good enough."""

POINT_ITERATIONS = 100
"""Iterations in which inducing points are moved, where that is wanted."""


def optimised(
    posterior: LogPosterior, training: TrainingSet, starts: Host, sparse: Sparse | None
) -> tuple[LogPosterior, Outcome]:
    """Maximise the posterior from several starts, with inducing points if they are wanted.

    The points are chosen anew as the kernel changes. With them the starts compete on some of the
    rows, and only the best one sees all.
    """
    if sparse is None:
        return posterior, posterior.maximise(starts)
    if sparse.optimise and not posterior.problem.is_exact:
        raise ValueError("inference: inducing points are optimised for Gaussian noise only")
    # The first points suit the first of the starts.
    first, _ = posterior.problem.halves(default_starts(posterior)[0])
    kernel = posterior.problem.kernel.with_log_parameters(first, training.d)
    posterior = posterior.with_problem(inducing=inducing_of(sparse, training, kernel))
    screened = posterior.on_some_rows(SCREENED).maximise(starts)
    posterior, best = _with_points_chosen_anew(posterior, screened)
    optimum = posterior.maximise(best)
    inducing = posterior.problem.inducing
    for _ in range(ROUNDS):
        if inducing is None or inducing.given or not np.isfinite(np.min(optimum.value)):
            break
        chosen, best = _with_points_chosen_anew(posterior, optimum)
        found = chosen.maximise(best)
        gain = float(np.min(optimum.value) - np.min(found.value))
        if gain > 0.0:
            posterior, optimum = chosen, found
        if gain < GAIN * training.n:
            break
    return with_moved_points(posterior, optimum) if sparse.optimise else (posterior, optimum)


def _with_points_chosen_anew(
    posterior: LogPosterior, optimum: Outcome
) -> tuple[LogPosterior, Host]:
    """Return the posterior with points for the best optimum, and that optimum as a start."""
    problem = posterior.problem
    assert problem.inducing is not None
    best = optimum.x[[int(np.argmin(optimum.value))]]
    theta, _ = problem.halves(best[0])
    kernel = problem.kernel.with_log_parameters(theta, problem.mask.size)
    return posterior.with_problem(inducing=problem.inducing.at(kernel, problem.mask)), best


def with_moved_points(posterior: LogPosterior, optimum: Outcome) -> tuple[LogPosterior, Outcome]:
    """Maximise the posterior in hyperparameters and inducing points, then in the former alone.

    The points stay within the range of the data, and a little beyond.
    """
    inducing = posterior.problem.inducing
    assert inducing is not None  # there is a plan with inducing points
    best = int(np.argmin(optimum.value))
    p, shape = optimum.x.shape[1], inducing.Z.shape
    X = to_host(posterior.problem.X)
    reach = 0.1 * (X.max(axis=0) - X.min(axis=0))
    edges = (X.min(axis=0) - reach, X.max(axis=0) + reach)
    box = [
        np.append(bound, np.broadcast_to(edge, shape).ravel())
        for bound, edge in zip(posterior.bounds, edges, strict=True)
    ]

    def at(x: Host) -> LogPosterior:
        Z = like(x[p:].reshape(shape), posterior.problem.X)
        return posterior.with_problem(inducing=inducing.moved(Z))

    def loss(x: Host, lanes: Any) -> tuple[Host, Host]:
        value, gradient = np.empty(len(x)), np.empty_like(x)
        for row, point in enumerate(x):
            here = at(point)
            found = here.density()(point[None, :p])
            value[row], gradient[row, :p] = -found.value[0], -found.gradient[0]
            gradient[row, p:] = -inducing_gradient(here.problem, point[:p]).ravel()
        return value, gradient

    start = np.append(optimum.x[best], to_host(inducing.Z).ravel())
    end = advance(loss, begin(loss, start[None, :], *box), POINT_ITERATIONS).outcome()
    # Many points need not converge to be better; the hyperparameters do, given the points.
    moved = at(end.x[0])
    return moved, moved.maximise(end.x[:, :p])
