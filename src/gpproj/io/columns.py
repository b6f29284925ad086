"""Names and scaling of inputs, and the data beside them."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from gpproj.data import Columns, Scaling, TrainingSet
from gpproj.io.plain import plain, restored
from gpproj.linalg import to_host
from gpproj.store import Stored


def stored_training(training: TrainingSet) -> Stored:
    """Return the data as plain values and arrays, on the model's scale."""
    content, own = stored_columns(training)
    arrays: dict[str, NDArray[Any]] = {
        **own,
        "X": to_host(training.X),
        "y": to_host(training.y),
    }
    if training.offset is not None:
        arrays["offset"] = to_host(training.offset)
    if training.row_groups is not None:
        arrays["row_groups"] = training.row_groups
    return Stored(content, arrays)


def training_from(found: Stored) -> TrainingSet:
    """Return the data that were stored."""
    arrays = found.arrays
    return TrainingSet(
        **vars(columns_from(found)),
        X=arrays["X"],
        y=arrays["y"],
        offset=arrays.get("offset"),
        row_groups=arrays.get("row_groups"),
    )


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
