"""Posterior draws as ArviZ data, and in plain words what is wrong with them."""

from __future__ import annotations

import warnings
from itertools import compress
from typing import Any

import numpy as np

from gpproj.data import TrainingSet
from gpproj.inference import Problem
from gpproj.linalg import Host
from gpproj.reference.mcmc import arviz

RHAT = 1.01
"""Between-chain to within-chain spread above which chains disagree."""

SHARE = 0.2
"""Effective draws, as a share of the draws, below which they are too much alike."""


def describe(
    training: TrainingSet, problem: Problem, parameters: Host, sample_stats: Any = None
) -> Any:
    """Return draws as ArviZ data in the user's units, named and labelled by input.

    Parameters
    ----------
    training : TrainingSet
    problem : Problem
    parameters : array `(chains, draws, p)`
        Log parameters of the kernel on the model's scale, then those of the likelihood.
    sample_stats : Dataset, optional
        What the sampler tells of each draw.

    Returns
    -------
    InferenceData
        Variables `constant_variance`, `signal_variance`, `lengthscale` (dimension `input`) and the
        likelihood's, such as `noise_variance`; what a second component repeats ends in `_2`.
        Constant inputs have no length-scale.
    """
    unit = float(training.scaling.target_scale) ** 2
    named: dict[str, list[tuple[int, int]]] = {}
    lengths: set[str] = set()
    seen: dict[tuple[str, int | None], int] = {}
    for column, one in enumerate(problem.kernel.parameters(training.d)):
        again = seen[one.name, one.input] = seen.get((one.name, one.input), 0) + 1
        if one.input is not None and not training.varying[one.input]:
            continue
        name = one.name if again == 1 else f"{one.name}_{again}"
        if not one.kind.is_variance:
            lengths.add(name)
        named.setdefault(name, []).append((column, -1 if one.input is None else one.input))
    variables, dims = {}, {}
    for name, columns in named.items():
        values = np.exp(parameters[..., [column for column, _ in columns]])
        scaled = values if name in lengths else unit * values
        labelled = columns[0][1] >= 0
        variables[name] = scaled if labelled else scaled[..., 0]
        if labelled:
            dims[name] = ["input"]
    _, last = problem.halves(parameters)
    for column, name in enumerate(problem.likelihood.parameters.values()):
        scaled = np.exp(last[..., column])
        variables[name] = unit * scaled if name.endswith("variance") else scaled
    inputs = list(compress(training.feature_names, training.varying))
    statistics = None
    if sample_stats is not None:
        statistics = {name: np.asarray(sample_stats[name]) for name in sample_stats}
    return arviz().from_dict(
        posterior=variables, sample_stats=statistics, coords={"input": inputs}, dims=dims
    )


def warn_of_trouble(posterior: Any) -> None:
    """Warn when draws diverged, chains disagree or the draws are too much alike."""
    az = arviz()
    draws = int(posterior.posterior.sizes["chain"] * posterior.posterior.sizes["draw"])
    troubles = []
    diverged = int(posterior.sample_stats["diverging"].sum())
    if diverged:
        troubles.append(
            f"{diverged} of {draws} draws diverged, so that parts of the posterior may be missing; "
            "a stronger prior or more tuning helps"
        )
    if posterior.posterior.sizes["chain"] > 1:
        name, rhat = _extreme(az.rhat(posterior), largest=True)
        if rhat > RHAT:
            troubles.append(
                f"the chains disagree about {name} (R-hat {rhat:.3f}, above {RHAT}); "
                "more tuning and more draws help"
            )
    name, size = _extreme(az.ess(posterior), largest=False)
    if size < SHARE * draws:
        troubles.append(
            f"the {draws} draws of {name} are worth only {size:.0f} independent ones; "
            "more draws help"
        )
    for trouble in troubles:
        warnings.warn(f"sampling: {trouble}", UserWarning, stacklevel=4)


def _extreme(table: Any, largest: bool) -> tuple[str, float]:
    """Return the most extreme entry of a data set, and the name of its variable."""
    pick = np.nanmax if largest else np.nanmin
    found = {name: float(pick(np.asarray(table[name]))) for name in table}
    name = (max if largest else min)(found, key=lambda key: found[key])
    return name, found[name]
