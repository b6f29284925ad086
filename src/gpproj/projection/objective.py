"""What projections minimise and are compared by, batched over candidate submodels.

A lane is one candidate: a mask of the inputs that are in, the log parameters of the kernel and the
log extra variance. Targets with inducing points are handled by `sparse`, the others by `dense`.
"""

from __future__ import annotations

from types import ModuleType

from gpproj.kernels import Kernel, Mask
from gpproj.linalg import Host
from gpproj.projection import dense, sparse
from gpproj.projection.values import Value
from gpproj.reference import Held, Target


def _of(target: Held) -> ModuleType:
    return dense if target.inducing is None else sparse


def posterior_divergence(target: Held, kernel: Kernel, parameters: Host, mask: Mask) -> Value:
    """Return E and its gradient: twice the divergence that the projection minimises.

    Parameters
    ----------
    target : Target or Targets
        What all lanes are held to, or each of them.
    kernel : Kernel
        Structure of the submodel's covariance.
    parameters : array `(b, p)`
        Log parameters of the kernel, then the log extra variance.
    mask : bool array `(b, d)`
        Inputs that are in.
    """
    value: Value = _of(target).posterior_divergence(target, kernel, parameters, mask)
    return value


def relevance_slopes(target: Target, kernel: Kernel, parameters: Host, mask: Mask) -> Host:
    """Return the slope of E in the relevance of every input, in or out, `(b, d)`.

    One evaluation tells for all inputs that are still out how E starts to fall as they enter: a
    hint that sees linear effects best.
    """
    slopes: Host = _of(target).relevance_slopes(target, kernel, parameters, mask)
    return slopes


def negative_evidence(target: Held, kernel: Kernel, parameters: Host, mask: Mask) -> Value:
    """Return -2 log evidence of the submodel, up to a constant, and its gradient.

    With Gaussian noise this is the marginal likelihood with the reference's noise variance: what
    the paper compares the projection with.
    """
    value: Value = _of(target).negative_evidence(target, kernel, parameters, mask)
    return value


def projection_error(target: Held, kernel: Kernel, parameters: Host, mask: Mask) -> Host:
    """Return the predictive divergence by which submodels are compared, `(b,)`.

    delta = KL( N(mu, Sigma) || N(mu', Sigma') ),
    mu' = K_smooth b,   Sigma' = K - K_smooth R K_smooth
    """
    errors: Host = _of(target).projection_error(target, kernel, parameters, mask)
    return errors
