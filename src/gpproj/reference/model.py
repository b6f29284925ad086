"""`Reference`: a Gaussian process conditioned on data, as users and projections see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from gpproj.data import Columns, TrainingSet, new_inputs, read_row_groups
from gpproj.inference import (
    Conditioned,
    Latent,
    LeaveOneOut,
    Problem,
    conditioned,
    posterior,
    reference_leave_one_out,
)
from gpproj.kernels import Kernel
from gpproj.likelihoods import Likelihood
from gpproj.linalg import Array, Covariance, Host
from gpproj.prediction import Component, LatentPredictor, Predictive, noise_of
from gpproj.priors import PriorLike
from gpproj.reference.draws import (
    Clusters,
    Draws,
    check_clusters,
    clusters_of,
    integrate,
    weighted_leave_one_out,
)
from gpproj.reference.lanes import Kept
from gpproj.reference.target import Share, Target, target_of

if TYPE_CHECKING:
    import pandas as pd

    from gpproj.optimise import Outcome


@dataclass(frozen=True, eq=False, repr=False)
class Reference(Predictive):
    """A Gaussian process on all inputs, conditioned on data.

    Made by `gpproj.condition`, `gpproj.fit` or `gpproj.sample`, not by hand. Everything public is
    in the user's units; the fields are on the model's scale, which is standardised if that was
    asked for.
    """

    training: TrainingSet
    """Data on the model's scale."""
    problem: Problem
    """Kernel, likelihood and data on the model's scale, constant inputs out; the values of the
    hyperparameters are in the draws."""
    draws: Draws
    """Hyperparameters on the model's scale: one vector, or posterior draws."""
    recipe: Callable[..., Reference] | None
    """Makes a reference of other data in the same way; None if it is not known."""
    optimum: Outcome | None = None
    """How the search for the hyperparameters ended, start by start; None if there was none."""
    prior: PriorLike = None
    """Prior of the hyperparameters, where they were learned."""
    posterior: Any = None
    """Posterior draws of the hyperparameters as ArviZ data, in the user's units; None when they are
    fixed values."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the inputs: column names of a frame, or x0, x1, ..."""
        return self.training.feature_names

    @property
    def kernel(self) -> Kernel:
        """The kernel: variances in squared units of `y`, length-scales per standardised input.

        Of posterior draws, the one at the mean of the logarithms.
        """
        return self.model_kernel.scaled(self._variance_unit)

    @property
    def likelihood(self) -> Likelihood:
        """The likelihood, with a noise variance in squared units of `y`.

        Of posterior draws, with the means of its parameters.
        """
        return self.latent.likelihood.scaled(self._variance_unit)

    @property
    def noise_variance(self) -> float:
        """Noise variance, in squared units of `y`; the mean of posterior draws.

        Classes and counts have none, and neither has their reference: that is an AttributeError.
        """
        return noise_of(self.likelihood)

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """Class labels of the target, the one whose probability is predicted last; or None."""
        return self.training.classes

    @property
    def latent_mean(self) -> Array:
        """Posterior mean of the latent function at the training inputs, `(n,)`."""
        return self.training.scaling.restore_mean(self.latent.latent_mean)

    @property
    def latent_cov(self) -> Covariance:
        """Posterior covariance of the latent function at the training inputs, `(n, n)`.

        An object with `diagonal`, `product` (or `@`), `solve` and `log_determinant`; NumPy
        functions take it as the matrix it stands for.
        """
        return self.latent.latent_cov.scaled(self._variance_unit)

    @property
    def log_marginal_likelihood(self) -> float:
        """Log density of all targets under the prior with `kernel`, in the user's units."""
        jacobian = self.training.n * np.log(self.training.scaling.target_scale)
        return float(self._central.log_evidence - jacobian)

    def loo(self) -> LeaveOneOut:
        """Predict every training target from all the others.

        Hyperparameters that are fixed values are held; posterior draws are weighted anew for every
        target.

        Returns
        -------
        LeaveOneOut
            `mean`, `variance` (of `y`, noise included) and `log_density`, each `(n,)`.
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
        relevance = np.where(self.problem.mask, relevance, 0.0)
        relevance /= max(relevance.max(), np.finfo(float).tiny)
        return pd.Series(relevance, index=list(self.feature_names), name="ard_relevance")

    def refit(self, X: Any, y: Any, exposure: Any = None, row_groups: Any = None) -> Reference:
        """Return a reference of other data, made by the same recipe."""
        if self.recipe is None:
            raise ValueError("this reference does not know how it was made; make another by hand")
        given = {} if exposure is None else {"exposure": exposure}
        found = self.recipe(X, y, **given)
        return found if row_groups is None else found.with_row_groups(row_groups)

    def with_row_groups(self, row_groups: Any) -> Self:
        """Return the same reference with groups of rows that belong together.

        Visits of a patient, say, or days of a month: a model that has seen one of them predicts the
        others too well. Submodels that are learned by predictions of rows that were left out, the
        default, are then compared by predictions from the rows of other groups, and
        `gpproj.validate` keeps groups together in its folds. Rows that are equal in all inputs
        leave together in any case.

        Parameters
        ----------
        row_groups : array, series or list `(n,)`
            Labels of the groups, one a row; None for no groups.

        Examples
        --------
        >>> import gpproj
        >>> X, y = gpproj.datasets.toy_sines(n=40, random_state=0)
        >>> ref = gpproj.fit(X[:, 5:], y).with_row_groups([row // 4 for row in range(40)])
        >>> gpproj.forward_search(ref, 1, progress=False).order
        ('x2',)
        """
        labels = None if row_groups is None else read_row_groups(row_groups, self.training.n)
        training = replace(self.training, row_groups=labels)
        return replace(self, training=training, problem=replace(self.problem, labels=labels))

    def to(self, device: str) -> Reference:
        """Return the same reference on a device of torch, such as "cuda", to compute there.

        It is refitted there too. A reference that was loaded is on the host, wherever it was when
        it was saved.
        """
        training, inducing = self.training.to(device), self.problem.inducing
        if inducing is not None:
            inducing = inducing.on(device, training.X)
        problem = replace(
            self.problem,
            X=training.X,
            y=training.y,
            offset=training.offset,
            inducing=inducing,
        )
        recipe = None if self.recipe is None else partial(self.recipe, device=device)
        return replace(self, training=training, problem=problem, recipe=recipe)

    def on_rows(self, rows: NDArray[np.intp]) -> Reference:
        """Return the reference of some of the rows alone, hyperparameters and scaling held."""
        training, problem = self.training.take(rows), self.problem
        problem = replace(
            problem, X=training.X, y=training.y, offset=training.offset, labels=training.row_groups
        )
        return replace(self, training=training, problem=problem, recipe=None, posterior=None)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Save as a folder for `gpproj.load`; `overwrite` replaces one that was saved before."""
        from gpproj.io import save

        save(self, folder, overwrite=overwrite)

    @property
    def structure(self) -> Kernel:
        """The kernel's structure; the values are in the draws."""
        return self.problem.kernel

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
        if self.draws.count > 1:
            return integrate(self.problem, self.draws)
        return posterior(self.problem, self.draws.parameters[0], self._central)

    @cached_property
    def target(self) -> Target:
        """What projections are held to, on the model's scale."""
        return target_of(self.problem, self.latent)

    def shares(self, clusters: Clusters) -> list[Draws]:
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

    def share(self, draws: Draws) -> Share:
        """Return what the projections of some of the draws are held to."""
        if draws.count == self.draws.count:
            return Share(1.0, self.target, self.latent.likelihood, draws.centre)
        latent = integrate(self.problem, draws)
        target = target_of(self.problem, latent)
        return Share(float(draws.weights.sum()), target, latent.likelihood, draws.centre)

    @cached_property
    def kept(self) -> Kept:
        """What the projections of so many clusters are held to, on a device: made once."""
        return Kept()

    @cached_property
    def fitted_values(self) -> dict[str, Host]:
        """Values of other kernels that were fitted to the latent mean; see `values_for`."""
        return {}

    @cached_property
    def _partitions(self) -> dict[int, list[NDArray[np.intp]]]:
        return {}

    @cached_property
    def _central(self) -> Conditioned:
        return conditioned(self.problem, self.draws.centre)

    @property
    def _variance_unit(self) -> float:
        return float(self.training.scaling.target_scale) ** 2

    @property
    def columns(self) -> Columns:
        """Names and scaling of the inputs."""
        return self.training.columns

    def _read(self, X: Any) -> Array:
        return new_inputs(self.training, X)

    def _components(self) -> Iterator[Component]:
        problem = self.problem
        for parameters, weight in self.draws:
            single = self.draws.count == 1
            given = self._central if single else conditioned(problem, parameters)
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
            told = f"noise sd={np.sqrt(self.noise_variance):.4g}"
        else:
            told = f"likelihood={self.likelihood!r}"
        return (
            f"Reference(n={self.training.n}, inputs={self.training.d}, {drawn}{told}, "
            f"log marginal likelihood={self.log_marginal_likelihood:.2f})"
        )
