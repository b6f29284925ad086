"""From conditioned Gaussian processes to predictions at new points."""

from __future__ import annotations

from gpproj.prediction.expected import ExpectedTargets, expected_targets
from gpproj.prediction.latent import Component, Gradients, LatentPredictor
from gpproj.prediction.mixtures import Mixture, Predictive, returned
from gpproj.prediction.responses import (
    Interval,
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
    "Interval",
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
    "noise_of",
    "returned",
    "weighted",
]
