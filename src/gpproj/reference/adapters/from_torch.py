"""Models of GPyTorch and BoTorch as references."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from gpproj.inference import NUGGET
from gpproj.kernels import Kernel
from gpproj.likelihoods import Gaussian
from gpproj.linalg import Host, to_host
from gpproj.reference.adapters.common import (
    common_noise,
    latent_moments,
    libraries,
    with_names,
)
from gpproj.reference.base import Refit
from gpproj.reference.moment_making import moment_reference
from gpproj.reference.moments import MomentReference


def from_gpytorch(
    model: Any,
    *,
    kernel: Kernel | None = None,
    feature_names: Sequence[str] | None = None,
    standardize: bool = True,
    nugget: float = NUGGET,
    refit: Refit | None = None,
) -> MomentReference:
    """Make a reference of a trained `gpytorch.models.ExactGP` or `botorch.models.SingleTaskGP`.

    The model is copied and evaluated in double precision; BoTorch's transforms of inputs and its
    standardisation of outcomes are undone, so that everything is in the user's units.

    Parameters
    ----------
    model : gpytorch.models.ExactGP
        Trained, with one output, Gaussian noise that is the same for all rows, and its training
        data.
    feature_names : sequence of str, optional
        Names of the inputs.
    kernel, standardize, nugget, refit
        Described at `gpproj.from_moments`.

    Returns
    -------
    MomentReference
    """
    gpytorch, torch = libraries("from_gpytorch", "gpytorch", "torch")
    if not isinstance(model, gpytorch.models.ExactGP):
        raise TypeError(
            "model must be a gpytorch.models.ExactGP or a botorch.models.SingleTaskGP; "
            f"got {type(model).__name__}"
        )
    if model.train_inputs is None or model.train_targets.ndim != 1:
        raise ValueError("model must have training data with one target for each row")
    own = copy.deepcopy(model).double().eval()
    X = _raw_inputs(own)
    noise = _noise(own, int(X.shape[0]), gpytorch)
    mean, cov, scale, shift = _posterior(own, X, noise, gpytorch, torch)
    return moment_reference(
        with_names(to_host(X), feature_names),
        shift + scale * to_host(own.train_targets),
        Gaussian(noise * scale**2),
        mean,
        cov,
        kernel=kernel,
        standardize=standardize,
        nugget=nugget,
        predict=partial(_predict, own),
        refit=refit,
        source="from_gpytorch",
    )


def _predict(model: Any, new: Any) -> tuple[Host, Host]:
    """Predict the latent function, in the user's units."""
    gpytorch, torch = libraries("from_gpytorch", "gpytorch", "torch")
    rows = torch.as_tensor(np.asarray(new, dtype=np.float64))
    with torch.no_grad(), gpytorch.settings.debug(False):
        found = model.posterior(rows) if hasattr(model, "posterior") else model(rows)
    return to_host(found.mean).reshape(-1), to_host(found.variance).reshape(-1)


def _posterior(
    model: Any, X: Any, noise: float, gpytorch: Any, torch: Any
) -> tuple[Host, Host, float, float]:
    """Return latent mean and covariance at the training inputs, and the scale and mean of y.

    They are computed in the library's units and returned in the user's.
    """
    scale, shift = _outcome_scale(model)
    with torch.no_grad(), gpytorch.settings.debug(False):
        Z = model.train_inputs[0]  # in evaluation mode: transformed
        prior_mean = to_host(model.mean_module(Z))
        K = to_host(model.covar_module(Z).to_dense())
    away, cov = latent_moments(K, noise, to_host(model.train_targets) - prior_mean)
    return shift + scale * (prior_mean + away), scale**2 * cov, scale, shift


def _raw_inputs(model: Any) -> Any:
    """Return the training inputs before any transform of BoTorch."""
    original = getattr(model, "_original_train_inputs", None)
    X = model.train_inputs[0] if original is None else original
    if X.ndim != 2:
        raise ValueError(
            f"model must not be a batch of models; its inputs have {X.ndim} dimensions"
        )
    return X.detach()


def _noise(model: Any, n: int, gpytorch: Any) -> float:
    likelihood = model.likelihood
    noise = getattr(likelihood, "noise", None)
    if noise is None or not isinstance(
        likelihood,
        gpytorch.likelihoods.GaussianLikelihood | gpytorch.likelihoods.FixedNoiseGaussianLikelihood,
    ):
        raise ValueError(
            f"model has the likelihood {type(likelihood).__name__}, which cannot be converted; "
            "gpproj.from_moments takes any latent posterior"
        )
    return common_noise(np.broadcast_to(to_host(noise).reshape(-1), (n,)), "model")


def _outcome_scale(model: Any) -> tuple[float, float]:
    """Return standard deviation and mean that BoTorch has standardised the outcomes with."""
    transform = getattr(model, "outcome_transform", None)
    if transform is None:
        return 1.0, 0.0
    if type(transform).__name__ != "Standardize":
        raise ValueError(
            f"model has the outcome transform {type(transform).__name__}, which cannot be "
            "converted; only Standardize keeps the posterior Gaussian"
        )
    return float(transform.stdvs.reshape(-1)[0]), float(transform.means.reshape(-1)[0])
