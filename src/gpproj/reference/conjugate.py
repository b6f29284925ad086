"""`sample_linear`: exact posterior draws of a linear model with a conjugate prior."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpproj.data import Missing, positive
from gpproj.likelihoods import Gaussian
from gpproj.linalg import Host, to_host
from gpproj.recipes import Result, remembered
from gpproj.reference.conditioning import training_for
from gpproj.reference.linear import LinearReference, linear_reference
from gpproj.reference.linear_draws import LinearDraws
from gpproj.reference.sampling import check_count, seed_of

SCALES = np.geomspace(1e-2, 1e2, 41)
"""Prior standard deviations of a weight, in units of the noise, that are averaged over."""

SHAPE, RATE = 0.5, 0.005
"""Of the inverse gamma prior of the noise variance of a standardised target: one observation's
worth of a variance of 0.01."""


@remembered("X", "y")
def sample_linear(
    X: Any,
    y: Any,
    draws: int = 400,
    *,
    noise_variance: float | None = None,
    prior_scale: float | None = None,
    missing: Missing = "error",
    random_state: int | np.random.Generator | None = None,
) -> Result[LinearReference]:
    """Draw from the posterior of a linear model with Gaussian noise: exactly, in no time.

    The prior is normal-inverse-gamma on standardised inputs and a standardised target,

        w_j | sigma^2, g ~ N(0, g^2 sigma^2),   sigma^2 ~ InvGamma(1/2, 1/200),

    with a flat prior on the intercept. The scale g of the weights has 41 values from 0.01 to 100,
    equally spaced and equally probable on the log scale: it is averaged over, so that weak signals
    and more inputs than rows are shrunk as they should be. Inputs that are constant have the weight
    zero. The reference knows how to refit itself, which K-fold validation needs.

    Parameters
    ----------
    X : frame or array `(n, d)`
    y : array `(n,)`
    draws : int
        Number of draws.
    noise_variance : float, optional
        Noise variance in squared units of `y`, where it is known.
    prior_scale : float, optional
        A fixed value of g, instead of the average.
    missing : {"error", "drop", "impute", "indicate"}
        What to do about missing cells, as for `gpproj.fit`.
    random_state : int, Generator or None
        Seed of the random numbers, or a generator that one is drawn from; None takes a new one.

    Returns
    -------
    LinearReference

    Examples
    --------
    >>> import gpproj
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 5))
    >>> ref = gpproj.sample_linear(X, 2 * X[:, 3] + rng.standard_normal(100), random_state=0)
    >>> ref.weights.shape, int(ref.weights.mean(axis=0).argmax())
    ((400, 5), 3)
    """
    check_count("draws", draws, 1)
    scales = SCALES if prior_scale is None else np.array([positive("prior_scale", prior_scale)])
    training = training_for(X, y, Gaussian(), True, None, missing=missing)
    noise = None
    if noise_variance is not None:
        noise = (
            positive("noise_variance", noise_variance) / float(training.scaling.target_scale) ** 2
        )
    seed = seed_of(random_state)
    varying = np.flatnonzero(training.varying)
    Z = to_host(training.X)[:, varying]
    rng = np.random.default_rng(seed)
    found = conjugate_draws(Z, to_host(training.y), draws, scales, noise, rng)
    slopes = np.zeros((draws, training.d))
    slopes[:, varying] = found.slopes
    linear = LinearDraws(
        "gaussian", slopes, found.intercept, found.noise, np.full(draws, 1.0 / draws)
    )
    made = linear_reference(training, linear, None, "sample_linear")
    return Result(made, {"random_state": seed})


class Conjugate(NamedTuple):
    """Draws from a normal-inverse-gamma posterior."""

    slopes: Host
    """`(s, d)`."""
    intercept: Host
    """`(s,)`."""
    noise: Host
    """Variances, `(s,)`."""


def conjugate_draws(
    X: Host,
    y: Host,
    draws: int,
    scales: Host,
    noise: float | None,
    random: np.random.Generator,
) -> Conjugate:
    """Draw weights, intercept and noise variance.

    With the centred inputs `X = U D V'` and `u = U'y`, the residual sum of squares and the
    determinant of a scale g are

        Q = |y - U u|^2 + sum_j u_j^2 / (1 + g^2 D_j^2),   log|C| = sum_j log(1 + g^2 D_j^2),

    so that p(g | y) is proportional to |C|^-1/2 (b + Q/2)^-(a + (n-1)/2), sigma^2 is inverse gamma
    with these parameters, and V'w is normal with mean g^2 D u / (1 + g^2 D^2) and variance
    sigma^2 g^2 / (1 + g^2 D^2).

    Parameters
    ----------
    X : array `(n, d)`
    y : array `(n,)`
    draws : int
    scales : array `(g,)`
        Equally probable prior scales of the weights, in units of the noise.
    noise : float or None
        The noise variance, if it is known.
    random : Generator
    """
    n, d = X.shape
    centre, level = X.mean(axis=0), y.mean()
    U, D, Vt = np.linalg.svd(X - centre, full_matrices=False)
    u = U.T @ (y - level)
    rest = float(np.sum((y - level - U @ u) ** 2))
    shrunk = 1.0 + scales[:, None] ** 2 * D**2  # (g, r)
    Q = rest + np.sum(u**2 / shrunk, axis=1)
    shape, rate = SHAPE + 0.5 * (n - 1), RATE + 0.5 * Q
    log_fit = -shape * np.log(rate) if noise is None else -0.5 * Q / noise
    log_probability = log_fit - 0.5 * np.sum(np.log(shrunk), axis=1)
    probability = np.exp(log_probability - log_probability.max())
    chosen = random.choice(len(scales), size=draws, p=probability / probability.sum())
    if noise is None:
        variance = rate[chosen] / random.standard_gamma(shape, size=draws)
    else:
        variance = np.full(draws, noise)
    sd, own = np.sqrt(variance)[:, None], scales[chosen, None]
    free = random.standard_normal((draws, d))
    seen = free @ Vt.T
    mean = own**2 * D * u / shrunk[chosen]
    along = mean + sd * own * seen / np.sqrt(shrunk[chosen])
    # What the rows say nothing about keeps its prior.
    slopes = along @ Vt + sd * own * (free - seen @ Vt)
    intercept = level + sd[:, 0] * random.standard_normal(draws) / np.sqrt(n) - slopes @ centre
    return Conjugate(slopes, intercept, variance)
