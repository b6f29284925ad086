"""References: data, draws and settings, and what was computed from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpproj.data import Columns, Scaling, TrainingSet
from gpproj.inference import Conditioned, Marginals, Problem, Sites
from gpproj.io.latent import (
    inducing_from,
    latent_from,
    prefixed,
    stored_inducing,
    stored_latent,
    with_prefix,
)
from gpproj.io.plain import plain, restored
from gpproj.io.recipes import plain_recipe, recipe_of
from gpproj.linalg import to_host
from gpproj.optimise import Outcome
from gpproj.reference import (
    Draws,
    ForeignReference,
    LinearReference,
    Reference,
    Shrinkage,
    refuse_saving,
)
from gpproj.reference.conditioning import problem_of
from gpproj.reference.diagnostics import describe
from gpproj.store import Stored


def stored_reference(reference: Reference) -> Stored:
    """Return a reference as plain values and arrays."""
    if isinstance(reference, LinearReference):
        refuse_saving()
    training, problem = reference.training, reference.problem
    own = _stored_own(reference)
    columns, inducing = stored_columns(training), stored_inducing(problem.inducing)
    # The moments are kept although they may follow from the rest: other numbers of threads, other
    # machines, would find other last digits.
    latent = stored_latent(reference.latent)
    content = {
        **columns.content,
        "structure": plain(reference.structure),
        "likelihood": plain(problem.likelihood),
        "method": problem.method,
        "nugget": problem.nugget,
        **inducing.content,
        **latent.content,
        **own.content,
    }
    arrays: dict[str, NDArray[Any]] = {
        **columns.arrays,
        "X": to_host(training.X),
        "y": to_host(training.y),
        "used": problem.mask,
        "parameters": reference.draws.parameters,
        "weights": reference.draws.weights,
        **inducing.arrays,
        **latent.arrays,
        **own.arrays,
    }
    if training.offset is not None:
        arrays["offset"] = to_host(training.offset)
    if training.row_groups is not None:
        arrays["row_groups"] = training.row_groups
    return Stored(content, arrays)


def _stored_own(reference: Reference) -> Stored:
    """Return what references of gpproj have and those from elsewhere do not, or the reverse."""
    if isinstance(reference, ForeignReference):  # less the functions that came with it
        shrinkage = plain(reference.shrinkage)
        return Stored({"source": reference.source, "shrinkage": shrinkage}, {})
    central = reference._central
    content = {
        "prior": plain(reference.prior),
        "recipe": plain_recipe(reference.recipe),
        "log_evidence": float(central.log_evidence),
        "chains": None,
    }
    arrays: dict[str, NDArray[Any]] = {
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


def reference_from(found: Stored) -> Reference:
    """Return the reference that was stored."""
    content, arrays = found
    columns = columns_from(found)
    training = TrainingSet(
        **vars(columns),
        X=arrays["X"],
        y=arrays["y"],
        offset=arrays.get("offset"),
        row_groups=arrays.get("row_groups"),
    )
    problem = problem_of(
        training,
        restored(content["structure"]),
        restored(content["likelihood"]),
        content["method"],
        content["nugget"],
    )
    used = arrays["used"].astype(np.bool_)
    problem = replace(problem, mask=used, inducing=inducing_from(found, training.X, used))
    make = _foreign_from if "source" in content else _own_from
    return make(found, training, problem, Draws(arrays["parameters"], arrays["weights"]))


def _own_from(found: Stored, training: TrainingSet, problem: Problem, draws: Draws) -> Reference:
    content, arrays = found
    optimum, marginals = with_prefix("optimum", arrays), with_prefix("marginal", arrays)
    reference = Reference(
        training=training,
        problem=problem,
        draws=draws,
        recipe=recipe_of(content["recipe"]),
        optimum=Outcome(**optimum) if optimum else None,
        prior=restored(content["prior"]),
        posterior=_posterior(content["chains"], training, problem, draws, arrays),
    )
    computed = {
        "latent": latent_from(found),
        "_central": Conditioned(
            arrays["coefficients"],
            arrays["root"],
            content["log_evidence"],
            Sites(**with_prefix("site", arrays)),
            Marginals(**marginals) if marginals else None,
        ),
    }
    vars(reference).update(computed)  # as if they had been asked for already
    return reference


def _foreign_from(
    found: Stored, training: TrainingSet, problem: Problem, draws: Draws
) -> ForeignReference:
    shrinkage = restored(found.content["shrinkage"])
    return ForeignReference(
        training=training,
        problem=problem,
        draws=draws,
        recipe=None,
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


def stored_columns(columns: Columns) -> Stored:
    """Return names and scaling of inputs as plain values and arrays."""
    scaling = columns.scaling
    content = {
        "feature_names": plain(columns.feature_names),
        "named": columns.named,
        "varying": plain(columns.varying),
        "target_mean": scaling.target_mean,
        "target_scale": scaling.target_scale,
        "kind": columns.kind.value,
        "classes": plain(columns.classes),
    }
    arrays = {
        "input_mean": to_host(scaling.input_mean),
        "input_scale": to_host(scaling.input_scale),
    }
    return Stored(content, arrays)


def columns_from(found: Stored) -> Columns:
    """Return the names and the scaling that were stored."""
    content, arrays = found
    return Columns(
        feature_names=restored(content["feature_names"]),
        named=content["named"],
        varying=restored(content["varying"]),
        scaling=Scaling(
            arrays["input_mean"],
            arrays["input_scale"],
            content["target_mean"],
            content["target_scale"],
        ),
        kind=content["kind"],
        classes=restored(content["classes"]),
    )
