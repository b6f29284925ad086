"""What scikit-learn's kernels say of themselves: hyperparameters, constants, factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpproj.data import positive
from gpproj.kernels.base import show
from gpproj.kernels.kinds import CONSTANT, KINDS, LENGTHSCALE, SIGNAL, ParameterKind
from gpproj.linalg import Host

USUAL = (1e-5, 1e5)
"""Bounds of hyperparameters for which none are given: they say nothing."""


@dataclass(frozen=True)
class Slot:
    """One hyperparameter, of one value or of several."""

    name: str
    """Its name in `kernel.get_params`."""
    kind: ParameterKind
    """What it measures."""
    values: tuple[float, ...]
    fixed: bool
    owned: bool
    """Whether each value belongs to an input."""
    scalar: bool
    """Whether the kernel wants a number, not an array."""
    power: float
    """Factor of the logarithm in log parameters: two where a variance is given by its root."""
    limits: tuple[tuple[float, float], ...] | None
    """Bounds of each value."""

    def count(self, d: int) -> int:
        """Return how many log parameters it has where there are `d` inputs."""
        if self.fixed:
            return 0
        return d if self.owned else len(self.values)

    def read(self, log_parameters: Host) -> Host:
        """Return the values, within the limits, that log parameters stand for."""
        values: Host = np.exp(log_parameters / self.power)
        return values if self.limits is None else np.clip(values, *np.transpose(self.limits))

    def moves(self, log_parameters: Host) -> NDArray[np.bool_]:
        """Say which values would follow the log parameters: those that no limit holds."""
        if self.limits is None:
            return np.ones(log_parameters.shape, dtype=bool)
        lower, upper = self.power * np.log(np.transpose(self.limits))
        return np.asarray((lower <= log_parameters) & (log_parameters <= upper))

    def at(self, positions: Sequence[int]) -> Slot:
        """Return what is left of it on some of the inputs."""
        if not self.owned:
            return self
        limits = self.limits and tuple(self.limits[j] for j in positions)
        return replace(self, values=tuple(self.values[j] for j in positions), limits=limits)


def check_kernel(kernel: Any, names: Sequence[str], kinds: Mapping[str, str]) -> None:
    """Refuse what is no kernel of scikit-learn, holds noise, or lacks what is named."""
    from sklearn.gaussian_process import kernels as sk

    if not isinstance(kernel, sk.Kernel):
        raise TypeError(
            "kernel must be a kernel of sklearn.gaussian_process.kernels, or of a class derived "
            f"from its Kernel; got {kernel!r}"
        )
    for part in (kernel, *kernel.get_params().values()):
        if isinstance(part, sk.WhiteKernel):
            raise ValueError(
                "kernel must not hold a WhiteKernel: noise belongs to the likelihood; leave it out"
            )
        if isinstance(part, sk.CompoundKernel):
            raise ValueError("kernel must be one kernel; a CompoundKernel is several")
    known = {name for one in kernel.hyperparameters for name in (one.name, _leaf(one.name))}
    for name in (*names, *kinds):
        if name not in known:
            raise ValueError(
                f"kernel has no hyperparameter {name!r}, only {', '.join(sorted(known))}"
            )
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise ValueError(f"kinds[{name!r}] must be one of {', '.join(KINDS)}; got {kind!r}")


def check_values(kernel: Any, X: Host) -> None:
    """Refuse kernels that have no gradient, or that give one point more variance than its twin."""
    try:
        K, gradient = kernel(X, eval_gradient=True)
    except TypeError as error:
        raise TypeError(
            f"kernel must return its gradient from kernel(X, eval_gradient=True): {error}"
        ) from error
    n, p = len(X), kernel.theta.size
    if np.shape(K) != (n, n) or np.shape(gradient) != (n, n, p):
        raise ValueError(
            f"kernel(X, eval_gradient=True) must return arrays of shapes {(n, n)} and {(n, n, p)} "
            f"for {n} points and {p} hyperparameters; saw {np.shape(K)} and {np.shape(gradient)}"
        )
    if not np.allclose(K, kernel(X, X)) or not np.allclose(np.diagonal(K), kernel.diag(X)):
        raise ValueError(
            "kernel(X), kernel(X, X) and kernel.diag(X) differ, as with white noise: noise belongs "
            "to the likelihood; leave it out"
        )


def with_factor(kernel: Any) -> Any:
    """Return a copy of a kernel whose variance can change: where it cannot, times a constant."""
    from sklearn.base import clone
    from sklearn.gaussian_process.kernels import ConstantKernel

    return clone(kernel) if factors(kernel) else ConstantKernel(1.0) * clone(kernel)


def factors(kernel: Any, prefix: str = "") -> dict[str, float] | None:
    """Return the constants that multiply all of a kernel, and to which power; None if none do."""
    from sklearn.gaussian_process import kernels as sk

    if isinstance(kernel, sk.ConstantKernel):
        fixed = kernel.hyperparameter_constant_value.fixed
        return None if fixed else {f"{prefix}constant_value": 1.0}
    if isinstance(kernel, sk.Exponentiation):
        found = factors(kernel.kernel, f"{prefix}kernel__")
        return found and {name: power * kernel.exponent for name, power in found.items()}
    if isinstance(kernel, sk.KernelOperator):
        left, right = factors(kernel.k1, f"{prefix}k1__"), factors(kernel.k2, f"{prefix}k2__")
        if isinstance(kernel, sk.Product):
            return left or right
        return {**left, **right} if left and right else None
    return None


def level(kernel: Any) -> float:
    """Return the variance of what does not depend on the inputs: of the constants in a sum."""
    from sklearn.gaussian_process import kernels as sk

    if isinstance(kernel, sk.ConstantKernel):
        return float(kernel.constant_value)
    if isinstance(kernel, sk.DotProduct):
        return float(kernel.sigma_0) ** 2
    if isinstance(kernel, sk.Exponentiation):
        return float(level(kernel.kernel) ** kernel.exponent)
    if isinstance(kernel, sk.KernelOperator):
        left, right = level(kernel.k1), level(kernel.k2)
        return left * right if isinstance(kernel, sk.Product) else left + right
    return 0.0


def slots(kernel: Any, per_input: Sequence[str] | None, kinds: Mapping[str, str]) -> list[Slot]:
    """Return the hyperparameters in scikit-learn's order.

    Parameters
    ----------
    kernel : sklearn Kernel
    per_input : sequence of str or None
        Names of those with a value for each input; None for all that have several.
    kinds : mapping
        By name, full or last part; for all others, what the kernel's class tells.
    """
    known, scaling = _constants(kernel), factors(kernel) or {}
    params = kernel.get_params()
    found = []
    for one in kernel.hyperparameters:
        both, value = (one.name, _leaf(one.name)), params[one.name]
        several = np.ndim(value) == 1
        owned = several if per_input is None else any(name in per_input for name in both)
        if owned and not several:
            raise ValueError(f"{one.name} must have one value for each input; saw {value!r}")
        kind, power = known.get(one.name, (LENGTHSCALE if owned else _kind(both[1]), 1.0))
        given = [KINDS[kinds[name]] for name in both if name in kinds]
        kind, power = (given[0], 1.0) if given else (kind, power)
        values = tuple(float(part) for part in np.ravel(value))
        if not one.fixed:
            values = tuple(positive(one.name, part) for part in values)
        limits = None if one.fixed or one.name in scaling else _limits(one, values)
        found.append(Slot(one.name, kind, values, one.fixed, owned, not several, power, limits))
    return found


def without_bounds(kernel: Any, slots: Sequence[Slot]) -> Any:
    """Return the kernel without bounds that would have to be cut down with the inputs."""
    bounds = {f"{slot.name}_bounds" for slot in slots if slot.owned and not slot.fixed}
    return kernel.set_params(**dict.fromkeys(bounds & set(kernel.get_params()), USUAL))


def described(kernel: Any, values: Mapping[str, tuple[float, ...]], prefix: str = "") -> str:
    """Return a kernel as text, with everything that makes it what it is but its bounds.

    Parameters
    ----------
    kernel : sklearn Kernel
    values : mapping
        What to show for hyperparameters.
    prefix : str
        Prefix of their names.
    """
    parts = []
    for name, value in kernel.get_params(deep=False).items():
        if hasattr(value, "get_params"):
            shown = described(value, values, f"{prefix}{name}__")
        elif f"{prefix}{name}" in values:
            given = values[f"{prefix}{name}"]
            shown = show(given if np.ndim(value) else given[0])
        elif f"{name}".endswith("_bounds"):
            if not (isinstance(value, str) and value == "fixed"):
                continue
            shown = "fixed"
        else:
            shown = repr(value)
        parts.append(f"{name}={shown}")
    return f"{type(kernel).__name__}({', '.join(parts)})"


def _leaf(name: str) -> str:
    return name.rsplit("__", 1)[-1]


def _kind(leaf: str) -> ParameterKind:
    return LENGTHSCALE if "length_scale" in leaf or "period" in leaf else SIGNAL


def _constants(
    kernel: Any, prefix: str = "", alone: bool = True
) -> dict[str, tuple[ParameterKind, float]]:
    """Return kind and power of the constants in a kernel.

    Parameters
    ----------
    kernel : sklearn Kernel
    prefix : str
        Prefix of its names.
    alone : bool
        Whether nothing that depends on inputs multiplies it.
    """
    from sklearn.gaussian_process import kernels as sk

    if isinstance(kernel, sk.ConstantKernel):
        return {f"{prefix}constant_value": (CONSTANT if alone else SIGNAL, 1.0)}
    if isinstance(kernel, sk.DotProduct):
        return {f"{prefix}sigma_0": (CONSTANT, 2.0)}
    if isinstance(kernel, sk.Exponentiation):
        return _constants(kernel.kernel, f"{prefix}kernel__", alone)
    if isinstance(kernel, sk.KernelOperator):
        product = isinstance(kernel, sk.Product)
        return {
            **_constants(
                kernel.k1, f"{prefix}k1__", alone and not (product and _varies(kernel.k2))
            ),
            **_constants(
                kernel.k2, f"{prefix}k2__", alone and not (product and _varies(kernel.k1))
            ),
        }
    return {}


def _varies(kernel: Any) -> bool:
    """Say whether a kernel depends on the inputs."""
    from sklearn.gaussian_process import kernels as sk

    if isinstance(kernel, sk.KernelOperator):
        return _varies(kernel.k1) or _varies(kernel.k2)
    if isinstance(kernel, sk.Exponentiation):
        return _varies(kernel.kernel)
    return not isinstance(kernel, sk.ConstantKernel)


def _limits(one: Any, values: tuple[float, ...]) -> tuple[tuple[float, float], ...] | None:
    """Return the bounds of each value, or None where they are the usual ones."""
    pairs = np.broadcast_to(np.asarray(one.bounds, dtype=np.float64), (len(values), 2))
    if np.all(pairs == USUAL):
        return None
    for value, (lower, upper) in zip(values, pairs, strict=True):
        if not lower <= value <= upper:
            raise ValueError(f"{one.name} is {value:g}, outside of its bounds {lower:g}, {upper:g}")
    tiny = np.finfo(np.float64).tiny
    return tuple((max(float(lower), tiny), float(upper)) for lower, upper in pairs)
