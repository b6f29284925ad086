"""What predictions of targets say of their variances and of the latent function.

Everything here is in the user's units, `(n,)` or `(m,)` each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import logit, ndtri

from gpproj.data.checks import above_zero
from gpproj.inference import Marginals
from gpproj.likelihoods import Bernoulli, Gaussian, Likelihood, NegativeBinomial
from gpproj.linalg import Host
from gpproj.reference.moments import numbers_of, vector_of

QUIET = 0.05
"""Quantile of the predicted variances of which half is noise that no input explains. What else a
submodel leaves unexplained is its extra variance, whose sum with the noise is what counts."""

LINK_VARIANCE = 1.0
"""Variance of the latent function of classes: the link's own. A probability alone does not tell how
sure it is."""

LOGIT_STEPS = 12
"""After which the probabilities of the logit link agree to ten digits."""

SMALLEST = 1e-2
"""Variance of the log rate of counts that vary no more than their rate says."""


def usual_variance(likelihood: Likelihood, known: Marginals, mean: Host) -> Host:
    """Return variances of targets whose mean alone is predicted, `(m,)`.

    For numbers, the mean of those that are known. For counts `m + a m^2`, where a is not negative
    and such that the known variances, or the squares of errors, have this sum.
    """
    if likelihood.kind.has_classes:
        return np.full(mean.shape, LINK_VARIANCE)
    if likelihood.kind.is_scaled:
        return np.full(mean.shape, float(np.mean(known.variance)))
    excess = float(np.sum(known.variance - known.mean) / np.sum(known.mean**2))
    return mean + max(excess, 0.0) * mean**2


def latent_of(likelihood: Likelihood, predicted: Marginals) -> Marginals:
    """Return moments of the latent function that predict the targets so.

    For numbers, the noise is taken away from the variance. For classes with the probit link and
    the variance v, `p = Phi(m / (1 + v)^1/2)`; with the logit link g,
    `m <- m + (1 + pi v / 8)^1/2 (g(p) - g(E[1 / (1 + e^-f)]))` until both are the same. For counts
    with the dispersion a, `E y = exp(m + v/2)` and `var y = E y + (E y)^2 ((1 + a) exp(v) - 1)`.
    """
    mean, variance = predicted
    if isinstance(likelihood, Gaussian):
        return Marginals(mean, np.maximum(variance - likelihood.variance, 0.0))
    if likelihood.kind.has_classes:
        if not (isinstance(likelihood, Bernoulli) and likelihood.link == "logit"):
            return Marginals(ndtri(mean) * np.sqrt(1.0 + variance), variance)
        widening, found = np.sqrt(1.0 + np.pi * variance / 8.0), np.zeros_like(mean)
        for _ in range(LOGIT_STEPS):
            step = widening * (logit(mean) - logit(likelihood.response(found, variance)[0]))
            found = found + step
        return Marginals(found, variance)
    own = likelihood.dispersion if isinstance(likelihood, NegativeBinomial) else 0.0
    excess = np.maximum(variance - mean, 0.0) / mean**2
    spread = np.maximum(np.log1p(excess) - np.log1p(own), SMALLEST)
    return Marginals(np.log(mean) - 0.5 * spread, spread)


def normal_of(quantiles: Any, rows: int, least: float | None = None) -> tuple[Host, Host]:
    """Return mean and standard deviation of the normal distributions that fit quantiles best.

    Quantiles of separate models may cross. The deviation of such a row is `least`, or where that
    is not given a small quantile of those of the other rows.
    """
    if not isinstance(quantiles, Mapping) or len(quantiles) < 2:
        raise ValueError("quantiles must map two probabilities or more to predictions")
    levels = np.array([float(level) for level in quantiles])
    if np.any((levels <= 0.0) | (levels >= 1.0)):
        raise ValueError(f"quantiles must be of probabilities between 0 and 1; saw {levels}")
    values = {name: vector_of(f"quantiles[{name}]", part) for name, part in quantiles.items()}
    for name, part in values.items():
        one_a_row(f"quantiles[{name}]", part, rows)
    design = np.column_stack([np.ones(levels.size), ndtri(levels)])
    centre, sd = np.linalg.lstsq(design, np.stack(list(values.values())), rcond=None)[0]
    if least is None:
        if not np.any(sd > 0.0):
            raise ValueError("quantiles must grow with their probabilities")
        least = float(np.quantile(sd[sd > 0.0], QUIET))
    return centre, np.maximum(sd, least)


def draws_of(samples: Any, rows: int) -> Host:
    """Read draws of the targets, `(s, n)`."""
    drawn = numbers_of("samples", samples)
    if drawn.ndim != 2 or len(drawn) < 2 or drawn.shape[1] != rows:
        raise ValueError(
            f"samples must have two draws at least and a column for each of {rows} rows; "
            f"saw the shape {drawn.shape}"
        )
    return drawn


def means_of(name: str, mean: Any, likelihood: Likelihood, rows: int) -> Host:
    """Read predicted means; probabilities are no closer to 0 and 1 than n rows can tell."""
    centre = vector_of(name, mean)
    if likelihood.kind.has_classes:
        if np.any((centre < 0.0) | (centre > 1.0)):
            raise ValueError(
                f"{name} must hold probabilities of the second class, from 0 to 1; saw values "
                f"from {centre.min():g} to {centre.max():g}"
            )
        return np.clip(centre, 0.5 / rows, 1.0 - 0.5 / rows)
    if not likelihood.kind.is_scaled and np.any(centre <= 0.0):
        raise ValueError(f"{name} must hold expected counts, which are positive")
    return centre


def variances_of(name: str, variance: Any, mean: Host) -> Host:
    """Read variances, or a single one for all rows."""
    values = numbers_of(name, variance)
    if values.ndim:
        values = vector_of(name, values)
        one_a_row(name, values, mean.size)
    found = np.broadcast_to(values, mean.shape).astype(np.float64)
    if np.any(found <= 0.0):
        raise ValueError(f"{name} must be positive; saw {found.min():g}")
    return found


def per_exposure(predicted: Marginals, exposure: Any, rows: int) -> Marginals:
    """Return moments of counts that leave the same spread of the rate at an exposure of one.

    The spread follows from `(var y - E y) / (E y)^2`, in which the exposure cancels.
    """
    time = vector_of("exposure", exposure)
    one_a_row("exposure", time, rows)
    above_zero(time, "exposure")
    mean, variance = predicted
    return Marginals(mean / time, mean / time + np.maximum(variance - mean, 0.0) / time**2)


def one_a_row(name: str, values: Host, rows: int) -> None:
    """Refuse what has not one value for each row."""
    if values.shape != (rows,):
        raise ValueError(f"{name} must have one value for each of {rows} rows; saw {values.size}")
