"""Processes of tinygp as references."""

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


def from_tinygp(
    gp: Any,
    y: Any,
    *,
    kernel: Kernel | None = None,
    feature_names: Sequence[str] | None = None,
    standardize: bool = True,
    nugget: float = NUGGET,
    refit: Refit | None = None,
) -> MomentReference:
    """Make a reference of a `tinygp.GaussianProcess` and the targets it is conditioned on.

    The process is evaluated in double precision whatever JAX is set to.

    Parameters
    ----------
    gp : tinygp.GaussianProcess
        The prior at the training inputs, as for `gp.condition(y)`: with inputs `(n, d)` or `(n,)`
        and a noise variance (`diag`) that is the same for all rows.
    y : array `(n,)`
    feature_names : sequence of str, optional
        Names of the inputs.
    kernel, standardize, nugget, refit
        Described at `gpproj.from_moments`.

    Returns
    -------
    MomentReference
    """
    tinygp, jax = libraries("from_tinygp", "tinygp", "jax")
    if not isinstance(gp, tinygp.GaussianProcess):
        raise TypeError(f"gp must be a tinygp.GaussianProcess; got {type(gp).__name__}")
    if isinstance(gp.kernel, tinygp.kernels.Conditioned):
        raise ValueError("gp must be the prior at the training inputs, not what gp.condition gave")
    if not isinstance(gp.noise, tinygp.noise.Diagonal):
        raise ValueError(
            f"gp has the noise model {type(gp.noise).__name__}, which cannot be converted; "
            "gpproj.from_moments takes any latent posterior"
        )
    if getattr(gp.X, "ndim", 0) not in (1, 2):
        raise ValueError("gp must have inputs that are one array, (n, d) or (n,)")
    noise = common_noise(gp.noise.diag, "gp")
    target = one_output(y, "y")
    if target.size != gp.num_data:
        raise ValueError(f"gp has {gp.num_data} rows but y has {target.size} values")
    with jax.enable_x64(True):
        own = tinygp.GaussianProcess(
            in_double(gp.kernel),
            in_double(gp.X),
            diag=noise,
            mean=in_double(gp.mean_function),
            solver=tinygp.solvers.DirectSolver,
        )
        mean, cov = own.predict(jax.numpy.asarray(target), own.X, return_cov=True)
    X = np.asarray(gp.X, dtype=np.float64).reshape(target.size, -1)
    return moment_reference(
        with_names(X, feature_names),
        target,
        Gaussian(noise),
        np.asarray(mean),
        np.asarray(cov),
        kernel=kernel,
        standardize=standardize,
        nugget=nugget,
        predict=partial(_predict, on_host(own), target),
        refit=refit,
        source="from_tinygp",
    )


def _predict(gp: Any, y: Host, new: Any) -> tuple[Host, Host]:
    """Predict the latent function."""
    (jax,) = libraries("from_tinygp", "jax")
    rows = np.asarray(new, dtype=np.float64)
    with jax.enable_x64(True):
        points = jax.numpy.asarray(rows[:, 0] if gp.X.ndim == 1 else rows)
        mean, variance = in_double(gp).predict(jax.numpy.asarray(y), points, return_var=True)
    return np.asarray(mean), np.asarray(variance)
