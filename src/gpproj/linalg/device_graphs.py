"""Work on a device that is recorded, and threads that share its stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from threading import Lock
from typing import Any, NamedTuple

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from gpproj.linalg.arrays import Array, Host, namespace, to_host


def same_stream(array: Array) -> Callable[[], AbstractContextManager[Any]]:
    """Return what makes other threads work where this one does, on the GPU of an array.

    They would begin on the first GPU, and on its default stream.
    """
    if not array_api_compat.is_torch_array(array) or array.device.type != "cuda":
        return nullcontext
    import torch

    return partial(torch.cuda.stream, torch.cuda.current_stream(array.device))


SIZES = (1, 4, 8, *range(16, 129, 8), *range(144, 513, 16))
"""Lanes that recorded work comes in: a batch is filled up to the next of them."""

SEEN = 1
"""Times that work of one shape is done as it comes before it is recorded."""


class Replays:
    """Work on a device that is recorded once, and then replayed as a whole (CUDA graphs).

    An evaluation is over a hundred small steps, and asking for each takes longer than doing it.
    The work must be a function of its inputs alone, without any look at their values.
    """

    def __init__(self) -> None:
        self._counts: Counter[Any] = Counter()
        self._recorded: dict[Any, _Recording] = {}

    def __reduce__(self) -> tuple[type[Replays], tuple[()]]:
        """Pickle as new: recordings belong to a device."""
        return Replays, ()

    def run(
        self, name: Any, work: Callable[..., Array], beside: Array, *inputs: NDArray[Any]
    ) -> Host:
        """Return `work(*inputs)` on the host, whose first dimension is that of the inputs.

        Parameters
        ----------
        name : hashable
            Name of the work: the same name must mean the same work.
        work : callable
        beside : array
            The work is done where this one lives.
        inputs : NumPy arrays `(b, ...)`
        """
        lanes = len(inputs[0])
        size = next((one for one in SIZES if one >= lanes), None)
        if size is None or not _records(beside):
            return to_host(work(*to_device_of(beside, inputs)))
        key = (name, size)
        with _LOCK:
            self._counts[key] += 1
            if self._counts[key] <= SEEN:
                return to_host(work(*to_device_of(beside, inputs)))
            if key not in self._recorded:
                filled = [_filled(one, size) for one in to_device_of(beside, inputs)]
                self._recorded[key] = _record(work, filled)
            # Within the lock: the next one to come, perhaps of another thread, writes there again.
            return to_host(self._recorded[key](inputs)[:lanes, ...])


def to_device_of(beside: Array, inputs: Sequence[NDArray[Any]]) -> list[Array]:
    """Return NumPy arrays as arrays of the library and on the device of another array."""
    xp, device = namespace(beside), array_api_compat.device(beside)
    return [xp.asarray(one, device=device) for one in inputs]


CAPTURE = "thread_local"
"""Restrictions during a recording hold for the recording thread alone."""

_LOCK = Lock()  # recordings share their memory: one at a time


@cache
def _first() -> Any:
    """A recording of next to nothing, which keeps alive the memory that all of them work in."""
    import torch

    graph, number = torch.cuda.CUDAGraph(), torch.zeros(1, device="cuda")
    with torch.cuda.graph(graph, capture_error_mode=CAPTURE):
        number + 1.0
    return graph


def _record(work: Callable[..., Array], inputs: list[Array]) -> _Recording:
    import torch

    pool = _first().pool()
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        work(*inputs)
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool, capture_error_mode=CAPTURE):
        output = work(*inputs)
    return _Recording(graph, inputs, output)


class _Recording(NamedTuple):
    graph: Any
    inputs: list[Array]
    output: Array

    def __call__(self, inputs: Sequence[NDArray[Any]]) -> Array:
        import torch

        for held, given in zip(self.inputs, inputs, strict=True):
            held[: len(given), ...].copy_(torch.from_numpy(np.array(given)))
        self.graph.replay()
        return self.output


def _records(array: Array) -> bool:
    """Say whether work on an array can be recorded: on the GPU that torch works on by default."""
    if not array_api_compat.is_torch_array(array) or array.device.type != "cuda":
        return False
    import torch

    return bool(array.device.index == torch.cuda.current_device())


def _filled(array: Array, size: int) -> Array:
    """Return lanes filled up with the last of them."""
    more = size - int(array.shape[0])
    filled = namespace(array).concat([array] + [array[-1:, ...]] * more, axis=0)
    return filled.clone() if more == 0 else filled
