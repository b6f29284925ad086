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
from gpproj.reference.adapters.common import common_noise, one_output, symmetric, with_names
from gpproj.reference.adapters.from_jax import in_double, on_host
from gpproj.reference.conditioning import training_for
from gpproj.reference.fitting import structure_of
from gpproj.reference.moments import MomentReference, Refit, moment_reference


def from_gpjax(
    posterior: Any,
    *,
    feature_names: Sequence[str] | None = None,
    refit: Refit | None = None,
    kernel: Kernel | None = None,
    standardize: bool = True,
    nugget: float = NUGGET,
) -> MomentReference:
    """Make a reference of an exact posterior of GPJax, `model.condition(train_data)`.

    The posterior is evaluated in double precision whatever JAX is set to, with GPJax's own jitter.

    Parameters
    ----------
    posterior : gpjax.conditioning.ExactPosterior
        With one output, Gaussian noise that is the same for all rows, and no `White` kernel.
    feature_names : sequence of str, optional
        Names of the inputs.
    refit : callable, optional
        From other data `(X, y)` to a reference of the same kind, which K-fold validation needs.
    kernel : Kernel, optional
        Structure of the submodels; `Constant() + SquaredExponential()` when left out.
    standardize : bool
        Scale inputs and target inside, for the sake of the submodels.
    nugget : float
        Small independent variance of the latent function.

    Returns
    -------
    MomentReference
    """
    jax, gpjax = _libraries()
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
        mean, cov = np.asarray(latent.mean), symmetric(latent.covariance_matrix)
    X, y = np.asarray(data.X), one_output(data.y, "posterior")
    likelihood = Gaussian(noise)
    return moment_reference(
        training_for(with_names(X, feature_names), y, likelihood, standardize, None),
        structure_of(kernel),
        likelihood,
        mean,
        cov,
        nugget=nugget,
        outside=partial(_predict, on_host(own)),
        recipe=refit,
        source="from_gpjax",
    )


def _predict(posterior: Any, new: Any) -> tuple[Host, Host]:
    """Predict the latent function."""
    jax, _ = _libraries()
    with jax.enable_x64(True):
        rows = jax.numpy.asarray(np.asarray(new, dtype=np.float64))
        found = in_double(posterior)(rows, covariance="diagonal")
        return np.asarray(found.mean), np.asarray(found.variance)


def _libraries() -> tuple[Any, Any]:
    try:
        import gpjax
        import jax
    except ImportError:
        raise ImportError('gpproj.from_gpjax needs gpjax: pip install "gpproj[interop]"') from None
    return jax, gpjax
