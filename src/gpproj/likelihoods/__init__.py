"""Observation models: how a target follows from the latent function.

Every likelihood gives its log density and derivatives, the moments that it tilts a Gaussian to, and
mean and variance of predictions. Those without a closed form are integrated numerically, to eight
digits or more.

Examples
--------
>>> import numpy as np
>>> from gpproj import likelihoods
>>> likelihoods.Gaussian(variance=0.25)
Gaussian(variance=0.25)
>>> counts = likelihoods.NegativeBinomial(dispersion=0.5)
>>> counts.derivatives(np.array([3.0]), np.array([0.0])).first.round(4)
array([1.3333])
>>> tilted = likelihoods.Bernoulli().tilted(np.array([1.0]), np.array([0.0]), np.array([1.0]))
>>> tilted.mean.round(4), tilted.variance.round(4)
(array([0.5642]), array([0.6817]))
"""

from __future__ import annotations

from gpproj.likelihoods.base import Derivatives, Likelihood
from gpproj.likelihoods.bernoulli import Bernoulli
from gpproj.likelihoods.counts import NegativeBinomial, Poisson
from gpproj.likelihoods.gaussian import Gaussian
from gpproj.likelihoods.names import named_likelihood
from gpproj.likelihoods.numerical import Numerical
from gpproj.likelihoods.student import StudentT

__all__ = [
    "Bernoulli",
    "Derivatives",
    "Gaussian",
    "Likelihood",
    "NegativeBinomial",
    "Numerical",
    "Poisson",
    "StudentT",
    "named_likelihood",
]
