"""How long a run will take: what one evaluation takes, times how many there will be."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from gpproj.cli.folding import in_folds
from gpproj.cli.settings import Settings
from gpproj.execute import time_text, workers_of
from gpproj.inference import NUGGET, plan_of
from gpproj.io.tables import Prepared
from gpproj.kernels import Constant, SquaredExponential
from gpproj.kernels.names import named_kernel
from gpproj.likelihoods.names import NAMES
from gpproj.linalg import one_blas_thread
from gpproj.priors import scales
from gpproj.projection import some_rows
from gpproj.projection.process_projector import MIXED_ROWS
from gpproj.projection.stages import ON_ALL
from gpproj.reference.conditioning import problem_of, training_for
from gpproj.reference.fit_starts import default_starts
from gpproj.reference.fitting import COMPARED, DRAWS, KERNELS, LEARNED
from gpproj.reference.log_posterior import LogPosterior
from gpproj.search.forward import PER_EXCHANGE
from gpproj.search.race import evaluations_expected
from gpproj.search.units import MANY, STEPS_OF_MANY

PER_FIT, PER_INPUT = 300, 25
"""Evaluations of a fit of one structure, and more of them for each input, about."""

ON_MORE_ROWS = 200
"""Those of a fit on more rows than structures are compared on, about."""

PER_DRAW, TUNING = 12, 600
"""Evaluations of a draw of a chain, and steps of all chains before the first ones, about."""

OF_SEARCH = 0.8
"""Share of the evaluations that a search counts with that it takes, about."""

PER_SIZE, PER_CONDITIONED = 110, 4
"""Evaluations on few rows that predicting left-out rows takes for each size, where a submodel is a
mixture of projections of all draws, and on all rows where it is one; both about."""

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

    The counts were taken from small tables and changed once since. Of five others (Yacht, Boston
    with 300 and 120 rows, Energy with 500 and 768) the whole took 0.8 to 1.4 times the processor's
    time that was expected, a single stage up to 3.4 times.

    Parameters
    ----------
    settings : Settings
    prepared : Prepared
    steps : int
        Units to search for.
    n_jobs : int
    """
    n, inputs = prepared.X.shape
    first = (some_rows.stage_sizes(n) or [n])[0]
    # Searches know every likelihood by Gaussian sites.
    plain = evaluation_seconds(settings, prepared, first, "gaussian")
    all_rows = (
        evaluation_seconds(settings, prepared, some_rows.LEARNED, "gaussian") if n > first else 0.0
    )
    reference = _reference(settings, prepared, inputs)
    taken = min(steps, settings.max_inputs or (STEPS_OF_MANY if steps > MANY else steps))
    count = sum(
        evaluations_expected(size, steps - size) + PER_EXCHANGE * (size < EXCHANGES)
        for size in range(taken)
    )
    search = OF_SEARCH * count * (plain + ON_ALL * all_rows)
    conditioned = evaluation_seconds(settings, prepared, n, "gaussian") if n > first else plain
    mixed = n <= MIXED_ROWS and not settings.sample
    each = (PER_SIZE + inputs) * plain if mixed else 0.0
    predictions = (taken + 1) * (each + (DRAWS if mixed else PER_CONDITIONED) * conditioned)
    validation = predictions
    if in_folds(settings):
        folds = settings.folds * settings.repeats
        workers = min(workers_of(n_jobs), folds)
        fewer_rows = (1.0 - 1.0 / settings.folds) ** 0.5
        rounds = math.ceil(folds / workers)  # the last one may leave workers idle
        validation = fewer_rows * rounds * (reference + search + predictions)
    return {"reference": reference, "search": search, "validation": validation}


def _reference(settings: Settings, prepared: Prepared, inputs: int) -> float:
    """Return about how many seconds a reference takes."""
    if settings.sample:
        each = PER_DRAW * evaluation_seconds(settings, prepared, LEARNED)
        return each * (TUNING + settings.draws)
    structures = len(KERNELS) if settings.kernel is None else 1
    count = PER_FIT + PER_INPUT * inputs
    seconds = structures * count * evaluation_seconds(settings, prepared, COMPARED)
    if len(prepared.y) > COMPARED:
        seconds += ON_MORE_ROWS * evaluation_seconds(settings, prepared, LEARNED)
    return seconds


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of constant inputs: the run says it
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
        # The processor's time: other work at this moment says nothing about the next minutes.
        count, began = 0, time.process_time()
        while not count or time.process_time() - began < TIMED:
            density(start)
            count += 1
        return (time.process_time() - began) / count


def sentence(seconds: Mapping[str, float], settings: Settings, steps: int, n_jobs: int) -> str:
    """Return how long a run will take, and what makes it shorter.

    Parameters
    ----------
    seconds : mapping of str to float
        Of each stage.
    settings : Settings
    steps : int
        Units to search for.
    n_jobs : int
    """
    parts = ", ".join(f"{name} {time_text(one)}" for name, one in seconds.items())
    said = f"about {time_text(sum(seconds.values()))} in all: {parts}"
    shorter = []
    if n_jobs == 1 and seconds["validation"] > 0.5 * sum(seconds.values()):
        shorter.append("--n-jobs -1")
    if settings.max_inputs is None and steps > SHORT:
        shorter.append(f"--max-inputs {SHORT}")
    make = "make" if len(shorter) > 1 else "makes"
    return f"{said}; {' and '.join(shorter)} {make} it shorter" if shorter else said
