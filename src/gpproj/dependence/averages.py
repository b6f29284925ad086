"""Averages of a model over rows: the mean, and how well it is known, on either scale.

With the latent function f at rows x_1, ..., x_m, all moved in the same way, the average is

    a = mean over i of f(x_i)                on the scale of the link,
    a = mean over i of E[y | f(x_i)]         on that of the response: a probability, or a rate.

The first is Gaussian with known moments. Of the second the mean is exact, and the variance is that
of its linear part: with s_i the slope of the mean response of row i in the mean of f(x_i), that of
the sum over i of (s_i / m) f(x_i).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, singledispatch
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import expit, logit

from gpproj.data import TargetKind
from gpproj.dependence.factors import Move
from gpproj.likelihoods import Likelihood
from gpproj.linalg import Array, Host, like, namespace, to_host
from gpproj.prediction import ROWS, LatentPredictor, Mixture
from gpproj.projection import Submodel
from gpproj.reference import LinearPredictive, Reference

Scale = Literal["latent", "response"]
"""The latent function itself; or what it says of the target, a probability or a rate."""

QUANTILE = 1.959963984540054
"""Quantile of the standard normal distribution: 95 % lie between minus and plus this."""

STEP = 1e-3
"""Of the latent function, in units of the link: far above rounding, far below any curvature."""


class Averages(NamedTuple):
    """Mean and standard deviation of the average after each of k moves."""

    mean: Host
    sd: Host

    def band(self, kind: TargetKind, scale: Scale) -> tuple[Host, Host]:
        """Return the bounds of 95 %: within [0, 1] of probabilities, above zero of rates.

        Both are those of the logit and of the logarithm, to first order, carried back.
        """
        if scale == "latent" or kind.is_scaled:
            return self.mean - QUANTILE * self.sd, self.mean + QUANTILE * self.sd
        tiny = np.finfo(float).tiny
        if kind.has_classes:
            centre = np.clip(self.mean, 1e-12, 1.0 - 1e-12)
            reach = QUANTILE * self.sd / (centre * (1.0 - centre))
            return expit(logit(centre) - reach), expit(logit(centre) + reach)
        ratio = np.exp(QUANTILE * self.sd / np.maximum(self.mean, tiny))
        return self.mean / ratio, self.mean * ratio


def check_scale(scale: str) -> None:
    """Refuse scales that there are not."""
    if scale not in ("latent", "response"):
        raise ValueError(f'scale must be "latent" or "response", got {scale!r}')


def has_effects(model: Reference | Submodel) -> bool:
    """Say whether a model has effects: those of a Gaussian process elsewhere are not known."""
    return isinstance(model, Mixture)


def averages(model: Mixture, rows: Array, moves: list[Move], scale: Scale) -> Averages:
    """Return the averages of a model over rows after each move, in the user's units.

    Parameters
    ----------
    model : Mixture
    rows : array `(m, d)`
        On the model's scale.
    moves : list of Move
    scale : {"latent", "response"}
        Real targets have no link, and the same averages on both, unless they are transformed.
    """
    if not moves:
        return Averages(np.empty(0), np.empty(0))
    scaling, kind = model.columns.scaling, model.columns.kind
    if scale == "response" and not kind.is_scaled:
        return _responses(model, rows, moves)
    if scale == "response" and scaling.transformation is not None:
        return _transformed(model, rows, moves)
    mean, sd = _latents(model, rows, moves)
    return Averages(scaling.restore_mean(mean), scaling.target_scale * sd)


@singledispatch
def _latents(model: Mixture, rows: Array, moves: list[Move]) -> Averages:
    """Return averages of the latent function, on the model's scale."""
    weights = np.full(int(rows.shape[0]), 1.0 / int(rows.shape[0]))
    found = []
    # Draws are conditioned one after the other, and each of them only once.
    for share, predictor, _ in model._components():
        found.append((share, [average(predictor, move.of(rows), weights) for move in moves]))
    return _mixed(found)


@_latents.register(LinearPredictive)
def _linear_latents(model: LinearPredictive, rows: Array, moves: list[Move]) -> Averages:
    """The average of a linear function is its value at the average row."""
    centre = to_host(rows).mean(axis=0, keepdims=True)
    moved = np.concatenate([move.of(centre) for move in moves])
    mean, variance = model.linear.predict(moved)
    return Averages(mean, np.sqrt(variance))


