"""References made elsewhere: any model that tells the latent function at the training inputs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.data import TrainingSet, new_offset, new_target
from gpproj.inference import (
    NUGGET,
    Latent,
    LeaveOneOut,
    Marginals,
    Observed,
    Sites,
    method_of,
    sites,
)
from gpproj.kernels import Kernel
from gpproj.likelihoods import Gaussian, Likelihood, named_likelihood
from gpproj.linalg import Array, DenseCovariance, Host, like, namespace, to_host
from gpproj.prediction import Prediction, log_density_of_response, response_of, returned
from gpproj.reference.conditioning import check_nugget, problem_of, training_for
from gpproj.reference.draws import Clusters, Draws
from gpproj.reference.fitting import structure_of
from gpproj.reference.model import Reference
from gpproj.reference.target import Target, target_of

if TYPE_CHECKING:
    import pandas as pd

Predict: TypeAlias = Callable[[Any], tuple[Any, Any]]
"""From new inputs to mean and variance of the latent function, `(m,)` each, in the user's units."""

Refit: TypeAlias = Callable[..., Reference]
"""From other data to a reference of the same kind."""

NODES = 32
"""Of the Gauss-Hermite rule for what a likelihood expects of its derivatives."""

ENOUGH = 5
"""Draws for each row above which their covariance is taken as it is."""


class Shrinkage(NamedTuple):
    """How a covariance S of few draws was made better: `(1 - amount) S + amount mean(S_ii) I`."""

    method: str
    amount: float
    """Between 0 and 1."""


@dataclass(frozen=True, eq=False, repr=False)
class ForeignReference(Reference):
    """A reference that is known by its latent moments at the training inputs, not by a kernel.

    Made by `gpproj.from_moments`, `gpproj.from_draws` and the adapters, not by hand.
    """

    moments: Latent | None = None
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
        assert self.moments is not None  # whoever makes one gives them
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

    @property
    def kernel(self) -> Kernel:
        """Not known: an AttributeError."""
        raise self._unknown("kernel")

    @property
    def log_marginal_likelihood(self) -> float:
        """Not known: an AttributeError."""
        raise self._unknown("log marginal likelihood")

    def ard_relevance(self) -> pd.Series[float]:
        """Not known: an AttributeError."""
        raise self._unknown("length-scales")

    def predict(self, X: Any) -> Prediction:
        """Predict the latent function by the function that came with the reference."""
        if self.outside is None:
            raise ValueError(
                f"this reference cannot predict: it has no predict function, see {self.source}"
            )
        mean, variance = self.outside(X)
        found = Prediction(_vector("predict", mean), _vector("predict", variance))
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

    def on_rows(self, rows: NDArray[np.intp]) -> ForeignReference:
        """Return the reference of some of the rows, whose moments were given all the rows."""
        training, latent = self.training.take(rows), self.latent
        problem = replace(
            self.problem,
            X=training.X,
            y=training.y,
            offset=training.offset,
            labels=training.row_groups,
        )
        xp = namespace(latent.latent_mean)
        where = xp.asarray(rows, device=latent.latent_mean.device)
        moments = Latent(
            xp.take(latent.latent_mean, where),
            latent.latent_cov.take(rows),
            latent.likelihood,
            Sites(latent.sites.precision[rows], latent.sites.shift[rows]),
        )
        return replace(self, training=training, problem=problem, moments=moments, recipe=None)

    def to(self, device: str) -> ForeignReference:
        """Not offered: make it anew of arrays that live there."""
        raise ValueError(
            f"a reference made by {self.source} stays where it is; give it arrays there"
        )

    def refit(self, X: Any, y: Any, exposure: Any = None, row_groups: Any = None) -> Reference:
        """Return a reference of other data, by the function that came with this one."""
        if self.recipe is None:
            raise ValueError(
                "this reference cannot be refitted, which folds need: it has no refit function, "
                f"see {self.source}"
            )
        return super().refit(X, y, exposure, row_groups)

    def partition(self, clusters: Clusters) -> list[Any]:
        """Return the one cluster that there is."""
        if clusters not in (None, 1):
            raise ValueError(
                "clusters are for references with hyperparameter draws of gpproj.sample; "
                f"this one was made by {self.source}"
            )
        return super().partition(None)

    def _components(self) -> NoReturn:
        raise self._unknown("Gaussian process behind it")

    def _unknown(self, what: str) -> AttributeError:
        return AttributeError(f"a reference made by {self.source} has no known {what}")

    def __repr__(self) -> str:
        """Name the sizes, the likelihood and where it comes from."""
        return (
            f"ForeignReference(n={self.training.n}, inputs={self.training.d}, "
            f"likelihood={self.likelihood!r}, made by {self.source})"
        )


