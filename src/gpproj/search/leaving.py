"""`leave_input_out`: what is lost by doing without each input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, overload

import numpy as np

from gpproj.execute import run_in_batches
from gpproj.kernels import Kernel
from gpproj.priors import PriorLike
from gpproj.projection import CriterionName, Learn, ProjectionOptions, projector_of, staged
from gpproj.reference import Reference, run_where
from gpproj.search.units import units_of

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
    learn, criterion, n_jobs, prior, kernel
        As for `gpproj.forward_search`. The criterion is what is returned; the paper learns by
        "projection".

    Returns
    -------
    Series or DataFrame
        One figure for each input, labelled by its name, or for each column of text as a whole; the
        series has the name of the criterion.
        Several references have one row each, in their order.

    Examples
    --------
    >>> import gpproj
    >>> X, y = gpproj.datasets.toy_sines(n=60, random_state=0)
    >>> ref = gpproj.fit(X[:, 5:], y)
    >>> len(gpproj.leave_input_out(ref))
    3
    """
    import pandas as pd

    options = ProjectionOptions.of_call(locals())
    if isinstance(reference, Reference):
        return _errors_of(reference, options)
    several = tuple(reference) if isinstance(reference, Iterable) else ()
    if not several or not all(isinstance(one, Reference) for one in several):
        raise TypeError(f"reference must be a Reference or a sequence of them, got {reference!r}")
    work = partial(_errors_of, options=replace(options, n_jobs=1))
    return pd.DataFrame(run_where(several[0], work, several, n_jobs)).reset_index(drop=True)


def _errors_of(reference: Reference, options: ProjectionOptions) -> pd.Series[float]:
    """Return the errors of one reference, by the names of its inputs or columns."""
    import pandas as pd

    projector = staged(projector_of(reference, options), reference)
    _, units = units_of(reference)
    without_each = list(np.ones((len(units), projector.d), dtype=np.bool_))
    for mask, unit in zip(without_each, units, strict=True):
        mask[list(unit.positions)] = False
    found = run_in_batches(projector.project, without_each, options.n_jobs, alike=False)
    errors, names = [one.error for one in found], [unit.name for unit in units]
    return pd.Series(errors, index=names, name=projector.criterion.name)
