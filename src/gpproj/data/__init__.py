"""Frames, names, standardisation and every check of what users pass as `X` and `y`."""

from __future__ import annotations

from gpproj.data.checks import positive
from gpproj.data.scaling import Scaling
from gpproj.data.training import (
    Columns,
    TrainingSet,
    new_inputs,
    new_target,
    raw_rows,
    training_set,
)

__all__ = [
    "Columns",
    "Scaling",
    "TrainingSet",
    "new_inputs",
    "new_target",
    "positive",
    "raw_rows",
    "training_set",
]
