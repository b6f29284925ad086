"""Data sets for examples, tests and the paper's experiments.

The toy example is generated, two sets come with scikit-learn, and the others (the three of the
paper, and three with classes or counts) are read from a folder (`data_dir`, or the environment
variable `GPPROJ_DATA`), else downloaded from OpenML where it has them. Whatever the source, a
checksum says whether the table is the one the results are about.
"""

from __future__ import annotations

from gpproj.datasets.discrete import bike, heart, pima
from gpproj.datasets.embedded import breast_cancer, diabetes
from gpproj.datasets.encoding import automobile_table, boston_table
from gpproj.datasets.paper import automobile, boston, crime
from gpproj.datasets.regression import energy, parkinsons, yacht
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
