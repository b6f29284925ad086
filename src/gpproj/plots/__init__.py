"""Pictures, drawn from tables that users can get too; each function returns its axes."""

from __future__ import annotations

from gpproj.plots.calibration import calibration
from gpproj.plots.curves import error_curve, score_curve, trade_off
from gpproj.plots.folds import prediction_scatter, ranking_heatmap
from gpproj.plots.inputs import relevance_bars
from gpproj.plots.pairs import interactions
from gpproj.plots.panels import effects
from gpproj.plots.style import BLUE, COLOURS, GREEN, GREY, ORANGE, PINK

__all__ = [
    "BLUE",
    "COLOURS",
    "GREEN",
    "GREY",
    "ORANGE",
    "PINK",
    "calibration",
    "effects",
    "error_curve",
    "interactions",
    "prediction_scatter",
    "ranking_heatmap",
    "relevance_bars",
    "score_curve",
    "trade_off",
]
