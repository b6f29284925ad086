"""References: data, draws and settings, and what was computed from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpproj.data import Columns, Scaling, TrainingSet
from gpproj.inference.exact import Conditioned, Latent
from gpproj.io.plain import plain, restored
from gpproj.io.recipes import plain_recipe, recipe_of
from gpproj.linalg import DenseCovariance, to_host
from gpproj.optimise import Outcome
from gpproj.reference import Draws, Reference
from gpproj.reference.diagnostics import describe
from gpproj.store import Stored


def stored_reference(reference: Reference) -> Stored:
    """Return a reference as plain values and arrays."""
    training, draws = reference.training, reference.draws
    # Kept although they follow from the rest: other numbers of threads, other machines, would find
    # other last digits.
    latent, central = reference.latent, reference._central
    columns = stored_columns(training)
    content = {
        **columns.content,
        "structure": plain(reference.structure),
        "nugget": reference.nugget,
        "prior": plain(reference.prior),
        "recipe": plain_recipe(reference.recipe),
        "noise": float(latent.noise),
        "log_marginal_likelihood": float(central.log_marginal_likelihood),
        "chains": None,
    }
    arrays: dict[str, NDArray[Any]] = {
        **columns.arrays,
        "X": to_host(training.X),
        "y": to_host(training.y),
        "parameters": draws.parameters,
        "weights": draws.weights,
        "latent_mean": to_host(latent.latent_mean),
        "latent_cov": to_host(latent.latent_cov.dense()),
        "coefficients": to_host(central.coefficients),
        "root": to_host(central.root),
    }
    if reference.optimum is not None:
        arrays |= _prefixed("optimum", reference.optimum._asdict())
    if reference.posterior is not None:
        content["chains"] = int(reference.posterior.posterior.sizes["chain"])
        told = getattr(reference.posterior, "sample_stats", {})
        arrays |= _prefixed("statistic", {name: np.asarray(told[name]) for name in told})
    return Stored(content, arrays)


def reference_from(found: Stored) -> Reference:
    """Return the reference that was stored."""
    content, arrays = found
    training = TrainingSet(**vars(columns_from(found)), X=arrays["X"], y=arrays["y"])
    structure = restored(content["structure"])
    draws = Draws(arrays["parameters"], arrays["weights"])
    optimum = _with_prefix("optimum", arrays)
    reference = Reference(
        training=training,
        structure=structure,
        draws=draws,
        nugget=content["nugget"],
        recipe=recipe_of(content["recipe"]),
        optimum=Outcome(**optimum) if optimum else None,
        prior=restored(content["prior"]),
        posterior=_posterior(content["chains"], training, structure, draws, arrays),
    )
    covariance = DenseCovariance(arrays["latent_cov"])
    computed = {
        "latent": Latent(arrays["latent_mean"], covariance, content["noise"]),
        "_central": Conditioned(
            arrays["coefficients"], arrays["root"], content["log_marginal_likelihood"]
        ),
    }
    vars(reference).update(computed)  # as if they had been asked for already
    return reference


def _posterior(
    chains: int | None,
    training: TrainingSet,
    structure: Any,
    draws: Draws,
    arrays: dict[str, NDArray[Any]],
) -> Any:
    """Return the draws as ArviZ data; None where there are none, or no ArviZ."""
    if chains is None:
        return None
    parameters = draws.parameters.reshape(chains, -1, draws.parameters.shape[1])
    try:
        return describe(training, structure, parameters, _with_prefix("statistic", arrays) or None)
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
    )


def _prefixed(prefix: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {f"{prefix}_{name}": array for name, array in arrays.items()}


def _with_prefix(prefix: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    start = f"{prefix}_"
    return {
        name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)
    }
