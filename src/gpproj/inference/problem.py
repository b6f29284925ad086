"""The inputs and outputs of inference that all algorithms share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.data import Repeats, groups_of_distinct_rows, repeats_of
from gpproj.inference.inducing import Inducing
from gpproj.kernels import Kernel
from gpproj.likelihoods import Gaussian, Likelihood
from gpproj.linalg import Array, Covariance, Host, is_numpy, to_host

Method = Literal["exact", "laplace", "ep"]

NUGGET = 1e-4
"""The common nugget as a fraction of the noise variance.

It belongs to the prior of every reference and every submodel. Without it divergences between
near-singular Gaussians are decided by jitter.
"""


@dataclass(frozen=True)
class Problem:
    """Data and structure of a Gaussian process; the values come with each call.

    A lane is one parameter vector, `(p,)`: the log parameters of the kernel, then those of the
    likelihood.

    Parameters
    ----------
    kernel : Kernel
        Gives the structure; its own values are not used.
    X : array `(n, d)`
    y : array `(n,)`
    mask : bool array `(d,)`
        Inputs that are in.
    nugget : float
        Variance of the nugget as a fraction of the noise variance, or of what an observation of
        another likelihood is worth (`Likelihood.unit`).
    likelihood : Likelihood
        Gives the structure; the parameters it learns are not used.
    method : {"exact", "laplace", "ep"}
    offset : array `(n,)`, optional
        Added to the latent function in the likelihood: log exposure and the like.
    inducing : Inducing, optional
        Points that stand for all rows in the covariance, on the model's scale.
    labels : int array `(n,)`, optional
        Groups of rows that leave together when one of them is predicted.
    """

    kernel: Kernel
    X: Array
    y: Array
    mask: NDArray[np.bool_]
    nugget: float = NUGGET
    likelihood: Likelihood = field(default_factory=Gaussian)
    method: Method = "exact"
    offset: Array | None = None
    inducing: Inducing | None = None
    labels: NDArray[np.intp] | None = None

    @property
    def is_exact(self) -> bool:
        """Whether the posterior is Gaussian, with the noise as its sites; else sites are found."""
        return self.method == "exact"

    @property
    def support(self) -> Array:
        """The points that predictions go through, `(n, d)` or `(m, d)`."""
        return self.X if self.inducing is None else self.inducing.Z

    def masks(self, lanes: int) -> NDArray[np.bool_]:
        """Return the mask of every lane, `(b, d)`."""
        return np.broadcast_to(self.mask, (lanes, self.mask.shape[0]))

    def batches(self, lanes: int) -> Iterator[slice]:
        """Split lanes into batches that are evaluated together.

        One matrix at a time stays in the processor's cache; on a device the batch is the point.
        """
        size = 1 if is_numpy(self.X) else max(lanes, 1)
        return (slice(start, start + size) for start in range(0, lanes, size))

    def with_rows_of(self, other: Problem) -> Problem:
        """Return the same problem for the rows of another one."""
        return replace(self, X=other.X, y=other.y, offset=other.offset, labels=other.labels)

    def halves(self, parameters: Host) -> tuple[Host, Host]:
        """Return the kernel's and the likelihood's part of parameters, `(..., p)`."""
        count = parameters.shape[-1] - len(self.likelihood.parameters)
        return parameters[..., :count], parameters[..., count:]

    def likelihood_at(self, parameters: Host) -> Likelihood:
        """Return the likelihood of one parameter vector, `(p,)`."""
        return self.likelihood.with_log_parameters(self.halves(parameters)[1])

    def nugget_variance(self, likelihood: Likelihood) -> float:
        """Return eps, the variance of the nugget."""
        return self.nugget * likelihood.unit(self.observed(likelihood).y)

    def observed(self, likelihood: Likelihood) -> Observed:
        """Return the observations as a likelihood sees them."""
        return Observed(likelihood, *self._host)

    @cached_property
    def repeats(self) -> Repeats | None:
        """Rows that are equal in all inputs, whether these are in or not; None if no two are."""
        return repeats_of(self.X)

    @cached_property
    def row_groups(self) -> tuple[NDArray[np.intp], ...] | None:
        """Distinct rows that leave together, group by group; None if each leaves by itself."""
        return groups_of_distinct_rows(self.labels, self.repeats)

    @cached_property
    def _host(self) -> tuple[Host, Host]:
        y = to_host(self.y)
        return y, np.zeros_like(y) if self.offset is None else to_host(self.offset)


class Observed(NamedTuple):
    """Observations and their likelihood, on the host."""

    likelihood: Likelihood
    y: Host
    """`(n,)`."""
    offset: Host
    """`(n,)`: the likelihood sees `f + offset`."""


class Evidence(NamedTuple):
    """An objective of the hyperparameters, lane by lane, on the host."""

    value: Host
    """`(b,)`; minus infinity in lanes without an answer."""
    gradient: Host
    """`(b, p)` with respect to the log parameters."""


class Sites(NamedTuple):
    """Gaussian factors `exp(nu f - tau f^2 / 2)` that stand for the likelihood."""

    precision: Host
    """tau, `(n,)`, not negative."""
    shift: Host
    """nu, `(n,)`; zero where tau is."""


class Marginals(NamedTuple):
    """Independent Gaussians, one for each observation."""

    mean: Host
    """`(n,)`."""
    variance: Host
    """`(n,)`."""


class Conditioned(NamedTuple):
    """A process given the data: what its predictions are made of."""

    coefficients: Array
    """b, `(n,)`: the predicted mean is `k(x*, X) b`; with inducing points `(m,)`."""
    root: Array
    """`(n, n)`, with `R = root' root`; with inducing points `(m, m)`."""
    log_evidence: float
    sites: Sites
    marginals: Marginals | None = None
    """Marginals of the latent function at the training inputs; None where all is exact."""


class Latent(NamedTuple):
    """The latent function at the training inputs given the data."""

    latent_mean: Array
    """`(n,)`."""
    latent_cov: Covariance
    """`(n, n)`."""
    likelihood: Likelihood
    """The likelihood, with its parameters on the model's scale."""
    sites: Sites
    left_out: Marginals | None = None
    """Predictions of every distinct row given the others, see `inference.left_out`."""


class LeaveOneOut(NamedTuple):
    """Predictions of every `y_i` from all the others, hyperparameters held."""

    mean: Array
    """`(n,)`, of `y_i`: a class probability or a rate for classes and counts."""
    variance: Array
    """`(n,)`, of `y_i` itself: noise included."""
    log_density: Array
    """`(n,)`."""
