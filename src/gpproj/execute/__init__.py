"""Parallel work, batched evaluations for devices, and progress; it knows no statistics."""

from __future__ import annotations

from gpproj.execute.gathering import call_gathered, run_gathered
from gpproj.execute.parallel import (
    check_jobs,
    run,
    run_in_batches,
    same_workers,
    uses_processes,
    workers_of,
)
from gpproj.execute.progress import Progress, time_text
from gpproj.execute.sharing import Rows, has_partners, partners, shared
from gpproj.execute.stopping import check_stop
from gpproj.execute.whole import WholeProgress

__all__ = [
    "Progress",
    "Rows",
    "WholeProgress",
    "call_gathered",
    "check_jobs",
    "check_stop",
    "has_partners",
    "partners",
    "run",
    "run_gathered",
    "run_in_batches",
    "same_workers",
    "shared",
    "time_text",
    "uses_processes",
    "workers_of",
]
