"""Data sets that are read from a folder, or from OpenML where it has them.

Each function takes the folder with the file that it names; see `gpproj.datasets`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpproj.datasets import source
from gpproj.datasets.encoding import automobile_table, boston_table, heart_table, pima_table
from gpproj.datasets.source import Dataset, from_uci, load


def boston(data_dir: str | Path | None = None) -> Dataset:
    """Return the Boston house prices (Harrison and Rubinfeld, 1978), 506 x 13, target `medv`.

    The file is `boston.csv`; otherwise it is OpenML data set 531.
    """
    return load("boston.csv", "medv", data_dir, lambda: boston_table(source.download(531)))


def automobile(data_dir: str | Path | None = None) -> Dataset:
    """Return automobile prices of 1985 (UCI imports-85) in our encoding, 193 x 38, target `price`.

    The paper gives the sizes but not the encoding; `automobile_table` says what ours is. The file
    is `automobile_p38_n193.csv`; otherwise it is derived from OpenML data set 9.
    """
    return load(
        "automobile_p38_n193.csv", "price", data_dir, lambda: automobile_table(source.download(9))
    )


def crime(data_dir: str | Path | None = None) -> Dataset:
    """Return violent crime in US communities, 1992 x 102; the target is the *log* rate.

    `y` is log ViolentCrimesPerPop, from crimes per 100 000 people. The table is UCI's Communities
    and Crime Unnormalized without the 22 police columns, the rows with missing values, and the
    one row whose rate is zero. The file is `crime_p102_n1992.csv`; we know of no copy on OpenML.
    """
    title = "Communities and Crime Unnormalized"
    X, rate = from_uci("crime_p102_n1992.csv", "ViolentCrimesPerPop", data_dir, title)
    return Dataset(X, np.log(rate).rename("log ViolentCrimesPerPop"))


def heart(data_dir: str | Path | None = None) -> Dataset:
    """Return heart disease (UCI Statlog), 270 x 13, target `class`: 1 absent, 2 present.

    The file is `heart_statlog.csv`; otherwise it is OpenML data set 53.
    """
    return _whole(
        load("heart_statlog.csv", "class", data_dir, lambda: heart_table(source.download(53)))
    )


def pima(data_dir: str | Path | None = None) -> Dataset:
    """Return diabetes among Pima women, 768 x 8, target `class`: 1 within five years, 0 not.

    Zeros in `glucose`, `blood_pressure`, `skin_thickness`, `insulin` and `bmi` stand for values
    that are missing; they are kept as they are. The file is `pima.csv`; otherwise it is OpenML data
    set 37.
    """
    return _whole(load("pima.csv", "class", data_dir, lambda: pima_table(source.download(37))))


def bike(data_dir: str | Path | None = None) -> Dataset:
    """Return bicycles rented in Washington, D.C. on 731 days (UCI), 11 inputs, target `cnt`.

    The target is a count. The number of the row, the date, and the two counts that sum to the
    target are left out. The file is `bike_day.csv`; we know of no copy by day on OpenML.
    """
    drop = ("instant", "dteday", "casual", "registered")
    return _whole(from_uci("bike_day.csv", "cnt", data_dir, "Bike Sharing", drop))


def energy(data_dir: str | Path | None = None) -> Dataset:
    """Return the heating load of simulated buildings (UCI), 768 x 8, target `Y1`.

    This is a designed experiment: few values of each input, some of them functions of others, and
    hardly any noise. The cooling load `Y2` is left out. The file is `energy.csv`.
    """
    return from_uci("energy.csv", "Y1", data_dir, "Energy efficiency", ("Y2",))


def yacht(data_dir: str | Path | None = None) -> Dataset:
    """Return the resistance of sailing yachts (UCI), 308 x 6, target `resistance`.

    It is steep in one input, `froude`, with hardly any noise. The file is `yacht.csv`.
    """
    return from_uci("yacht.csv", "resistance", data_dir, "Yacht Hydrodynamics")


def parkinsons(data_dir: str | Path | None = None) -> Dataset:
    """Return Parkinson's disease by voice (UCI telemonitoring), 5875 x 19, target `total_UPDRS`.

    The number of the person and the other score are left out; the age nearly tells the person. The
    file is `parkinsons_updrs.csv`.
    """
    drop = ("subject#", "motor_UPDRS")
    title = "Parkinsons Telemonitoring"
    return from_uci("parkinsons_updrs.csv", "total_UPDRS", data_dir, title, drop)


def _whole(data: Dataset) -> Dataset:
    return Dataset(data.X, data.y.astype("int64"))
