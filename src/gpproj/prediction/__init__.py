"""From conditioned Gaussian processes to predictions at new points."""

from __future__ import annotations

from gpproj.prediction.intervals import interval
from gpproj.prediction.mixtures import (
    ROWS,
    Component,
    Gradients,
    LatentPredictor,
    Mixture,
    Prediction,
    Predictive,
    log_density_of_response,
    noise_of,
    response_of,
    returned,
)

__all__ = [
    "ROWS",
    "Component",
    "Gradients",
    "LatentPredictor",
    "Mixture",
    "Prediction",
    "Predictive",
    "interval",
    "log_density_of_response",
    "noise_of",
    "response_of",
    "returned",
]
