"""Evaluations on a device: one transfer to it and one back, recorded where that pays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.kernels import Kernel, Mask
from gpproj.linalg import (
    Array,
    Host,
    deferred_failures,
    defers_failures,
    room_for,
    to_device_of,
    to_host,
)
from gpproj.reference import AnyTarget, Targets

Work: TypeAlias = Callable[[Any, Kernel, Array, Array], Array]
"""From parameters and masks, beside the target's arrays, to numbers of every lane."""

RECORDED = 2**27
"""Numbers in the covariances of batches that are worth recording on a device: with more, or with a
quarter of what it has room for, it is busy enough."""


def on_device(work: Work, target: AnyTarget, kernel: Kernel, parameters: Host, mask: Mask) -> Host:
    """Return the numbers of every lane, computed on a device; infinity first where it failed.

    There is one transfer to it and one back, and lanes whose covariance cannot be factorised as it
    stands are done again with more patience.
    """
    if not isinstance(target, Targets):
        target.prepare()
    with deferred_failures():
        numbers = _recorded(work, target, kernel, parameters, mask)
    failed = np.flatnonzero(~np.isfinite(numbers[:, 0]))
    if failed.size:
        own = target.at(failed), kernel, parameters[failed], mask[failed]
        numbers[failed] = _recorded(work, *own)
    return numbers


def _recorded(work: Work, target: AnyTarget, kernel: Kernel, parameters: Host, mask: Mask) -> Host:
    """Return the numbers of every lane; the device's work is recorded where that pays."""
    X = target.X
    inputs: list[NDArray[Any]] = [parameters, mask]
    if isinstance(target, Targets):
        inputs.append(target.owner)

    def whole(theta: Array, own: Array, *owner: Array) -> Array:
        arrays = target.take(*owner) if isinstance(target, Targets) else target
        return work(arrays, kernel, theta, own)

    numbers = parameters.shape[0] * int(X.shape[-2]) ** 2
    large = numbers > min(RECORDED, room_for(X) // 4)
    if large or not defers_failures():
        return to_host(whole(*to_device_of(X, inputs)))
    return target.replays.run((work, kernel), whole, X, *inputs)
