"""Leave-one-out validation of the submodels along a path, without searching or fitting anew."""

from __future__ import annotations

import math
import warnings
from functools import cached_property, partial, singledispatch
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from gpproj.execute import run
from gpproj.inference import LeaveOneOut, Problem, Sites, exact, leave_one_out
from gpproj.inference.approximation import with_diagonal
from gpproj.inference.sites import DensePrior
from gpproj.kernels import Kernel
from gpproj.likelihoods import Likelihood
from gpproj.linalg import Host, one_blas_thread, to_host
from gpproj.projection import Objective, ProcessProjector, Projection, Submodel
from gpproj.projection.conditioning import condition_on_data, condition_prior, submodel_prior
from gpproj.projection.goal import Goal
from gpproj.projection.submodel import Part
from gpproj.reference import GaussianProcessReference, Reference
from gpproj.reference.target import target_of
from gpproj.search import SearchPath, Subset
from gpproj.validation.folds import leave_one_out_folds, validate_folds
from gpproj.validation.leaving import Leaver, Left, PointLeaver, SampledLeaver
from gpproj.validation.newton import free_parameters, moved, newton_step, slopes
from gpproj.validation.scores import Scores, joined


class Prediction(NamedTuple):
    """Of one observation by a model that has not seen it, on the model's scale."""

    mean: float
    log_density: float


class LeftOut(Protocol):
    """Predicts observations that were left out."""

    def __call__(self, i: int, left: Left) -> Prediction:
        """Predict observation i, given the reference without it."""


class SingleSubmodel:
    """One projection of the whole reference: its hyperparameters move by a Newton step.

    Parameters
    ----------
    path : SearchPath
    found : Projection
        One of its submodels.
    held : bool
        Leave the hyperparameters where they are.
    """

    def __init__(self, path: SearchPath, found: Projection, held: bool) -> None:
        self.reference = cast(GaussianProcessReference, path.reference)
        self.found, self.held = found, held
        projector = cast(ProcessProjector, path.projector)
        projector = projector if projector.is_own(found) else projector.without_inputs
        self.family, self.learn = projector.family, projector.learn
        self.mask: NDArray[np.bool_] = np.asarray(self.found.active)

    def __call__(self, i: int, left: Left) -> Prediction:
        """Predict observation i, given the reference without it."""
        if self.held and left.likelihood == self.reference.latent.likelihood:
            loo = self.unmoved
        else:
            phi = self.found.parameters if self.held else self._moved(left)
            loo = self._loo(left.likelihood, phi)
        return Prediction(float(loo.mean[i]), float(loo.log_density[i]))

    @cached_property
    def unmoved(self) -> LeaveOneOut:
        """All predictions, hyperparameters held."""
        return self._loo(self.reference.latent.likelihood, self.found.parameters)

    def _loo(self, likelihood: Likelihood, parameters: Host) -> LeaveOneOut:
        return submodel_loo(
            self.reference, likelihood, self.family.kernel, parameters, self.mask, self.learn
        )

    def _moved(self, left: Left) -> Host:
        """Return one Newton step towards the projection of the reference without i."""
        goal = Goal(left.target, self.family, self.mask[None, :], self.learn)
        lane = np.zeros(1, dtype=np.intp)
        _, gradient = goal(self.found.parameters[None, :], lane)
        step = newton_step(np.asarray(gradient)[0][self._free], self._hessian)
        return moved(
            lambda phi: float(np.asarray(goal(phi[None, :], lane)[0])[0]),
            self.found.parameters,
            self._free,
            step,
            self.family.bounds,
        )

    @cached_property
    def _free(self) -> NDArray[np.intp]:
        return free_parameters(
            self.family.kernel, self.mask, self.found.parameters, self.family.bounds
        )

    @cached_property
    def _hessian(self) -> Host:
        goal = Goal(self.reference.target, self.family, self.mask[None, :], self.learn)
        lane = np.zeros(1, dtype=np.intp)
        bend = slopes(
            lambda phi: np.asarray(goal(phi[None, :], lane)[1])[0][self._free],
            self.found.parameters,
            self._free,
        )
        return 0.5 * (bend + bend.T)


