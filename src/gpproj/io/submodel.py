"""Submodels: what prediction needs, and nothing else."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from gpproj.io.columns import columns_from, stored_columns
from gpproj.io.plain import plain, restored
from gpproj.linalg import to_host
from gpproj.prediction import LatentPredictor
from gpproj.projection import Submodel
from gpproj.projection.submodel import Part
from gpproj.store import Stored

FACTS = (
    "inputs",
    "posterior_kl",
    "projection_error",
    "loo_divergence",
    "converged",
    "evaluations",
    "problems",
)
"""Fields that are plain values."""


def stored_submodel(submodel: Submodel) -> Stored:
    """Return a submodel as plain values and arrays."""
    columns = stored_columns(submodel.columns)
    arrays: dict[str, NDArray[Any]] = dict(columns.arrays)
    parts = []
    for place, part in enumerate(submodel.parts):
        own = part.predictor
        parts.append(
            {
                "weight": float(part.weight),
                "likelihood": plain(part.likelihood),
                "extra": float(part.extra),
                "kernel": plain(own.kernel),
                "diagonal": float(own.extra),
            }
        )
        arrays[f"log_parameters_{place}"] = own.log_parameters
        arrays[f"mask_{place}"] = own.mask
        arrays[f"X_{place}"] = to_host(own.X)
        arrays[f"coefficients_{place}"] = to_host(own.coefficients)
        arrays[f"root_{place}"] = to_host(own.root)
    facts = {name: plain(getattr(submodel, name)) for name in FACTS}
    return Stored({**columns.content, **facts, "parts": parts}, arrays)


def submodel_from(found: Stored) -> Submodel:
    """Return the submodel that was stored."""
    content, arrays = found
    parts = []
    for place, part in enumerate(content["parts"]):
        predictor = LatentPredictor(
            kernel=restored(part["kernel"]),
            log_parameters=arrays[f"log_parameters_{place}"],
            mask=arrays[f"mask_{place}"],
            X=arrays[f"X_{place}"],
            coefficients=arrays[f"coefficients_{place}"],
            root=arrays[f"root_{place}"],
            extra=part["diagonal"],
        )
        parts.append(Part(part["weight"], predictor, restored(part["likelihood"]), part["extra"]))
    facts = {name: restored(content[name]) for name in FACTS}
    return Submodel(**facts, data_columns=columns_from(found), parts=tuple(parts))
