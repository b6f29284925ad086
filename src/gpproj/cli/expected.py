"""How long a run will take: what one evaluation takes, times how many there will be."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from gpproj.cli.settings import Settings
from gpproj.execute import time_text, workers_of
from gpproj.inference import NUGGET, plan_of
from gpproj.io.tables import Prepared
from gpproj.kernels import Constant, SquaredExponential
from gpproj.kernels.names import named_kernel
from gpproj.likelihoods.names import NAMES
from gpproj.linalg import one_blas_thread
from gpproj.priors import scales
from gpproj.projection.stages import STAGES
from gpproj.reference.conditioning import problem_of, training_for
from gpproj.reference.fit_starts import default_starts
from gpproj.reference.fitting import COMPARED, KERNELS
from gpproj.reference.log_posterior import LogPosterior
from gpproj.search.forward import PER_EXCHANGE
from gpproj.search.race import evaluations_expected
from gpproj.search.units import MANY, STEPS_OF_MANY

PER_FIT, PER_INPUT = 300, 25
"""Evaluations of a fit of one structure, and more of them for each input, about."""

OF_SEARCH = 0.75
"""Share of the evaluations that a search counts with that it takes, about."""

PER_SIZE = 480
"""Evaluations that predicting the rows of a fold takes for each size: a submodel is a mixture of
projections of all draws, about."""

EXCHANGES = 12
"""Sizes up to which other sets are looked for."""

TIMED = 0.02
"""Seconds for which evaluations are timed, after one that warms up."""

SHORT = 6
"""Columns to go up to that a message proposes where there are more."""


def expected_seconds(
    settings: Settings, prepared: Prepared, steps: int, n_jobs: int
) -> dict[str, float]:
    """Return about how many seconds each stage of a run will take.

    Parameters
    ----------
    settings : Settings
    prepared : Prepared
    steps : int
        Units to search for.
    n_jobs : int
    """
    one = evaluation_seconds(settings, prepared, COMPARED)
    # Searches know every likelihood by Gaussian sites.
    plain = evaluation_seconds(settings, prepared, STAGES[0][0], likelihood="gaussian")
    structures = len(KERNELS) if settings.kernel is None else 1
    fit = structures * one * (PER_FIT + PER_INPUT * prepared.X.shape[1])
    taken = min(steps, settings.max_inputs or (STEPS_OF_MANY if steps > MANY else steps))
    count = sum(
        evaluations_expected(size, steps - size) + PER_EXCHANGE * (size < EXCHANGES)
        for size in range(taken)
    )
    search = OF_SEARCH * count * plain
    predictions = PER_SIZE * (taken + 1) * plain
    folds = settings.folds * settings.repeats
    workers = min(workers_of(n_jobs), folds)
    validation = folds * (fit + search + predictions) / workers
    return {"reference": fit, "search": search, "validation": validation}


def evaluation_seconds(
    settings: Settings, prepared: Prepared, most: int, likelihood: str | None = None
) -> float:
    """Return what a log posterior of the hyperparameters and its gradient take, on some rows.

    Parameters
    ----------
    settings : Settings
    prepared : Prepared
    most : int
        Rows at most.
    likelihood : str, optional
        Another one than that of the run.
    """
    n = min(len(prepared.y), most)
    observation = NAMES[likelihood or settings.likelihood]()
    y = prepared.y[:n]
    if likelihood is not None:  # any numbers will do
        y = np.linspace(-1.0, 1.0, n)
    exposure = None if likelihood or prepared.exposure is None else prepared.exposure[:n]
    training = training_for(prepared.X.iloc[:n], y, observation, True, exposure, None)
    kernel = Constant() + SquaredExponential()
    kernel = kernel if settings.kernel is None else named_kernel(settings.kernel)
    method, _ = plan_of("auto", observation, n)
    problem = problem_of(training, kernel, observation, method, NUGGET)
    prior: Any = settings.prior or "saas"
    posterior = LogPosterior(problem, scales(training), prior)
    density, start = posterior.density(), default_starts(posterior)[:1]
    with one_blas_thread():
        density(start)
        count, began = 0, time.perf_counter()
        while count < 2 or time.perf_counter() - began < TIMED:
            density(start)
            count += 1
        return (time.perf_counter() - began) / count


def sentence(seconds: Mapping[str, float], settings: Settings, n_jobs: int) -> str:
    """Return how long a run will take, and what makes it shorter.

    Parameters
    ----------
    seconds : mapping of str to float
        Of each stage.
    settings : Settings
    n_jobs : int
    """
    parts = ", ".join(f"{name} {time_text(one)}" for name, one in seconds.items())
    said = f"about {time_text(sum(seconds.values()))} in all: {parts}"
    shorter = []
    if n_jobs == 1 and seconds["validation"] > 0.5 * sum(seconds.values()):
        shorter.append("--n-jobs -1")
    if settings.max_inputs is None:
        shorter.append(f"--max-inputs {SHORT}")
    return f"{said}; {' and '.join(shorter)} make it shorter" if shorter else said
