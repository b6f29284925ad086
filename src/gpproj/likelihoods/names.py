"""Likelihoods by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpproj.likelihoods.base import Likelihood
from gpproj.likelihoods.bernoulli import Bernoulli
from gpproj.likelihoods.counts import NegativeBinomial, Poisson
from gpproj.likelihoods.gaussian import Gaussian
from gpproj.likelihoods.student import StudentT

NAMES: dict[str, Callable[[], Likelihood]] = {
    "gaussian": Gaussian,
    "bernoulli": Bernoulli,
    "probit": Bernoulli,
    "logit": lambda: Bernoulli("logit"),
    "poisson": Poisson,
    "negative-binomial": NegativeBinomial,
    "student-t": StudentT,
}


def named_likelihood(likelihood: Any) -> Likelihood:
    """Return the likelihood that a name stands for, or the one given.

    Parameters
    ----------
    likelihood : str or Likelihood
        "gaussian", "bernoulli" (or "probit"), "logit", "poisson", "negative-binomial",
        "student-t", or a likelihood itself.

    Returns
    -------
    Likelihood

    Examples
    --------
    >>> named_likelihood("gaussian")
    Gaussian(variance=1.0)
    >>> named_likelihood("logit")
    Bernoulli(link='logit')
    """
    if isinstance(likelihood, Likelihood):
        return likelihood
    if isinstance(likelihood, str) and likelihood in NAMES:
        return NAMES[likelihood]()
    known = ", ".join(f'"{name}"' for name in NAMES)
    raise ValueError(
        f"likelihood must be one of {known} or an object of gpproj.likelihoods, got {likelihood!r}"
    )
