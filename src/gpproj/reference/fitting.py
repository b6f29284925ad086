"""`fit`: modes of the posterior of hyperparameters, from several starts, and draws around them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpproj.data import Missing, TrainingSet
from gpproj.inference import NUGGET, Sparse, plan_of
from gpproj.kernels import Constant, Kernel, Matern52, SquaredExponential
from gpproj.likelihoods import Likelihood, named_likelihood
from gpproj.linalg import Host, one_blas_thread
from gpproj.optimise import Outcome, State
from gpproj.priors import PriorLike, scales
from gpproj.recipes import Result, remembered
from gpproj.reference.checking import ReferenceWarning
from gpproj.reference.conditioning import (
    check_nugget,
    problem_of,
    reference_of,
    structure_of,
    training_for,
)
from gpproj.reference.draws import Draws
from gpproj.reference.fewer_inputs import (
    inputs_off,
    with_modes_on_fewer_inputs,
    without_useless_inputs,
)
from gpproj.reference.fit_starts import first_starts, pruned_starts, starts_by_input
from gpproj.reference.fit_through_points import optimised
from gpproj.reference.log_posterior import LogPosterior
from gpproj.reference.modes import Mode, distinct, draws_around, modes_of, settled, shares_of
from gpproj.reference.process import GaussianProcessReference

KERNELS = (Constant() + SquaredExponential(), Constant() + Matern52())
"""Structures that compete where the user gives none."""

COMPARED = 300
"""Rows on which they compete at most, and so do all starts."""

UNDECIDED = 5.0
"""Nats of log evidence on these rows that do not decide between structures: all rows do."""

FOLLOWED = 3
"""Modes on these rows that are followed to more of them."""

EXPLORED = 600
"""Rows on which the posterior is explored at most: which modes there are, what they weigh, and how
wide they are."""

WEIGHED = 2
"""Modes on these rows that are weighed on more rows at least."""

LEARNED = 2000
"""Rows that hyperparameters are learned from at most. With more of them they hardly change, and an
evaluation takes the cube of their number; predictions are given all rows."""

DRAWS, FEWEST, MANY_ROWS = 16, 4, 1000
"""Draws of the hyperparameters, where the user gives no number: fewer from so many rows on, where
they differ little and each takes the cube of the rows."""


@remembered("X", "y", "exposure")
def fit(
    X: Any,
    y: Any,
    likelihood: Likelihood | str = "gaussian",
    kernel: Kernel | None = None,
    standardize: bool = True,
    *,
    draws: int | None = None,
    exposure: Any = None,
    missing: Missing = "error",
    prior: PriorLike = "saas",
    inference: str | Sparse = "auto",
    nugget: float = NUGGET,
    check: bool = True,
    device: str | None = None,
) -> Result[GaussianProcessReference]:
    """Fit a Gaussian process: a few draws around the most plausible hyperparameters.

    The modes of the posterior of the hyperparameters are found from several starts, and Laplace's
    approximation around them is represented by a few draws. A single mode overfits where inputs are
    many or the noise is small.

    Parameters
    ----------
    X : frame or array `(n, d)`
        Columns of text or categories become one input for each level, which belong together; see
        `ref.column_names`.
    y : array `(n,)`
        Real numbers, two classes by any labels, or counts, as the likelihood has it.
    likelihood : str or gpproj.likelihoods object
        "gaussian", "student-t", "bernoulli" (or "probit"), "logit", "poisson" or
        "negative-binomial". With a kernel, an object's parameters are one more start.
    kernel : Kernel, optional
        Structure of the covariance; its values are one more start. When left out,
        `Constant() + SquaredExponential()`, which is the paper's, or `Constant() + Matern52()`,
        whichever has the higher evidence.
    standardize : bool
        Scale inputs and target to mean zero and variance one inside; the latent function of
        classes and counts is centred at their overall rate. Without it the bounds and starts
        follow the scale of the data, but a target far from zero needs a constant.
    draws : int, optional
        Number of draws of the hyperparameters; one is the highest mode itself. When left out it is
        sixteen, with more than 1000 rows as many fewer, but four at least; or one with inducing
        points, where leave-one-out of draws is not offered.
    exposure : array `(n,)`, optional
        What the rate of each count is multiplied by: time, area, people at risk.
    missing : {"error", "drop", "impute", "indicate"}
        Missing cells of `X` are refused; or their rows are left out; or the median of the column,
        or its most frequent level, stands in for them; "indicate" adds an input besides, for each
        column with missing cells, that says which ones. Unless they are refused, rows without a
        target or an exposure are left out. New rows are treated in the same way.
    prior : {"saas", "weak", "botorch", "inverse-gamma", "log-uniform"}, mapping or None
        Prior of the hyperparameters, see `gpproj.priors`. None is the marginal likelihood alone.
    inference : {"auto", "exact", "ep", "laplace"} or gpproj.Sparse
        How the marginal likelihood is computed; "auto" is exact for Gaussian noise, EP for classes
        and Laplace's approximation for the others, and goes through inducing points above 5000
        rows.
    nugget : float
        Small independent variance of the latent function, as a fraction of the noise variance, or
        of what one observation of another likelihood is worth.
    check : bool
        Warn of what `ref.check()` finds wrong with the reference.
    device : str, optional
        Where to compute: "cuda", or another device of torch, to which the data are moved. They stay
        where they live when left out.

    Returns
    -------
    GaussianProcessReference
        `ref.optimum` tells how each start ended.

    Warns
    -----
    ReferenceWarning
        If the reference may not be worth projecting; see `Reference.check`.

    Examples
    --------
    >>> import gpproj
    >>> X, y = gpproj.datasets.toy_sines(n=100, random_state=0)
    >>> ref = gpproj.fit(X, y)
    >>> ref.ard_relevance().idxmax()
    'x7'
    """
    observation = named_likelihood(likelihood)
    structures = KERNELS if kernel is None else (structure_of(kernel),)
    check_nugget(nugget)
    training = training_for(X, y, observation, standardize, exposure, device, missing)
    method, sparse = plan_of(inference, observation, training.n)
    count = check_draws(draws, sparse, training.n)
    units = scales(training)
    problems = [problem_of(training, one, observation, method, nugget) for one in structures]
    posteriors = [LogPosterior(one, units, prior).without_copies() for one in problems]
    explored = [one.by_some_rows(EXPLORED) for one in posteriors] if sparse is None else posteriors
    with one_blas_thread():
        posterior, optimum = best_of(explored, training, kernel, sparse)
        modes = modes_of(posterior, optimum) if count > 1 or posterior.times > 1.0 else []
        if count > 1:
            modes = with_modes_on_fewer_inputs(posterior, modes)
        modes = _on_more_rows(posterior, posteriors[0], modes, count)
    best = int(np.argmin(optimum.value))
    if not np.isfinite(optimum.value[best]):
        raise ValueError("kernel: its covariance could not be factorised at any start")
    if not optimum.converged[best]:
        warnings.warn(
            f"the fit was not optimised to convergence ({optimum.reason[best]})",
            UserWarning,
            stacklevel=3,
        )
    single = Draws.equal(optimum.x[[best]])
    drawn = draws_around(modes, count, posterior.bounds) if modes else single
    problem = posterior.problem.with_rows_of(problems[0])
    reference = reference_of(training, problem, drawn, optimum, prior)
    if check:
        for found in reference.check().problems:
            warnings.warn(found, ReferenceWarning, stacklevel=3)
    # Folds have fewer rows, and keep to the plan. What is wrong is said once.
    return Result(reference, {"inference": sparse or inference, "check": False})


def check_draws(draws: Any, sparse: Sparse | None, n: int) -> int:
    """Return the number of draws that is asked for, or the usual one."""
    if draws is None:
        usual = max(FEWEST, DRAWS * MANY_ROWS // max(n, MANY_ROWS))
        return usual if sparse is None else 1
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 1:
        raise ValueError(f"draws must be a whole number of at least 1, got {draws!r}")
    return int(draws)


def best_of(
    posteriors: Sequence[LogPosterior],
    training: TrainingSet,
    kernel: Kernel | None,
    sparse: Sparse | None,
) -> tuple[LogPosterior, Outcome]:
    """Maximise the posterior of the structure that has the highest evidence.

    Where rows are many, starts and structures compete on some of them, and only the best modes of
    the best structure see all; of both, if their evidence is about the same.

    Parameters
    ----------
    posteriors : sequence of LogPosterior
        One for each structure, without inducing points. Their parameters are the same.
    training : TrainingSet
    kernel : Kernel or None
        Of the user, whose values are one more start.
    sparse : Sparse or None
        How to choose inducing points, where they are wanted.
    """
    n = int(posteriors[0].problem.y.shape[0])
    few = [posterior.on_some_rows(COMPARED) for posterior in posteriors]
    starts = first_starts(few[0], training, kernel)
    ends = [_on_few_rows(posterior, starts) for posterior in few]
    # With all inputs in: masses of fewer length-scales are no rivals.
    masses = [_log_evidence(*pair) for pair in zip(few, ends, strict=True)] if len(few) > 1 else [0]
    best = int(np.argmax(masses))
    near = np.flatnonzero(np.max(masses) - np.array(masses) < UNDECIDED)
    if len(near) > 1 and sparse is None and n > COMPARED:
        masses = [
            _log_evidence(posteriors[k], _on_all_rows(posteriors[k], few[k], ends[k]))
            for k in near.tolist()
        ]
        best = int(near[int(np.argmax(masses))])
    found, optima = without_useless_inputs(few[best], ends[best])
    whole = posteriors[best].with_problem(mask=found.problem.mask)
    if sparse is not None:
        return optimised(whole, training, optima.x, sparse)
    if n > COMPARED:
        found, optima = whole, _on_all_rows(whole, found, optima)
    return found, optima.outcome()


def _on_few_rows(posterior: LogPosterior, starts: Host) -> State:
    optima = posterior.ascended(starts)
    if not posterior.is_sparse:
        return optima
    best = optima.x[int(np.argmin(optima.value))]
    return posterior.ascended(np.vstack([optima.x, pruned_starts(posterior, best)]))


def _on_all_rows(posterior: LogPosterior, few: LogPosterior, optima: State) -> State:
    """Follow the different modes on few rows to all of them.

    They are checked there: an input that acts fast may not show on few rows.
    """
    modes = modes_of(few, optima)[:FOLLOWED]
    lanes = [int(np.argmax((optima.x == mode.parameters).all(axis=1))) for mode in modes]
    factor = posterior.times * posterior.rows / few.rows
    followed = optima.take(np.array(lanes, dtype=np.intp))
    return posterior.continued(followed, factor, starts_by_input(posterior))


def _on_more_rows(
    explored: LogPosterior, whole: LogPosterior, modes: list[Mode], count: int
) -> list[Mode]:
    """Return the modes that may have draws, at their maxima on as many rows as are learned from.

    Masses on few rows that stand for many are rough: the best two modes go on in any case, and are
    weighed again.
    """
    if explored.times == 1.0 or not modes:
        return modes
    learned = whole.by_some_rows(LEARNED)
    problem = explored.problem.with_rows_of(learned.problem)
    found = []
    for rank, share in enumerate(shares_of(modes, count).tolist()):
        if share or rank < WEIGHED:
            mode = modes[rank]
            inside = problem.mask & ~inputs_off(explored, mode)
            few = explored.with_problem(mask=inside).density()
            own = replace(learned, problem=replace(problem, mask=inside))
            found.append(settled(own, mode, float(few(mode.parameters[None, :]).value[0])))
    return distinct(explored, found)


def _log_evidence(posterior: LogPosterior, optima: State) -> float:
    """Return the log of the posterior mass around all modes, minus infinity if there are none."""
    masses = [mode.log_mass for mode in modes_of(posterior, optima)]
    return float(np.logaddexp.reduce(masses)) if masses else -np.inf
