"""Cholesky factors and their inverses for batches on a device, by halves.

With A = [[A11, .], [A21, A22]], M11 = L11^-1 and the factor L22 of A22 - L21 L21':

    L21 = A21 M11',   M21 = -M22 L21 M11

so that nearly all work is products of matrices, the fastest thing that a device does. Calls of its
libraries for whole factors and triangular solutions reach a fraction of that speed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from threading import Lock, local
from typing import Any, NamedTuple

import array_api_compat

from gpproj.linalg.arrays import Array, namespace, transpose

LEAF = 64
"""Size up to which the library's own factor is taken."""

FEW, WHOLE = 4, 1024
"""Matrices, and their size, up to which it is taken when nobody is in a hurry: asking for the many
steps of halves takes longer than they do, unless they are recorded."""

_STATE = local()


@contextmanager
def hopeful() -> Iterator[None]:
    """Within it, matrices on a device that cannot be factorised are told, not mended.

    Whether one failed is then known when the host asks for it, so that nothing has to wait.
    """
    before = getattr(_STATE, "hopeful", False)
    _STATE.hopeful = True
    try:
        yield
    finally:
        _STATE.hopeful = before


def is_hopeful() -> bool:
    """Say whether failures are told rather than mended."""
    return bool(getattr(_STATE, "hopeful", False))


class Halves(NamedTuple):
    """The inverse of a factor."""

    root: Array
    """`L^-1`, `(b, n, n)`."""
    log_det: Array
    """`log|A|`, `(b,)`."""
    failed: Array
    """`(b,)`, on the device."""


def factorise(matrix: Array) -> Halves:
    """Return inverses of the factors of torch arrays, `(b, n, n)`; nothing is raised."""
    root = namespace(matrix).zeros_like(matrix)
    few = int(matrix.shape[0]) <= FEW and int(matrix.shape[1]) <= WHOLE
    if few and not is_hopeful():
        return Halves(root, *_leaf(matrix, root))
    return Halves(root, *_into(matrix, root))


def can_tell(matrix: Array) -> bool:
    """Say whether the library can factorise without raising."""
    return bool(array_api_compat.is_torch_array(matrix))


def _into(A: Array, root: Array) -> tuple[Array, Array]:
    """Write the inverse of the factor of A into an array; return `log|A|` and what failed."""
    n = int(A.shape[-1])
    if n <= LEAF:
        return _leaf(A, root)
    h = n // 2
    log_det, failed = _into(A[:, :h, :h], root[:, :h, :h])
    M11 = root[:, :h, :h]
    L21 = A[:, h:, :h] @ transpose(M11)
    rest = minus_product(A[:, h:, h:], L21, transpose(L21))
    more, also = _into(rest, root[:, h:, h:])
    into_product(root[:, h:, :h], root[:, h:, h:] @ L21, M11, -1.0)
    return log_det + more, failed | also


def into_product(part: Array, left: Array, right: Array, factor: float = 1.0) -> None:
    """Write `factor left right` into a part of a torch array in one pass."""
    import torch

    torch.baddbmm(part, left, right, beta=0.0, alpha=factor, out=part)


def squared(root: Array) -> Array:
    """Return `M'M` for lower triangular M of torch arrays, in half the work of a plain product.

    With M = [[M11, 0], [M21, M22]] it is [[M11'M11 + M21'M21, M21'M22], [., M22'M22]].
    """
    import torch

    n = int(root.shape[-1])
    h = n // 2
    if n <= 2 * LEAF:
        return transpose(root) @ root
    square = torch.empty_like(root)
    M11, M21, M22 = root[:, :h, :h], root[:, h:, :h], root[:, h:, h:]
    into_product(square[:, :h, :h], transpose(M11), M11)
    square[:, :h, :h].baddbmm_(transpose(M21), M21)
    into_product(square[:, h:, :h], transpose(M22), M21)
    into_product(square[:, h:, h:], transpose(M22), M22)
    square[:, :h, h:] = transpose(square[:, h:, :h])
    return square


