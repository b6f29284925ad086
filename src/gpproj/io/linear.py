"""Draws of linear models, of references and of submodels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpproj.io.columns import columns_from, stored_columns
from gpproj.io.plain import plain, restored
from gpproj.projection import LinearSubmodel
from gpproj.reference import LinearDraws
from gpproj.reference.linear_draws import FAMILIES
from gpproj.store import Stored

FACTS = ("inputs", "posterior_kl", "projection_error", "converged", "evaluations", "problems")
"""Fields of a submodel that are plain values."""


def stored_linear(linear: LinearDraws) -> Stored:
    """Return linear functions, one for each draw, as plain values and arrays."""
    arrays: dict[str, NDArray[Any]] = {
        "slopes": linear.slopes,
        "intercept": linear.intercept,
        "weights": linear.weights,
    }
    if linear.noise is not None:
        arrays["noise"] = linear.noise
    return Stored({"family": linear.family}, arrays)


def linear_from(found: Stored) -> LinearDraws:
    """Return the linear functions that were stored."""
    content, arrays = found
    family = content["family"]
    if family not in FAMILIES:
        raise ValueError(f"there is no family {family!r}")
    return LinearDraws(
        family,
        arrays["slopes"],
        arrays["intercept"],
        arrays.get("noise"),
        arrays["weights"],
    )


def stored_linear_submodel(submodel: LinearSubmodel) -> Stored:
    """Return a linear submodel as plain values and arrays."""
    columns, linear = stored_columns(submodel.columns), stored_linear(submodel.linear)
    facts = {name: plain(getattr(submodel, name)) for name in FACTS}
    own = {"errors": submodel.errors, "extra": np.array(submodel.extra)}
    return Stored(
        {**columns.content, **linear.content, **facts}, columns.arrays | linear.arrays | own
    )


def linear_submodel_from(found: Stored) -> LinearSubmodel:
    """Return the linear submodel that was stored."""
    content, arrays = found
    return LinearSubmodel(
        **{name: restored(content[name]) for name in FACTS},
        loo_divergence=np.nan,
        data_columns=columns_from(found),
        parts=(),
        linear=linear_from(found),
        errors=arrays["errors"],
        extra=float(arrays["extra"]),
    )
