"""`leave_input_out`: what is lost by doing without each input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from gpproj.execute import run_in_batches
from gpproj.kernels import Kernel
from gpproj.priors import PriorLike
from gpproj.projection import (
    PRIOR,
    Family,
    family_of,
    project_subsets,
    refuse_options,
)
from gpproj.reference import LinearReference, Reference, run_where
from gpproj.search.linear import linear_leave_out

if TYPE_CHECKING:
    import pandas as pd


@overload
def leave_input_out(
    reference: Reference,
    *,
    n_jobs: int | None = ...,
    prior: PriorLike = ...,
    kernel: Kernel | None = ...,
) -> pd.Series[float]: ...


@overload
def leave_input_out(
    reference: Sequence[Reference],
    *,
    n_jobs: int | None = ...,
    prior: PriorLike = ...,
    kernel: Kernel | None = ...,
) -> pd.DataFrame: ...


def leave_input_out(
    reference: Reference | Sequence[Reference],
    *,
    n_jobs: int | None = 1,
    prior: PriorLike = PRIOR,
    kernel: Kernel | None = None,
) -> pd.Series[float] | pd.DataFrame:
    """Return the projection error of every submodel that misses one input.

    Unlike length-scales, these errors do not favour inputs with non-linear effects (the paper's
    section 4.1).

    Parameters
    ----------
    reference : Reference or sequence of Reference
        References on a device go into one batch if they have equally many rows and inputs, the same
        kernel, and the same units, as all standardised data have.
    n_jobs : int or None
        Workers; -1 for all cores, None for what the configured backend says.
    prior, kernel
        As for `gpproj.project`.

    Returns
    -------
    Series or DataFrame
        One projection error for each input, labelled by its name; of several references one row
        for each, in their order.

    Examples
    --------
    >>> import gpproj
    >>> X, y = gpproj.datasets.toy_sines(n=60, random_state=0)
    >>> ref = gpproj.fit(X[:, 5:], y)
    >>> len(gpproj.leave_input_out(ref))
    3
    """
    import pandas as pd

    if not isinstance(reference, Reference):
        return _of_several(_references(reference), n_jobs, prior, kernel)
    if isinstance(reference, LinearReference):
        refuse_options(prior=prior, kernel=kernel)
        errors = linear_leave_out(reference, n_jobs)
    else:
        family = family_of(reference, kernel, prior)
        work = partial(_errors, reference, family)
        errors = run_in_batches(work, _remaining(reference), n_jobs, alike=False)
    return pd.Series(errors, index=list(reference.feature_names), name="projection_error")


def _errors(
    reference: Reference, family: Family, subsets: Sequence[tuple[int, ...]]
) -> list[float]:
    found = project_subsets(reference, family, subsets)
    return [one.projection_error for one in found]


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
    n_jobs: int | None,
    prior: PriorLike,
    kernel: Kernel | None,
) -> pd.DataFrame:
    import pandas as pd

    own = partial(leave_input_out, prior=prior, kernel=kernel)
    rows = run_where(references[0], own, references, n_jobs)
    return pd.DataFrame(rows).reset_index(drop=True)
