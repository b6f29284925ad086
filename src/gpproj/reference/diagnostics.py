"""Posterior draws as ArviZ data, and warnings about what is wrong with them."""

from __future__ import annotations

import warnings
from collections import Counter
from itertools import compress
from typing import Any

import numpy as np

from gpproj.data import TrainingSet
from gpproj.inference import Problem
from gpproj.kernels import Parameter
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
        What the sampler reports of each draw.

    Returns
    -------
    InferenceData
        Variables `constant_variance`, `signal_variance`, `lengthscale` (dimension `input`) and the
        likelihood's, such as `noise_variance`; what a second component repeats ends in `_2`.
        Constant inputs have no length-scale.
    """
    unit = float(training.scaling.target_scale) ** 2
    values: dict[str, list[Host]] = {}
    dims: dict[str, list[str]] = {}
    seen: Counter[Parameter] = Counter()
    for column, parameter in enumerate(problem.kernel.parameters(training.d)):
        seen[parameter] += 1
        if parameter.input is not None and not training.varying[parameter.input]:
            continue
        repeat = seen[parameter]
        name = parameter.name if repeat == 1 else f"{parameter.name}_{repeat}"
        if parameter.input is not None:
            dims[name] = ["input"]
        value = np.exp(parameters[..., column])
        values.setdefault(name, []).append(unit * value if parameter.kind.is_variance else value)
    variables = {
        name: np.stack(found, axis=-1) if name in dims else found[0]
        for name, found in values.items()
    }
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
