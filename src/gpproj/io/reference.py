"""References: data, draws and settings, and what was computed from them; one kind after another."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpproj.data import TrainingSet
from gpproj.inference import Conditioned, Marginals, Problem, Sites
from gpproj.io.columns import stored_training, training_from
from gpproj.io.latent import (
    inducing_from,
    latent_from,
    prefixed,
    stored_inducing,
    stored_latent,
    with_prefix,
)
from gpproj.io.linear import linear_from, stored_linear
from gpproj.io.plain import plain, restored
from gpproj.io.recipes import plain_recipe, recipe_of
from gpproj.linalg import to_host
from gpproj.optimise import Outcome
from gpproj.reference import (
    Computed,
    Draws,
    GaussianProcessReference,
    LinearReference,
    MomentReference,
    Reference,
    Shrinkage,
    TargetReference,
)
from gpproj.reference.conditioning import problem_of
from gpproj.reference.diagnostics import describe
from gpproj.store import Stored


@singledispatch
def stored_reference(reference: Reference) -> Stored:
    """Return a reference as plain values and arrays."""
    raise TypeError(f"gpproj does not know how to save {reference!r}")


@stored_reference.register(LinearReference)
def _stored_linear(reference: LinearReference) -> Stored:
    """Return the draws; `refit=` of the user stays behind, as any function does."""
    data, own = stored_training(reference.training), stored_linear(reference.linear)
    content = {
        **data.content,
        **own.content,
        "source": reference.source,
        "recipe": plain_recipe(reference.recipe),
    }
    return Stored(content, data.arrays | own.arrays)


@stored_reference.register(GaussianProcessReference)
def _stored_process(reference: GaussianProcessReference) -> Stored:
    central, common = reference._central, _stored_target(reference)
    content = {
        **common.content,
        "prior": plain(reference.prior),
        "recipe": plain_recipe(reference.recipe),
        "log_evidence": float(central.log_evidence),
        "chains": None,
    }
    arrays: dict[str, NDArray[Any]] = {
        **common.arrays,
        "parameters": reference.draws.parameters,
        "weights": reference.draws.weights,
        "coefficients": to_host(central.coefficients),
        "root": to_host(central.root),
        **prefixed("site", central.sites._asdict()),
    }
    if central.marginals is not None:
        arrays |= prefixed("marginal", central.marginals._asdict())
    if reference.optimum is not None:
        arrays |= prefixed("optimum", reference.optimum._asdict())
    if reference.posterior is not None:
        content["chains"] = int(reference.posterior.posterior.sizes["chain"])
        told = getattr(reference.posterior, "sample_stats", {})
        arrays |= prefixed("statistic", {name: np.asarray(told[name]) for name in told})
    return Stored(content, arrays)


@stored_reference.register(MomentReference)
def _stored_moments(reference: MomentReference) -> Stored:
    """Return the moments, less the functions that came with them."""
    content, arrays = _stored_target(reference)
    shrinkage = plain(reference.shrinkage)
    return Stored({**content, "source": reference.source, "shrinkage": shrinkage}, arrays)


def _stored_target(reference: TargetReference) -> Stored:
    """Return what references have in common that Gaussian processes are projected from."""
    problem, data = reference.problem, stored_training(reference.training)
    inducing = stored_inducing(problem.inducing)
    # The moments are kept although they may follow from the rest: other numbers of threads, other
    # machines, would find other last digits.
    latent = stored_latent(reference.latent)
    content = {
        **data.content,
        "structure": plain(reference.structure),
        "likelihood": plain(problem.likelihood),
        "method": problem.method,
        "nugget": problem.nugget,
        **inducing.content,
        **latent.content,
    }
    arrays = {**data.arrays, "used": problem.mask, **inducing.arrays, **latent.arrays}
    return Stored(content, arrays)


def reference_from(found: Stored) -> Reference:
    """Return the reference that was stored."""
    content, training = found.content, training_from(found)
    if "family" in content:
        return LinearReference(
            training=training,
            recipe=recipe_of(content["recipe"]),
            linear=linear_from(found),
            source=content["source"],
        )
    problem = _problem_from(found, training)
    make = _moments_from if "source" in content else _process_from
    return make(found, training, problem)


def _problem_from(found: Stored, training: TrainingSet) -> Problem:
    content = found.content
    problem = problem_of(
        training,
        restored(content["structure"]),
        restored(content["likelihood"]),
        content["method"],
        content["nugget"],
    )
    used = found.arrays["used"].astype(np.bool_)
    return replace(problem, mask=used, inducing=inducing_from(found, training.X, used))


def _process_from(
    found: Stored, training: TrainingSet, problem: Problem
) -> GaussianProcessReference:
    content, arrays = found
    draws = Draws(arrays["parameters"], arrays["weights"])
    optimum, marginals = with_prefix("optimum", arrays), with_prefix("marginal", arrays)
    central = Conditioned(
        arrays["coefficients"],
        arrays["root"],
        content["log_evidence"],
        Sites(**with_prefix("site", arrays)),
        Marginals(**marginals) if marginals else None,
    )
    return GaussianProcessReference(
        training=training,
        problem=problem,
        draws=draws,
        recipe=recipe_of(content["recipe"]),
        optimum=Outcome(**optimum) if optimum else None,
        prior=restored(content["prior"]),
        posterior=_posterior(content["chains"], training, problem, draws, arrays),
        _computed=Computed(latent_from(found), central),
    )


def _moments_from(found: Stored, training: TrainingSet, problem: Problem) -> MomentReference:
    shrinkage = restored(found.content["shrinkage"])
    return MomentReference(
        training=training,
        problem=problem,
        moments=latent_from(found),
        source=found.content["source"],
        shrinkage=None if shrinkage is None else Shrinkage(*shrinkage),
    )


def _posterior(
    chains: int | None,
    training: TrainingSet,
    problem: Problem,
    draws: Draws,
    arrays: dict[str, NDArray[Any]],
) -> Any:
    """Return the draws as ArviZ data; None where there are none, or no ArviZ."""
    if chains is None:
        return None
    parameters = draws.parameters.reshape(chains, -1, draws.parameters.shape[1])
    try:
        return describe(training, problem, parameters, with_prefix("statistic", arrays) or None)
    except ImportError:
        return None
