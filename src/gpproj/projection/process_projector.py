"""`ProcessProjector`: learns Gaussian processes on sets of inputs, from all starts it knows."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from gpproj.kernels import Kernel
from gpproj.linalg import Host, is_numpy, to_host
from gpproj.projection.clusters import project_clusters
from gpproj.projection.family import family_of, null_family
from gpproj.projection.loss import LOOSE
from gpproj.projection.multistart import MultiStartFit
from gpproj.projection.objective import CRITERIA, OBJECTIVES, check_criterion, check_learn
from gpproj.projection.options import ProjectionOptions
from gpproj.projection.problems import problems_of, problems_of_reference
from gpproj.projection.projections import Figures, Projection
from gpproj.projection.protocol import Effort, Learned, Projector
from gpproj.projection.solver import Solver
from gpproj.projection.some_rows import learned_from
from gpproj.projection.starts import Starts, few_starts, usual_starts
from gpproj.projection.submodel import GaussianProcessSubmodel
from gpproj.reference import (
    SMOOTHED,
    Clusters,
    Reference,
    Target,
    TargetReference,
    check_clusters,
)

NOTHING = 1e-5
"""Change of the value on all inputs, over the null model's, that counts as none."""

SMALL = 5
"""Inputs of a submodel up to which a candidate is refined from every start."""


MIXED_ROWS = 500
"""Rows up to which every draw of a few is projected by itself without being asked for. The draws
are learned on few rows, but each is conditioned on all of them, which takes the cube of their
number and memory for a matrix each."""


