"""`Projection`: what was learned of one submodel, in a small tuple."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.kernels import Kernel
from gpproj.linalg import Host


class Figures(NamedTuple):
    """The divergences of a submodel from its reference."""

    posterior_kl: float
    projection_error: float
    loo_divergence: float


class Projection(NamedTuple):
    """One submodel's learned parameters, on the model's scale."""

    kernel: Kernel
    """Structure of its covariance."""
    parameters: Host
    """Log parameters of the kernel for all d inputs, then the log extra variance, `(p,)`."""
    inputs: NDArray[np.bool_]
    """Inputs it may use, `(d,)`."""
    active: NDArray[np.bool_]
    """Inputs it does use, `(d,)`: fewer where a submodel on fewer inputs was better."""
    value: float
    """The objective at its minimum, prior included."""
    error: float
    """The criterion it is compared by."""
    converged: bool
    evaluations: int
    """Values and gradients that it took, all starts together."""
    doubt: float = 0.0
    """By how much the predictions of another optimum with about the same value differ, as a share
    of the variance of the reference's own."""
    figures: Figures | None = None
    """All divergences, once they were computed."""


def mask_of(positions: Iterable[int], d: int) -> NDArray[np.bool_]:
    """Return the mask of inputs given by position, `(d,)`."""
    mask = np.zeros(d, dtype=bool)
    mask[list(positions)] = True
    return mask
