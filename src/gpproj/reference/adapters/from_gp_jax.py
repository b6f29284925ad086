"""Posteriors of GPJax as references."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from gpproj.inference import NUGGET
from gpproj.kernels import Kernel
from gpproj.likelihoods import Gaussian
from gpproj.linalg import Host
from gpproj.reference.adapters.common import common_noise, libraries, one_output, with_names
from gpproj.reference.adapters.from_jax import in_double, on_host
from gpproj.reference.base import Refit
from gpproj.reference.moment_making import moment_reference
from gpproj.reference.moments import MomentReference


def from_gpjax(
    posterior: Any,
    *,
    kernel: Kernel | None = None,
    feature_names: Sequence[str] | None = None,
    standardize: bool = True,
    nugget: float = NUGGET,
    refit: Refit | None = None,
) -> MomentReference:
    """Make a reference of an exact posterior of GPJax, `model.condition(train_data)`.

    The posterior is evaluated in double precision whatever JAX is set to, with GPJax's own jitter.

    Parameters
    ----------
    posterior : gpjax.conditioning.ExactPosterior
        With one output, Gaussian noise that is the same for all rows, and no `White` kernel.
    feature_names : sequence of str, optional
        Names of the inputs.
    kernel, standardize, nugget, refit
        Described at `gpproj.from_moments`.

    Returns
    -------
    MomentReference
    """
    gpjax, jax = libraries("from_gpjax", "gpjax", "jax")
    from gpjax.conditioning import ExactPosterior, Posterior

    if isinstance(posterior, Posterior) and not isinstance(posterior, ExactPosterior):
        raise ValueError(
            f"posterior is a {type(posterior).__name__}, which cannot be converted: only Gaussian "
            "noise has an exact posterior; gpproj.from_draws takes draws of any latent function"
        )
    if not isinstance(posterior, ExactPosterior):
        raise TypeError(
            "posterior must be what model.condition(train_data) of GPJax returns; "
            f"got {type(posterior).__name__}"
        )
    if posterior.likelihood.num_outputs != 1:
        raise ValueError(f"posterior must have one output; saw {posterior.likelihood.num_outputs}")
    white = gpjax.kernels.White
    parts = jax.tree.leaves(posterior.prior.kernel, is_leaf=lambda part: isinstance(part, white))
    if any(isinstance(part, white) for part in parts):
        raise ValueError("posterior has a White kernel: give that variance to the likelihood")
    with jax.enable_x64(True):
        data = gpjax.Dataset(
            *(in_double(part) for part in (posterior.train_data.X, posterior.train_data.y))
        )
        own = ExactPosterior(in_double(posterior.prior), in_double(posterior.likelihood), data)
        noise = common_noise(own.likelihood.noise_vector(data.n), "posterior")
        latent = own(data.X)
        mean, cov = np.asarray(latent.mean), np.asarray(latent.covariance_matrix)
    return moment_reference(
        with_names(np.asarray(data.X), feature_names),
        one_output(data.y, "posterior"),
        Gaussian(noise),
        mean,
        cov,
        kernel=kernel,
        standardize=standardize,
        nugget=nugget,
        predict=partial(_predict, on_host(own)),
        refit=refit,
        source="from_gpjax",
    )


def _predict(posterior: Any, new: Any) -> tuple[Host, Host]:
    """Predict the latent function."""
    (jax,) = libraries("from_gpjax", "jax")
    with jax.enable_x64(True):
        rows = jax.numpy.asarray(np.asarray(new, dtype=np.float64))
        found = in_double(posterior)(rows, covariance="diagonal")
        return np.asarray(found.mean), np.asarray(found.variance)
