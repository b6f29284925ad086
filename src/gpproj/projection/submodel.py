"""`Submodel`: the small model that a projection returns, and the one that is a Gaussian process."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from gpproj.data import Columns, new_inputs
from gpproj.inference import Problem
from gpproj.kernels import Kernel
from gpproj.likelihoods import Likelihood
from gpproj.linalg import Array, is_numpy, namespace
from gpproj.notebook import card
from gpproj.prediction import Component, LatentPredictor, Mixture, noise_of
from gpproj.projection.conditioning import (
    condition_on_data,
    conditioned_together,
    conditioning_rows,
)
from gpproj.projection.objective import Objective
from gpproj.projection.projections import Divergences, Projection
from gpproj.reference import Cluster, Reference, Targets


class Part(NamedTuple):
    """The submodel of one cluster of the reference's draws, on the model's scale."""

    weight: float
    predictor: LatentPredictor
    likelihood: Likelihood
    """The cluster's."""
    extra: float
    """Extra variance."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Submodel(Mixture):
    """A model on some of the inputs that predicts as the reference does.

    Made by `gpproj.project` and by searches, not by hand: a `GaussianProcessSubmodel`, or a
    `LinearSubmodel` of a linear reference. It keeps what prediction needs, and the reference until
    all divergences from it are known. Everything public is in the user's units.
    """

    inputs: tuple[str, ...]
    """Names of its inputs, in the order they were given: levels of a column are inputs each."""
    lost: Divergences
    """All divergences from the reference."""
    converged: bool
    """Whether the optimisation ended at an optimum."""
    evaluations: int
    """Values and gradients that the optimisation took."""
    data_columns: Columns
    """Names and scaling of all inputs of the reference."""
    problems: tuple[str, ...] = ()
    """What may be wrong with it, in sentences; empty if nothing was seen."""

    @property
    def posterior_kl(self) -> float:
        """The divergence from the reference's posterior, which the paper's projection minimises."""
        return self.lost["posterior_kl"]

    @property
    def projection_error(self) -> float:
        """The divergence from the reference of what it predicts at the training rows: the paper's.

        It is computed when it is asked for first, and takes the cube of the number of rows.
        """
        return self.lost["projection_error"]

    @property
    def loo_divergence(self) -> float:
        """The divergence between predictions of single rows from the others, summed over the rows.

        Not known for linear submodels.
        """
        return self.lost["loo_divergence"]

    @property
    @abstractmethod
    def likelihood(self) -> Likelihood:
        """The likelihood, with a noise variance in squared units of `y`."""

    @property
    @abstractmethod
    def extra_variance(self) -> float:
        """What the dropped inputs explained, as a variance in squared units of `y`."""

    @property
    @abstractmethod
    def clusters(self) -> int:
        """How many models the submodel is a mixture of."""

    @property
    @abstractmethod
    def _loss_text(self) -> str:
        """What was lost, for `repr`."""

    @property
    def noise_variance(self) -> float:
        """Noise variance, in squared units of `y`.

        Classes and counts have none: that is an AttributeError.
        """
        return noise_of(self.likelihood)

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """Class labels of the target, the one whose probability is predicted last; or None."""
        return self.columns.classes

    @property
    def columns(self) -> Columns:
        """Names and scaling of all inputs of the reference."""
        return self.data_columns

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns that it needs: those that its inputs are made of."""
        return self.columns.columns_of(self.inputs)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Save as a folder for `gpproj.load`; `overwrite` replaces one that was saved before."""
        from gpproj.io.saving import save

        save(self, folder, overwrite=overwrite)

    def to_python(self, file: str | Path, *, overwrite: bool = False) -> None:
        """Write a file of Python that predicts as this submodel does, with NumPy alone.

        The file is for where gpproj is not: it can be read, and imported. Its `predict`,
        `predict_response` and `predict_interval` take frames, mappings of names to columns and
        arrays of the submodel's inputs, and give what those of the submodel do. Bounds of counts
        above 20 000 are infinite, and t distributed noise has no intervals there.

        Parameters
        ----------
        file : path
            Its name must be one that Python can import, as `model.py`.
        overwrite : bool
            Replace a file that exists.
        """
        from gpproj.io.export import to_python

        to_python(self, file, overwrite=overwrite)

    def _read(self, X: Any) -> Array:
        return new_inputs(self.columns, X, self.inputs)

    def _repr_html_(self) -> str:
        """Show the inputs, what was lost and what may be wrong, in a notebook."""
        facts = {
            "inputs": ", ".join(self.column_names) or "none",
            "lost": self._loss_text,
            "likelihood": repr(self.likelihood),
            "models in the mixture": self.clusters,
            "converged": "yes" if self.converged else "no",
        }
        return card(type(self).__name__, facts, notes=self.problems)

    @property
    def _variance_unit(self) -> float:
        return float(self.columns.scaling.target_scale) ** 2

    def __repr__(self) -> str:
        """Name the inputs and what was lost."""
        named = ", ".join(self.column_names) if self.inputs else "no inputs"
        warning = "" if self.converged else ", not converged"
        return f"{type(self).__name__}({named}; {self._loss_text}{warning})"


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GaussianProcessSubmodel(Submodel):
    """A Gaussian process on some of the inputs, or a mixture of several."""

    parts: tuple[Part, ...]
    """The conditioned processes, on the model's scale: one for each cluster of the draws."""

    @property
    def kernel(self) -> Kernel:
        """The kernel on the submodel's inputs: variances in squared units of `y`.

        Where there are several clusters, it is the one at the mean of the logarithms.
        """
        first = self.parts[0].predictor
        logs = np.sum([part.weight * part.predictor.log_parameters for part in self.parts], axis=0)
        return first.kernel.with_log_parameters(logs, len(self.inputs)).scaled(self._variance_unit)

    @property
    def extra_variance(self) -> float:
        """What the dropped inputs explained, now independent noise on the latent function."""
        return self._variance_unit * sum(part.weight * part.extra for part in self.parts)

    @property
    def clusters(self) -> int:
        """How many Gaussian processes the submodel is a mixture of."""
        return len(self.parts)

    @property
    def likelihood(self) -> Likelihood:
        """The reference's likelihood, with a noise variance in squared units of `y`.

        Where there are several clusters, it has the means of their parameters.
        """
        values = sum(part.weight * np.exp(part.likelihood.log_parameters) for part in self.parts)
        mean = self.parts[0].likelihood.with_log_parameters(np.log(values))
        return mean.scaled(self._variance_unit)

    @property
    def _loss_text(self) -> str:
        return f"divergence={self.loo_divergence:.4g}"

    def _components(self) -> Iterator[Component]:
        return (Component(part.weight, part.predictor, part.likelihood) for part in self.parts)


