"""Covariance functions with input masks: value, pull-back onto log parameters, slope at zero.

Kernels are immutable and hold their values; `+` and `*` combine them. A kernel says what happens
for one pair of points, the base classes do the rest.

Examples
--------
>>> from gpproj import kernels
>>> kernels.Constant(1.0) + kernels.SquaredExponential(2.0, lengthscales=[0.5, 3.0])
Constant(variance=1) + SquaredExponential(variance=2, lengthscales=[0.5, 3])
"""

from __future__ import annotations

from gpproj.kernels.base import Evaluation, Kernel, Mask, Parameter
from gpproj.kernels.combinations import Product, Sum
from gpproj.kernels.constant import Constant, Zero
from gpproj.kernels.from_scikit_learn import ScikitLearn
from gpproj.kernels.kinds import KINDS, ParameterKind, Typical, Unit
from gpproj.kernels.linear import Linear
from gpproj.kernels.reach import reach_of
from gpproj.kernels.stationary import Matern32, Matern52, SquaredExponential, Stationary

__all__ = [
    "KINDS",
    "Constant",
    "Evaluation",
    "Kernel",
    "Linear",
    "Mask",
    "Matern32",
    "Matern52",
    "Parameter",
    "ParameterKind",
    "Product",
    "ScikitLearn",
    "SquaredExponential",
    "Stationary",
    "Sum",
    "Typical",
    "Unit",
    "Zero",
    "reach_of",
]
