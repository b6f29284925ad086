"""Leave-one-out predictions of Gaussian processes and their submodels."""

from __future__ import annotations

from functools import cached_property, partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gpproj.execute import run
from gpproj.inference import LeaveOneOut, Problem, Sites, exact, leave_one_out
from gpproj.inference.approximation import with_diagonal
from gpproj.inference.sites import DensePrior
from gpproj.kernels import Kernel
from gpproj.likelihoods import Likelihood
from gpproj.linalg import Host, one_blas_thread, to_host
from gpproj.priors import free_parameters
from gpproj.projection import (
    GaussianProcessSubmodel,
    Objective,
    ProcessProjector,
    Projection,
    Submodel,
)
from gpproj.projection.conditioning import condition_on_data, condition_prior, submodel_prior
from gpproj.projection.loss import Loss
from gpproj.projection.submodel import Part
from gpproj.reference import GaussianProcessReference
from gpproj.reference.target import target_of
from gpproj.search import SearchPath
from gpproj.validation.deletion import Deletion, PointDeletion, ReducedReference, SampledDeletion
from gpproj.validation.loo import LooPredictor, Predictions, Rows, distinct_subsets
from gpproj.validation.newton import STEP, backtrack, gradients, newton_step


class Prediction(NamedTuple):
    """The prediction of one row by a model that has not seen it, on the model's scale."""

    mean: float
    log_density: float


class SubmodelPredictor(Protocol):
    """Predicts rows that were left out by one submodel."""

    def __call__(self, i: int, reduced: ReducedReference) -> Prediction:
        """Predict row i, given the reference without it."""


class ProcessPredictor(LooPredictor):
    """Leaves rows out of a Gaussian process by deletion, and out of its submodels by projection.

    Parameters
    ----------
    reference : GaussianProcessReference
    projector : ProcessProjector
        The projector of the path.
    path : SearchPath
    held : bool
        Leave hyperparameters where they are, which have seen the row.
    """

    def __init__(
        self,
        reference: GaussianProcessReference,
        projector: ProcessProjector,
        path: SearchPath,
        held: bool,
    ) -> None:
        subsets = distinct_subsets(path)
        log_weights = None
        self._deletion: Deletion
        self._submodels: list[SubmodelPredictor]
        # What all rows share is computed here once, before the workers need it.
        with one_blas_thread():
            if reference.draws.count > 1:
                self._deletion = deletion = SampledDeletion(reference)
                self.k_hat = deletion.k_hat
                draws = [deletion.log_weights[rows] for rows in reference.partition(path.clusters)]
                log_weights = np.stack([np.logaddexp.reduce(weights, axis=0) for weights in draws])
            else:
                self._deletion = PointDeletion(reference, held)
            if log_weights is not None and len(log_weights) > 1:
                submodels = (path.on_subset(subset, path.clusters) for subset in subsets)
                self._submodels = [
                    MixtureSubmodel(reference.problem, submodel, projector.learn, log_weights)
                    for submodel in submodels
                ]
            else:
                self._submodels = [
                    SingleSubmodel(reference, projector, subset.projection, held)
                    for subset in subsets
                ]

    def predict(self, rows: Rows, n_jobs: int | None, progress: bool) -> Predictions:
        """Predict rows by the reference, and then by the submodels."""
        work = partial(_predict_row, self._deletion, self._submodels)
        predicted = run(work, rows.tolist(), n_jobs, "leave-one-out" if progress else None)
        # (m, models, 2), also where there are no rows
        table = np.array(predicted, dtype=np.float64).reshape(
            len(rows), 1 + len(self._submodels), 2
        )
        return Predictions(table[:, :, 0].T, table[:, :, 1].T)


def _predict_row(
    deletion: Deletion, submodels: list[SubmodelPredictor], i: int
) -> list[Prediction]:
    reduced = deletion(i)
    own = Prediction(reduced.mean, reduced.log_density)
    return [own, *(submodel(i, reduced) for submodel in submodels)]


