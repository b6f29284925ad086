"""From conditioned Gaussian processes to predictions at new points."""

from __future__ import annotations

from gpproj.prediction.expected import ExpectedTargets, expected_targets
from gpproj.prediction.intervals import interval
from gpproj.prediction.mixtures import (
    Component,
    Gradients,
    LatentPredictor,
    Mixture,
    Predictive,
    returned,
)
from gpproj.prediction.responses import (
    MixedResponses,
    Part,
    Prediction,
    Responses,
    ScaledResponses,
    noise_of,
)
from gpproj.prediction.tiles import ROWS, by_tiles, weighted

__all__ = [
    "ROWS",
    "Component",
    "ExpectedTargets",
    "Gradients",
    "LatentPredictor",
    "MixedResponses",
    "Mixture",
    "Part",
    "Prediction",
    "Predictive",
    "Responses",
    "ScaledResponses",
    "by_tiles",
    "expected_targets",
    "interval",
    "noise_of",
    "returned",
    "weighted",
]
