"""`leave_input_out`: what is lost by doing without each input."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from gpproj.execute import run_in_batches
from gpproj.kernels import Kernel
from gpproj.priors import PriorLike
from gpproj.projection import PRIOR, Family, family_of, project_subsets, refuse_options
from gpproj.reference import LinearReference, Reference
from gpproj.search.linear import linear_leave_out

if TYPE_CHECKING:
    import pandas as pd


def leave_input_out(
    reference: Reference,
    *,
    n_jobs: int | None = 1,
    prior: PriorLike = PRIOR,
    kernel: Kernel | None = None,
) -> pd.Series[float]:
    """Return the projection error of every submodel that misses one input.

    Unlike length-scales, these errors do not favour inputs with non-linear effects (the paper's
    section 4.1).

    Parameters
    ----------
    reference : Reference
    n_jobs : int or None
        Workers; -1 for all cores, None for what the configured backend says.
    prior, kernel
        As for `gpproj.project`.

    Returns
    -------
    Series
        One projection error for each input, labelled by its name.

    Examples
    --------
    >>> import gpproj
    >>> X, y = gpproj.datasets.toy_sines(n=60, random_state=0)
    >>> ref = gpproj.fit(X[:, 5:], y)
    >>> len(gpproj.leave_input_out(ref))
    3
    """
    import pandas as pd

    if isinstance(reference, LinearReference):
        refuse_options(prior=prior, kernel=kernel)
        errors = linear_leave_out(reference, n_jobs)
    else:
        family = family_of(reference, kernel, prior)
        everything = range(reference.training.d)
        remaining = [tuple(k for k in everything if k != left) for left in everything]
        errors = run_in_batches(partial(_errors, reference, family), remaining, n_jobs, alike=False)
    return pd.Series(errors, index=list(reference.feature_names), name="projection_error")


def _errors(
    reference: Reference, family: Family, subsets: Sequence[tuple[int, ...]]
) -> list[float]:
    found = project_subsets(reference, family, subsets)
    return [one.projection_error for one in found]
