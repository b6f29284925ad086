"""`project`: one submodel of a reference."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gpproj.kernels import Kernel
from gpproj.linalg import one_blas_thread
from gpproj.projection.family import Family, family_of
from gpproj.projection.solving import OBJECTIVES, Learn, Projection, masks_of, solve, solve_null
from gpproj.projection.submodel import Submodel, submodel_of
from gpproj.reference import Reference


def project(
    reference: Reference,
    inputs: Iterable[str | int],
    learn: Learn = "projection",
    *,
    kernel: Kernel | None = None,
) -> Submodel:
    """Project a reference onto a Gaussian process on some of its inputs.

    Parameters
    ----------
    reference : Reference
    inputs : iterable of str or int
        Names or positions; an empty list is the null model.
    learn : {"projection", "marginal_likelihood"}
        Learn the submodel's hyperparameters from the reference's posterior, or from the data alone
        with the reference's noise variance.
    kernel : Kernel, optional
        Structure of the submodel's covariance; the reference's when left out.

    Returns
    -------
    Submodel

    Examples
    --------
    >>> import gpproj
    >>> X, y = gpproj.datasets.toy_sines(n=80, random_state=0)
    >>> ref = gpproj.fit(X[:, 5:], y)
    >>> sub = gpproj.project(ref, ["x1", "x2"])
    >>> sub.inputs
    ('x1', 'x2')
    >>> sub.projection_error < gpproj.project(ref, []).projection_error
    True
    """
    check_learn(learn)
    positions = reference.training.positions(inputs)
    family = family_of(reference, checked_kernel(kernel, reference))
    with one_blas_thread():
        found = project_positions(reference, family, positions, learn)
        return submodel_of(reference, found, positions)


def project_positions(
    reference: Reference,
    family: Family,
    positions: tuple[int, ...],
    learn: Learn = "projection",
    parent: Projection | None = None,
    warm: Projection | None = None,
) -> Projection:
    """Return the projection onto inputs given by position; constant inputs are never used."""
    mask = masks_of([positions], reference.training.d) & np.asarray(reference.training.varying)
    if not mask.any():
        null = solve_null(reference.target, family, learn)
        return null._replace(inputs=masks_of([positions], reference.training.d)[0])
    return solve(reference.target, family, mask, learn, parent, warm)[0]


def check_learn(learn: str) -> None:
    """Refuse ways of learning that do not exist."""
    if learn not in OBJECTIVES:
        raise ValueError(f"learn must be one of {', '.join(OBJECTIVES)}; got {learn!r}")


def checked_kernel(kernel: Kernel | None, reference: Reference) -> Kernel | None:
    """Return the structure asked for, bound to the reference's inputs, or say what is wrong."""
    if kernel is None:
        return None
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a gpproj.kernels object, got {kernel!r}")
    kernel.log_parameters(reference.training.d)  # a wrong number of length-scales says so here
    return kernel
