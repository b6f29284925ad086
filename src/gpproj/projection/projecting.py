"""`project`: one submodel of a reference."""

from __future__ import annotations

from collections.abc import Iterable

from gpproj.kernels import Kernel
from gpproj.linalg import one_blas_thread
from gpproj.priors import PriorLike
from gpproj.projection.linear_projector import LinearProjector
from gpproj.projection.objective import Learn
from gpproj.projection.options import DEFAULT, ProjectionOptions
from gpproj.projection.process_projector import ProcessProjector
from gpproj.projection.projections import mask_of
from gpproj.projection.protocol import Projector
from gpproj.projection.stages import staged
from gpproj.projection.submodel import Submodel
from gpproj.reference import Clusters, LinearReference, Reference, TargetReference


def project(
    reference: Reference,
    inputs: Iterable[str | int],
    learn: Learn = "loo",
    *,
    prior: PriorLike = "auto",
    clusters: Clusters = None,
    kernel: Kernel | None = None,
    n_jobs: int | None = 1,
) -> Submodel:
    """Project a reference onto a Gaussian process, or a linear model, on some of its inputs.

    Parameters
    ----------
    reference : Reference
    inputs : iterable of str or int
        Names or positions; an empty list is the null model.
    learn : {"loo", "projection", "marginal_likelihood"}
        How the submodel's hyperparameters are learned: so that it predicts single rows from the
        others as the reference does, so that its posterior is close to the reference's as in the
        paper, or from the data alone with the reference's noise variance.
    prior : str, mapping or None
        The prior of the submodel's hyperparameters, "auto", "reference", "weak", "botorch",
        "inverse-gamma" or "log-uniform": its log density joins the objective, see
        `gpproj.priors`. "auto" is "reference" for `learn="loo"` and "weak" otherwise; None is as
        in the paper.
    clusters : int, "draws" or None
        How many Gaussian processes the submodel is a mixture of, where the reference has posterior
        draws: that many clusters of draws that predict alike, each projected by itself, or every
        draw by itself. When left out, every draw of a reference that has fewer than 25, as those of
        `gpproj.fit`, and 500 rows at most, where submodels are learned by "loo"; otherwise, and
        with 1, all draws are projected at once, as in the paper.
    kernel : Kernel, optional
        Structure of the submodel's covariance; the reference's when left out.
    n_jobs : int or None
        Workers for the clusters; -1 for all cores.

    Returns
    -------
    Submodel
        A `LinearSubmodel` if the reference is linear: every draw is projected by itself, and
        `learn`, `prior`, `clusters` and `kernel` have no meaning.

    Examples
    --------
    >>> import gpproj
    >>> X, y = gpproj.datasets.toy_sines(n=80, random_state=0)
    >>> ref = gpproj.fit(X[:, 5:], y)
    >>> sub = gpproj.project(ref, ["x1", "x2"])
    >>> sub.inputs
    ('x1', 'x2')
    >>> sub.loo_divergence < gpproj.project(ref, []).loo_divergence
    True
    """
    options = ProjectionOptions.of_call(locals())
    positions = reference.training.positions(inputs)
    with one_blas_thread():
        projector = projector_of(reference, options)
        own = projector.clusters_of(clusters)
        learning = staged(projector, reference)
        found = learning.project([mask_of(positions, projector.d)], check=True)[0]
        problems = (*projector.problems(), *projector.problems_of(found))
        return projector.submodel(reference, found, positions, own, n_jobs, problems)


def projector_of(reference: Reference, options: ProjectionOptions = DEFAULT) -> Projector:
    """Return the projector of a reference; that of a linear one has no options and refuses them."""
    if isinstance(reference, TargetReference):
        return ProcessProjector.made_for(reference, options)
    if isinstance(reference, LinearReference):
        return LinearProjector.made_for(reference, options)
    raise TypeError(f"reference must be a gpproj.Reference, got {reference!r}")
