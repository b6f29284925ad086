"""Fitted models of other libraries as references, one library a file."""

from __future__ import annotations

from gpproj.reference.adapters.from_scikit_learn import from_sklearn
from gpproj.reference.adapters.from_torch import from_gpytorch

__all__ = ["from_gpytorch", "from_sklearn"]
