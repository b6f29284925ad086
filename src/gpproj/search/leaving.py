"""`leave_input_out`: what is lost by doing without each input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from gpproj.execute import run_in_batches
from gpproj.kernels import Kernel
from gpproj.priors import PriorLike
from gpproj.projection import (
    CriterionName,
    Learn,
    Projector,
    check_criterion,
    check_learn,
    mask_of,
    projector_of,
)
from gpproj.reference import Reference, run_where

if TYPE_CHECKING:
    import pandas as pd


@overload
def leave_input_out(
    reference: Reference,
    *,
    learn: Learn = ...,
    criterion: CriterionName | None = ...,
    n_jobs: int | None = ...,
    prior: PriorLike = ...,
    kernel: Kernel | None = ...,
) -> pd.Series[float]: ...


@overload
def leave_input_out(
    reference: Sequence[Reference],
    *,
    learn: Learn = ...,
    criterion: CriterionName | None = ...,
    n_jobs: int | None = ...,
    prior: PriorLike = ...,
    kernel: Kernel | None = ...,
) -> pd.DataFrame: ...


def leave_input_out(
    reference: Reference | Sequence[Reference],
    *,
    learn: Learn = "loo",
    criterion: CriterionName | None = None,
    n_jobs: int | None = 1,
    prior: PriorLike = "auto",
    kernel: Kernel | None = None,
) -> pd.Series[float] | pd.DataFrame:
    """Return what is lost by every submodel that misses one input.

    Unlike length-scales, these errors do not favour inputs with non-linear effects (the paper's
    section 4.1).

    Parameters
    ----------
    reference : Reference or sequence of Reference
        References on a device go into one batch if they have equally many rows and inputs, the same
        kernel, and the same units, as all standardised data have.
    learn : {"loo", "projection", "marginal_likelihood"}
        How submodels are learned, as for `gpproj.project`; the paper's is "projection".
    criterion : {"loo_divergence", "projection_error"}, optional
        What is returned; when left out the first for `learn="loo"`, the second otherwise.
    n_jobs : int or None
        Workers; -1 for all cores, None for what the configured backend says.
    prior, kernel
        As for `gpproj.project`.

    Returns
    -------
    Series or DataFrame
        One figure for each input, labelled by its name; the series has the name of the criterion.
        Of several references one row for each, in their order.

    Examples
    --------
    >>> import gpproj
    >>> X, y = gpproj.datasets.toy_sines(n=60, random_state=0)
    >>> ref = gpproj.fit(X[:, 5:], y)
    >>> len(gpproj.leave_input_out(ref))
    3
    """
    import pandas as pd

    check_criterion(criterion, check_learn(learn))
    if not isinstance(reference, Reference):
        own = partial(leave_input_out, learn=learn, criterion=criterion, prior=prior, kernel=kernel)
        return _of_several(_references(reference), own, n_jobs)
    projector = projector_of(reference, learn, criterion, prior, kernel)
    work = partial(_errors, projector)
    errors = run_in_batches(work, _remaining(reference), n_jobs, alike=False)
    names = list(reference.feature_names)
    return pd.Series(errors, index=names, name=projector.criterion.name)


def _errors(projector: Projector, subsets: Sequence[tuple[int, ...]]) -> list[float]:
    found = projector.project([mask_of(positions, projector.d) for positions in subsets])
    return [one.error for one in found]


def _remaining(reference: Reference) -> list[tuple[int, ...]]:
    """Return the positions of all inputs but one, for each of them."""
    everything = range(reference.training.d)
    return [tuple(k for k in everything if k != left) for left in everything]


def _references(several: Any) -> tuple[Reference, ...]:
    """Return references that were given as a sequence, or say what was given instead."""
    found = tuple(several) if isinstance(several, Iterable) else ()
    if not found or not all(isinstance(one, Reference) for one in found):
        raise TypeError(f"reference must be a Reference or a sequence of them, got {several!r}")
    return found


def _of_several(
    references: tuple[Reference, ...],
    own: Callable[[Reference], pd.Series[float]],
    n_jobs: int | None,
) -> pd.DataFrame:
    import pandas as pd

    rows = run_where(references[0], own, references, n_jobs)
    return pd.DataFrame(rows).reset_index(drop=True)