def from_moments(
    X: Any,
    y: Any,
    latent_mean: Any,
    latent_cov: Any,
    noise_variance: float | None = None,
    *,
    likelihood: Any = "gaussian",
    exposure: Any = None,
    predict: Predict | None = None,
    refit: Refit | None = None,
    kernel: Kernel | None = None,
    standardize: bool = True,
    nugget: float = NUGGET,
) -> Reference:
    """Make a reference of any model that tells mean and covariance of its latent function.

    Parameters
    ----------
    X : frame or array `(n, d)`
    y : array `(n,)`
    latent_mean : array `(n,)`
        Posterior mean of the latent function at `X`, in units of `y`, or on the scale of the link.
    latent_cov : array `(n, n)`
        Posterior covariance at `X`.
    noise_variance : float, optional
        Of Gaussian noise, in squared units of `y`; other likelihoods have none.
    likelihood : str or gpproj.likelihoods object
    exposure : array `(n,)`, optional
        Of counts: what each rate is multiplied by; the latent function is the log of the rate.
    predict : callable, optional
        From new inputs, as they are given to `ref.predict`, to mean and variance of the latent
        function. Without it the reference cannot predict.
    refit : callable, optional
        From other data to a reference of the same kind. Without it there is no K-fold validation.
    kernel : Kernel, optional
        Structure of the submodels; `Constant() + SquaredExponential()` when left out.
    standardize : bool
        Scale inputs and target inside, for the sake of the submodels.
    nugget : float
        Small independent variance of the latent function, added to `latent_cov` for projections.

    Returns
    -------
    Reference

    Examples
    --------
    >>> import gpproj
    >>> import numpy as np
    >>> X, y = gpproj.datasets.toy_sines(n=40, random_state=0)
    >>> ref = gpproj.fit(X[:, 5:], y)
    >>> same = gpproj.from_moments(
    ...     X[:, 5:], y, ref.latent_mean, ref.latent_cov, ref.noise_variance
    ... )
    >>> gpproj.forward_search(same, 1, progress=False).order
    ('x2',)
    """
    observation = observation_of(likelihood, noise_variance)
    check_nugget(nugget)
    structure = structure_of(kernel)
    training = training_for(X, y, observation, standardize, exposure)
    mean, cov = _read_moments(latent_mean, latent_cov, training.n)
    return foreign_reference(
        training,
        structure,
        observation,
        mean,
        cov,
        nugget=nugget,
        outside=predict,
        recipe=refit,
        source="from_moments",
    )


