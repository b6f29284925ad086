"""Intervals of what is predicted: of numbers by their variance, of counts by quantiles."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, gammaincc

from gpproj.likelihoods import Likelihood, NegativeBinomial
from gpproj.linalg import Host, to_host
from gpproj.prediction.mixtures import Mixture

NODES = np.linspace(-6.0, 6.0, 241)
"""Nodes of the integral over the latent function, in standard deviations from its mean."""

WEIGHTS = np.exp(-0.5 * NODES**2) / np.exp(-0.5 * NODES**2).sum()

ROWS = 256
"""New rows at a time: bounds the memory."""

LARGEST = 1e300
"""Counts above this are as good as infinite."""


class _Part(NamedTuple):
    weight: float
    mean: Host
    """Mean of the logarithm of the rate, `(m,)`."""
    sd: Host
    likelihood: Likelihood


def interval(
    model: Mixture, X: Any, level: float = 0.95, exposure: Any = None
) -> tuple[Host, Host]:
    """Return the bounds of an interval that holds new targets with a given probability.

    The interval of numbers is the normal one with the predicted variance; that of counts goes from
    one quantile of their distribution to another.

    Parameters
    ----------
    model : Reference or Submodel
    X : frame or array
        New inputs, m rows.
    level : float
        Probability of the interval.
    exposure : array `(m,)`, optional
        What the rate of each count is multiplied by.

    Returns
    -------
    lower, upper : arrays `(m,)`
    """
    if model.columns.kind.takes_exposure:
        return count_interval(model, X, exposure, level)
    mean, variance = (to_host(part) for part in model.predict_response(X))
    reach = NormalDist().inv_cdf(0.5 + 0.5 * level) * np.sqrt(variance)
    return mean - reach, mean + reach


def count_interval(model: Mixture, X: Any, exposure: Any, level: float) -> tuple[Host, Host]:
    """Return the bounds of the central interval of new counts, `(m,)` each.

    The predictive distribution is a mixture over the components and over the latent function,

        P(y <= k) = sum_c w_c int P(y <= k | f) N(f | m_c, v_c) df,

    with the integral by the trapezoidal rule. A quantile is the smallest k for which it is large
    enough: a count, not below zero. At least `level` of the probability is between the two bounds,
    themselves included.

    Parameters
    ----------
    model : Reference or Submodel
        A model of counts.
    X : frame or array
        New inputs, m rows.
    exposure : array `(m,)` or None
    level : float
        Probability of the interval.
    """
    rows = model._read(X)
    offset = model._offset(exposure, int(rows.shape[0]))
    assert offset is not None  # counts have one
    parts = []
    for weight, predictor, likelihood in model._components():
        mean, variance = predictor(rows)
        parts.append(_Part(weight, to_host(mean) + offset, np.sqrt(to_host(variance)), likelihood))
    bounds = []
    for start in range(0, len(parts[0].mean), ROWS):
        block = slice(start, start + ROWS)
        some = [part._replace(mean=part.mean[block], sd=part.sd[block]) for part in parts]
        bounds.append([_quantile(some, 0.5 + 0.5 * side) for side in (-level, level)])
    lower, upper = np.concatenate(bounds, axis=1)
    return lower, upper


def _quantile(parts: list[_Part], share: float) -> Host:
    """Return the smallest counts k with `P(y <= k) >= share`, `(m,)`."""

    def enough(k: Host) -> NDArray[np.bool_]:
        total = sum(part.weight * _cumulative(part, k) for part in parts)
        return (total >= share) | (k > LARGEST)

    low = np.full(parts[0].mean.shape, -1.0)  # is not enough
    high = np.zeros_like(low)
    while not (done := enough(high)).all():
        low, high = np.where(done, low, high), np.where(done, high, 2.0 * high + 1.0)
    while (wide := high - low > np.maximum(1.0, 1e-9 * high)).any():
        middle = np.where(wide, np.floor(0.5 * (low + high)), high)
        done = enough(middle)
        low, high = np.where(done, low, middle), np.where(done, middle, high)
    return high


def _cumulative(part: _Part, k: Host) -> Host:
    """Return `P(y <= k)` of one component."""
    rate = np.exp(np.minimum(part.mean[:, None] + part.sd[:, None] * NODES, 700.0))
    beyond = k[:, None] + 1.0
    if isinstance(part.likelihood, NegativeBinomial):
        # The incomplete beta function, as the distribution of a ratio of variances.
        below = fdtrc(2.0 * beyond, 2.0 / part.likelihood.dispersion, rate / beyond)
    else:
        below = gammaincc(beyond, rate)
    found: Host = np.einsum("ij,j->i", below, WEIGHTS)  # not by BLAS: each row by itself
    return found
