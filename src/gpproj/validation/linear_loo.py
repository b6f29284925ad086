"""Leave-one-out predictions of linear models, by weighting their draws anew for every row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpproj.linalg import Host, to_host
from gpproj.projection import LinearSubmodel
from gpproj.projection.irls import leverages
from gpproj.projection.linear import basis_of, with_intercept
from gpproj.reference import LinearReference
from gpproj.search import SearchPath
from gpproj.validation.loo import LooPredictor, Predictions, Rows, distinct_subsets

SATURATED = 1e-8
"""Distance of a leverage from one below which a submodel fits a row whatever it says."""


class LinearPredictor(LooPredictor):
    """Predicts rows by the draws of a linear model and of its projections.

    Without the i-th target a draw has the weight 1 / p(y_i | draw), Pareto-smoothed, and its
    projection has the same weight: it depends on no target. It depends on the i-th row of the
    inputs, and is moved to the projection without it.

    Parameters
    ----------
    reference : LinearReference
    path : SearchPath
        A path of linear submodels.
    """

    def __init__(self, reference: LinearReference, path: SearchPath) -> None:
        self._reference, self._path = reference, path
        self._log_weights, self.k_hat = reference.log_weights()
        self.can_refit = reference.recipe is not None

    def predict(self, rows: Rows, n_jobs: int | None, progress: bool) -> Predictions:
        """Predict rows by the reference, and then by the submodels."""
        reference, path = self._reference, self._path
        models = [_seen_by_reference(reference)]
        for subset in distinct_subsets(path):
            submodel = path.on_subset(subset, path.clusters)
            assert isinstance(submodel, LinearSubmodel)  # those of linear references are
            models.append(without_each(reference, submodel))
        linear, y = reference.linear, to_host(reference.training.y)[rows]
        weights = self._log_weights[:, rows]
        means, densities = [], []
        for eta, noise in models:
            eta, noise = eta[:, rows], None if noise is None else noise[:, rows]
            means.append(np.sum(np.exp(weights) * linear.means_at(eta), axis=0))
            density = weights + linear.log_likelihood_at(eta, y, noise)
            densities.append(np.logaddexp.reduce(density, axis=0))
        return Predictions(np.stack(means), np.stack(densities))


class DrawPredictions(NamedTuple):
    """Predictions of every row by models that have not seen it, draw by draw."""

    eta: Host
    """Linear predictors, offset included, `(s, n)`."""
    noise: Host | None
    """Noise variances, `(s, n)`; None for classes and counts."""


def without_each(reference: LinearReference, submodel: LinearSubmodel) -> DrawPredictions:
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
    values, fit = reference.training_values, submodel.linear.values(X)
    if linear.link is None:
        assert linear.noise is not None  # Gaussian noise has a variance
        residual = values - fit
        left_out = residual / _one_minus(np.sum(basis**2, axis=1))
        misfit = np.sum(residual**2, axis=1, keepdims=True) - residual * left_out
        misfit = np.maximum(misfit, 0.0) / (residual.shape[1] - 1)
        return DrawPredictions(values - left_out, linear.noise[:, None] + misfit)
    eta = fit + offset
    variance = linear.link.variance(eta)
    spread = leverages(basis, variance)
    pull = (linear.link.mean(values + offset) - linear.link.mean(eta)) * spread
    return DrawPredictions(eta - pull / _one_minus(variance * spread), None)


def _one_minus(leverage: Host) -> Host:
    """Return one less the leverage; one where nothing of the row is left."""
    left = 1.0 - leverage
    return np.where(left > SATURATED, left, 1.0)


def _seen_by_reference(reference: LinearReference) -> DrawPredictions:
    """Return the predictions of the reference's draws, of which only the weights change."""
    linear = reference.linear
    eta = reference.training_values + reference.training_offset
    noise = None if linear.noise is None else np.broadcast_to(linear.noise[:, None], eta.shape)
    return DrawPredictions(eta, noise)