@dataclass(frozen=True, eq=False)
class ProcessProjector(Solver):
    """Projects a reference that has a target onto Gaussian processes; a `Projector`."""

    effort: ClassVar[Effort | None] = None
    draws: int = 1
    """How many draws of hyperparameters the reference has."""

    @classmethod
    def made_for(cls, reference: TargetReference, options: ProjectionOptions) -> ProcessProjector:
        """Return the projector of a reference."""
        learn, prior = check_learn(options.learn), options.prior
        criterion = check_criterion(options.criterion, learn)
        chosen: Any = learn.prior if isinstance(prior, str) and prior == "auto" else prior
        family = family_of(reference, options.kernel, chosen)
        target, times = learned_from(reference, learn, criterion)
        return cls(
            target=target,
            family=family,
            learn=learn,
            criterion=criterion,
            times=times,
            draws=reference.count,
        )

    def of(self, reference: Reference) -> Projector:
        """Return the same projector of a reference of other data."""
        own = cast(TargetReference, reference)
        target, times = learned_from(own, self.learn, self.criterion)
        family = family_of(own, self.family.kernel, self.family.prior)
        return replace(self, target=target, family=family, times=times, draws=own.count)

    def at(self, reference: Reference) -> ProcessProjector:
        """Return the same projector of the same reference on another device."""
        own = cast(TargetReference, reference)
        target, times = learned_from(own, self.learn, self.criterion)
        return replace(self, target=target, times=times)

    @property
    def first(self) -> ProcessProjector:
        """The projector of the fewest rows, where there are stages."""
        return self

    @property
    def identity(self) -> str:
        """Family, objective and criterion in words."""
        return repr((self.family.identity, self.learn.name, self.criterion.name))

    @property
    def facts(self) -> tuple[Any, ...]:
        """Numbers of the reference that decide what is found, for a fingerprint."""
        target = self._target
        left_out = target.left_out
        assert left_out is not None  # every reference predicts its own rows
        return (
            to_host(target.X),
            to_host(target.latent_mean),
            to_host(target.site_precision),
            to_host(target.site_shift),
            to_host(left_out.mean),
            to_host(left_out.variance),
            target.nugget,
            self.identity,
            self.family.known,
        )

    @property
    def d(self) -> int:
        """Number of inputs."""
        return len(self.family.varying)

    @property
    def varying(self) -> NDArray[np.bool_]:
        """Inputs that are not constant, `(d,)`: only they can be used."""
        return self.family.varying

    @cached_property
    def without_inputs(self) -> ProcessProjector:
        """The projector of null models, which have the kernel's constants alone."""
        return replace(self, family=null_family(self.family))

    # Sets of inputs by themselves --------------------------------------------------------------

    def null(self) -> Projection:
        """Return the null model."""
        empty = np.zeros(self.d, dtype=bool)
        projector = self.without_inputs
        return projector.solve([usual_starts(projector.family, empty)])[0]

    def full(self, null: Projection, learned: Learned | None = None) -> Projection:
        """Return the submodel on all inputs, which is no worse than the null model.

        Its value is next to nothing, and known well enough where that is small beside the null
        model's: errors are seen between the two.
        """
        own = self.on_scale(abs(null.value)).with_tolerance(max(self.tolerance, NOTHING))
        point = (learned or {}).get(self.varying.tobytes())
        if point is None:
            return own.project([np.ones(self.d, dtype=bool)], [null])[0]
        starts = own.learned_starts(point, self.varying)
        (found,) = own.projections(own.climbed(own.first.begin_at([starts])))
        return own.not_worse(found._replace(inputs=np.ones(self.d, dtype=bool)), [null])

    def on_scale(self, scale: float) -> ProcessProjector:
        """Return the same projector with a tolerance that is relative to so many nats at least.

        On a device it is the same one: lanes of several references with their own scales could not
        be one batch.
        """
        return replace(self, scale=max(scale, 1.0)) if is_numpy(self.target.X) else self

    def with_tolerance(self, tolerance: float) -> ProcessProjector:
        """Return the same projector with another tolerance."""
        return replace(self, tolerance=tolerance)

    def project(
        self,
        sets: Sequence[NDArray[np.bool_]],
        known: Sequence[Projection] = (),
        *,
        check: bool = False,
    ) -> list[Projection]:
        """Return the submodels on several sets of inputs, from every start that there is."""
        masks = [mask & self.family.varying for mask in sets]
        some = [mask for mask in masks if mask.any()]
        fits = self.optimised([self.every_start(mask, known) for mask in some], check=check)
        found = iter(self.projections(fits))
        null = iter([self.null()] * (len(masks) - len(some)) if len(some) < len(masks) else [])
        return [
            self.not_worse(next(found if mask.any() else null)._replace(inputs=own), known)
            for own, mask in zip(sets, masks, strict=True)
        ]

    def not_worse(self, found: Projection, known: Iterable[Projection]) -> Projection:
        """Return what was found, or a submodel on fewer inputs where that is better.

        So the objective never grows as inputs are added. The inputs are those asked for.
        """
        best = found
        for one in known:
            if one.value < best.value and not np.any(one.active & ~found.inputs):
                best = one._replace(
                    inputs=found.inputs, evaluations=found.evaluations, figures=None
                )
        return best

    @cached_property
    def loose(self) -> ProcessProjector:
        """The same projector with the tolerance of candidates, which are only compared."""
        return self.with_tolerance(LOOSE)

    def refine(self, found: Projection) -> Projection:
        """Return a submodel that was learned as a candidate, learned from other starts besides.

        On few inputs it starts everywhere: an optimum far off is likeliest there and costs most.
        """
        starts = self.refining_starts(found)
        if starts is None:
            return found
        (own,) = self.climbed(self.begin_at([start_at(found)]))
        end = self.projections(self.climbed([self.challenged(own, starts)]))[0]
        end = end._replace(inputs=found.inputs, evaluations=found.evaluations + end.evaluations)
        return self.not_worse(end, [found])

    def refining_starts(self, found: Projection) -> Starts | None:
        """Return the starts that a candidate is learned from once more; None for null models."""
        mask = found.inputs & self.family.varying
        if not mask.any() or not self.in_family(found):
            return None
        many = int(mask.sum()) > SMALL
        return few_starts(self.family, mask) if many else self.every_start(mask)

    def between(self, null: Projection, full: Projection) -> ProcessProjector:
        """Return a projector that knows the ends of its errors."""
        return self.on_scale(abs(null.value))

    def again(self, known: Projection) -> Projection:
        """Return the optimum on these rows next to one that was learned on others."""
        own = self if self.in_family(known) else self.without_inputs
        return own.projections(own.climbed(own.first.begin_at([start_at(known)])))[0]

    def entry_slopes(self, known: Projection) -> Host:
        """Return the slope of the objective in the relevance of every input, in units of the data.

        Zero everywhere for a null model, whose kernel lacks the component that would enter.
        """
        if not self.in_family(known):
            return np.zeros(self.d)
        slopes = self.learn.relevance_slopes(
            self._target, known.kernel, known.parameters[None], known.active[None]
        )[0]
        scaled: Host = slopes / self.family.units.inputs**2
        return scaled

    def known_relevance(self) -> Host:
        """Return inverse length-scales of the reference's values, in units of the data, `(d,)`."""
        found: Host = np.exp(-self.family.known_scales) * self.family.units.inputs
        return found

    def with_figures(self, projection: Projection) -> Projection:
        """Return a projection with all of its divergences."""
        if projection.figures is not None:
            return projection
        at = projection.kernel, projection.parameters[None], projection.active[None]
        posterior = self.times * OBJECTIVES["projection"].value(self._target, *at).value
        figures = {
            name: self.times * float(one(self._target, *at)[0])
            for name, one in CRITERIA.items()
            if name in Figures._fields and name != self.criterion.name
        }
        if self.criterion.name in Figures._fields:
            figures[self.criterion.name] = projection.error
        return projection._replace(
            figures=Figures(posterior_kl=0.5 * float(posterior[0]), **figures)
        )

    @property
    def _target(self) -> Target:
        assert isinstance(self.target, Target)  # searches have one reference
        return self.target

    # Candidates of a search --------------------------------------------------------------------

    def begin(
        self,
        sets: Sequence[NDArray[np.bool_]],
        known: Sequence[Projection],
        iterations: int,
        *,
        near: bool = False,
        learned: Learned | None = None,
    ) -> list[MultiStartFit]:
        """Begin several sets from the same known submodels, and run them a little."""
        own = self.loose
        points = [None if learned is None else learned.get(mask.tobytes()) for mask in sets]
        starts = [
            own.short_starts(mask, known, near=near)
            if point is None
            else own.learned_starts(point, mask)
            for mask, point in zip(sets, points, strict=True)
        ]
        return own.run(iterations, own.begin_at(starts))

    def advance(self, fits: Sequence[MultiStartFit], iterations: int) -> list[MultiStartFit]:
        """Run fits on for some iterations."""
        return self.loose.run(iterations, fits)

    def errors(self, fits: Sequence[MultiStartFit]) -> Host:
        """Return the criterion at the best lanes of fits, `(c,)`."""
        return self.present_errors(fits)

    def contenders(
        self, fits: Sequence[MultiStartFit], known: Sequence[Projection] = ()
    ) -> list[MultiStartFit | None]:
        """Return the fits that may be the best of all: any of them."""
        return list(fits)

    def settle(self, fits: Sequence[MultiStartFit]) -> list[Projection]:
        """Return submodels that others can start from."""
        return self.finish(fits)

    def finish(self, fits: Sequence[MultiStartFit]) -> list[Projection]:
        """Run fits to convergence."""
        own = self.loose
        return own.projections(own.climbed(fits))

    def refit(self, known: Projection) -> Projection:
        """Return the submodel on the inputs of one that was learned from other rows.

        It starts from that optimum and from the reference's own values.
        """
        mask = known.inputs & self.family.varying
        if not mask.any():
            return self.null()._replace(inputs=known.inputs)
        return self.solve([self.short_starts(mask, [known])])[0]._replace(inputs=known.inputs)

    def seconds(self, found: Projection) -> float:
        """Return about how long one value and gradient of a candidate take."""
        part = self.learn.compared_with(self._target)
        began = time.perf_counter()
        self.learn.value(part, found.kernel, found.parameters[None], found.active[None])
        return time.perf_counter() - began

    # What becomes of projections ---------------------------------------------------------------

    def submodel(
        self,
        reference: Reference,
        projection: Projection,
        positions: tuple[int, ...],
        clusters: Clusters = None,
        n_jobs: int | None = 1,
        problems: tuple[str, ...] = (),
    ) -> GaussianProcessSubmodel:
        """Return the submodel that a projection stands for: a mixture of projected clusters."""
        own = cast(TargetReference, reference)
        return project_clusters(own, self, projection, positions, clusters, n_jobs, problems)

    def clusters_of(self, clusters: Clusters) -> Clusters:
        """Return how many clusters of draws are projected by themselves.

        Unless somebody says otherwise, every one of a few draws: a single process cannot follow
        their mixture, whatever its inputs are. Of many draws, and of many rows, whose draws are
        alike and take long, all are projected at once.
        """
        check_clusters(clusters)
        if clusters is None and 1 < self.draws < SMOOTHED and self.learn.name == "loo":
            return "draws" if self.times * self.rows <= MIXED_ROWS else 1
        return clusters

    def columns(self, projections: Sequence[Projection], unit: float) -> dict[str, list[float]]:
        """Return all divergences, and the extra standard deviation in units of the target."""
        every = [self.with_figures(found).figures for found in projections]
        return {
            **{name: [getattr(own, name) for own in every] for name in Figures._fields},
            "extra_sd": [float(np.exp(0.5 * found.parameters[-1]) * unit) for found in projections],
        }

    def problems(self) -> tuple[str, ...]:
        """Return what may be wrong with what all submodels are compared with."""
        return problems_of_reference(self)

    def problems_of(
        self, found: Projection, null_error: float | None = None, alone: bool = True
    ) -> tuple[str, ...]:
        """Return what may be wrong with a submodel; see `problems.problems_of`."""
        return problems_of(self, found, null_error, alone)

    def kernel_of(self, in_family: bool) -> Kernel:
        """Return the structure of submodels of the family, or that of null models."""
        return self.family.kernel if in_family else self.family.kernel.without_inputs()


def start_at(known: Projection) -> Starts:
    """Return the optimum of a submodel as the only start."""
    return Starts(known.parameters[None, :], known.active[None, :])