def from_draws(
    X: Any,
    y: Any,
    latent_draws: Any,
    noise_variance: Any = None,
    *,
    likelihood: Any = "gaussian",
    exposure: Any = None,
    predict: Predict | None = None,
    refit: Refit | None = None,
    kernel: Kernel | None = None,
    standardize: bool = True,
    nugget: float = NUGGET,
) -> Reference:
    """Make a reference of posterior draws of a latent function: of BART, an ensemble, anything.

    With fewer than five draws for each row their covariance is poor, and with fewer than rows it is
    singular: it is then shrunk towards a multiple of the identity by the method of Ledoit and
    Wolf, which `ref.shrinkage` tells.

    Parameters
    ----------
    X : frame or array `(n, d)`
    y : array `(n,)`
    latent_draws : array `(s, n)`
        Draws of the latent function at `X`, in units of `y` or on the scale of the link.
    noise_variance : float or array `(s,)`, optional
        Of Gaussian noise, in squared units of `y`; draws of it are averaged.
    likelihood, exposure, predict, refit, kernel, standardize, nugget
        As for `from_moments`.

    Returns
    -------
    Reference

    Warns
    -----
    UserWarning
        If the covariance was shrunk.
    """
    draws = _matrix("latent_draws", latent_draws)
    if draws.shape[0] < 2:
        raise ValueError(f"latent_draws must be at least two; saw {draws.shape[0]}")
    noise = (
        None
        if noise_variance is None
        else float(np.mean(_floats("noise_variance", noise_variance)))
    )
    observation = observation_of(likelihood, noise)
    check_nugget(nugget)
    structure = structure_of(kernel)
    training = training_for(X, y, observation, standardize, exposure)
    if draws.shape[1] != training.n:
        raise ValueError(
            f"latent_draws must have one column for each of the {training.n} rows of X; "
            f"saw {draws.shape[1]}"
        )
    cov, shrinkage = _covariance_of(draws)
    return foreign_reference(
        training,
        structure,
        observation,
        draws.mean(axis=0),
        cov,
        nugget=nugget,
        outside=predict,
        recipe=refit,
        source="from_draws",
        shrinkage=shrinkage,
    )


def foreign_reference(
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
) -> ForeignReference:
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
    count = len(structure.parameters(training.d))
    none = np.append(np.zeros(count), own.log_parameters)
    reference = ForeignReference(
        training,
        problem,
        Draws.equal(none[None, :]),
        recipe,
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


def observation_of(likelihood: Any, noise_variance: float | None) -> Likelihood:
    """Return the likelihood with its noise variance, or say what is missing or too much."""
    found = named_likelihood(likelihood)
    if isinstance(found, Gaussian):
        if noise_variance is None:
            if likelihood == "gaussian":
                raise ValueError("noise_variance is missing: Gaussian noise has one")
            return found
        return Gaussian(noise_variance)
    if noise_variance is not None:
        raise ValueError(f"noise_variance is for Gaussian noise; {found!r} has its own parameters")
    return found


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


def _covariance_of(draws: Host) -> tuple[Host, Shrinkage | None]:
    count, n = draws.shape
    if count >= ENOUGH * n:
        return np.cov(draws, rowvar=False), None
    from sklearn.covariance import ledoit_wolf

    cov, amount = ledoit_wolf(draws)
    warnings.warn(
        f"latent_draws: {count} draws are few for {n} rows; their covariance was shrunk towards a "
        f"multiple of the identity by {amount:.2f} (Ledoit and Wolf), and more draws help",
        UserWarning,
        stacklevel=3,
    )
    return np.asarray(cov), Shrinkage("Ledoit-Wolf", float(amount))


def _read_moments(latent_mean: Any, latent_cov: Any, n: int) -> tuple[Host, Host]:
    mean, cov = _vector("latent_mean", latent_mean), _matrix("latent_cov", latent_cov)
    if mean.shape != (n,):
        raise ValueError(f"latent_mean must have one value for each of {n} rows; saw {mean.shape}")
    if cov.shape != (n, n):
        raise ValueError(f"latent_cov must be {n} x {n}; saw {cov.shape}")
    if np.any(np.diagonal(cov) < 0.0):
        raise ValueError("latent_cov must be a covariance matrix: it has negative variances")
    if not np.allclose(cov, cov.T, rtol=1e-6, atol=1e-8 * float(np.max(np.diagonal(cov)))):
        raise ValueError("latent_cov must be symmetric")
    return mean, 0.5 * (cov + cov.T)


def _floats(name: str, values: Any) -> Host:
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


def _vector(name: str, values: Any) -> Host:
    found = _floats(name, values)
    if found.ndim == 2 and 1 in found.shape:
        found = found.reshape(-1)
    if found.ndim != 1:
        raise ValueError(f"{name} must have one dimension; saw the shape {found.shape}")
    return found


def _matrix(name: str, values: Any) -> Host:
    found = _floats(name, values)
    if found.ndim != 2:
        raise ValueError(f"{name} must have two dimensions; saw the shape {found.shape}")
    return found
