"""Fitted models of other libraries as references, one library a file."""

from __future__ import annotations

from gpproj.reference.adapters.from_estimators import from_estimator
from gpproj.reference.adapters.from_gp_jax import from_gpjax
from gpproj.reference.adapters.from_pymc_models import from_pymc
from gpproj.reference.adapters.from_scikit_learn import from_sklearn
from gpproj.reference.adapters.from_tiny_gp import from_tinygp
from gpproj.reference.adapters.from_torch import from_gpytorch

__all__ = [
    "from_estimator",
    "from_gpjax",
    "from_gpytorch",
    "from_pymc",
    "from_sklearn",
    "from_tinygp",
]
