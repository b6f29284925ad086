"""Reuse of freed memory in worker processes."""

from __future__ import annotations

import ctypes
import os
import platform
from functools import cache

LARGEST = 2**25
"""Bytes of the largest block that glibc comes to reuse by itself, on machines of 64 bits."""

TRIM, MAP = -1, -3
"""Names of settings, from malloc.h."""


@cache
def reuse_memory() -> bool:
    """Let this process reuse the memory of its arrays; return whether that took doing something.

    Processes learn to: glibc raises the size from which it asks the system for each block anew.
    Dask starts its workers with `MALLOC_TRIM_THRESHOLD_` in their environment, which ends the
    learning with it. Every array of more than 128 kB then costs page faults, and an evaluation half
    as much again. This sets what is learned otherwise: at most 64 MB are kept when all are free.
    """
    fixed = "MALLOC_TRIM_THRESHOLD_" in os.environ and "MALLOC_MMAP_THRESHOLD_" not in os.environ
    if not fixed or platform.libc_ver()[0] != "glibc":
        return False
    library = ctypes.CDLL(None)
    return bool(library.mallopt(MAP, LARGEST) and library.mallopt(TRIM, 2 * LARGEST))
