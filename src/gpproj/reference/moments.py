"""`MomentReference`: any model that tells the latent function at the training inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.data import TrainingSet, new_offset, new_target
from gpproj.inference import (
    Latent,
    LeaveOneOut,
    Marginals,
    Observed,
    Sites,
    method_of,
    sites,
)
from gpproj.kernels import Kernel
from gpproj.likelihoods import Likelihood
from gpproj.linalg import Array, DenseCovariance, Host, like, namespace, to_host
from gpproj.prediction import Prediction, log_density_of_response, response_of, returned
from gpproj.reference.base import Reference
from gpproj.reference.conditioning import problem_of
from gpproj.reference.draws import Clusters, Draws
from gpproj.reference.target import Share, Target, target_of
from gpproj.reference.targeted import TargetReference

Predict: TypeAlias = Callable[[Any], tuple[Any, Any]]
"""From new inputs to mean and variance of the latent function, `(m,)` each, in the user's units."""

Refit: TypeAlias = Callable[..., Reference]
"""From other data to a reference of the same kind."""

NODES = 32
"""Of the Gauss-Hermite rule for what a likelihood expects of its derivatives."""


class Shrinkage(NamedTuple):
    """How a covariance S of few draws was made better: `(1 - amount) S + amount mean(S_ii) I`."""

    method: str
    amount: float
    """Between 0 and 1."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MomentReference(TargetReference):
    """A reference that is known by its latent moments at the training inputs, not by a kernel.

    Made by `gpproj.from_moments`, `gpproj.from_draws` and the adapters, not by hand.
    """

    moments: Latent
    """On the model's scale."""
    outside: Predict | None = None
    """Predicts the latent function at new inputs, in the user's units."""
    source: str = "from_moments"
    """The function that made it."""
    shrinkage: Shrinkage | None = None
    """What was done to the covariance of draws; None if nothing was."""

    @property
    def latent(self) -> Latent:  # given, not computed
        """The latent posterior at the training inputs, on the model's scale."""
        return self.moments

    @cached_property
    def target(self) -> Target:
        """What projections are held to, on the model's scale: with the nugget of all submodels."""
        latent, n = self.latent, self.training.n
        cov, eps = latent.latent_cov.dense(), self.problem.nugget_variance(latent.likelihood)
        noisy = DenseCovariance(cov + like(eps * np.eye(n), cov))
        return target_of(self.problem, latent._replace(latent_cov=noisy))

    @property
    def known_parameters(self) -> None:
        """Log parameters of the kernel: there is none."""
        return None

    def predict(self, X: Any) -> Prediction:
        """Predict the latent function by the function that came with the reference."""
        if self.outside is None:
            raise ValueError(
                f"this reference cannot predict: it has no predict function, see {self.source}"
            )
        mean, variance = self.outside(X)
        found = Prediction(vector_of("predict", mean), vector_of("predict", variance))
        if found.mean.shape != found.variance.shape:
            raise ValueError(
                "predict must return a mean and a variance of the same length; saw "
                f"{found.mean.shape} and {found.variance.shape}"
            )
        return Prediction(*(returned(like(part, self.training.X), X) for part in found))

    def predict_response(self, X: Any, exposure: Any = None) -> Prediction:
        """Predict the target, noise included; as for other references."""
        latent = self.predict(X)
        offset = new_offset(self.columns, exposure, int(latent.mean.shape[0]))
        return response_of(self.likelihood, latent, None if offset is None else to_host(offset))

    def log_density(self, X: Any, y: Any, exposure: Any = None) -> Array:
        """Return the log predictive density of each new target, `(m,)`; as for other references."""
        latent = self.predict(X)
        rows = int(latent.mean.shape[0])
        offset = new_offset(self.columns, exposure, rows)
        target = new_target(self.columns, y, rows)
        if self.columns.kind.is_scaled:
            target = self.columns.scaling.restore_mean(target)
        return log_density_of_response(
            self.likelihood, target, latent, None if offset is None else to_host(offset)
        )

    def loo(self) -> LeaveOneOut:
        """Predict every training target from all the others, by removing its site alone."""
        latent, problem = self.latent, self.problem
        marginals = Marginals(to_host(latent.latent_mean), to_host(latent.latent_cov.diagonal()))
        found = sites.leave_one_out(problem.observed(latent.likelihood), marginals, latent.sites)
        mean, variance = self.columns.response(found.mean, found.variance)
        density = self.training.scaling.restore_log_density(found.log_density)
        return LeaveOneOut(*(like(part, problem.X) for part in (mean, variance, density)))

    def on_rows(self, rows: NDArray[np.intp]) -> Self:
        """Return the reference of some of the rows, whose moments were given all the rows."""
        latent = self.latent
        xp = namespace(latent.latent_mean)
        where = xp.asarray(rows, device=latent.latent_mean.device)
        moments = Latent(
            xp.take(latent.latent_mean, where),
            latent.latent_cov.take(rows),
            latent.likelihood,
            Sites(latent.sites.precision[rows], latent.sites.shift[rows]),
        )
        return self._with(self.training.take(rows), moments=moments, recipe=None)

    @property
    def count(self) -> int:
        """One: draws were reduced to moments."""
        return 1

    @property
    def facts(self) -> tuple[Any, ...]:
        """The moments, for a fingerprint."""
        return to_host(self.latent.latent_mean), to_host(self.latent.latent_cov.diagonal())

    @property
    def loo_obstacle(self) -> str:
        """Why single rows cannot be left out of it without refits."""
        return f"needs the hyperparameters of the reference, and one made by {self.source} has none"

    def shares(self, clusters: Clusters) -> Sequence[None]:
        """Return the one cluster that there is."""
        if clusters not in (None, 1):
            raise ValueError(
                "clusters are for references with hyperparameter draws of gpproj.sample; "
                f"this one was made by {self.source}"
            )
        return [None]

    def share(self, draws: Draws | None) -> Share:
        """Return what its projections are held to."""
        return Share(1.0, self.target, self.latent.likelihood, np.empty(0))

    @property
    def _no_recipe(self) -> str:
        return (
            "this reference cannot be refitted, which folds need: it has no refit function, "
            f"see {self.source}"
        )

    def __repr__(self) -> str:
        """Name the sizes, the likelihood and where it comes from."""
        return (
            f"MomentReference(n={self.training.n}, inputs={self.training.d}, "
            f"likelihood={self.likelihood!r}, made by {self.source})"
        )


