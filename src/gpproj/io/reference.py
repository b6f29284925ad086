"""References: data, draws and settings, and what was computed from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpproj.data import Columns, Scaling, TrainingSet
from gpproj.inference import Conditioned, Latent, Marginals, Problem, Sites
from gpproj.io.plain import plain, restored
from gpproj.io.recipes import plain_recipe, recipe_of
from gpproj.likelihoods import Gaussian
from gpproj.linalg import DenseCovariance, to_host
from gpproj.optimise import Outcome
from gpproj.reference import Draws, Reference
from gpproj.reference.conditioning import problem_of
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
        "likelihood": plain(reference.problem.likelihood),
        "method": reference.problem.method,
        "nugget": reference.problem.nugget,
        "prior": plain(reference.prior),
        "recipe": plain_recipe(reference.recipe),
        "latent_likelihood": plain(latent.likelihood),
        "log_evidence": float(central.log_evidence),
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
        **_prefixed("latent_site", latent.sites._asdict()),
        **_prefixed("site", central.sites._asdict()),
    }
    if training.offset is not None:
        arrays["offset"] = to_host(training.offset)
    if central.marginals is not None:
        arrays |= _prefixed("marginal", central.marginals._asdict())
    if reference.optimum is not None:
        arrays |= _prefixed("optimum", reference.optimum._asdict())
    if reference.posterior is not None:
        content["chains"] = int(reference.posterior.posterior.sizes["chain"])
        told = getattr(reference.posterior, "sample_stats", {})
        arrays |= _prefixed("statistic", {name: np.asarray(told[name]) for name in told})
    return Stored(content, arrays)


def reference_from(found: Stored) -> Reference:
    """Return the reference that was stored."""
    content, arrays = _upgraded(found)
    columns = columns_from(found)
    training = TrainingSet(
        **vars(columns), X=arrays["X"], y=arrays["y"], offset=arrays.get("offset")
    )
    problem = problem_of(
        training,
        restored(content["structure"]),
        restored(content["likelihood"]),
        content["method"],
        content["nugget"],
    )
    draws = Draws(arrays["parameters"], arrays["weights"])
    optimum, marginals = _with_prefix("optimum", arrays), _with_prefix("marginal", arrays)
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
        "latent": Latent(
            arrays["latent_mean"],
            DenseCovariance(arrays["latent_cov"]),
            restored(content["latent_likelihood"]),
            Sites(**_with_prefix("latent_site", arrays)),
        ),
        "_central": Conditioned(
            arrays["coefficients"],
            arrays["root"],
            content["log_evidence"],
            Sites(**_with_prefix("site", arrays)),
            Marginals(**marginals) if marginals else None,
        ),
    }
    vars(reference).update(computed)  # as if they had been asked for already
    return reference


def _upgraded(found: Stored) -> Stored:
    """Return what the first format would have said if it had known likelihoods."""
    content, arrays = found
    if "likelihood" in content:
        return found
    noise = content["noise"]
    content = {
        **content,
        "likelihood": plain(Gaussian()),
        "method": "exact",
        "latent_likelihood": plain(Gaussian(noise)),
        "log_evidence": content["log_marginal_likelihood"],
    }
    precision = np.full_like(arrays["y"], 1.0 / noise)
    sites = {"precision": precision, "shift": precision * arrays["y"]}
    return Stored(content, arrays | _prefixed("latent_site", sites) | _prefixed("site", sites))


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
        return describe(training, problem, parameters, _with_prefix("statistic", arrays) or None)
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
        "kind": columns.kind,
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
        kind=content.get("kind", "real"),  # the first format knew no other
        classes=restored(content.get("classes")),
    )


def _prefixed(prefix: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {f"{prefix}_{name}": array for name, array in arrays.items()}


def _with_prefix(prefix: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    start = f"{prefix}_"
    return {
        name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)
    }
