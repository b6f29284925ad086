"""Submodels that minimise the predictive divergence, by which they are compared (the ablation)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize

import gpproj
from gpproj.kernels import Evaluation, Kernel
from gpproj.likelihoods import Gaussian
from gpproj.priors import Scales, bounds, parameter_units

Host = NDArray[np.float64]

NUGGET = 1e-4
"""The common nugget, as a fraction of the noise variance."""
EXTRA_LIMITS = (1e-8, 1e2)
"""For the minimiser: the smallest extra variance as a fraction of the noise variance, and the
largest as one of the target's. Kernels have the bounds that they have everywhere in gpproj."""

STARTS = {"smooth": (1.0, 1.0, 0.1), "short": (10.0, 0.1, 1e-5)}
"""Starts of the minimiser beside the ends of the projections: signal variance, length-scale (that
of the smooth one grows with the root of the size) and extra variance, on the standardised scale."""


class Standardised(NamedTuple):
    """Training and test rows, standardised by the training rows."""

    X: Host
    y: Host
    X_test: Host
    y_test: Host
    unit: float
    """Standard deviation of the target, in its own units."""


class Family(NamedTuple):
    """Submodels on some inputs, and what they are held to."""

    kernel: Kernel
    """Structure of their covariance."""
    X: Host
    """`(n, k)`."""
    y: Host
    latent_mean: Host
    """mu, `(n,)`."""
    latent_cov: Host
    """Sigma, `(n, n)`."""
    log_det: float
    """`log|Sigma|`."""
    noise: float
    """sigma^2, the reference's."""


def family_of(
    ref: gpproj.GaussianProcessReference, split: Standardised, inputs: Sequence[int]
) -> Family:
    """Return the submodels of a reference on some of its inputs.

    Parameters
    ----------
    ref : GaussianProcessReference
        Of data that were not standardised inside.
    split : Standardised
    inputs : sequence of int
        Positions.
    """
    return Family(
        kernel=ref.kernel.restricted(inputs, split.X.shape[1]),
        X=np.ascontiguousarray(split.X[:, list(inputs)]),
        y=split.y,
        latent_mean=np.asarray(ref.latent_mean),
        latent_cov=np.asarray(ref.latent_cov),
        log_det=ref.latent_cov.log_determinant(),
        noise=float(ref.noise_variance),
    )


def parameters_of(sub: gpproj.Submodel) -> Host:
    """Return the log parameters of a submodel's kernel, then its log extra variance."""
    assert isinstance(sub, gpproj.GaussianProcessSubmodel)
    kernel: Host = sub.kernel.log_parameters(len(sub.inputs))
    return np.append(kernel, np.log(sub.extra_variance))


def conditioned(family: Family, parameters: Host) -> gpproj.Reference:
    """Return the Gaussian process that predicts as the submodel with these parameters does.

    What the extra variance is to a submodel's prediction of new targets, more noise is to that of
    an ordinary process.
    """
    noise = family.noise + float(np.exp(parameters[-1]))
    kernel = family.kernel.with_log_parameters(parameters[:-1], family.X.shape[1])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*constant in X.*", UserWarning)
        nugget = NUGGET * family.noise / noise
        return gpproj.condition(family.X, family.y, kernel, Gaussian(noise), nugget=nugget)


class Rotated(NamedTuple):
    """A submodel and what it is held to in the eigenvectors of K_smooth: all is diagonal there."""

    smooth: Evaluation
    vectors: Host
    """Q, `(n, n)`."""
    values: Host
    """p: eigenvalues of K_smooth, `(n,)`."""
    extra: float
    diagonal: float
    """e: extra variance and nugget."""
    y: Host
    """`Q'y`; likewise the others."""
    latent_mean: Host
    latent_cov: Host


def rotated(family: Family, parameters: Host) -> Rotated:
    """Diagonalise the covariance at given parameters."""
    mask = np.ones((1, family.X.shape[1]), dtype=bool)
    smooth = family.kernel.evaluate(parameters[None, :-1], family.X, mask)
    values, Q = linalg.eigh(smooth.value[0], driver="evd")
    extra = float(np.exp(parameters[-1]))
    return Rotated(
        smooth=smooth,
        vectors=Q,
        values=np.maximum(values, 0.0),
        extra=extra,
        diagonal=extra + NUGGET * family.noise,
        y=Q.T @ family.y,
        latent_mean=Q.T @ family.latent_mean,
        latent_cov=Q.T @ family.latent_cov @ Q,
    )