class MixedSubmodel:
    """A mixture of projected clusters: its weights are those of the draws in each cluster.

    Parameters
    ----------
    path : SearchPath
    submodel : Submodel
        One of its submodels.
    log_weights : array `(s, n)`
        Of the draws, for each observation that is left out.
    """

    def __init__(self, path: SearchPath, submodel: Submodel, log_weights: Host) -> None:
        reference = cast(GaussianProcessReference, path.reference)
        learn = path.projector.learn
        loos = [part_loo(reference.problem, part, learn) for part in submodel.parts]
        self.means = np.stack([to_host(loo.mean) for loo in loos])
        self.densities = np.stack([to_host(loo.log_density) for loo in loos])
        rows = reference.partition(path.clusters)
        self.log_weights = np.stack([np.logaddexp.reduce(log_weights[own], axis=0) for own in rows])

    def __call__(self, i: int, left: Left) -> Prediction:
        """Predict observation i."""
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
    """Predict every observation by a submodel without it, hyperparameters and sites held."""
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


def _exact_loo(problem: Problem, prior: DensePrior, sites: Sites) -> LeaveOneOut:
    """Return exact predictions of single rows, whether or not some of them are equal."""
    given = prior.given(sites)
    if given is None:
        raise np.linalg.LinAlgError("the covariance of a submodel is not positive definite")
    y = to_host(problem.y)
    precision = given.precision.diagonal()
    away = given.coefficients / precision
    density = 0.5 * (np.log(precision) - given.coefficients * away - math.log(2 * math.pi))
    return LeaveOneOut(y - away, 1.0 / precision, density)


def part_loo(problem: Problem, part: Part, learn: Objective) -> LeaveOneOut:
    """Do the same for one of the processes of a mixture."""
    own, likelihood = part.predictor, part.likelihood
    twins = problem.twins if learn.rows else None
    if problem.is_exact and twins is None:
        return exact.leave_one_out(problem.y, own.coefficients, own.root)
    X = own.X if twins is None or not problem.is_exact else own.X[twins.label, :]
    smooth = own.kernel.evaluate(own.log_parameters[None, :], X, own.mask[None, :])
    K = smooth.value[0, :, :]
    if twins is None:
        prior = DensePrior(with_diagonal(K, own.extra))
    else:
        together = twins.label[:, None] == twins.label[None, :]
        prior = DensePrior(with_diagonal(K + part.extra * together, own.extra - part.extra))
    if problem.is_exact:
        return _exact_loo(problem, prior, exact.sites_of(problem, likelihood))
    given = condition_prior(problem, likelihood, prior)
    return leave_one_out(problem, likelihood, given)


class LooResult(NamedTuple):
    """Leave-one-out predictions, and how far their weights can be trusted."""

    scores: Scores
    """Of the best submodels of each size."""
    along: Scores | None
    """Of those along the path, where some are others."""
    k_hat: Host | None
    """Of each point, where draws were weighted; those above the limit were refitted."""
    refitted: NDArray[np.intp]


@singledispatch
def validate_loo(
    reference: Reference,
    path: SearchPath,
    points: NDArray[np.intp],
    held: bool,
    refit: bool,
    n_jobs: int | None,
    progress: bool,
) -> LooResult:
    """Predict single observations by the reference and the submodels without them.

    Parameters
    ----------
    reference : Reference
    path : SearchPath
    points : int array `(m,)`
        Observations to predict.
    held : bool
        Leave learned hyperparameters where they are.
    refit : bool
        Refit the reference where the weights of its draws cannot be trusted.
    n_jobs : int or None
    progress : bool
    """
    raise ValueError(f'method="loo" {reference.loo_obstacle}; use "kfold"')


