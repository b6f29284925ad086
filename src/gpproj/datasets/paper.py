"""The three real data sets of the paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpproj.datasets import source
from gpproj.datasets.encoding import automobile_table, boston_table
from gpproj.datasets.source import Dataset

# OpenML data sets `boston` and `autos`.
BOSTON_ID = 531
AUTOMOBILE_ID = 9


def boston(data_dir: str | Path | None = None) -> Dataset:
    """Boston house prices (Harrison and Rubinfeld, 1978), 506 x 13, target `medv`.

    Parameters
    ----------
    data_dir : path, optional
        Folder with `boston.csv`; else the folder in `GPPROJ_DATA`; else OpenML data set 531.
    """
    table = source.load_table(
        "boston.csv", data_dir, lambda: boston_table(source.download(BOSTON_ID))
    )
    return source.split(table, "medv")


def automobile(data_dir: str | Path | None = None) -> Dataset:
    """Automobile prices of 1985 (UCI imports-85) in our encoding, 193 x 38, target `price`.

    The paper gives the sizes but not the encoding; `automobile_table` says what ours is.

    Parameters
    ----------
    data_dir : path, optional
        Folder with `automobile_p38_n193.csv`; else the folder in `GPPROJ_DATA`; else it is
        derived from OpenML data set 9.
    """
    table = source.load_table(
        "automobile_p38_n193.csv",
        data_dir,
        lambda: automobile_table(source.download(AUTOMOBILE_ID)),
    )
    return source.split(table, "price")


def crime(data_dir: str | Path | None = None) -> Dataset:
    """Violent crime in US communities, 1992 rows x 102 inputs; the target is the *log* rate.

    `y` is log ViolentCrimesPerPop, from crimes per 100 000 people. The table is UCI's Communities
    and Crime Unnormalized without the 22 police columns, the rows with missing values, and the
    one row whose rate is zero. It is read from a folder only: we know of no copy on OpenML.

    Parameters
    ----------
    data_dir : path, optional
        Folder with `crime_p102_n1992.csv`; else the folder in `GPPROJ_DATA`.
    """
    file = "crime_p102_n1992.csv"
    refuse = source.not_downloaded("crime", file, "Communities and Crime Unnormalized")
    table = source.load_table(file, data_dir, refuse)
    X, rate = source.split(table, "ViolentCrimesPerPop")
    return Dataset(X, np.log(rate).rename("log ViolentCrimesPerPop"))
