"""The submodel family: its parameters, their bounds, and where their optimisation starts.

The parameters of a submodel are the log parameters of its kernel, then the log extra variance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpproj.kernels import Kernel
from gpproj.linalg import Host, to_host
from gpproj.priors import (
    AroundReference,
    Bounds,
    ParameterUnits,
    Prior,
    PriorLike,
    Scales,
    bounds,
    parameter_units,
    scales,
    submodel_prior,
)
from gpproj.reference import TargetReference, values_for

EXTRA_FLOOR = 1e-4
"""Smallest extra variance, in units of the nugget: none at all, for all that matters."""

EXTRA_CEILING = 1e2
"""Largest extra variance, in units of the target's variance."""


@dataclass(frozen=True, eq=False)
class Family:
    """Submodels of one kernel structure on subsets of the inputs.

    Parameters
    ----------
    kernel : Kernel
        The structure.
    units : Scales
        Scales of the training data.
    nugget : float
        The common nugget, a variance.
    signal : float
        Variance of the reference's latent mean: what an extra variance has to explain at most.
    varying : bool array `(d,)`
        Inputs that are not constant: only they can be used.
    known : array `(p - 1,)` or None
        Log parameters of the reference's kernel, or of this one fitted to the reference's mean;
        None for the null model.
    used : bool array `(d,)`
        Inputs that the reference uses, with these values.
    prior : {"weak", "reference", "botorch", "inverse-gamma", "log-uniform"}, mapping or None
        The prior of the parameters; None for the paper's projection.
    """

    kernel: Kernel
    units: Scales
    nugget: float
    signal: float
    varying: NDArray[np.bool_]
    known: Host | None
    used: NDArray[np.bool_]
    prior: PriorLike = None

    @cached_property
    def bounds(self) -> Bounds:
        """Bounds of the parameters, `(p,)` each."""
        box = bounds(self.kernel, self.units)
        # A reference without a nugget still has a floor: logarithms need one.
        floor = np.log(max(EXTRA_FLOOR * self.nugget, 1e-12 * self.units.spread))
        ceiling = np.log(EXTRA_CEILING * self.units.spread)
        lower, upper = box
        if self.known is not None:  # whoever chose them, the reference itself is in the family
            lower, upper = np.minimum(lower, self.known), np.maximum(upper, self.known)
        wide = Bounds(np.append(lower, floor), np.append(upper, ceiling))
        return wide if self.log_prior is None else wide.within(self.log_prior.bounds)

    @cached_property
    def log_prior(self) -> Prior | AroundReference | None:
        """The log prior of a parameter vector."""
        return submodel_prior(self.prior, self.kernel, self.units, self.known)

    def alike(self, other: Family) -> bool:
        """Say whether both have the same structure and prior, and units that differ by rounding.

        So it is for all data that were standardised.
        """
        if self._structure != other._structure or self.prior != other.prior:
            return False
        mine, theirs = (np.append(one.units.inputs, one.units[1:3]) for one in (self, other))
        return bool(np.allclose(mine, theirs, rtol=1e-6, atol=0.0))

    @property
    def _structure(self) -> Kernel:
        return self.kernel.structure(len(self.units.inputs))

    @property
    def identity(self) -> str:
        """Structure and prior in words: equal for families of the same submodels."""
        return repr((self._structure, self.log_prior))

    def share(self, mask: NDArray[np.bool_]) -> float:
        """Return the extra variance if all inputs explained alike."""
        varying = max(int(np.sum(self.varying)), 1)
        return self.signal * max(1.0 - float(mask.sum()) / varying, 0.05)

    def at(self, values: Host, extra: float) -> Host:
        """Return the parameters of kernel values and an extra variance, `(p,)`."""
        return np.append(values, np.log(max(extra, float(np.exp(self.bounds.lower[-1])))))

    def smooth(self, lengthscale: float, signal: float) -> Host:
        """Return a kernel's values where all inputs are alike, in units of the data, `(p - 1,)`."""
        return self._parameter_units.typical(
            constant=0.1, signal=signal, slope=signal, lengthscale=lengthscale
        )

    @property
    def plausible(self) -> Bounds:
        """The box of a kernel's values that an optimum is checked in, `(p - 1,)` each."""
        units = self._parameter_units
        lower = units.logs(lambda kind: kind.plausible[0])
        return Bounds(lower, units.logs(lambda kind: kind.plausible[1]))

    def with_lengthscale(self, values: Host, position: int, lengthscale: float) -> Host:
        """Return values with another length-scale of one input, in units of the data."""
        changed = values.copy()
        for place, kind in enumerate(self._parameter_units.kinds):
            if self.owner[place] == position and kind.is_scale:
                changed[place] = np.log(lengthscale * self._parameter_units.units[place])
        return changed

    @cached_property
    def _parameter_units(self) -> ParameterUnits:
        return parameter_units(self.kernel, self.units)

    @property
    def known_scales(self) -> Host:
        """Logarithms of the shortest known length-scale of every input, `(d,)`."""
        assert self.known is not None  # every reference has values for submodels
        scales = [self.known[self.owner[:-1] == j] for j in range(len(self.units.inputs))]
        return np.array([float(np.min(own, initial=np.inf)) for own in scales])

    @cached_property
    def owner(self) -> NDArray[np.intp]:
        """The input that each parameter belongs to, -1 for none, `(p,)`."""
        owners = [parameter.input for parameter in self.kernel.parameters(len(self.units.inputs))]
        return np.array([-1 if owner is None else owner for owner in owners] + [-1])


def family_of(
    reference: TargetReference, kernel: Kernel | None = None, prior: PriorLike = None
) -> Family:
    """Return the family of a reference: submodels with its own kernel's structure, or another.

    Parameters
    ----------
    kernel : Kernel, optional
        Another structure.
    """
    training = reference.training
    if kernel is not None:
        if not isinstance(kernel, Kernel):
            raise TypeError(f"kernel must be a gpproj.kernels object, got {kernel!r}")
        kernel.log_parameters(training.d)  # a wrong number of length-scales says so here
    structure = reference.structure if kernel is None else kernel
    known = values_for(reference, structure)
    return Family(
        kernel=structure,
        units=scales(training),
        nugget=reference.target.nugget,
        signal=float(np.var(to_host(reference.target.latent_mean))),
        varying=np.asarray(training.varying),
        known=known.log_parameters,
        used=known.used,
        prior=prior,
    )


def null_family(family: Family) -> Family:
    """Return the family of the null model: what is left of the kernel without inputs."""
    return replace(family, kernel=family.kernel.without_inputs(), known=None)
