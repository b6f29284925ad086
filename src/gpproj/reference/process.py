"""`GaussianProcessReference`: a Gaussian process conditioned on data, with its hyperparameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from gpproj.data import TrainingSet
from gpproj.inference import (
    Conditioned,
    Latent,
    LeaveOneOut,
    conditioned,
    posterior,
    reference_leave_one_out,
)
from gpproj.kernels import Kernel
from gpproj.linalg import Host
from gpproj.prediction import Component, LatentPredictor, Mixture
from gpproj.priors import PriorLike, scales
from gpproj.reference.draws import (
    Clusters,
    Draws,
    check_clusters,
    clusters_of,
    conditioned_draws,
    integrate,
    weighted_leave_one_out,
)
from gpproj.reference.target import Cluster, Target, target_of
from gpproj.reference.targeted import TargetReference

if TYPE_CHECKING:
    import pandas as pd

    from gpproj.optimise import Outcome

KEPT = 2**25
"""Numbers, of the processes at all draws together, that are kept for further predictions: a quarter
of a gigabyte."""

AT_BOUND = 1e-3
"""Distance of a log hyperparameter from its bound that counts as none."""


class Computed(NamedTuple):
    """Results of a reference's draws that were computed before it was saved."""

    latent: Latent
    central: Conditioned
    """The process given the data, at the centre of the draws."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GaussianProcessReference(TargetReference, Mixture):
    """A Gaussian process on all inputs, conditioned on data, whose hyperparameters are known.

    Made by `gpproj.condition`, `gpproj.fit` or `gpproj.sample`, not by hand.
    """

    draws: Draws
    """Hyperparameters on the model's scale: one vector, or posterior draws."""
    optimum: Outcome | None = None
    """How the search for the hyperparameters ended, start by start; None if there was none."""
    prior: PriorLike = None
    """Prior of the hyperparameters, where they were learned."""
    posterior: Any = None
    """Posterior draws of the hyperparameters as ArviZ data, in the user's units; None when they are
    fixed values."""
    _computed: Computed | None = None
    """What a reference that was loaded was saved with; None if it is to be computed."""

    measures: ClassVar[tuple[str, ...]] = ("ard", "kl", "variance", "permutation")
    has_hyperparameters: ClassVar[bool] = True

    @property
    def remedy(self) -> str:
        """What may help if it is too sure of itself or overfits."""
        return "gpproj.sample or another prior"

    @property
    def kernel(self) -> Kernel:
        """The kernel: variances in squared units of `y`, length-scales per standardised input.

        With posterior draws it is at the mean of the logarithms.
        """
        return self.model_kernel.scaled(self._variance_unit)

    @property
    def log_marginal_likelihood(self) -> float:
        """Log density of all targets under the prior with `kernel`, in the user's units."""
        jacobian = self.training.n * np.log(self.training.scaling.target_scale)
        return float(self._central.log_evidence - jacobian)

    def loo(self) -> LeaveOneOut:
        """Predict every training target from all the others, as every reference does.

        A single vector of hyperparameters stays fixed; posterior draws are weighted anew for every
        target.
        """
        if self.draws.count > 1:
            found = weighted_leave_one_out(self.problem, self.draws)
        else:
            found = reference_leave_one_out(self.problem, self.draws.centre, self._central)
        return LeaveOneOut(
            *self.columns.response(found.mean, found.variance),
            self.training.scaling.restore_log_density(found.log_density),
        )

    def ard_relevance(self) -> pd.Series[float]:
        """Return the inverse length-scale of each input, the largest scaled to one.

        Where several components have length-scales, an input counts by its shortest one; a kernel
        of linear effects alone counts their standard deviations. Constant inputs, and those that
        a fit switched off, have relevance zero. Length-scales tell non-linearity rather than
        predictive relevance.
        """
        import pandas as pd

        d = self.training.d
        parameters = self.model_kernel.parameters(d)
        values = np.exp(self.model_kernel.log_parameters(d))
        scaled = any(parameter.kind.is_scale for parameter in parameters)
        relevance: Host = np.zeros(d)
        for parameter, value in zip(parameters, values, strict=True):
            if parameter.input is None:  # of all inputs alike
                continue
            if parameter.kind.is_scale:
                score = 1.0 / value
            elif not scaled:  # a linear effect counts by its standard deviation
                score = np.sqrt(value)
            else:
                continue
            relevance[parameter.input] = max(relevance[parameter.input], score)
        relevance = np.where(self.used, relevance, 0.0)
        relevance /= max(relevance.max(), np.finfo(float).tiny)
        return pd.Series(relevance, index=list(self.feature_names), name="ard_relevance")

    @property
    def used(self) -> NDArray[np.bool_]:
        """Inputs that act, in most of the draws: those that vary and were not switched off."""
        found = self.problem.mask.copy()
        parameters, off = self.structure.parameters(self.training.d), self.draws.mostly_off
        for place, one in enumerate(parameters):
            if one.input is not None and off[place]:
                found[one.input] = False
        return found

    def at_bounds(self) -> Iterator[tuple[str, str]]:
        """Yield hyperparameters that are at a bound where that is wrong, and at which.

        Those are short length-scales, noise, and the largest dispersion. Long length-scales and
        small effects are those of inputs that are off, a large signal goes with a function that is
        nearly linear, and counts without dispersion are Poisson's.
        """
        if self.optimum is None:
            return
        from gpproj.reference.log_posterior import LogPosterior

        lower, upper = LogPosterior(self.problem, scales(self.training), self.prior).bounds
        best = self.optimum.x[int(np.argmin(self.optimum.value))]
        parameters = self.structure.parameters(self.training.d)
        for place, one in enumerate(parameters):
            short = one.kind.is_scale and best[place] < lower[place] + AT_BOUND
            if not short:
                continue
            if one.input is None:  # of all inputs alike
                yield one.name, "lower"
            elif self.used[one.input]:
                yield f"{one.name} of {self.feature_names[one.input]}", "lower"
        for place, name in enumerate(self.problem.likelihood.parameters.values(), len(parameters)):
            if name == "noise_variance" and best[place] < lower[place] + AT_BOUND:
                yield name, "lower"
            elif best[place] > upper[place] - AT_BOUND:
                yield name, "upper"

    def to(self, device: str) -> GaussianProcessReference:
        """Return the same reference on a device of torch, such as "cuda", to compute there.

        It is refitted there too. A reference that was loaded is on the host, wherever it was when
        it was saved.
        """
        training, inducing = self.training.to(device), self.problem.inducing
        recipe = None if self.recipe is None else partial(self.recipe, device=device)
        moved = self._with(training, recipe=recipe)
        if inducing is None:
            return moved
        problem = replace(moved.problem, inducing=inducing.on(device, training.X))
        return replace(moved, problem=problem)

    def on_rows(self, rows: NDArray[np.intp]) -> Self:
        """Return the reference of some rows alone; hyperparameters and scaling stay fixed."""
        return self._with(self.training.take(rows), recipe=None, posterior=None)

    def _with(self, training: TrainingSet, **changes: Any) -> Self:
        return super()._with(training, **{"_computed": None, **changes})

    def centred(self) -> Self:
        """Return the same reference at the centre of its draws."""
        if self.draws.count == 1:
            return self
        centre = Draws.equal(self.draws.centre[None, :])
        return replace(self, draws=centre, posterior=None, _computed=None)

    @property
    def count(self) -> int:
        """How many draws of the hyperparameters there are."""
        return self.draws.count

    @property
    def facts(self) -> tuple[Any, ...]:
        """The draws, for a fingerprint."""
        return self.draws.parameters, self.draws.weights

    @property
    def loo_obstacle(self) -> str | None:
        """Why single rows cannot be left out of it without refits; None if they can."""
        if self.draws.count == 1 or self.inducing is None:
            return None
        return (
            "of posterior draws needs whole covariance matrices, and this reference has inducing "
            "points"
        )

    @cached_property
    def model_kernel(self) -> Kernel:
        """The kernel on the model's scale."""
        theta, _ = self.problem.halves(self.draws.centre)
        return self.structure.with_log_parameters(theta, self.training.d)

    @property
    def known_parameters(self) -> Host | None:
        """Log parameters of the kernel on the model's scale, where there is one, `(p,)`."""
        return self.model_kernel.log_parameters(self.training.d)

    @cached_property
    def latent(self) -> Latent:
        """The latent posterior at the training inputs, on the model's scale."""
        if self._computed is not None:
            return self._computed.latent
        if self.draws.count > 1:
            return integrate(self.problem, self.draws, self._each)
        return posterior(self.problem, self.draws.parameters[0], self._central)

    @cached_property
    def target(self) -> Target:
        """What projections are compared with, on the model's scale."""
        return target_of(self.problem, self.latent)

    def clustered_draws(self, clusters: Clusters) -> list[Draws]:
        """Return the clusters of the draws; their weights within each sum to its weight.

        Parameters
        ----------
        clusters : int, "draws" or None
        """
        return [self.draws.take(rows) for rows in self.partition(clusters)]

    def partition(self, clusters: Clusters) -> list[NDArray[np.intp]]:
        """Return the positions of the draws of each cluster."""
        check_clusters(clusters)
        count = self.draws.count if clusters == "draws" else (clusters or 1)
        if count not in self._partitions:
            self._partitions[count] = clusters_of(self.problem, self.draws, count)
        return self._partitions[count]

    def cluster_of(self, draws: Draws | None) -> Cluster:
        """Return what the projections of some of the draws are compared with."""
        if draws is None or draws.count == self.draws.count:
            return Cluster(1.0, self.target, self.latent.likelihood, self.draws.centre)
        latent = integrate(self.problem, draws)
        target = target_of(self.problem, latent)
        return Cluster(float(draws.weights.sum()), target, latent.likelihood, draws.centre)

    @cached_property
    def _partitions(self) -> dict[int, list[NDArray[np.intp]]]:
        return {}

    @cached_property
    def _central(self) -> Conditioned:
        if self._computed is not None:
            return self._computed.central
        return conditioned(self.problem, self.draws.centre)

    @property
    def _each(self) -> Iterable[Conditioned]:
        """The process given the data at every draw; kept where that takes little memory."""
        if self.draws.count == 1:
            return [self._central]
        if self.draws.count * self.training.n**2 <= KEPT:
            return self._kept
        return conditioned_draws(self.problem, self.draws)

    @cached_property
    def _kept(self) -> list[Conditioned]:
        return list(conditioned_draws(self.problem, self.draws))

    def __getstate__(self) -> dict[str, Any]:
        """Go elsewhere without what is kept to predict quickly."""
        return {name: value for name, value in self.__dict__.items() if name != "_kept"}

    def _components(self) -> Iterator[Component]:
        problem = self.problem
        for (parameters, weight), given in zip(self.draws, self._each, strict=True):
            theta, _ = problem.halves(parameters)
            likelihood = problem.likelihood_at(parameters)
            predictor = LatentPredictor(
                kernel=self.structure,
                log_parameters=theta,
                mask=problem.mask,
                X=problem.support,
                coefficients=given.coefficients,
                root=given.root,
                extra=problem.nugget_variance(likelihood),
            )
            yield Component(weight, predictor, likelihood)

    def __repr__(self) -> str:
        """Name the sizes, the likelihood and the evidence."""
        drawn = f"draws={self.draws.count}, " if self.draws.count > 1 else ""
        if self.training.kind.is_scaled:
            model = f"noise sd={np.sqrt(self.noise_variance):.4g}"
        else:
            model = f"likelihood={self.likelihood!r}"
        sizes = f"n={self.training.n}, inputs={len(self.column_names)}"
        return (
            f"GaussianProcessReference({sizes}, {drawn}{model}, "
            f"log marginal likelihood={self.log_marginal_likelihood:.2f})"
        )
