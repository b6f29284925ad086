"""The latent posterior at the training inputs, and the inducing points that it goes through."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpproj.inference import Inducing, Latent, Marginals, Sites
from gpproj.io.plain import plain, restored
from gpproj.linalg import Array, Covariance, DenseCovariance, LowRankCovariance, to_host
from gpproj.store import Stored


def prefixed(prefix: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return arrays under longer names."""
    return {f"{prefix}_{name}": array for name, array in arrays.items()}


def with_prefix(prefix: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names have a prefix, without it."""
    start = f"{prefix}_"
    return {
        name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)
    }


def stored_latent(latent: Latent) -> Stored:
    """Return moments and sites as plain values and arrays; a low rank stays one."""
    arrays = {
        "latent_mean": to_host(latent.latent_mean),
        **_stored_covariance(latent.latent_cov),
        **prefixed("latent_site", latent.sites._asdict()),
    }
    if latent.left_out is not None:
        arrays |= prefixed("left_out", latent.left_out._asdict())
    return Stored({"latent_likelihood": plain(latent.likelihood)}, arrays)


def latent_from(found: Stored) -> Latent:
    """Return the latent posterior that was stored."""
    content, arrays = found
    predicted = with_prefix("left_out", arrays)
    return Latent(
        arrays["latent_mean"],
        _covariance_from(arrays),
        restored(content["latent_likelihood"]),
        Sites(**with_prefix("latent_site", arrays)),
        Marginals(**predicted) if predicted else None,
    )


def _stored_covariance(covariance: Covariance) -> dict[str, NDArray[Any]]:
    if isinstance(covariance, LowRankCovariance):
        parts = {"noise": to_host(covariance.noise), "factor": to_host(covariance.factor)}
        return prefixed("latent_cov", parts)
    return {"latent_cov": to_host(covariance.dense())}


def _covariance_from(arrays: dict[str, NDArray[Any]]) -> Covariance:
    if "latent_cov" in arrays:
        return DenseCovariance(arrays["latent_cov"])
    return LowRankCovariance(**with_prefix("latent_cov", arrays))


def stored_inducing(inducing: Inducing | None) -> Stored:
    """Return inducing points as plain values and arrays, without the rows they come from."""
    if inducing is None:
        return Stored({"inducing": None}, {})
    content = {
        "method": inducing.method,
        "selection": inducing.selection,
        "given": inducing.given,
        "most": inducing.most,
        "kernel": plain(inducing.kernel),
    }
    return Stored({"inducing": content}, {"inducing_points": to_host(inducing.Z)})


def inducing_from(found: Stored, X: Array, used: NDArray[np.bool_]) -> Inducing | None:
    """Return the inducing points that were stored, chosen from the rows of X for some inputs.

    Those that the user chose are the same for all inputs.
    """
    content = found.content["inducing"]
    if content is None:
        return None
    return Inducing(
        Z=found.arrays["inducing_points"],
        method=content["method"],
        selection=content["selection"],
        given=content["given"],
        kernel=restored(content["kernel"]),
        X=X,
        most=content["most"],
        inputs=None if content["given"] else used,
    )


def stored_points(
    inducing: Inducing | None, masks: Iterable[NDArray[np.bool_]]
) -> dict[str, NDArray[Any]]:
    """Return the inducing points of submodels on some inputs, one array for each.

    They follow from those of the reference, but rounding may decide between rows that are alike,
    and the centres of clusters are another library's.
    """
    if inducing is None or inducing.given:
        return {}
    return {f"points_{size}": to_host(inducing.points(mask)) for size, mask in enumerate(masks)}


def restore_points(
    inducing: Inducing | None,
    masks: Iterable[NDArray[np.bool_]],
    arrays: dict[str, NDArray[Any]],
) -> None:
    """Let inducing points have chosen those that were stored for submodels."""
    if inducing is None or inducing.given:
        return
    for size, mask in enumerate(masks):
        inducing._chosen[mask.tobytes()] = arrays[f"points_{size}"]