def predictive_divergence(parameters: Host, family: Family) -> tuple[float, Host]:
    """Return delta, by which submodels are compared, and its gradient.

        delta = KL( N(mu, Sigma) || N(mu', Sigma') )
        mu' = K_smooth W y,   Sigma' = K_smooth + e I - K_smooth W K_smooth,
        W = (K_smooth + c I)^-1,   c = e + sigma^2

    With r = mu - mu', q = Sigma'^-1 r, a = W y and H = Sigma'^-1 (Sigma' - Sigma - r r') Sigma'^-1:

        2 d delta / d K_smooth = G = c^2 W H W - c (W q a' + a q' W)
        2 d delta / d e = tr(G) + 2 tr(H (I - c W)) + 2 q'a

    because mu' = y - c W y and Sigma' = (e + c) I - c^2 W.

    Parameters
    ----------
    parameters : array `(p,)`
        Log parameters of the kernel, then the log extra variance.
    family : Family
    """
    at = rotated(family, parameters)
    c = at.diagonal + family.noise
    W = 1.0 / (at.values + c)
    fitted = at.values * W  # eigenvalues of I - c W
    variance = at.diagonal + c * fitted
    r = at.latent_mean - fitted * at.y
    S = at.latent_cov + np.outer(r, r)
    q, a = r / variance, W * at.y
    H = np.diag(1.0 / variance) - S / np.outer(variance, variance)
    half = np.outer(W * q, a)
    G = c**2 * np.outer(W, W) * H - c * (half + half.T)
    slope = np.trace(G) + 2.0 * np.diag(H) @ fitted + 2.0 * q @ a
    pulled = at.smooth.pull_back((at.vectors @ G @ at.vectors.T)[None])[0]
    gradient = 0.5 * np.append(pulled, at.extra * slope)
    return _divergence(family, np.diag(S), variance), gradient


def _divergence(family: Family, squares: Host, variance: Host) -> float:
    """Return a divergence from the reference, given the diagonal of Sigma + r r'."""
    terms = squares / variance + np.log(variance) - 1.0
    return 0.5 * float(terms.sum() - family.log_det)


def at_training_rows(family: Family, parameters: Host) -> dict[str, float]:
    """Return what a submodel is at the training rows.

    Parameters
    ----------
    family : Family
    parameters : array `(p,)`

    Returns
    -------
    dict
        `projection_error` (delta) and `posterior_kl`, the divergences; `misfit`, the root mean
        square of mu' - mu; `residual`, the mean square of mu' - y in units of the noise variance,
        which is near zero where the targets are interpolated; `extra_variance`, and the `shortest`
        length-scale.
    """
    at = rotated(family, parameters)
    prior = at.values + at.diagonal
    shrunk = prior / (prior + family.noise)
    r = at.latent_mean - shrunk * at.y
    posterior = _divergence(family, np.diag(at.latent_cov) + r**2, family.noise * shrunk)
    mean = at.values / (prior + family.noise) * at.y
    scales = [one.kind.is_scale for one in family.kernel.parameters(family.X.shape[1])]
    lengths = parameters[:-1][np.array(scales)]
    return {
        "projection_error": predictive_divergence(parameters, family)[0],
        "posterior_kl": posterior,
        "misfit": float(np.sqrt(np.mean((mean - at.latent_mean) ** 2))),
        "residual": float(np.mean((mean - at.y) ** 2) / family.noise),
        "extra_variance": at.extra,
        "shortest": float(np.exp(lengths.min())),
    }


def minimise(family: Family, ends: Mapping[str, Host]) -> tuple[Host, str]:
    """Return the parameters with the smallest predictive divergence, and where they were reached.

    Parameters
    ----------
    family : Family
    ends : mapping of arrays `(p,)`
        Parameters to start from by name; there are two more starts, `STARTS`.
    """
    size = family.X.shape[1]
    units = Scales(np.ones(size), 1.0, 1.0)
    box = bounds(family.kernel, units)
    lower = np.append(box.lower, np.log(EXTRA_LIMITS[0] * family.noise))
    upper = np.append(box.upper, np.log(EXTRA_LIMITS[1]))
    starts = dict(ends)
    for name, (signal, length, extra) in STARTS.items():
        length *= np.sqrt(size) if name == "smooth" else 1.0
        values = parameter_units(family.kernel, units).typical(0.1, signal, signal, length)
        starts[name] = np.append(values, np.log(extra))
    found = {
        name: optimize.minimize(
            predictive_divergence,
            np.clip(start, lower, upper),
            args=(family,),
            method="L-BFGS-B",
            jac=True,
            bounds=optimize.Bounds(lower, upper),
            options={"maxiter": 500, "maxcor": 20},
        )
        for name, start in starts.items()
    }
    best = min(found, key=lambda name: float(found[name].fun))
    return found[best].x, best
