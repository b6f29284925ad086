"""Priors of all hyperparameters of a model, by name, in units of the data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.kernels import KINDS, Kernel
from gpproj.linalg import Host
from gpproj.priors.bounds import (
    OBSERVATION_LIMITS,
    Bounds,
    Scales,
    log_units,
    parameter_units,
)
from gpproj.priors.distributions import Distribution, LogNormal, LogUniform

PriorLike: TypeAlias = (
    Literal["auto", "weak", "reference", "log-uniform"] | Mapping[str, Distribution] | None
)

EXTRA_VARIANCE = LogUniform(1e-12, 1e2)
"""Flat: the projection itself knows what the dropped inputs explained."""


def weak(d: int) -> dict[str, Distribution]:
    """Return the default prior of a model with d inputs, in units of the data.

    Length-scales have the median `exp(sqrt 2) sqrt d`: squared distances grow with d, and this
    keeps functions about as wiggly whatever d is; an input that does nothing stays near it instead
    of wandering to infinity, while a length-scale of one costs one nat at d = 8 and two at d = 60.
    Variances are free over several orders of magnitude. Submodels have the prior of their
    reference, whose number of inputs is d. Their extra variance is flat in its logarithm: the
    projection itself knows what the dropped inputs explained.

    Examples
    --------
    >>> weak(4)["noise_variance"]
    LogNormal(median=0.1, sigma=2.0)
    """
    return {
        **{kind.name: LogNormal(kind.prior(d), kind.width) for kind in KINDS.values()},
        "noise_variance": LogNormal(0.1, 2.0),
        "dispersion": LogNormal(0.1, 2.0),
        "extra_variance": EXTRA_VARIANCE,
    }


def log_uniform() -> dict[str, Distribution]:
    """Return the paper's prior: flat in the logarithms, between bounds that make it proper."""
    return {
        **{kind.name: LogUniform(*kind.limits) for kind in KINDS.values()},
        **{name: LogUniform(*limits) for name, limits in OBSERVATION_LIMITS.items()},
        "extra_variance": EXTRA_VARIANCE,
    }


def named_prior(prior: PriorLike, d: int) -> dict[str, Distribution] | None:
    """Return the distribution of every hyperparameter, or say what is wrong with `prior`."""
    if prior is None:
        return None
    if isinstance(prior, str):
        if prior not in ("weak", "log-uniform"):
            raise ValueError(f'prior must be "weak", "log-uniform" or a mapping; got {prior!r}')
        return weak(d) if prior == "weak" else log_uniform()
    if not isinstance(prior, Mapping):
        raise TypeError(f"prior must be a name, a mapping or None; got {type(prior).__name__}")
    usual = weak(d)
    for name, given in prior.items():
        if name not in usual:
            raise ValueError(f"prior must name {', '.join(usual)}; saw {name!r}")
        if not isinstance(given, Distribution):
            raise TypeError(f"prior[{name!r}] must be a gpproj.priors object, got {given!r}")
    return {**usual, **prior}


class LogPrior(NamedTuple):
    """A log density relative to its highest value, and its gradient, lane by lane."""

    value: Host
    """`(b,)`."""
    gradient: Host
    """`(b, p)`."""


@dataclass(frozen=True, eq=False)
class Prior:
    """The prior of one vector of log hyperparameters: a kernel's, then others.

    Parameters
    ----------
    terms : tuple of Distribution
        One for each entry.
    log_units : array `(p,)`
        The unit of each entry on the model's scale.
    owners : int array `(p,)`
        The input that each entry belongs to, -1 for none.
    """

    terms: tuple[Distribution, ...]
    log_units: Host
    owners: NDArray[np.intp]

    def __call__(self, parameters: Host, mask: NDArray[np.bool_]) -> LogPrior:
        """Return the log density; what belongs to inputs that are out does not count.

        Parameters
        ----------
        parameters : array `(b, p)`
        mask : bool array `(b, d)`
        """
        t = parameters - self.log_units
        always = np.ones((len(mask), 1), dtype=bool)
        counted = np.concatenate([mask, always], axis=1)[:, self.owners]  # -1 is the last one
        value, gradient = np.zeros_like(t), np.zeros_like(t)
        for distribution, columns in self._columns.items():
            value[:, columns], gradient[:, columns] = distribution.log_ratio(t[:, columns])
        return LogPrior(np.where(counted, value, 0.0).sum(axis=1), np.where(counted, gradient, 0.0))

    @cached_property
    def bounds(self) -> Bounds:
        """Where the density is positive, `(p,)` each; infinite where it is everywhere."""
        lower, upper = np.full_like(self.log_units, -np.inf), np.full_like(self.log_units, np.inf)
        for distribution, columns in self._columns.items():
            if isinstance(distribution, LogUniform):
                lower[columns] = math.log(distribution.lower)
                upper[columns] = math.log(distribution.upper)
        return Bounds(lower + self.log_units, upper + self.log_units)

    @cached_property
    def _columns(self) -> dict[Distribution, slice | list[int]]:
        columns: dict[Distribution, list[int]] = {}
        for column, distribution in enumerate(self.terms):
            columns.setdefault(distribution, []).append(column)
        return {distribution: _sliced(own) for distribution, own in columns.items()}

    def __repr__(self) -> str:
        """Name the distributions and their units: what a fingerprint needs."""
        units = [float(unit) for unit in self.log_units]
        return f"Prior({self.terms!r}, {units!r})"


def _sliced(columns: list[int]) -> slice | list[int]:
    """Return neighbouring columns as a slice, which takes a quarter of the time."""
    together = slice(columns[0], columns[-1] + 1)
    return together if len(columns) == together.stop - together.start else columns


def prior_of(
    prior: PriorLike,
    kernel: Kernel,
    units: Scales,
    last: Sequence[str],
) -> Prior | None:
    """Return the prior of a kernel's log parameters and of a few that follow them.

    Parameters
    ----------
    prior : {"weak", "log-uniform"}, mapping or None
        None is no prior at all. A mapping gives distributions by name, in units of the data; what
        it leaves out has the weak prior.
    kernel : Kernel
    units : Scales
    last : sequence of str
        Names of what follows: parameters of the likelihood, or the extra variance.
    """
    d = len(units.inputs)
    named = named_prior(prior, units.relevant)
    if named is None:
        return None
    parameters = kernel.parameters(d)
    owners = [-1 if one.input is None else one.input for one in parameters]
    return Prior(
        terms=(*(named[one.name] for one in parameters), *(named[name] for name in last)),
        log_units=np.append(np.log(parameter_units(kernel, units).units), log_units(last, units)),
        owners=np.array([*owners, *(-1 for _ in last)], dtype=np.intp),
    )
