"""Which rows submodels are learned from, where there are many."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpproj.data import TrainingSet
from gpproj.linalg import is_numpy, to_host
from gpproj.projection.objective import Criterion, Objective
from gpproj.reference import Target, TargetReference

LEARNED = 1000
"""Rows that a submodel is learned from at most, on a processor. With more of them its parameters
hardly change, and an evaluation takes the cube of their number; predictions are given all rows.
With 2000 rows the first six inputs of 4000 rows of Parkinsons and 3000 simulated ones were the
same, their test log densities within 0.02 and 0.002, and searches took five and three times as
long; with 700 densities of Parkinsons fell by 0.02."""

STAGES = ((240, 200),)
"""From so many rows on there is a stage of so many."""


class Learned(NamedTuple):
    """What submodels are learned from."""

    target: Target
    times: float
    """How often a row counts: they may stand for more."""


def learned_from(reference: TargetReference, learn: Objective, criterion: Criterion) -> Learned:
    """Return the target that submodels are learned from: of all rows, or some that stand for them.

    Where posteriors are compared, and through inducing points, it is that of all rows.
    """
    n, alone = reference.training.n, learn.rows and criterion.rows
    own = reference.inducing is None and is_numpy(reference.training.X)
    if n <= LEARNED or not (alone and own):
        return Learned(reference.target, 1.0)
    return Learned(target_on(reference, spread_rows(reference.training, LEARNED)), n / LEARNED)


def target_on(reference: TargetReference, rows: NDArray[np.intp]) -> Target:
    """Return the target of some rows, which have no inducing points.

    The reference is conditioned on the same rows, its hyperparameters fixed: beside predictions
    that have seen more rows than they have, submodels would look smoother than they should be.
    """
    target = reference.on_rows(rows).target
    assert target.left_out is not None  # every reference predicts its own rows
    return replace(target, inducing=None, left_out=replace(target.left_out, inducing=None))


def stage_sizes(rows: int) -> list[int]:
    """Return how many of so many rows there are in each stage, the fewest first.

    >>> stage_sizes(300), stage_sizes(100)
    ([200], [])
    """
    return [count for least, count in STAGES if rows >= least]


def spread_rows(training: TrainingSet, count: int) -> NDArray[np.intp]:
    """Return a choice of rows whose targets are spread as those of all rows, in their order.

    It is random, but the same every time.
    """
    shuffled = np.random.default_rng(0).permutation(training.n)
    by_target = shuffled[np.argsort(to_host(training.y)[shuffled], kind="stable")]
    places = ((np.arange(count) + 0.5) * training.n / count).astype(np.intp)
    return np.sort(by_target[places])
