"""Projection predictive variable selection for Gaussian processes.

This module is the public door. Its names are looked up when they are first used, so that
``import gpproj`` stays fast and pulls in no optional library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0.dev0"

__all__ = [
    "GaussianProcessReference",
    "GaussianProcessSubmodel",
    "LinearReference",
    "LinearSubmodel",
    "MomentReference",
    "ProjectionClassifier",
    "ProjectionRegressor",
    "Reference",
    "ReferenceCheck",
    "ReferenceWarning",
    "SearchPath",
    "Sparse",
    "Submodel",
    "Validation",
    "__version__",
    "backward_search",
    "condition",
    "datasets",
    "effects",
    "false_selections",
    "fit",
    "forward_search",
    "from_draws",
    "from_estimator",
    "from_gpjax",
    "from_gpytorch",
    "from_linear_draws",
    "from_moments",
    "from_predictions",
    "from_pymc",
    "from_sklearn",
    "from_tinygp",
    "interactions",
    "kernels",
    "leave_input_out",
    "likelihoods",
    "load",
    "plots",
    "priors",
    "project",
    "project_path",
    "relevance",
    "relevance_table",
    "sample",
    "sample_linear",
    "validate",
    "write_report",
]

if TYPE_CHECKING:
    from gpproj import datasets, kernels, likelihoods, plots, priors
    from gpproj.dependence import effects, interactions
    from gpproj.estimators import ProjectionClassifier, ProjectionRegressor
    from gpproj.inference import Sparse
    from gpproj.io import load
    from gpproj.projection import GaussianProcessSubmodel, LinearSubmodel, Submodel, project
    from gpproj.reference import (
        GaussianProcessReference,
        LinearReference,
        MomentReference,
        Reference,
        ReferenceCheck,
        ReferenceWarning,
        condition,
        fit,
        from_draws,
        from_linear_draws,
        from_moments,
        from_predictions,
        sample,
        sample_linear,
    )
    from gpproj.reference.adapters import (
        from_estimator,
        from_gpjax,
        from_gpytorch,
        from_pymc,
        from_sklearn,
        from_tinygp,
    )
    from gpproj.report import write_report
    from gpproj.search import (
        SearchPath,
        backward_search,
        forward_search,
        leave_input_out,
        project_path,
    )
    from gpproj.sensitivity import relevance, relevance_table
    from gpproj.validation import Validation, false_selections, validate
else:
    # Hidden from type checkers: a module with `__getattr__` has every name, misspelt ones too.
    _NAMES = {
        "dependence": ("effects", "interactions"),
        "estimators": ("ProjectionClassifier", "ProjectionRegressor"),
        "inference": ("Sparse",),
        "io": ("load",),
        "projection": ("GaussianProcessSubmodel", "LinearSubmodel", "Submodel", "project"),
        "reference": (
            "GaussianProcessReference",
            "LinearReference",
            "MomentReference",
            "Reference",
            "ReferenceCheck",
            "ReferenceWarning",
            "condition",
            "fit",
            "from_draws",
            "from_linear_draws",
            "from_moments",
            "from_predictions",
            "sample",
            "sample_linear",
        ),
        "reference.adapters": (
            "from_estimator",
            "from_gpjax",
            "from_gpytorch",
            "from_pymc",
            "from_sklearn",
            "from_tinygp",
        ),
        "report": ("write_report",),
        "search": (
            "SearchPath",
            "backward_search",
            "forward_search",
            "leave_input_out",
            "project_path",
        ),
        "sensitivity": ("relevance", "relevance_table"),
        "validation": ("Validation", "false_selections", "validate"),
    }
    _ROOM = {name: room for room, names in _NAMES.items() for name in names}

    def __getattr__(name):
        """Import a public name from its room the first time it is asked for."""
        from importlib import import_module

        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name not in _ROOM:
            return import_module(f"{__name__}.{name}")
        value = getattr(import_module(f"{__name__}.{_ROOM[name]}"), name)
        globals()[name] = value
        return value

    def __dir__():
        """The public names, whether or not they were used yet."""
        return sorted(__all__)
