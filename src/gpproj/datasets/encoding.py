"""From the tables that repositories publish to the numeric tables of the experiments."""

from __future__ import annotations

from typing import Any

import numpy as np

CYLINDERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "eight": 8, "twelve": 12}

# fmt: off
AUTOMOBILE_NUMBERS = (
    "symboling", "wheel-base", "length", "width", "height", "curb-weight", "engine-size", "bore",
    "stroke", "compression-ratio", "horsepower", "peak-rpm", "city-mpg", "highway-mpg",
)
# fmt: on

# Binary inputs keep one level. `fuel-system=idi` is left out: it equals `fuel-type=diesel`.
AUTOMOBILE_LEVELS = {
    "fuel-type": ("diesel",),
    "aspiration": ("turbo",),
    "num-of-doors": ("four",),
    "engine-location": ("rear",),
    "body-style": ("convertible", "hardtop", "hatchback", "sedan", "wagon"),
    "drive-wheels": ("4wd", "fwd", "rwd"),
    "engine-type": ("dohc", "l", "ohc", "ohcf", "ohcv"),
    "fuel-system": ("1bbl", "2bbl", "mfi", "mpfi", "spdi", "spfi"),
}


# From OpenML's names to those of the files.
HEART_NAMES = {
    "chest": "cp",
    "resting_blood_pressure": "trestbps",
    "serum_cholestoral": "chol",
    "fasting_blood_sugar": "fbs",
    "resting_electrocardiographic_results": "restecg",
    "maximum_heart_rate_achieved": "thalach",
    "exercise_induced_angina": "exang",
    "number_of_major_vessels": "ca",
}
PIMA_NAMES = {
    "preg": "pregnancies",
    "plas": "glucose",
    "pres": "blood_pressure",
    "skin": "skin_thickness",
    "insu": "insulin",
    "mass": "bmi",
    "pedi": "pedigree",
}


def boston_table(raw: Any) -> Any:
    """Return the Boston table from OpenML's, whose names differ and `CHAS`, `RAD` are categories.

    Parameters
    ----------
    raw : pandas frame (506, 14)

    Returns
    -------
    pandas frame (506, 14)
        13 inputs and `medv`, in float64.
    """
    return floats(raw.rename(columns=str.lower).rename(columns={"b": "black"}))


def automobile_table(raw: Any) -> Any:
    """Return the numeric automobile table in our encoding from the raw one.

    `make` and `normalized-losses` are dropped, then rows with a missing cell. `symboling` and the
    number of cylinders are numbers; other categories become indicators named `column=level`.

    Parameters
    ----------
    raw : pandas frame (205, 26)
        Missing cells are `?` or NaN.

    Returns
    -------
    pandas frame (193, 39)
        38 inputs and `price`, in float64.
    """
    import pandas as pd

    # Copies of the ARFF file name the attribute that it classifies either way.
    cells = raw.rename(columns={"class": "symboling"}).astype(object)
    cells = cells.drop(columns=["make", "normalized-losses"])
    missing = cells.isna() | (cells == "?")
    cells = cells[~missing.any(axis=1)].reset_index(drop=True)
    columns = {name: cells[name] for name in AUTOMOBILE_NUMBERS}
    columns["num-of-cylinders"] = cells["num-of-cylinders"].map(CYLINDERS)
    for name, levels in AUTOMOBILE_LEVELS.items():
        columns |= {f"{name}={level}": cells[name] == level for level in levels}
    return floats(pd.DataFrame(columns | {"price": cells["price"]}))


def heart_table(raw: Any) -> Any:
    """Return the Statlog heart table, whose `class` is 1 or 2, from OpenML's names and labels."""
    return _labelled(raw.rename(columns=HEART_NAMES), {"absent": 1, "present": 2})


def pima_table(raw: Any) -> Any:
    """Return the Pima diabetes table, whose `class` is 0 or 1, from OpenML's names and labels."""
    return _labelled(raw.rename(columns=PIMA_NAMES), {"tested_negative": 0, "tested_positive": 1})


def _labelled(table: Any, labels: dict[str, int]) -> Any:
    return floats(table.assign(**{"class": table["class"].astype(object).map(labels)}))


def floats(table: Any) -> Any:
    """Return the same table in float64, from numbers or from their text."""
    import pandas as pd

    # By way of objects, because a category of the strings "1", "2" has no direct way to floats.
    columns = {name: table[name].astype(object).to_numpy(dtype=np.float64) for name in table}
    return pd.DataFrame(columns)