@singledispatch
def _responses(model: Mixture, rows: Array, moves: list[Move]) -> Averages:
    """Return averages of what is expected of the target."""
    offset, found = model._offset(None, int(rows.shape[0])), []
    assert offset is not None  # targets with a link have one
    for share, predictor, likelihood in model._components():
        own = [_average_response(predictor, likelihood, move.of(rows), offset) for move in moves]
        found.append((share, own))
    return _mixed(found)


@_responses.register(LinearPredictive)
def _linear_responses(model: LinearPredictive, rows: Array, moves: list[Move]) -> Averages:
    """Every draw of a linear model has an average without any doubt."""
    X, weights = to_host(rows), model.linear.weights
    offset = model._offset(None, len(X))
    drawn = np.stack([model.linear.means(move.of(X), offset).mean(axis=1) for move in moves])
    mean = drawn @ weights
    return Averages(mean, np.sqrt((drawn - mean[:, None]) ** 2 @ weights))


def _transformed(model: Mixture, rows: Array, moves: list[Move]) -> Averages:
    """Return averages of what is expected of a transformed target, in the user's units."""
    scaling, found = model.columns.scaling, []

    def expected(mean: Host, variance: Host, likelihood: Likelihood) -> Host:
        mean, variance = likelihood.response(mean, variance)
        response: Host = to_host(scaling.restore_moments(mean, variance)[0])
        return response

    for share, predictor, likelihood in model._components():
        of = partial(expected, likelihood=likelihood)
        own = [_average_of(predictor, of, move.of(rows)) for move in moves]
        found.append((share, own))
    return _mixed(found)


def _average_response(
    predictor: LatentPredictor, likelihood: Likelihood, X: Array, offset: Host
) -> tuple[float, float]:
    return _average_of(predictor, lambda m, v: likelihood.response(m + offset, v)[0], X)


def _average_of(
    predictor: LatentPredictor, response: Callable[[Host, Host], Host], X: Array
) -> tuple[float, float]:
    """Return mean and variance of the average of a response to the latent function over rows."""
    latent, variance = (to_host(part) for part in predictor(X))
    below, above = (response(latent + step, variance) for step in (-STEP, STEP))
    _, spread = average(predictor, X, (above - below) / (2.0 * STEP) / len(latent))
    return float(response(latent, variance).mean()), spread


def _mixed(parts: list[tuple[float, list[tuple[float, float]]]]) -> Averages:
    """Return the moments of a mixture, by the law of total variance."""
    share = np.array([weight for weight, _ in parts])
    moments = np.array([own for _, own in parts])
    mean = share @ moments[:, :, 0]
    variance = share @ (moments[:, :, 1] + (moments[:, :, 0] - mean) ** 2)
    return Averages(mean, np.sqrt(variance))


def average(predictor: LatentPredictor, X: Array, weights: Host) -> tuple[float, float]:
    """Return mean and variance of a weighted sum of the latent function over rows.

    With k(x) = k(X_train, x), weights w_i of m rows x_i, and R = root' root:

        mean = k_' b,   variance = sum over i, j of w_i w_j k(x_i, x_j) + extra sum w_i^2 - k_' R k_

    where k_ is the sum over i of w_i k(x_i).
    """
    xp = namespace(X)
    m, w = int(X.shape[0]), like(weights, X)
    theta, mask = predictor.log_parameters[None, :], predictor.mask[None, :]
    cross: Any = 0.0
    prior: Any = 0.0
    for start in range(0, m, ROWS):
        block, own = X[start : min(start + ROWS, m), :], w[start : min(start + ROWS, m)]
        cross = cross + predictor.kernel.cross(theta, predictor.X, block, mask)[0, :, :] @ own
        prior = prior + w @ (predictor.kernel.cross(theta, X, block, mask)[0, :, :] @ own)
    explained = xp.sum((predictor.whitener @ cross) ** 2)
    variance = float(prior - explained) + predictor.extra * float(np.sum(weights**2))
    # Rounding may leave a hair below zero where the average is known.
    return float(predictor.coefficients @ cross), max(variance, 0.0)