def submodel_of(
    reference: Reference,
    positions: tuple[int, ...],
    parts: Sequence[tuple[Projection, Part]],
    lost: Divergences,
    problems: tuple[str, ...] = (),
) -> GaussianProcessSubmodel:
    """Return the mixture of projected clusters.

    Parameters
    ----------
    positions : tuple of int
        Inputs, in the order the user knows them.
    parts : sequence of (Projection, Part)
        One for each cluster of the reference's draws.
    lost : Divergences
        What it lost: the weighted mean of what the clusters did.
    problems : tuple of str
        What may be wrong with the submodel.
    """
    return GaussianProcessSubmodel(
        inputs=tuple(reference.feature_names[position] for position in positions),
        lost=lost,
        converged=all(found.converged for found, _ in parts),
        evaluations=sum(found.evaluations for found, _ in parts),
        data_columns=reference.training.columns,
        parts=tuple(part for _, part in parts),
        problems=problems,
    )


def parts_of(
    problem: Problem,
    components: Sequence[Cluster],
    targets: Targets | None,
    projections: Sequence[Projection],
    positions: tuple[int, ...],
    learn: Objective,
) -> list[Part]:
    """Condition learned submodels on the data and keep what prediction needs.

    Parameters
    ----------
    targets : Targets or None
        The targets of all clusters, where they are in one batch on a device.
    projections : sequence of Projection
        One for each cluster.
    positions : tuple of int
        Inputs, in the order the user knows them.
    learn : Objective
        How they were learned.
    """
    pairs = list(zip(components, projections, strict=True))
    own: Iterable[_Given]
    if targets is not None and problem.is_exact:
        X, given = conditioned_together(targets, projections, learn)
        xp = namespace(targets.X)
        # Copied: a view would keep, and pickle, those of all parts.
        both = zip(given.coefficients, given.root, strict=True)
        own = (_Given(X, xp.asarray(b, copy=True), xp.asarray(root, copy=True)) for b, root in both)
    else:
        own = (_given(problem, component, one, learn) for component, one in pairs)
    return [
        _part(component, one, positions, made)
        for (component, one), made in zip(pairs, own, strict=True)
    ]


class _Given(NamedTuple):
    """A submodel given the data, in what predictions are made of."""

    support: Array
    """The points that predictions go through."""
    coefficients: Array
    root: Array | None
    precision: Array | None = None
    """Where the root follows from it."""


def _given(problem: Problem, component: Cluster, one: Projection, learn: Objective) -> _Given:
    target = component.target
    state = condition_on_data(
        problem, component.likelihood, target, one.kernel, one.parameters, one.active, learn
    )
    if target.inducing is not None:
        return _Given(target.points(one.active), state.coefficients, state.root)
    X = conditioning_rows(problem, target, learn).X
    # Classes and counts of equal rows share an extra variance, which the diagonal does not say.
    shared = not problem.is_exact and learn.rows and problem.repeats is not None
    if shared or not is_numpy(X):
        return _Given(X, state.coefficients, state.root)
    return _Given(X, state.coefficients, None, state.sites.precision)


def _part(
    component: Cluster, projection: Projection, positions: tuple[int, ...], given: _Given
) -> Part:
    target, d = component.target, int(component.target.X.shape[1])
    extra = float(np.exp(projection.parameters[-1]))
    kernel = projection.kernel.with_log_parameters(projection.parameters[:-1], d)
    small = kernel.restricted(positions, d)
    xp = namespace(given.support)
    chosen = xp.asarray(positions, dtype=xp.int64, device=given.support.device)
    predictor = LatentPredictor(
        kernel=small,
        log_parameters=small.log_parameters(len(positions)),
        mask=projection.active[list(positions)],
        X=xp.take(given.support, chosen, axis=1),
        coefficients=given.coefficients,
        root=given.root,
        extra=extra + target.nugget,
        precision=given.precision,
    )
    return Part(component.weight, predictor, component.likelihood, extra)
