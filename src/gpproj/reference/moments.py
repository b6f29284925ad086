"""`MomentReference`: any model whose latent function has known moments at the training inputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.data import new_offset, new_target, taken
from gpproj.data.checks import finite, vector
from gpproj.data.frames import read
from gpproj.inference import (
    Latent,
    LeaveOneOut,
    Marginals,
    Sites,
)
from gpproj.inference.sites import leave_one_out
from gpproj.linalg import (
    Array,
    Covariance,
    DenseCovariance,
    Host,
    LowRankCovariance,
    like,
    to_host,
)
from gpproj.prediction import (
    MixedResponses,
    Part,
    Prediction,
    noise_of,
    returned,
)
from gpproj.reference.base import LeftOutRows, Reference
from gpproj.reference.draws import Clusters, Draws
from gpproj.reference.target import Cluster, Target, target_of
from gpproj.reference.targeted import TargetReference

Predict: TypeAlias = Callable[[Any], tuple[Any, Any]]
"""A function from new inputs to mean and variance of the latent function, `(m,)` each."""


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
    predict_latent: Predict | None = None
    """The function that predicts the latent function at new inputs, in the user's units."""
    source: str = "from_moments"
    """The function that made it."""
    shrinkage: Shrinkage | None = None
    """What was done to the covariance of draws; None if nothing was."""
    row_predictions: Marginals | None = None
    """Predictions of every row by a model that has not seen it, `(n,)` each, on the model's scale:
    of the target of Gaussian noise, noise included, else of the latent function. None where rows
    are left out of the moments."""

    @property
    def remedy(self) -> str:
        """What may help if it is too sure of itself or overfits."""
        alone = self.row_predictions is not None
        return "other variances or quantiles, or another model" if alone else "another model"

    @property
    def latent(self) -> Latent:  # given, not computed
        """The latent posterior at the training inputs, on the model's scale."""
        return self.moments

    @cached_property
    def target(self) -> Target:
        """What projections are compared with, on the model's scale, with the nugget."""
        latent, repeats = self.latent, self.problem.repeats
        predicted = self.row_predictions
        if predicted is not None and repeats is not None:
            mean, variance = (repeats.total(part) / repeats.count for part in predicted)
            if self.problem.is_exact:  # of the mean target of equal rows, whose noise is averaged
                noise = noise_of(latent.likelihood)
                variance = variance - noise * (1.0 - 1.0 / repeats.count)
            predicted = Marginals(mean, variance)
        latent = latent._replace(left_out=predicted)
        return target_of(self.problem, latent._replace(latent_cov=self._with_nugget()))

    def _with_nugget(self) -> Covariance:
        latent = self.latent
        cov, eps = latent.latent_cov, self.problem.nugget_variance(latent.likelihood)
        if isinstance(cov, LowRankCovariance):
            return LowRankCovariance(cov.noise + eps, cov.factor)
        matrix = cov.dense()
        return DenseCovariance(matrix + like(eps * np.eye(self.training.n), matrix))

    @property
    def known_parameters(self) -> None:
        """Log parameters of the kernel: there is none."""
        return None

    def predict(self, X: Any) -> Prediction:
        """Predict the latent function by the function that came with the reference."""
        if self.predict_latent is None:
            raise ValueError(
                f"this reference cannot predict: it has no predict function, see {self.source}"
            )
        mean, variance = self.predict_latent(X)
        found = Prediction(vector_of("predict", mean), vector_of("predict", variance))
        if found.mean.shape != found.variance.shape:
            raise ValueError(
                "predict must return a mean and a variance of the same length; saw "
                f"{found.mean.shape} and {found.variance.shape}"
            )
        return Prediction(*(returned(like(part, self.training.X), X) for part in found))

    def predict_response(self, X: Any, exposure: Any = None) -> Prediction:
        """Predict the target, noise included, as every `Predictive` does."""
        return self.respond(X, exposure).moments()

    def log_density(self, X: Any, y: Any, exposure: Any = None) -> Array:
        """Return the log density of each new target, as every `Predictive` does."""
        found = self.respond(X, exposure)
        target = new_target(self.columns, y, int(found.parts[0].latent.mean.shape[0]))
        if self.columns.kind.is_scaled:
            target = self.columns.scaling.restore_mean(target)
        return found.log_density(target)

    def respond(self, X: Any, exposure: Any = None) -> MixedResponses:
        """Predict the targets of new rows once; described at `Predictive`."""
        latent = self.predict(X)
        return MixedResponses(
            [Part(1.0, latent, self.likelihood)], self._log_exposure(exposure, latent)
        )

    def _log_exposure(self, exposure: Any, latent: Prediction) -> Host | None:
        found = new_offset(self.columns, exposure, int(latent.mean.shape[0]))
        return None if found is None else to_host(found)

    def loo(self) -> LeaveOneOut:
        """Predict every training target from all the others, by removing its site alone.

        References of predictions have them already. It is an error where the latent variance of a
        row is not below that of its site, as it is of every Gaussian process.
        """
        latent, problem = self.latent, self.problem
        if self.row_predictions is not None:
            return self._given_loo(self.row_predictions)
        marginals = Marginals(to_host(latent.latent_mean), to_host(latent.latent_cov.diagonal()))
        if np.any(latent.sites.precision * marginals.variance >= 1.0):
            raise ValueError(
                f"no row can be left out of this reference, made by {self.source}: its latent "
                "variance is not below that of its noise, as a Gaussian process's is"
            )
        found = leave_one_out(problem.observed(latent.likelihood), marginals, latent.sites)
        mean, variance = self.columns.response(found.mean, found.variance)
        density = self.training.scaling.restore_log_density(found.log_density)
        return LeaveOneOut(*(like(part, problem.X) for part in (mean, variance, density)))

    def _given_loo(self, predicted: Marginals) -> LeaveOneOut:
        problem, scaling = self.problem, self.training.scaling
        if problem.is_exact:
            y = to_host(problem.y)
            square = (y - predicted.mean) ** 2 / predicted.variance
            density = -0.5 * (square + np.log(2.0 * np.pi * predicted.variance))
            mean, variance = self.columns.response(predicted.mean, predicted.variance)
        else:
            latent, observed = Prediction(*predicted), problem.observed(self.latent.likelihood)
            parts = [Part(1.0, latent, self.latent.likelihood)]
            responses = MixedResponses(parts, observed.offset)
            mean, variance = responses.moments()
            density = to_host(responses.log_density(observed.y))
        found = (mean, variance, scaling.restore_log_density(density))
        return LeaveOneOut(*(like(part, problem.X) for part in found))

    def left_out_rows(self) -> LeftOutRows | None:
        """Return what `loo` does, with rows that belong together left out together.

        None where the sites of rows cannot be removed from the moments. Predictions that were given
        are as they are.
        """
        if self.row_predictions is not None:
            return self.loo(), None
        found = self.target.left_out
        return super().left_out_rows() if found is not None and found.separable else None

    @property
    def learned_noise(self) -> float | None:
        """Noise variance, where there is one; that of predictions is made up."""
        return None if self.row_predictions is not None else super().learned_noise

    def on_rows(self, rows: NDArray[np.intp]) -> Self:
        """Return the reference of some of the rows, whose moments were given all the rows."""
        latent = self.latent
        moments = Latent(
            taken(latent.latent_mean, rows),
            latent.latent_cov.take(rows),
            latent.likelihood,
            Sites(latent.sites.precision[rows], latent.sites.shift[rows]),
        )
        predicted = self.row_predictions
        if predicted is not None:
            predicted = Marginals(predicted.mean[rows], predicted.variance[rows])
        return self._with(
            self.training.take(rows), moments=moments, recipe=None, row_predictions=predicted
        )

    @property
    def count(self) -> int:
        """One: draws were reduced to moments."""
        return 1

    def refit(self, X: Any, y: Any, exposure: Any = None, row_groups: Any = None) -> Reference:
        """Return a reference of other data; its function is given row groups if it takes them."""
        if row_groups is None or not self._predicts_groups:
            return super().refit(X, y, exposure, row_groups)
        assert self.recipe is not None  # it was looked at
        given = {} if exposure is None else {"exposure": exposure}
        found = self.recipe(X, y, row_groups=row_groups, **given)
        return found if found.training.row_groups is not None else found.with_row_groups(row_groups)

    def with_row_groups(self, row_groups: Any) -> Self:
        """Return the same reference with groups of rows; described at `Reference`.

        Predictions of rows, where it has any, must be by models without the group of the row.
        """
        if self.source == "from_estimator" and row_groups is not None:
            raise ValueError(
                "row_groups: every row has to be predicted without its group; give them to "
                "from_estimator"
            )
        return super().with_row_groups(row_groups)

    @property
    def _predicts_groups(self) -> bool:
        """Whether the function that makes another reference takes row groups."""
        if self.recipe is None:
            return False
        return "row_groups" in inspect.signature(self.recipe).parameters

    @property
    def facts(self) -> tuple[Any, ...]:
        """The moments and the predictions of rows, for a fingerprint."""
        moments = to_host(self.latent.latent_mean), to_host(self.latent.latent_cov.diagonal())
        return moments + tuple(self.row_predictions or ())

    @property
    def loo_obstacle(self) -> str:
        """Why single rows cannot be left out of it without refits."""
        return f"needs the hyperparameters of the reference, and one made by {self.source} has none"

    def clustered_draws(self, clusters: Clusters) -> Sequence[None]:
        """Return the one cluster that there is."""
        if clusters not in (None, 1):
            raise ValueError(
                "clusters are for references with hyperparameter draws of gpproj.sample; "
                f"this one was made by {self.source}"
            )
        return [None]

    def cluster_of(self, draws: Draws | None) -> Cluster:
        """Return what its projections are compared with."""
        return Cluster(1.0, self.target, self.latent.likelihood, np.empty(0))

    @property
    def _no_recipe(self) -> str:
        return (
            "this reference cannot be refitted, which folds need: it has no refit function, "
            f"see {self.source}"
        )

    def __repr__(self) -> str:
        """Name the sizes, the likelihood and where it comes from."""
        return (
            f"MomentReference(n={self.training.n}, inputs={len(self.column_names)}, "
            f"likelihood={self.likelihood!r}, made by {self.source})"
        )


def row_count(X: Any) -> int:
    """Return the number of rows of a frame, an array or a list."""
    shape = getattr(X, "shape", None)
    return int(shape[0]) if shape else len(X)


def numbers_of(name: str, values: Any) -> Host:
    """Read an array of finite numbers, whatever its shape."""
    found = read(values, name)
    finite(found, name)
    return to_host(found)


def vector_of(name: str, values: Any) -> Host:
    """Read an array of finite numbers that has one dimension, or a single column."""
    return to_host(vector(numbers_of(name, values), name))
