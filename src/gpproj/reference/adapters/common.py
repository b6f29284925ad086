"""What the adapters share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpproj.linalg import Host

UNEVEN = 1e-6
"""Relative difference of noise variances that counts as none."""


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


def one_output(y: Any, what: str) -> Host:
    """Return targets as a vector, or refuse several."""
    values = np.asarray(y, dtype=np.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{what} must have one target; saw the shape {values.shape}")
    return values


def symmetric(cov: Any) -> Host:
    """Return a covariance matrix without the rounding that makes it lopsided."""
    values = np.asarray(cov, dtype=np.float64)
    return 0.5 * (values + values.T)
