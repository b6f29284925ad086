"""Frames, names, standardisation and every check of what users pass as `X` and `y`."""

from __future__ import annotations

from gpproj.data.checks import positive
from gpproj.data.columns import Columns
from gpproj.data.encoding import Encoding, Missing
from gpproj.data.repeats import Repeats, copies_of, repeats_of
from gpproj.data.row_groups import groups_of_distinct_rows, read_row_groups
from gpproj.data.rows import Rows, new_inputs, new_offset, new_target, raw_rows
from gpproj.data.scaling import Scaling, taken
from gpproj.data.target_kinds import TargetKind
from gpproj.data.training import TrainingSet, training_set

__all__ = [
    "Columns",
    "Encoding",
    "Missing",
    "Repeats",
    "Rows",
    "Scaling",
    "TargetKind",
    "TrainingSet",
    "copies_of",
    "groups_of_distinct_rows",
    "new_inputs",
    "new_offset",
    "new_target",
    "positive",
    "raw_rows",
    "read_row_groups",
    "repeats_of",
    "taken",
    "training_set",
]