def times_lower(matrix: Array, lower: Array) -> Array:
    """Return `A L` for lower triangular L of torch arrays, without half of its zeros."""
    import torch

    n = int(matrix.shape[-1])
    h = n // 2
    product = torch.empty(matrix.shape, dtype=matrix.dtype, device=matrix.device)
    if lower.ndim == 3:
        into_product(product[:, :, :h], matrix, lower[:, :, :h])
        into_product(product[:, :, h:], matrix[:, :, h:], lower[:, h:, h:])
    else:  # the same for all: their rows make one tall matrix
        rows, into = matrix.reshape(-1, n), product.view(-1, n)
        into[:, :h] = rows @ lower[:, :h]
        into[:, h:] = rows[:, h:] @ lower[h:, h:]
    return product


def assemble(matrix: Array, scale: Array | None, into: Array) -> None:
    """Write `matrix * scale` into another torch array in one pass."""
    import torch

    if scale is None:
        into[...] = matrix
    else:
        torch.mul(matrix, scale, out=into)


def minus_product(matrix: Array, left: Array, right: Array) -> Array:
    """Return `A - left right` of torch arrays in one pass."""
    import torch

    return torch.baddbmm(matrix, left, right, alpha=-1.0)


def _leaf(A: Array, root: Array) -> tuple[Array, Array]:
    import torch

    _wake(A.device)
    lower, told = torch.linalg.cholesky_ex(A)
    identity = torch.eye(int(A.shape[-1]), dtype=A.dtype, device=A.device)
    root[...] = torch.linalg.solve_triangular(lower, identity.expand(lower.shape), upper=False)
    diagonal = torch.diagonal(lower, dim1=-2, dim2=-1)
    return 2.0 * diagonal.log().sum(-1), told != 0


_AWAKE: set[Any] = set()
_WAKING = Lock()


def _wake(device: Any) -> None:
    """Let torch load what it factorises with there: several threads must not do so at once."""
    if device in _AWAKE:
        return
    import torch

    with _WAKING:
        torch.linalg.cholesky_ex(torch.ones((1, 1), dtype=torch.float64, device=device))
        _AWAKE.add(device)


def same_stream(array: Array) -> Callable[[], AbstractContextManager[Any]]:
    """Return what makes other threads work where this one does, on the GPU of an array.

    They would begin on the first GPU, and on its default stream.
    """
    if not array_api_compat.is_torch_array(array) or array.device.type != "cuda":
        return nullcontext
    import torch

    return partial(torch.cuda.stream, torch.cuda.current_stream(array.device))


SIZES = (1, 2, 4, 8, 12, 16, *range(24, 129, 8), *range(144, 513, 16))
"""Lanes that recorded work comes in: a batch is filled up to the next of them."""

SEEN = 1
"""Times that work of one shape is done as it comes before it is recorded."""


class Replays:
    """Work on a device that is recorded once, and then replayed as a whole (CUDA graphs).

    An evaluation is some two hundred small steps, and asking for each takes longer than doing it.
    The work must be a function of its inputs alone, without any look at their values.
    """

    def __init__(self) -> None:
        self._counts: Counter[Any] = Counter()
        self._recorded: dict[Any, _Recording] = {}

    def __reduce__(self) -> tuple[type[Replays], tuple[()]]:
        """Pickle as new: recordings belong to a device."""
        return Replays, ()

    def run(self, name: Any, work: Callable[..., Array], *inputs: Array) -> Array:
        """Return `work(*inputs)`, whose first dimension is that of the inputs.

        Parameters
        ----------
        name : hashable
            Of the work: the same name must mean the same work.
        work : callable
        inputs : arrays `(b, ...)`
        """
        lanes = int(inputs[0].shape[0])
        size = next((one for one in SIZES if one >= lanes), None)
        if size is None or not _records(inputs[0]):
            return work(*inputs)
        key = (name, size)
        with _LOCK:
            self._counts[key] += 1
            if self._counts[key] <= SEEN:
                return work(*inputs)
            if key not in self._recorded:
                self._recorded[key] = _record(work, [_filled(one, size) for one in inputs])
            # Copied: the next one to come, perhaps of another thread, writes there again.
            return self._recorded[key](inputs)[:lanes, ...].clone()


CAPTURE = "thread_local"
"""What may not be done while something is recorded binds the thread that records alone."""

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

    def __call__(self, inputs: Sequence[Array]) -> Array:
        for held, given in zip(self.inputs, inputs, strict=True):
            held[: given.shape[0], ...] = given
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
