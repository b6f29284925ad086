"""Searches through submodels: forward, backward, along a given order, leaving one input out."""

from __future__ import annotations

from gpproj.search.backward import backward_search
from gpproj.search.forward import forward_search
from gpproj.search.given import project_path
from gpproj.search.leaving import leave_input_out
from gpproj.search.path import SearchPath
from gpproj.search.results import Subset

__all__ = [
    "SearchPath",
    "Subset",
    "backward_search",
    "forward_search",
    "leave_input_out",
    "project_path",
]
