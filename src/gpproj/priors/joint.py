"""Priors of all hyperparameters of a model, by name, in units of the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.kernels import Kernel
from gpproj.linalg import Host
from gpproj.priors.botorch import botorch
from gpproj.priors.bounds import (
    Bounds,
    Scales,
    log_units,
    parameter_units,
)
from gpproj.priors.distributions import Distribution, LogUniform
from gpproj.priors.inverse_gamma import inverse_gamma
from gpproj.priors.log_uniform import log_uniform
from gpproj.priors.saas import SparseScales, saas
from gpproj.priors.weak import weak

PriorLike: TypeAlias = (
    Literal["auto", "reference", "saas", "weak", "botorch", "inverse-gamma", "log-uniform"]
    | Mapping[str, Distribution]
    | None
)

NamedPrior: TypeAlias = Mapping[str, Distribution | Sequence[Distribution]]
"""Distributions of hyperparameters by name: one for all inputs, or one for each."""

NAMED: dict[str, Callable[[Scales], NamedPrior]] = {
    "saas": saas,
    "weak": lambda units: weak(units.relevant),
    "botorch": botorch,
    "inverse-gamma": inverse_gamma,
    "log-uniform": log_uniform,
}
"""Priors by name, each in its own file."""


def named_prior(prior: PriorLike, units: Scales) -> NamedPrior | None:
    """Return the distribution of every hyperparameter, or say what is wrong with `prior`."""
    if prior is None:
        return None
    if isinstance(prior, str):
        if prior not in NAMED:
            raise ValueError(f"prior must be {quoted(NAMED)} or a mapping; got {prior!r}")
        return NAMED[prior](units)
    if not isinstance(prior, Mapping):
        raise TypeError(f"prior must be a name, a mapping or None; got {type(prior).__name__}")
    usual = weak(units.relevant)
    for name, given in prior.items():
        if name not in usual:
            raise ValueError(f"prior must name {', '.join(usual)}; saw {name!r}")
        if not isinstance(given, Distribution):
            raise TypeError(f"prior[{name!r}] must be a gpproj.priors object, got {given!r}")
        if isinstance(given, SparseScales) and name != "lengthscale":
            raise ValueError(f"prior[{name!r}]: SparseScales is a prior of the lengthscale alone")
    return {**usual, **prior}


def quoted(names: Iterable[str]) -> str:
    """Return names as an error shows them."""
    return ", ".join(f'"{name}"' for name in names)


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
        counted = entries_of_inputs(self.owners, mask)
        value, gradient = np.zeros(len(t)), np.empty_like(t)
        for distribution, columns in self._columns.items():
            part, gradient[:, columns] = distribution.joint(t[:, columns], counted[:, columns])
            value += part
        return LogPrior(value, gradient)

    def curvature(self, parameters: Host, mask: NDArray[np.bool_]) -> Host:
        """Return the second derivatives of the log density at a vector `(p,)`, `(p, p)`."""
        t = parameters - self.log_units
        counted = entries_of_inputs(self.owners, mask[None, :])[0]
        found = np.zeros((t.size, t.size))
        for distribution, columns in self._columns.items():
            own = np.arange(t.size)[columns]
            found[np.ix_(own, own)] = distribution.joint_curvature(t[own], counted[own])
        return found

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


def entries_of_inputs(owners: NDArray[np.intp], mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which parameters, `(b, p)`, belong to inputs that are in, or to no input at all."""
    always = np.ones((len(mask), 1), dtype=bool)
    return np.concatenate([mask, always], axis=1)[:, owners]  # -1 is the last one


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
    prior : {"saas", "weak", "botorch", "inverse-gamma", "log-uniform"}, mapping or None
        None is no prior at all. A mapping gives distributions by name, in units of the data; what
        it leaves out has the weak prior.
    kernel : Kernel
    units : Scales
    last : sequence of str
        Names of what follows: parameters of the likelihood, or the extra variance.
    """
    d = len(units.inputs)
    named = named_prior(prior, units)
    if named is None:
        return None
    usual = weak(units.relevant)

    def term(name: str, owner: int | None) -> Distribution:
        given = named[name]
        if isinstance(given, Distribution):
            return given
        return usual[name] if owner is None else given[owner]  # a scale of all inputs at once

    parameters = kernel.parameters(d)
    owners = [-1 if one.input is None else one.input for one in parameters]
    return Prior(
        terms=(
            *(term(one.name, one.input) for one in parameters),
            *(term(name, None) for name in last),
        ),
        log_units=np.append(np.log(parameter_units(kernel, units).units), log_units(last, units)),
        owners=np.array([*owners, *(-1 for _ in last)], dtype=np.intp),
    )
