"""Estimators of scikit-learn that select inputs and predict with them.

The only mutable state of the package is here, as scikit-learn wants it.
"""

from __future__ import annotations

from gpproj.estimators.predicting import ProjectionClassifier, ProjectionRegressor

__all__ = ["ProjectionClassifier", "ProjectionRegressor"]