class SingleSubmodel:
    """One projection of the whole reference: its hyperparameters move by a Newton step.

    Parameters
    ----------
    reference : GaussianProcessReference
    projector : ProcessProjector
    projection : Projection
    held : bool
        Leave the hyperparameters where they are.
    """

    def __init__(
        self,
        reference: GaussianProcessReference,
        projector: ProcessProjector,
        projection: Projection,
        held: bool,
    ) -> None:
        if not projector.in_family(projection):
            projector = projector.without_inputs
        self.reference, self.held = reference, held
        self.parameters = projection.parameters
        self.family, self.learn = projector.family, projector.learn
        self.mask: NDArray[np.bool_] = np.asarray(projection.active)
        # Before the workers need it.
        _ = self._held_loo if held else self._hessian

    def __call__(self, i: int, reduced: ReducedReference) -> Prediction:
        """Predict row i, given the reference without it."""
        if self.held and reduced.likelihood == self.reference.latent.likelihood:
            loo = self._held_loo
        else:
            parameters = self.parameters if self.held else self.updated(reduced)
            loo = self._loo(reduced.likelihood, parameters)
        return Prediction(float(loo.mean[i]), float(loo.log_density[i]))

    @cached_property
    def _held_loo(self) -> LeaveOneOut:
        """Predictions of all rows with the hyperparameters held."""
        return self._loo(self.reference.latent.likelihood, self.parameters)

    def _loo(self, likelihood: Likelihood, parameters: Host) -> LeaveOneOut:
        return submodel_loo(
            self.reference, likelihood, self.family.kernel, parameters, self.mask, self.learn
        )

    def updated(self, reduced: ReducedReference) -> Host:
        """Return the parameters after a Newton step towards the projection without a row."""
        loss = Loss(reduced.target, self.family, self.mask[None, :], self.learn)
        lane = np.zeros(1, dtype=np.intp)
        _, gradient = loss(self.parameters[None, :], lane)
        step = newton_step(np.asarray(gradient)[0][self.free], self._hessian)
        return backtrack(
            lambda parameters: float(np.asarray(loss(parameters[None, :], lane)[0])[0]),
            self.parameters,
            self.free,
            step,
            self.family.bounds,
        )

    @cached_property
    def free(self) -> NDArray[np.intp]:
        """Positions of the parameters that can move."""
        return free_parameters(
            self.family.kernel, self.mask, self.parameters, self.family.bounds, STEP
        )

    @cached_property
    def _hessian(self) -> Host:
        loss = Loss(self.reference.target, self.family, self.mask[None, :], self.learn)
        lane = np.zeros(1, dtype=np.intp)
        hessian = gradients(
            lambda parameters: np.asarray(loss(parameters[None, :], lane)[1])[0][self.free],
            self.parameters,
            self.free,
        )
        return 0.5 * (hessian + hessian.T)


class MixtureSubmodel:
    """A mixture of projected clusters, whose weights are those of the draws in each cluster.

    Parameters
    ----------
    problem : Problem
        The problem of the reference.
    submodel : Submodel
    learn : Objective
        How the submodel was learned.
    log_weights : array `(c, n)`
        Weights of the clusters, for each row that is left out.
    """

    def __init__(
        self, problem: Problem, submodel: Submodel, learn: Objective, log_weights: Host
    ) -> None:
        assert isinstance(submodel, GaussianProcessSubmodel)  # those of processes are
        loos = [part_loo(problem, part, learn) for part in submodel.parts]
        self.means = np.stack([to_host(loo.mean) for loo in loos])
        self.densities = np.stack([to_host(loo.log_density) for loo in loos])
        self.log_weights = log_weights

    def __call__(self, i: int, reduced: ReducedReference) -> Prediction:
        """Predict row i."""
        weights = self.log_weights[:, i]
        return Prediction(
            float(np.exp(weights) @ self.means[:, i]),
            float(np.logaddexp.reduce(weights + self.densities[:, i])),
        )


def submodel_loo(
    reference: GaussianProcessReference,
    likelihood: Likelihood,
    kernel: Kernel,
    parameters: Host,
    active: NDArray[np.bool_],
    learn: Objective,
) -> LeaveOneOut:
    """Predict every row by a submodel without it, hyperparameters and sites held."""
    problem = reference.problem
    latent = reference.latent._replace(likelihood=likelihood)
    if problem.is_exact:
        latent = latent._replace(sites=exact.sites_of(problem, likelihood))
    target = target_of(problem, latent)
    if problem.is_exact and target.inducing is None:
        prior = submodel_prior(problem, target, kernel, parameters, active, learn)
        return _exact_loo(problem, prior, latent.sites)
    given = condition_on_data(problem, likelihood, target, kernel, parameters, active, learn)
    return leave_one_out(problem, likelihood, given)


def part_loo(problem: Problem, part: Part, learn: Objective) -> LeaveOneOut:
    """Predict every row by one process of a mixture without it, as `submodel_loo` does."""
    own, likelihood = part.predictor, part.likelihood
    repeats = problem.repeats if learn.rows else None
    if problem.is_exact and repeats is None:
        return exact.leave_one_out(problem.y, own.coefficients, own.whitener)
    X = own.X if repeats is None or not problem.is_exact else own.X[repeats.label, :]
    smooth = own.kernel.evaluate(own.log_parameters[None, :], X, own.mask[None, :])
    K = smooth.value[0, :, :]
    if repeats is None:
        prior = DensePrior(with_diagonal(K, own.extra))
    else:
        equal = repeats.label[:, None] == repeats.label[None, :]
        prior = DensePrior(with_diagonal(K + part.extra * equal, own.extra - part.extra))
    if problem.is_exact:
        return _exact_loo(problem, prior, exact.sites_of(problem, likelihood))
    given = condition_prior(problem, likelihood, prior)
    return leave_one_out(problem, likelihood, given)


def _exact_loo(problem: Problem, prior: DensePrior, sites: Sites) -> LeaveOneOut:
    """Return exact predictions of single rows, whether or not some of them are equal."""
    given = prior.given(sites)
    if given is None:
        raise np.linalg.LinAlgError("the covariance of a submodel is not positive definite")
    precision = given.precision_diagonal()
    return exact.from_precision(to_host(problem.y), given.coefficients, precision)