def moment_reference(
    training: TrainingSet,
    structure: Kernel,
    likelihood: Likelihood,
    latent_mean: Host,
    latent_cov: Host,
    *,
    nugget: float,
    outside: Predict | None,
    recipe: Refit | None,
    source: str,
    own_sites: Sites | None = None,
    shrinkage: Shrinkage | None = None,
) -> MomentReference:
    """Return a reference of moments in the user's units.

    Parameters
    ----------
    training : TrainingSet
    structure : Kernel
        Of submodels.
    likelihood : Likelihood
        In the user's units.
    latent_mean : array `(n,)`
    latent_cov : array `(n, n)`
    nugget : float
    outside, recipe : callables or None
    source : str
        The function that makes it.
    own_sites : Sites, optional
        That stand for the likelihood, where they are known.
    shrinkage : Shrinkage, optional
    """
    scaling = training.scaling
    unit = float(scaling.target_scale) ** 2
    own = likelihood.scaled(1.0 / unit)
    problem = problem_of(training, structure, own, method_of("auto", own), nugget)
    mean = (latent_mean - scaling.target_mean) / scaling.target_scale
    cov = latent_cov / unit
    observed = problem.observed(own)
    found = own_sites or _expected_sites(own, observed, mean, np.diagonal(cov))
    X = training.X
    latent = Latent(like(mean, X), DenseCovariance(like(cov, X)), own, found)
    reference = MomentReference(
        training=training,
        problem=problem,
        recipe=recipe,
        moments=latent,
        outside=outside,
        source=source,
        shrinkage=shrinkage,
    )
    try:
        _ = reference.target.log_det
    except np.linalg.LinAlgError:
        raise ValueError(
            "latent_cov must be a covariance matrix: it has negative eigenvalues"
        ) from None
    return reference


def _expected_sites(
    likelihood: Likelihood, observed: Observed, mean: Host, variance: Host
) -> Sites:
    """Return sites that stand for the likelihood under the marginals of the latent function.

    tau = max(0, -E[d2 log p(y | f)]),   nu = tau mu + E[d log p(y | f)];

    Gaussian noise has its own sites whatever the marginals.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    f = mean + np.sqrt(variance) * nodes[:, None]
    y = np.broadcast_to(observed.y, f.shape)
    derivatives = likelihood.derivatives(y, f + observed.offset)
    precision = np.maximum(-(weights @ derivatives.second), 0.0)
    shift = precision * mean + weights @ derivatives.first
    return Sites(precision, np.where(precision > 0.0, shift, 0.0))


def floats_of(name: str, values: Any) -> Host:
    """Read an array of finite numbers."""
    if hasattr(values, "dense"):
        values = values.dense()
    try:
        found = (
            to_host(values) if hasattr(values, "dtype") else np.asarray(values, dtype=np.float64)
        )
    except (TypeError, ValueError):
        raise TypeError(f"{name} must hold numbers; saw {type(values).__name__}") from None
    if not np.all(np.isfinite(found)):
        raise ValueError(f"{name} must be finite")
    return found


def vector_of(name: str, values: Any) -> Host:
    """Read an array of finite numbers that has one dimension."""
    found = floats_of(name, values)
    if found.ndim == 2 and 1 in found.shape:
        found = found.reshape(-1)
    if found.ndim != 1:
        raise ValueError(f"{name} must have one dimension; saw the shape {found.shape}")
    return found
