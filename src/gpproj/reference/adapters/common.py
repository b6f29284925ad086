"""Reading and checking that several adapters need."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from gpproj.linalg import Host

UNEVEN = 1e-6
"""Relative difference of noise variances that counts as none."""

WHITE = 1e-8
"""Share of a variance below which it is rounding, not white noise."""


def libraries(function: str, *names: str) -> list[Any]:
    """Import the libraries that an adapter needs, or say how to install them."""
    try:
        return [import_module(name) for name in names]
    except ImportError:
        raise ImportError(
            f'gpproj.{function} needs {names[0]}: pip install "gpproj[interop]"'
        ) from None


def with_names(X: Host, feature_names: Sequence[str] | None) -> Any:
    """Return inputs with their names, if there are any."""
    if feature_names is None:
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=list(feature_names))


def common_noise(variances: Any, what: str) -> float:
    """Return the noise variance of all rows, or refuse noise that differs between them."""
    values = np.asarray(variances, dtype=np.float64)
    if np.ptp(values) > UNEVEN * values.max():
        raise ValueError(
            f"{what} has noise that differs between rows, which cannot be converted; "
            "gpproj.from_moments takes any latent posterior"
        )
    return float(values.mean())


def white_noise(variance: Host, K: Host) -> Host:
    """Return the white noise in a kernel, `(n,)`.

    Libraries evaluate a kernel of two sets of points, here `K`, without its white noise, and
    that of one set of points, here its diagonal `variance`, with it.
    """
    white = variance - np.diagonal(K)
    return np.where(white > WHITE * variance, white, 0.0)


def one_output(y: Any, what: str) -> Host:
    """Return targets as a vector, or refuse several."""
    values = np.asarray(y, dtype=np.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{what} must have one target; saw the shape {values.shape}")
    return values


def latent_moments(K: Host, noise: Any, y: Host) -> tuple[Host, Host]:
    """Return mean and covariance of a latent function with the prior N(0, K), given noisy values.

    mean = K (K + V)^-1 y,   cov = K - K (K + V)^-1 K,   V = diag(noise).
    """
    A = K + np.diag(np.broadcast_to(noise, y.shape))
    gain = np.linalg.solve(A, np.column_stack([y, K]))
    return K @ gain[:, 0], K - K @ gain[:, 1:]
