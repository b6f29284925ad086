"""Work in parallel, and how far it is; knows no statistics."""

from __future__ import annotations

from gpproj.execute.meeting import ask, together
from gpproj.execute.parallel import (
    check_jobs,
    elsewhere,
    run,
    run_in_batches,
    same_workers,
    workers_of,
)
from gpproj.execute.progress import Progress, time_text
from gpproj.execute.stopping import check_stop

__all__ = [
    "Progress",
    "ask",
    "check_jobs",
    "check_stop",
    "elsewhere",
    "run",
    "run_in_batches",
    "same_workers",
    "time_text",
    "together",
    "workers_of",
]
