"""The only Cholesky factors, inverses and jitter of the package, and the arrays they act on.

Everything is batched: matrices are `(b, n, n)`, one *lane* per leading index. NumPy arrays take
LAPACK and BLAS calls lane by lane, so that a lane's result never depends on its batch; every other
array library takes the array-API functions on the whole batch. The files that begin with `device_`
are for GPUs alone.
"""

from __future__ import annotations

from gpproj.linalg.arrays import (
    Array,
    Host,
    exp_in_place,
    exponential,
    is_numpy,
    like,
    masked,
    namespace,
    on_device,
    room_for,
    to_host,
    transpose,
)
from gpproj.linalg.blocks import Blocks
from gpproj.linalg.covariance import (
    Covariance,
    DeferredCovariance,
    DenseCovariance,
    LowRankCovariance,
)
from gpproj.linalg.device_factor import deferred_failures, defers_failures
from gpproj.linalg.device_graphs import Replays, same_stream, to_device_of
from gpproj.linalg.factor import (
    Factor,
    JitterWarning,
    cholesky,
    flags,
    inverse,
    inverse_root,
    inverses,
    log_determinant,
    lower_triangle,
    solve,
)
from gpproj.linalg.jitter import point_jitter, point_jitter_pull_back
from gpproj.linalg.order import in_lapack_order, in_row_order
from gpproj.linalg.products import (
    contraction,
    lane_dot,
    minus_product,
    subtract_gram,
    subtract_outer,
    subtract_scaled,
    subtract_symmetric,
    times_lower,
    times_vector,
    weighted_square,
)
from gpproj.linalg.threads import blas_threads, one_blas_thread

__all__ = [
    "Array",
    "Blocks",
    "Covariance",
    "DeferredCovariance",
    "DenseCovariance",
    "Factor",
    "Host",
    "JitterWarning",
    "LowRankCovariance",
    "Replays",
    "blas_threads",
    "cholesky",
    "contraction",
    "deferred_failures",
    "defers_failures",
    "exp_in_place",
    "exponential",
    "flags",
    "in_lapack_order",
    "in_row_order",
    "inverse",
    "inverse_root",
    "inverses",
    "is_numpy",
    "lane_dot",
    "like",
    "log_determinant",
    "lower_triangle",
    "masked",
    "minus_product",
    "namespace",
    "on_device",
    "one_blas_thread",
    "point_jitter",
    "point_jitter_pull_back",
    "room_for",
    "same_stream",
    "solve",
    "subtract_gram",
    "subtract_outer",
    "subtract_scaled",
    "subtract_symmetric",
    "times_lower",
    "times_vector",
    "to_device_of",
    "to_host",
    "transpose",
    "weighted_square",
]
