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
    Bounds,
    ParameterUnits,
    Prior,
    PriorLike,
    Scales,
    bounds,
    parameter_units,
    prior_of,
    scales,
)
from gpproj.reference import Reference

PRIOR: PriorLike = "weak"
"""The default prior of submodels."""

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
        Of the training data.
    nugget : float
        The common nugget, a variance.
    signal : float
        Variance of the reference's latent mean: what an extra variance has to explain at most.
    known : array `(p - 1,)` or None
        Log parameters of the reference's kernel, if it has the same structure.
    prior : {"weak", "log-uniform"}, mapping or None
        Of the parameters; None for the paper's projection.
    """

    kernel: Kernel
    units: Scales
    nugget: float
    signal: float
    known: Host | None
    prior: PriorLike = None

    @cached_property
    def bounds(self) -> Bounds:
        """Bounds of the parameters, `(p,)` each."""
        box = bounds(self.kernel, self.units)
        # A reference without a nugget still has a floor: logarithms need one.
        floor = np.log(max(EXTRA_FLOOR * self.nugget, 1e-12 * self.units.spread))
        ceiling = np.log(EXTRA_CEILING * self.units.spread)
        wide = Bounds(np.append(box.lower, floor), np.append(box.upper, ceiling))
        return wide if self.log_prior is None else wide.within(self.log_prior.bounds)

    @cached_property
    def log_prior(self) -> Prior | None:
        """The log prior of a parameter vector."""
        return prior_of(self.prior, self.kernel, self.units, ("extra_variance",))

    def alike(self, other: Family) -> bool:
        """Say whether both have the same structure and prior, and units that differ by rounding.

        So it is for all data that were standardised.
        """
        if self._structure != other._structure or self.prior != other.prior:
            return False
        mine, theirs = (np.append(one.units.inputs, one.units[1:]) for one in (self, other))
        return bool(np.allclose(mine, theirs, rtol=1e-6, atol=0.0))

    @property
    def _structure(self) -> Kernel:
        """The kernel with all parameters one."""
        d = len(self.units.inputs)
        return self.kernel.with_log_parameters(np.zeros(len(self.kernel.parameters(d))), d)

    @property
    def identity(self) -> str:
        """Structure and prior in words: equal for families of the same submodels."""
        return repr((self._structure, self.log_prior))

    def starts(self, mask: NDArray[np.bool_]) -> Host:
        """Return starts for the inputs that are in, `(s, p)`.

        The extra variance starts small, at the share that the dropped inputs would have if all
        inputs were alike, and large: from one start alone, projections fall to the null model and
        look equally good. Kernels start at smooth functions on the scale of the data and at the
        reference's values, where it has any; from short length-scales they would find optima that
        interpolate the targets.

        Parameters
        ----------
        mask : bool array `(d,)`
        """
        share, root = self._share(mask), np.sqrt(max(int(mask.sum()), 1))
        return self._stacked(
            (self._smooth(root, 1.0), share),
            (self._smooth(root, 1.0), 0.1 * share),
            (self._smooth(root, 0.3), 0.9 * self.signal),
            *self._known_values(mask),
        )

    def flexible_start(self, mask: NDArray[np.bool_]) -> Host:
        """Return the start with little extra variance: the kernel has to explain, `(1, p)`."""
        return self.starts(mask)[1:2]

    def known_starts(self, mask: NDArray[np.bool_]) -> Host:
        """Return the starts at the reference's values, where it has any, `(s, p)`."""
        return self._stacked(*self._known_values(mask))

    def _known_values(self, mask: NDArray[np.bool_]) -> list[tuple[Host, float]]:
        share = self._share(mask)
        if self.known is None:
            return [(self._smooth(3.0 * np.sqrt(max(mask.sum(), 1)), 10.0), share)]
        everything = [(self.known, 0.0)] if mask.all() else []
        return [(self.known, share), *everything]

    def _share(self, mask: NDArray[np.bool_]) -> float:
        """Return the extra variance if all inputs explained alike."""
        return self.signal * max(1.0 - float(np.mean(mask)), 0.05) if mask.size else self.signal

    def _stacked(self, *starts: tuple[Host, float]) -> Host:
        floor = np.exp(self.bounds.lower[-1])
        return np.stack([np.append(values, np.log(max(extra, floor))) for values, extra in starts])

    def _smooth(self, lengthscale: float, signal: float) -> Host:
        relative = {"constant": 0.1, "signal": signal, "slope": signal, "lengthscale": lengthscale}
        return self._parameter_units.logs(relative)

    @cached_property
    def _parameter_units(self) -> ParameterUnits:
        return parameter_units(self.kernel, self.units)

    def extended(self, parameters: Host, old: NDArray[np.bool_], new: NDArray[np.bool_]) -> Host:
        """Return starts that add inputs to a submodel, or leave some out, `(s, p)`.

        New inputs enter with the reference's length-scales, where it has them, and slowly. They
        never enter with relevance zero, which is stationary.

        Parameters
        ----------
        parameters : array `(p,)`
            Of the submodel with the inputs `old`.
        old, new : bool arrays `(d,)`
        """
        size = int(new.sum())
        entering = np.isin(self._owner, np.flatnonzero(new & ~old))
        if not entering.any():
            return parameters[None, :]
        sources = [self._smooth(3.0 * np.sqrt(size), 1.0)]
        if self.known is not None:
            sources.append(self.known)
        return np.stack(
            [np.where(entering, np.append(values, 0.0), parameters) for values in sources]
        )

    @cached_property
    def _owner(self) -> NDArray[np.intp]:
        """The input that each parameter belongs to, -1 for none, `(p,)`."""
        owners = [parameter.input for parameter in self.kernel.parameters(len(self.units.inputs))]
        return np.array([-1 if owner is None else owner for owner in owners] + [-1])


def family_of(
    reference: Reference, kernel: Kernel | None = None, prior: PriorLike = None
) -> Family:
    """Return the family of a reference: submodels with its own kernel's structure, or another.

    Parameters
    ----------
    reference : Reference
    kernel : Kernel, optional
        Another structure.
    prior : {"weak", "log-uniform"}, mapping or None
    """
    training = reference.training
    if kernel is not None:
        if not isinstance(kernel, Kernel):
            raise TypeError(f"kernel must be a gpproj.kernels object, got {kernel!r}")
        kernel.log_parameters(training.d)  # a wrong number of length-scales says so here
    structure = reference.model_kernel if kernel is None else kernel
    same = structure.parameters(training.d) == reference.model_kernel.parameters(training.d)
    known = reference.known_parameters
    return Family(
        kernel=structure,
        units=scales(training),
        nugget=reference.target.nugget,
        signal=float(np.var(to_host(reference.target.latent_mean))),
        known=known if same else None,
        prior=prior,
    )


def null_family(family: Family) -> Family:
    """Return the family of the null model: what is left of the kernel without inputs."""
    return replace(family, kernel=family.kernel.without_inputs(), known=None)
