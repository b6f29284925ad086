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
from gpproj.linalg import Host, to_host
from gpproj.priors import PriorLike
from gpproj.projection.clusters import project_clusters
from gpproj.projection.family import family_of, null_family
from gpproj.projection.goal import LOOSE
from gpproj.projection.objective import CRITERIA, OBJECTIVES, check_criterion, check_learn
from gpproj.projection.problems import problems_of, problems_of_reference
from gpproj.projection.projections import Figures, Projection
from gpproj.projection.protocol import Effort
from gpproj.projection.runners import Runner
from gpproj.projection.solver import BRIEF, MAX_ITERATIONS, Solver
from gpproj.projection.starts import (
    Starts,
    fast_starts,
    few_starts,
    from_known,
    reference_starts,
    usual_starts,
)
from gpproj.projection.submodel import Submodel
from gpproj.reference import Clusters, Reference, Target, TargetReference, check_clusters

SMALL = 5
"""Inputs of a submodel up to which a candidate is polished from every start."""


@dataclass(frozen=True, eq=False)
class ProcessProjector(Solver):
    """Projects a reference that has a target onto Gaussian processes; a `Projector`.

    Parameters as for `Solver`.
    """

    effort: ClassVar[Effort | None] = None

    @classmethod
    def made_for(
        cls,
        reference: TargetReference,
        learn: str = "loo",
        criterion: Any = None,
        prior: PriorLike = "auto",
        kernel: Kernel | None = None,
    ) -> ProcessProjector:
        """Return the projector of a reference; parameters as for `projector_of`."""
        objective = check_learn(learn)
        named: Any = objective.prior if isinstance(prior, str) and prior == "auto" else prior
        return cls(
            target=reference.target,
            family=family_of(reference, kernel, named),
            learn=objective,
            criterion=check_criterion(criterion, objective),
        )

    def of(self, reference: Reference) -> ProcessProjector:
        """Return the same projector of a reference of other data."""
        return ProcessProjector.made_for(
            cast(TargetReference, reference),
            self.learn.name,
            self.criterion.name,
            self.family.prior,
            self.family.kernel,
        )

    def at(self, reference: Reference) -> ProcessProjector:
        """Return the same projector of the same reference, that lives somewhere else."""
        return replace(self, target=cast(TargetReference, reference).target)

    @property
    def identity(self) -> str:
        """What submodels are and how they are learned, in words: equal for equal projectors."""
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
            to_host(target.latent_cov.diagonal()),
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
        return projector.solve([empty], [usual_starts(projector.family, empty)])[0]

    def project(
        self,
        sets: Sequence[NDArray[np.bool_]],
        known: Sequence[Projection] = (),
        *,
        check: bool = False,
    ) -> list[Projection]:
        """Return the submodels on several sets of inputs, from every start that there is.

        Parameters
        ----------
        sets : sequence of bool arrays `(d,)`
            Inputs that may be used; constant ones are not.
        known : sequence of Projection
            Of other sets: where they stand is a start, and those on fewer inputs are not beaten by
            what is returned.
        check : bool
            Check the optima by starts all over the box, at more than twice the price.
        """
        masks = [mask & self.family.varying for mask in sets]
        some = [mask for mask in masks if mask.any()]
        starts = [self.every_start(mask, known) for mask in some]
        runners = self._halved(starts)
        if check:
            runners = self.checked(self.run(MAX_ITERATIONS, runners), some)
        found = iter(self.end(runners, some))
        null = None if len(some) == len(masks) else self.null()
        ends = []
        for asked, mask in zip(sets, masks, strict=True):
            one = next(found) if mask.any() else null
            assert one is not None  # which it is only where all sets have inputs
            ends.append(self.not_worse(one._replace(inputs=asked), known))
        return ends

    def every_start(self, mask: NDArray[np.bool_], known: Sequence[Projection] = ()) -> Starts:
        """Return all starts of a set of inputs."""
        family = self.family
        found = usual_starts(family, mask).plus(fast_starts(family, mask))
        return found.plus(*(self.from_known(one, mask) for one in known if self.is_own(one)))

    def short_starts(
        self, mask: NDArray[np.bool_], known: Sequence[Projection] = (), *, near: bool = False
    ) -> Starts:
        """Return few starts of a set of inputs: near others that are known, and the reference's.

        Parameters
        ----------
        mask : bool array `(d,)`
        known : sequence of Projection
            Of other sets. A null model tells nothing: without any other there are more starts.
        near : bool
            Only those near others that are known.
        """
        found = [self.from_known(one, mask) for one in known if self.is_own(one)]
        if self.family.known is None or not found:
            return few_starts(self.family, mask).plus(*found)
        if near:
            return found[0].plus(*found[1:])
        return reference_starts(self.family, mask).plus(*found)

    def from_known(self, known: Projection, mask: NDArray[np.bool_]) -> Starts:
        """Return the starts that another submodel of the family gives a set of inputs."""
        return from_known(self.family, known.parameters, known.active, mask)

    def is_own(self, known: Projection) -> bool:
        """Say whether a submodel is of this family, rather than a null model."""
        return known.kernel == self.family.kernel

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
    def loosely(self) -> ProcessProjector:
        """The same projector with the tolerance of candidates, which are only compared."""
        return replace(self, tolerance=LOOSE)

    def polished(self, found: Projection) -> Projection:
        """Return a submodel that was learned as a candidate, from other starts besides.

        From every start on few inputs, where an optimum far off is likeliest and costs most.
        """
        mask = found.inputs & self.family.varying
        if not mask.any() or not self.is_own(found):
            return found
        few = int(mask.sum()) > SMALL
        starts = few_starts(self.family, mask) if few else self.every_start(mask)
        starts = starts.plus(Starts(found.parameters[None, :], found.active[None, :]))
        end = self.solve([mask], [starts], BRIEF)[0]
        end = end._replace(inputs=found.inputs, evaluations=found.evaluations + end.evaluations)
        return self.not_worse(end, [found])

    def hints(self, known: Projection) -> Host:
        """Return the slope of the objective in the relevance of every input, in units of the data.

        Zero everywhere for a null model, whose kernel lacks the component that would enter.
        """
        if not self.is_own(known):
            return np.zeros(self.d)
        slopes = self.learn.relevance_slopes(
            self._target, known.kernel, known.parameters[None], known.active[None]
        )[0]
        scaled: Host = slopes / self.family.units.inputs**2
        return scaled

    def known_relevance(self) -> Host:
        """Return inverse length-scales of the reference's values, in units of the data, `(d,)`."""
        family = self.family
        assert family.known is not None  # every reference has values for submodels
        scales = [
            float(np.min(family.known[family.owner[:-1] == j], initial=np.inf))
            for j in range(self.d)
        ]
        found: Host = np.exp(-np.array(scales)) * family.units.inputs
        return found

    def completed(self, projection: Projection) -> Projection:
        """Return a projection with all of its figures."""
        at = projection.kernel, projection.parameters[None], projection.active[None]
        posterior = OBJECTIVES["projection"].value(self._target, *at).value
        figures = {
            name: one(self._target, *at)
            for name, one in CRITERIA.items()
            if name in Figures._fields
        }
        return projection._replace(
            figures=Figures(
                posterior_kl=0.5 * float(posterior[0]),
                **{name: float(value[0]) for name, value in figures.items()},
            )
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
    ) -> list[Runner]:
        """Begin several sets from the same known submodels, and run them a little."""
        own = self.loosely
        starts = [own.short_starts(mask, known, near=near) for mask in sets]
        return own.run(iterations, own.begin_at(starts))

    def advance(self, runners: Sequence[Runner], iterations: int) -> list[Runner]:
        """Run on."""
        return self.loosely.run(iterations, runners)

    def finish(
        self, runners: Sequence[Runner], sets: Sequence[NDArray[np.bool_]]
    ) -> list[Projection]:
        """Run to convergence."""
        return self.loosely.end(runners, sets)

    def moved(self, known: Projection) -> Projection:
        """Return the submodel on the inputs of one that was learned from other rows.

        It starts from that optimum and from the reference's own values.
        """
        mask = known.inputs & self.family.varying
        if not mask.any():
            return self.null()._replace(inputs=known.inputs)
        starts = self.short_starts(mask, [known])
        return self.solve([mask], [starts])[0]._replace(inputs=known.inputs)

    def seconds(self, found: Projection) -> float:
        """Return about how long one value and gradient of a candidate take."""
        held = self.learn.compared_with(self._target)
        began = time.perf_counter()
        self.learn.value(held, found.kernel, found.parameters[None], found.active[None])
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
    ) -> Submodel:
        """Return the submodel that a projection stands for: a mixture of projected clusters."""
        own = cast(TargetReference, reference)
        return project_clusters(own, self, projection, positions, clusters, n_jobs, problems)

    def clusters_of(self, clusters: Clusters) -> Clusters:
        """Return how many clusters of draws are projected by themselves."""
        check_clusters(clusters)
        return clusters

    def columns(self, projections: Sequence[Projection], unit: float) -> dict[str, list[float]]:
        """Return all divergences, and the extra standard deviation in units of the target."""
        every = [found.figures or self.completed(found).figures for found in projections]
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

    def kernel_of(self, own: bool) -> Kernel:
        """Return the structure of submodels of the family, or that of null models."""
        return self.family.kernel if own else self.family.kernel.without_inputs()
