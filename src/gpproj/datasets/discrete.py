"""Data sets whose target is one of two classes, or a count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpproj.datasets import source
from gpproj.datasets.encoding import heart_table, pima_table
from gpproj.datasets.source import Dataset

# OpenML data sets `heart-statlog` and `diabetes`.
HEART_ID = 53
PIMA_ID = 37

# Row number, date, and the two kinds of customers whose sum is the target.
BIKE_DROPPED = ("instant", "dteday", "casual", "registered")


def heart(data_dir: str | Path | None = None) -> Dataset:
    """Heart disease (UCI Statlog), 270 x 13, target `class`: 1 absent, 2 present.

    Parameters
    ----------
    data_dir : path, optional
        Folder with `heart_statlog.csv`; else the folder in `GPPROJ_DATA`; else OpenML data
        set 53.
    """
    table = source.load_table(
        "heart_statlog.csv", data_dir, lambda: heart_table(source.download(HEART_ID))
    )
    return _whole(table, "class")


def pima(data_dir: str | Path | None = None) -> Dataset:
    """Diabetes among Pima women, 768 x 8, target `class`: 1 within five years, 0 not.

    Zeros in `glucose`, `blood_pressure`, `skin_thickness`, `insulin` and `bmi` stand for values
    that are missing; they are kept as they are.

    Parameters
    ----------
    data_dir : path, optional
        Folder with `pima.csv`; else the folder in `GPPROJ_DATA`; else OpenML data set 37.
    """
    table = source.load_table("pima.csv", data_dir, lambda: pima_table(source.download(PIMA_ID)))
    return _whole(table, "class")


def bike(data_dir: str | Path | None = None) -> Dataset:
    """Bicycles rented in Washington, D.C. on 731 days (UCI), 11 inputs, target `cnt`, a count.

    The number of the row, the date, and the two counts that sum to the target are left out. It is
    read from a folder only: we know of no copy by day on OpenML.

    Parameters
    ----------
    data_dir : path, optional
        Folder with `bike_day.csv`; else the folder in `GPPROJ_DATA`.
    """
    refuse = source.not_downloaded("bike", "bike_day.csv", "Bike Sharing")
    table = source.load_table("bike_day.csv", data_dir, refuse, drop=BIKE_DROPPED)
    return _whole(table, "cnt")


def _whole(table: Any, target: str) -> Dataset:
    X, y = source.split(table, target)
    return Dataset(X, y.astype("int64"))
