"""`StagedProjector`: submodels are learned on a few rows first, and only the best of them on all.

What decides between most sets of inputs shows on a few rows, at a small part of the price: an
evaluation takes the cube of their number. So candidates run on a few rows until they are compared.
The errors of two submodels a and b there are sums over the same rows, and differ by

    sum_i (e_ai - e_bi)   with the standard error   sqrt(u) sd_i(e_ai - e_bi),

and a candidate leaves only if that difference is larger than its error. Those that stay, and all
that is returned, are learned on all rows, from the optimum on few rows and with the curvature that
was found on the way there, scaled by the numbers of rows: a few evaluations are enough.

The reference is conditioned on the same rows, its hyperparameters fixed; compared with predictions
that have seen more rows than they have, submodels would look smoother than they should be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from gpproj.linalg import Host, is_numpy, to_host
from gpproj.projection.loss import LOOSE
from gpproj.projection.multistart import MultiStartFit, is_another
from gpproj.projection.objective import left_out_differences
from gpproj.projection.process_projector import ProcessProjector
from gpproj.projection.projections import Projection
from gpproj.projection.protocol import Projector
from gpproj.projection.solver import BRIEF, GAIN, MAX_ITERATIONS, THOROUGH, Stages
from gpproj.projection.starts import Starts, usual_starts
from gpproj.reference import Reference, Target, TargetReference

STAGES = ((1400, 600), (300, 200))
"""From so many rows on there is a stage of so many."""

CLIMBING = 2
"""Different optima on few rows that are followed to all rows, where one submodel is learned."""

CONTENDERS = 3
"""Candidates that are learned on all rows at most, where the few rows cannot tell them apart."""

FINE_SHARE = 0.1
"""Share of the evaluations of a search that are on all rows, about."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StagedProjector(ProcessProjector):
    """Projects a reference, and decides on a few rows what is worth learning on all of them.

    Parameters
    ----------
    few : ProcessProjector
        The same projector for the reference of a few of the rows.
    """

    few: ProcessProjector

    @cached_property
    def loose(self) -> StagedProjector:
        """The same projector with the tolerance of candidates, at every stage."""
        return replace(self, tolerance=LOOSE, few=self.few.loose)

    @cached_property
    def without_inputs(self) -> StagedProjector:
        """The projector of null models, at every stage."""
        return replace(super().without_inputs, few=self.few.without_inputs)

    # From a few rows to all --------------------------------------------------------------------

    def solve(self, starts: Sequence[Starts], stages: Stages = THOROUGH) -> list[Projection]:
        """Learn the submodel of every set of inputs: all starts run on few rows, the best on all."""
        fits = self.few.run(MAX_ITERATIONS, self.few._successive_halving(starts, stages))
        return self.projections(self.climbed([_different(fit, CLIMBING) for fit in fits]))

    def settle(self, fits: Sequence[MultiStartFit]) -> list[MultiStartFit]:
        """Run fits to their optima on few rows."""
        return self.few.run(MAX_ITERATIONS, self.few.settle(fits))

    def climbed(self, fits: Sequence[MultiStartFit]) -> list[MultiStartFit]:
        """Run fits from their optima on few rows to those on all rows."""
        if isinstance(self.few, StagedProjector):
            fits = self.few.climbed(fits)
        return self.run(MAX_ITERATIONS, self.continued(self.few.run(MAX_ITERATIONS, fits)))
