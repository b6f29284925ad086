"""Data sets for examples, tests and the paper's experiments.

The toy example is generated, and two sets come with scikit-learn. The others (the three of the
paper, three with classes or counts, three regressions on which searches go wrong more easily) are
read from the folder `data_dir`, or from that in the environment variable `GPPROJ_DATA`; without a
folder they are downloaded from OpenML where it has them. Whatever the source, a checksum says
whether the table is the one the results are about.
"""

from __future__ import annotations

from gpproj.datasets.embedded import breast_cancer, diabetes
from gpproj.datasets.encoding import automobile_table, boston_table
from gpproj.datasets.files import (
    automobile,
    bike,
    boston,
    crime,
    energy,
    heart,
    parkinsons,
    pima,
    yacht,
)
from gpproj.datasets.source import Dataset
from gpproj.datasets.toy import toy_functions, toy_sines

__all__ = [
    "Dataset",
    "automobile",
    "automobile_table",
    "bike",
    "boston",
    "boston_table",
    "breast_cancer",
    "crime",
    "diabetes",
    "energy",
    "heart",
    "parkinsons",
    "pima",
    "toy_functions",
    "toy_sines",
    "yacht",
]
