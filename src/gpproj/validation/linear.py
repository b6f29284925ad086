"""Leave-one-out validation of linear submodels: draws that are weighted anew for every row."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Host, one_blas_thread, to_host
from gpproj.projection import LinearSubmodel
from gpproj.projection.irls import leverages
from gpproj.projection.linear import basis_of, with_intercept
from gpproj.reference import LinearReference
from gpproj.search import SearchPath
from gpproj.validation.loo import (
    LooResult,
    of_both,
    warn_of_weights,
    with_refits,
    worst_k,
)
from gpproj.validation.scores import Scores

SATURATED = 1e-8
"""Distance of a leverage from one below which a submodel fits a row whatever it says."""


def linear_loo(
    reference: LinearReference,
    path: SearchPath,
    points: NDArray[np.intp],
    held: bool,
    refit: bool,
    n_jobs: int | None,
    progress: bool,
) -> LooResult:
    """Predict single observations by the reference and the submodels without them.

    Without the i-th target a draw has the weight 1 / p(y_i | draw), Pareto-smoothed, and its
    projection has the same weight: it depends on no target. It depends on the i-th row of the
    inputs, and is moved to the projection without it. Rows whose weights cannot be trusted are left
    out by refits, if the reference knows how.

    Parameters
    ----------
    reference : LinearReference
    path : SearchPath
        Of linear submodels.
    points : int array `(m,)`
        Observations to predict.
    held : bool
        There is nothing to hold.
    refit : bool
        Whether that is wanted.
    n_jobs : int or None
    progress : bool
    """
    log_weights, k_hat = reference.log_weights()
    bad = points[k_hat[points] > worst_k(reference.linear.count)]
    if bad.size and (reference.recipe is None or not refit):
        warn_of_weights(k_hat[bad], points.size)
        bad = bad[:0]
    good = np.setdiff1d(points, bad, assume_unique=True)
    with one_blas_thread():
        models, sizes = [_whole(reference)], range(len(path))
        submodels = [path.best(size) for size in sizes]
        submodels += [path[size] for size in sizes if path.is_better(size)]
        models += [without_each(reference, cast(LinearSubmodel, one)) for one in submodels]
        scores, along = of_both(path, _scores(reference, models, log_weights, good))
    if bad.size:
        scores, along = with_refits(reference, path, bad, scores, along, n_jobs, progress)
    return LooResult(scores, along, k_hat, bad)


class Without(NamedTuple):
    """Predictions of every row by models that have not seen it, draw by draw."""

    eta: Host
    """Linear predictors, offset included, `(s, n)`."""
    noise: Host | None
    """Noise variances, `(s, n)`; None for classes and counts."""


def without_each(reference: LinearReference, submodel: LinearSubmodel) -> Without:
    """Return the projections of every draw onto the rows but one, at that row.

    Least squares without the i-th row have the residual `e_i / (1 - h_i)` there, with the residual
    e_i and the leverage h_i of all rows; their misfit is `|e|^2 - e_i^2 / (1 - h_i)`. For classes
    and counts the same is one Newton step.

    Parameters
    ----------
    reference : LinearReference
    submodel : LinearSubmodel
    """
    linear, offset = reference.linear, reference.training_offset
    X = to_host(reference.training.X)[:, submodel._positions]
    basis = basis_of(with_intercept(X)).vectors
    aim, fit = reference.training_values, submodel.linear.values(X)
    if linear.link is None:
        assert linear.noise is not None  # Gaussian noise has a variance
        rest = aim - fit
        left = _left(np.sum(basis**2, axis=1))
        away = rest / left
        misfit = np.sum(rest**2, axis=1, keepdims=True) - rest * away
        misfit = np.maximum(misfit, 0.0) / (rest.shape[1] - 1)
        return Without(aim - away, linear.noise[:, None] + misfit)
    eta = fit + offset
    variance = linear.link.variance(eta)
    spread = leverages(basis, variance)
    pull = (linear.link.mean(aim + offset) - linear.link.mean(eta)) * spread
    return Without(eta - pull / _left(variance * spread), None)


def _left(leverage: Host) -> Host:
    """Return one less the leverage; one where nothing of the row is left."""
    left = 1.0 - leverage
    found: Host = np.where(left > SATURATED, left, 1.0)
    return found


def _whole(reference: LinearReference) -> Without:
    """Return the reference's own draws, whose weights are all that changes."""
    linear = reference.linear
    eta = reference.training_values + reference.training_offset
    noise = None if linear.noise is None else np.broadcast_to(linear.noise[:, None], eta.shape)
    return Without(eta, noise)


def _scores(
    reference: LinearReference,
    models: list[Without],
    log_weights: Host,
    rows: NDArray[np.intp],
) -> Scores:
    training, linear = reference.training, reference.linear
    y, own = to_host(training.y)[rows], log_weights[:, rows]
    means, densities = [], []
    for eta, noise in models:
        seen, loud = eta[:, rows], None if noise is None else noise[:, rows]
        means.append(np.sum(np.exp(own) * linear.means_at(seen), axis=0))
        density = own + linear.log_likelihood_at(seen, y, loud)
        densities.append(np.logaddexp.reduce(density, axis=0))
    return Scores(
        rows,
        rows,
        to_host(training.columns.response(y, 0.0)[0]),
        to_host(training.columns.response(np.stack(means), 0.0)[0]),
        to_host(training.scaling.restore_log_density(np.stack(densities))),
    )
