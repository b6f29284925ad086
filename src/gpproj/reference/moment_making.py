"""How references of moments are made: units, sites for the likelihood, inducing points."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpproj.data import TrainingSet
from gpproj.inference import Latent, Marginals, Observed, Sites, Sparse, method_of
from gpproj.kernels import Kernel
from gpproj.likelihoods import Likelihood
from gpproj.linalg import Covariance, DenseCovariance, Host, LowRankCovariance, like, to_host
from gpproj.priors import scales
from gpproj.reference.base import Refit
from gpproj.reference.conditioning import (
    check_nugget,
    inducing_of,
    problem_of,
    structure_of,
    training_for,
)
from gpproj.reference.fit_starts import default_starts
from gpproj.reference.log_posterior import LogPosterior
from gpproj.reference.moments import MomentReference, Predict, Shrinkage

MANY, POINTS = 1000, 200
"""Rows above which submodels of predictions have inducing points, and how many at most."""

NODES = 32
"""Nodes of the Gauss-Hermite rule for expected derivatives of a log likelihood."""


def moment_reference(
    X: Any,
    y: Any,
    likelihood: Likelihood,
    latent_mean: Host,
    latent_cov: Host,
    *,
    kernel: Kernel | None,
    exposure: Any = None,
    inference: str | Sparse = "auto",
    standardize: bool,
    nugget: float,
    predict: Predict | None,
    refit: Refit | None,
    source: str,
    sites: Sites | None = None,
    shrinkage: Shrinkage | None = None,
    row_predictions: Marginals | None = None,
) -> MomentReference:
    """Return a reference of moments in the user's units.

    Parameters
    ----------
    X, y, latent_mean, latent_cov, kernel, exposure, standardize, nugget, predict, refit
        Described at `gpproj.from_moments`.
    likelihood : Likelihood
        In the user's units.
    source : str
        Name of the function that makes the reference.
    sites : Sites, optional
        Gaussian sites that stand for the likelihood, where they are known.
    shrinkage : Shrinkage, optional
    row_predictions : Marginals, optional
        Predictions of rows by models that have not seen them. `latent_cov` may then be a vector of
        variances, and submodels may have inducing points.
    """
    check_nugget(nugget)
    structure = structure_of(kernel)
    training = training_for(X, y, likelihood, standardize, exposure)
    scaling = training.scaling
    unit = float(scaling.target_scale) ** 2
    scaled = likelihood.scaled(1.0 / unit)
    problem = problem_of(training, structure, scaled, method_of("auto", scaled), nugget)
    mean = (latent_mean - scaling.target_mean) / scaling.target_scale
    cov = _covariance(training, latent_cov / unit)
    if sites is None:
        found = _expected_sites if row_predictions is None else tilted_sites
        sites = found(problem.observed(scaled), mean, to_host(cov.diagonal()))
    latent = Latent(like(mean, training.X), cov, scaled, sites)
    if row_predictions is not None:
        shifted, spread = row_predictions
        row_predictions = Marginals(
            (shifted - scaling.target_mean) / scaling.target_scale, spread / unit
        )
        sparse = sparse_of(inference, training.n)
        if sparse is not None:
            point = structure.with_log_parameters(
                default_starts(LogPosterior(problem, scales(training), "weak"))[
                    0, : len(structure.parameters(training.d))
                ],
                training.d,
            )
            problem = replace(problem, inducing=inducing_of(sparse, training, point))
    reference = MomentReference(
        training=training,
        problem=problem,
        recipe=refit,
        moments=latent,
        predict_latent=predict,
        source=source,
        shrinkage=shrinkage,
        row_predictions=row_predictions,
    )
    try:
        _ = reference.target.log_det
    except np.linalg.LinAlgError:
        raise ValueError(
            "latent_cov must be a covariance matrix: it has negative eigenvalues"
        ) from None
    return reference


def _covariance(training: TrainingSet, cov: Host) -> Covariance:
    """Return a covariance matrix, or one that is diagonal and given by its variances."""
    if cov.ndim == 1:
        return LowRankCovariance(like(cov, training.X), like(np.zeros((cov.size, 1)), training.X))
    return DenseCovariance(like(0.5 * (cov + cov.T), training.X))


def sparse_of(inference: str | Sparse, n: int) -> Sparse | None:
    """Return the inducing points of submodels of predictions; None for none."""
    if isinstance(inference, Sparse):
        return inference
    if inference != "auto":
        raise ValueError(f'inference must be "auto" or a gpproj.Sparse, got {inference!r}')
    return Sparse(POINTS) if n > MANY else None


def _expected_sites(observed: Observed, mean: Host, variance: Host) -> Sites:
    """Return sites that stand for the likelihood under the marginals of the latent function.

    tau = max(0, -E[d2 log p(y | f)]),   nu = tau mu + E[d log p(y | f)];

    Gaussian noise has its own sites whatever the marginals.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    f = mean + np.sqrt(variance) * nodes[:, None]
    y = np.broadcast_to(observed.y, f.shape)
    derivatives = observed.likelihood.derivatives(y, f + observed.offset)
    precision = np.maximum(-(weights @ derivatives.second), 0.0)
    shift = precision * mean + weights @ derivatives.first
    return Sites(precision, np.where(precision > 0.0, shift, 0.0))


def tilted_sites(observed: Observed, mean: Host, variance: Host) -> Sites:
    """Return the sites that EP has where its cavities are these predictions, N(m, v).

    With the moments m', v' of N(f | m, v) p(y | f),  tau = 1/v' - 1/v,  nu = m'/v' - m/v.
    """
    tilted = observed.likelihood.tilted(observed.y, mean + observed.offset, variance)
    precision = np.maximum(1.0 / tilted.variance - 1.0 / variance, 0.0)
    shift = (tilted.mean - observed.offset) / tilted.variance - mean / variance
    return Sites(precision, np.where(precision > 0.0, shift, 0.0))
