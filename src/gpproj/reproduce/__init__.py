"""The paper's figures and tables, and some beside them; one module each, public names only."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from gpproj.reproduce.ablation import reproduce_ablation
from gpproj.reproduce.clusters import reproduce_clusters
from gpproj.reproduce.known_truth import reproduce_known_truth
from gpproj.reproduce.other_targets import SETTINGS as OTHER_TARGETS
from gpproj.reproduce.other_targets import reproduce_other_targets
from gpproj.reproduce.splits import SETTINGS, reproduce_splits
from gpproj.reproduce.table1 import reproduce_table1
from gpproj.reproduce.toy import reproduce_toy

if TYPE_CHECKING:
    import pandas as pd

EXPERIMENTS: dict[str, Callable[..., pd.DataFrame]] = {
    "toy": reproduce_toy,
    "known-truth": reproduce_known_truth,
    "table1": reproduce_table1,
    **{name: partial(reproduce_splits, name) for name in SETTINGS},
    "clusters": reproduce_clusters,
    "ablation": reproduce_ablation,
    **{name: partial(reproduce_other_targets, name) for name in OTHER_TARGETS},
}
"""What `gpproj reproduce NAME` runs: functions of a folder, most of `repeats` and `n_jobs` too."""

__all__ = [
    "EXPERIMENTS",
    "reproduce_ablation",
    "reproduce_clusters",
    "reproduce_known_truth",
    "reproduce_other_targets",
    "reproduce_splits",
    "reproduce_table1",
    "reproduce_toy",
]
