"""What may be wrong with a projection, said in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpproj.projection.projections import Projection
from gpproj.reference import Target

if TYPE_CHECKING:
    from gpproj.projection.process_projector import ProcessProjector

LEFT = 0.01
"""Share of the null model's error that the submodel on all inputs may leave."""

DOUBTFUL = 0.1
"""Share of the explained variance by which two optima may differ in what they predict."""

ALL_EXTRA = 0.95
"""Share of the reference's variance above which an extra variance takes all."""


def problems_of_reference(projector: ProcessProjector) -> tuple[str, ...]:
    """Return what may be wrong with what all submodels are compared with; nothing for most."""
    target = projector.target
    left_out = target.left_out if isinstance(target, Target) else None
    if not projector.learn.rows or left_out is None or left_out.separable:
        return ()
    return (
        "no row can be left out of the reference, whose latent variance is not below that of its "
        "noise as a Gaussian process's is: its predictions of rows that it has seen stand for "
        "those of rows that it has not",
    )


def problems_of(
    projector: ProcessProjector,
    found: Projection,
    null_error: float | None = None,
    alone: bool = True,
) -> tuple[str, ...]:
    """Return what may be wrong with a submodel; nothing for most.

    Parameters
    ----------
    null_error : float, optional
        Error of the null model, which is learned where it is needed when left out.
    alone : bool
        Say also that the inputs tell next to nothing.
    """
    said = []
    if not found.converged:
        said.append("the optimisation did not converge; its figures are those of its last point")
    # Mixtures of draws follow what a single process cannot.
    single = projector.clusters_of(None) is None
    everything = single and bool(np.all(found.inputs | ~projector.family.varying))
    if everything and found.inputs.any():
        null = projector.null().error if null_error is None else null_error
        if found.error > LEFT * null > 0.0:
            said.append(
                "with all inputs in it still differs from the reference by "
                f"{found.error / null:.0%} of what the null model does: submodels of this "
                "kind cannot follow the reference"
            )
    if found.doubt > DOUBTFUL:
        said.append(
            "another optimum has nearly the same value and predicts otherwise: the two differ by "
            f"{found.doubt:.0%} of the variance that the reference explains"
        )
    extra = float(np.exp(found.parameters[-1]))
    if alone and found.active.any() and extra > ALL_EXTRA * projector.family.signal:
        said.append(
            "independent noise takes nearly all that the reference explains: these inputs tell "
            "next to nothing by themselves"
        )
    return tuple(said)
