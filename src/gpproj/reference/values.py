"""Hyperparameters of a reference for submodels of some structure: its own, or fitted ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.inference import NUGGET, Problem
from gpproj.kernels import Kernel
from gpproj.likelihoods import Gaussian
from gpproj.linalg import Host, one_blas_thread, to_host
from gpproj.priors import scales
from gpproj.reference.fit_starts import default_starts
from gpproj.reference.log_posterior import LogPosterior
from gpproj.reference.targeted import TargetReference

ROWS = 500
"""Rows that are enough to see how fast a mean function varies along each input."""

FLAT = 1e-8
"""Variance of a mean function, over that of the target, below which it varies by rounding."""


class Values(NamedTuple):
    """Log parameters of a kernel, and the inputs that it uses with them."""

    log_parameters: Host
    """`(p,)`."""
    used: NDArray[np.bool_]
    """`(d,)`."""


def values_for(reference: TargetReference, structure: Kernel) -> Values:
    """Return the values of a kernel that are closest to a reference.

    They are its own values, where it has such a kernel. Other references, known by their moments or
    draws, and other kernels get values by a fit to the mean of the latent function, once for each
    structure.

    Parameters
    ----------
    reference : TargetReference
    structure : Kernel
        Structure of the submodels.
    """
    d = reference.training.d
    own, kind = reference.known_parameters, structure.structure(d)
    if own is not None and reference.structure.structure(d) == kind:
        return Values(own, reference.used)
    name = repr(kind)
    if name not in reference.fitted_values:
        reference.fitted_values[name] = _fitted(reference, structure)
    return Values(reference.fitted_values[name], np.asarray(reference.training.varying))


def _fitted(reference: TargetReference, structure: Kernel) -> Host:
    """Return the most plausible values of a kernel for the reference's mean function."""
    mean = to_host(reference.target.latent_mean)
    X = to_host(reference.training.X)
    problem = Problem(
        structure, X, mean, np.asarray(reference.training.varying), NUGGET, Gaussian()
    )
    units = scales(reference.training)
    spread = max(float(np.var(mean)), FLAT * units.spread)
    units = units._replace(level=float(np.mean(mean**2)), spread=spread)
    posterior = LogPosterior(problem, units, "weak").on_some_rows(ROWS)
    with one_blas_thread():
        found = posterior.maximise(default_starts(posterior))
    best: Host = found.x[int(np.argmin(found.value))]
    return best[:-1]
