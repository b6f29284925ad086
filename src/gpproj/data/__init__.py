"""Frames, names, standardisation and every check of what users pass as `X` and `y`."""

from __future__ import annotations

from gpproj.data.checks import positive
from gpproj.data.row_groups import groups_of_distinct_rows, read_row_groups
from gpproj.data.rows import Rows, new_inputs, new_offset, new_target, raw_rows
from gpproj.data.scaling import Scaling
from gpproj.data.target_kinds import TargetKind
from gpproj.data.training import Columns, TrainingSet, training_set
from gpproj.data.twins import Twins, twins_of

__all__ = [
    "Columns",
    "Rows",
    "Scaling",
    "TargetKind",
    "TrainingSet",
    "Twins",
    "groups_of_distinct_rows",
    "new_inputs",
    "new_offset",
    "new_target",
    "positive",
    "raw_rows",
    "read_row_groups",
    "training_set",
    "twins_of",
]
