"""References made elsewhere: of moments, or of draws of any latent function."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from gpproj.inference import NUGGET
from gpproj.kernels import Kernel
from gpproj.likelihoods import Gaussian, Likelihood, named_likelihood
from gpproj.linalg import Host
from gpproj.reference.base import Refit
from gpproj.reference.moment_making import moment_reference
from gpproj.reference.moments import (
    MomentReference,
    Predict,
    Shrinkage,
    numbers_of,
    row_count,
    vector_of,
)

ENOUGH = 5
"""Draws for each row above which their covariance is taken as it is."""


def from_moments(
    X: Any,
    y: Any,
    latent_mean: Any,
    latent_cov: Any,
    noise_variance: float | None = None,
    *,
    likelihood: Likelihood | str = "gaussian",
    kernel: Kernel | None = None,
    exposure: Any = None,
    standardize: bool = True,
    nugget: float = NUGGET,
    predict: Predict | None = None,
    refit: Refit | None = None,
) -> MomentReference:
    """Make a reference of any model that tells mean and covariance of its latent function.

    Parameters
    ----------
    X : frame or array `(n, d)`
    y : array `(n,)`
    latent_mean : array `(n,)`
        Posterior mean of the latent function at `X`, in units of `y`, or on the scale of the link.
    latent_cov : array `(n, n)`
        Posterior covariance at `X`.
    noise_variance : float, optional
        Variance of Gaussian noise, in squared units of `y`; other likelihoods have none.
    likelihood : str or gpproj.likelihoods object
        How the target follows from the latent function; described at `gpproj.fit`.
    kernel : Kernel, optional
        Structure of the submodels; `Constant() + SquaredExponential()` when left out.
    exposure : array `(n,)`, optional
        What the rate of each count is multiplied by; the latent function is the log of the rate.
    standardize : bool
        Scale inputs and target inside, for the sake of the submodels.
    nugget : float
        Small independent variance of the latent function, as a fraction of the noise variance;
        it is added to `latent_cov` for projections.
    predict : callable, optional
        A function from new inputs, as they are given to `ref.predict`, to mean and variance of the
        latent function. Without it the reference cannot predict.
    refit : callable, optional
        A function from other data `(X, y)`, and `exposure` if there is one, to a reference of the
        same kind. Without it there is no K-fold validation.

    Returns
    -------
    MomentReference

    Examples
    --------
    >>> import gpproj
    >>> import numpy as np
    >>> X, y = gpproj.datasets.toy_sines(n=40, random_state=0)
    >>> ref = gpproj.fit(X[:, 5:], y)
    >>> same = gpproj.from_moments(
    ...     X[:, 5:], y, ref.latent_mean, ref.latent_cov, ref.noise_variance
    ... )
    >>> gpproj.forward_search(same, 1, progress=False).order
    ('x2',)
    """
    mean, cov = _read_moments(latent_mean, latent_cov, row_count(X))
    return moment_reference(
        X,
        y,
        observation_of(likelihood, noise_variance),
        mean,
        cov,
        kernel=kernel,
        exposure=exposure,
        standardize=standardize,
        nugget=nugget,
        predict=predict,
        refit=refit,
        source="from_moments",
    )


def from_draws(
    X: Any,
    y: Any,
    latent_draws: Any,
    noise_variance: Any = None,
    *,
    likelihood: Likelihood | str = "gaussian",
    kernel: Kernel | None = None,
    exposure: Any = None,
    standardize: bool = True,
    nugget: float = NUGGET,
    predict: Predict | None = None,
    refit: Refit | None = None,
) -> MomentReference:
    """Make a reference of posterior draws of a latent function: of BART, an ensemble, anything.

    With fewer than five draws for each row their covariance is poor, and with fewer than rows it is
    singular: it is then shrunk towards a multiple of the identity by the method of Ledoit and
    Wolf, which `ref.shrinkage` tells.

    Parameters
    ----------
    X : frame or array `(n, d)`
    y : array `(n,)`
    latent_draws : array `(s, n)`
        Draws of the latent function at `X`, in units of `y` or on the scale of the link.
    noise_variance : float or array `(s,)`, optional
        Variance of Gaussian noise, in squared units of `y`; draws of it are averaged.
    likelihood, kernel, exposure, standardize, nugget, predict, refit
        Described at `gpproj.from_moments`.

    Returns
    -------
    MomentReference

    Warns
    -----
    UserWarning
        If the covariance was shrunk.
    """
    draws = _matrix("latent_draws", latent_draws)
    if draws.shape[0] < 2:
        raise ValueError(f"latent_draws must be at least two; saw {draws.shape[0]}")
    noise = noise_variance
    if noise is not None:
        noise = float(np.mean(numbers_of("noise_variance", noise_variance)))
    n = row_count(X)
    if draws.shape[1] != n:
        raise ValueError(
            f"latent_draws must have one column for each of the {n} rows of X; saw {draws.shape[1]}"
        )
    cov, shrinkage = _covariance_of(draws)
    return moment_reference(
        X,
        y,
        observation_of(likelihood, noise),
        draws.mean(axis=0),
        cov,
        kernel=kernel,
        exposure=exposure,
        standardize=standardize,
        nugget=nugget,
        predict=predict,
        refit=refit,
        source="from_draws",
        shrinkage=shrinkage,
    )


def observation_of(likelihood: Likelihood | str, noise_variance: float | None) -> Likelihood:
    """Return the likelihood with its noise variance, or say what is missing or too much."""
    found = named_likelihood(likelihood)
    if isinstance(found, Gaussian):
        if noise_variance is None:
            if likelihood == "gaussian":
                raise ValueError("noise_variance is missing: Gaussian noise has one")
            return found
        return Gaussian(noise_variance)
    if noise_variance is not None:
        raise ValueError(f"noise_variance is for Gaussian noise; {found!r} has its own parameters")
    return found


def _covariance_of(draws: Host) -> tuple[Host, Shrinkage | None]:
    count, n = draws.shape
    if count >= ENOUGH * n:
        return np.cov(draws, rowvar=False), None
    from sklearn.covariance import ledoit_wolf

    cov, amount = ledoit_wolf(draws)
    warnings.warn(
        f"latent_draws: {count} draws are few for {n} rows; their covariance was shrunk towards a "
        f"multiple of the identity by {amount:.2f} (Ledoit and Wolf), and more draws help",
        UserWarning,
        stacklevel=3,
    )
    return np.asarray(cov), Shrinkage("Ledoit-Wolf", float(amount))


def _read_moments(latent_mean: Any, latent_cov: Any, n: int) -> tuple[Host, Host]:
    mean, cov = vector_of("latent_mean", latent_mean), _matrix("latent_cov", latent_cov)
    if mean.shape != (n,):
        raise ValueError(f"latent_mean must have one value for each of {n} rows; saw {mean.shape}")
    if cov.shape != (n, n):
        raise ValueError(f"latent_cov must be {n} x {n}; saw {cov.shape}")
    if np.any(np.diagonal(cov) < 0.0):
        raise ValueError("latent_cov must be a covariance matrix: it has negative variances")
    if not np.allclose(cov, cov.T, rtol=1e-6, atol=1e-8 * float(np.max(np.diagonal(cov)))):
        raise ValueError("latent_cov must be symmetric")
    return mean, cov


def _matrix(name: str, values: Any) -> Host:
    found = numbers_of(name, values)
    if found.ndim != 2:
        raise ValueError(f"{name} must have two dimensions; saw the shape {found.shape}")
    return found