@validate_loo.register(GaussianProcessReference)
def _of_process(
    reference: GaussianProcessReference,
    path: SearchPath,
    points: NDArray[np.intp],
    held: bool,
    refit: bool,
    n_jobs: int | None,
    progress: bool,
) -> LooResult:
    leaver: Leaver
    with one_blas_thread():
        if reference.draws.count > 1:
            leaver = SampledLeaver(reference)
            bad = points[leaver.k_hat[points] > worst_k(reference.draws.count)]
            if bad.size and not refit:
                warn_of_weights(leaver.k_hat[bad], points.size)
                bad = bad[:0]
        else:
            leaver, bad = PointLeaver(reference, held), points[:0]
            if leaver.held:
                _ = leaver.at_centre  # once, before the workers ask for it
        sizes = range(len(path))
        subsets = [path.best_subset(size) for size in sizes]
        subsets += [path.nested_subset(size) for size in sizes if path.is_better(size)]
        models = [_model(path, subset, leaver, held) for subset in subsets]
        good = np.setdiff1d(points, bad, assume_unique=True)
        title = "leave-one-out" if progress else None
        rows = run(partial(_predict, leaver, models), good.tolist(), n_jobs, progress=title)
    scores = _scores(reference, good, rows, 1 + len(models))
    scores, along = of_both(path, scores)
    if bad.size:
        scores, along = with_refits(reference, path, bad, scores, along, n_jobs, progress)
    k_hat = leaver.k_hat if isinstance(leaver, SampledLeaver) else None
    return LooResult(scores, along, k_hat, bad)


def with_refits(
    reference: Reference,
    path: SearchPath,
    bad: NDArray[np.intp],
    scores: Scores,
    along: Scores | None,
    n_jobs: int | None,
    progress: bool,
) -> tuple[Scores, Scores | None]:
    """Return predictions together with those of rows that are left out by refits."""
    folds = leave_one_out_folds(reference.training.n, bad)
    refits = validate_folds(reference, path, folds, False, n_jobs, progress)
    best = [one.scores._replace(fold=one.scores.rows) for one in refits]
    nested = [(one.along or one.scores)._replace(fold=one.scores.rows) for one in refits]
    return joined([scores, *best]), None if along is None else joined([along, *nested])


def of_both(path: SearchPath, scores: Scores) -> tuple[Scores, Scores | None]:
    """Return the predictions of the best sets, and of the path where it has others.

    Parameters
    ----------
    path : SearchPath
    scores : Scores
        Of the best set of every size, then of the sets of the path that are others.
    """
    sizes = len(path)
    best = scores.models(np.arange(1 + sizes))
    others = [size for size in range(sizes) if path.is_better(size)]
    if not others:
        return best, None
    lines = np.arange(1 + sizes)
    lines[1 + np.array(others)] = 1 + sizes + np.arange(len(others))
    return best, scores.models(lines)


def warn_of_weights(k_hat: Host, rows: int) -> None:
    """Warn of rows, among so many, whose weights cannot be trusted and that are kept all the same.

    Parameters
    ----------
    k_hat : array
        Of these rows.
    rows : int
        That are predicted.
    """
    warnings.warn(
        f"the weights of {k_hat.size} of {rows} rows cannot be trusted (Pareto k up to "
        f"{k_hat.max():.2f}); with refit= these rows would be left out by refits",
        UserWarning,
        stacklevel=5,
    )


def worst_k(draws: int) -> float:
    """Return the largest Pareto k that so many draws can be trusted with.

    >>> worst_k(100), worst_k(4000)
    (0.5, 0.7)
    """
    return min(1.0 - 1.0 / math.log10(draws), 0.7)


def _model(path: SearchPath, subset: Subset, leaver: Leaver, held: bool) -> LeftOut:
    if isinstance(leaver, SampledLeaver) and len(leaver.reference.partition(path.clusters)) > 1:
        return MixedSubmodel(path, path.on_subset(subset, path.clusters), leaver.log_weights)
    model = SingleSubmodel(path, subset.projection, held)
    _ = model.unmoved if held else model._hessian  # once, before the workers ask for it
    return model


def _predict(leaver: Leaver, models: list[LeftOut], i: int) -> list[Prediction]:
    left = leaver(i)
    own = Prediction(left.mean, left.log_density)
    return [own, *(model(i, left) for model in models)]


def _scores(reference: Reference, points: NDArray[np.intp], rows: list[Any], models: int) -> Scores:
    columns, y = reference.training.columns, to_host(reference.training.y)
    means = np.array([[one.mean for one in row] for row in rows]).reshape(len(rows), models).T
    density = np.array([[one.log_density for one in row] for row in rows])
    return Scores(
        points,
        points,
        to_host(columns.response(y[points], 0.0)[0]),
        to_host(columns.response(means, 0.0)[0]),
        to_host(columns.scaling.restore_log_density(density.reshape(len(rows), models).T)),
    )
