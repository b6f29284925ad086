"""The only Cholesky factors, inverses and jitter of the package, and the arrays they act on.

Everything is batched: matrices are `(b, n, n)`, one *lane* per leading index. NumPy arrays take
LAPACK and BLAS calls lane by lane, so that a lane's result never depends on its batch; every other
array library takes the array-API functions on the whole batch.
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
from gpproj.linalg.covariance import Covariance, DenseCovariance, LowRankCovariance
from gpproj.linalg.device import hopeful, is_hopeful
from gpproj.linalg.factor import (
    Factor,
    JitterWarning,
    along,
    cholesky,
    contraction,
    flags,
    in_lapack_order,
    in_row_order,
    inverse,
    inverse_root,
    inverses,
    log_determinant,
    lower_triangle,
    minus_product,
    solve,
    subtract_gram,
    subtract_outer,
    subtract_scaled,
    subtract_symmetric,
    times_lower,
    times_vector,
    weighted_square,
)
from gpproj.linalg.replays import Replays, same_stream, there
from gpproj.linalg.threads import one_blas_thread

__all__ = [
    "Array",
    "Blocks",
    "Covariance",
    "DenseCovariance",
    "Factor",
    "Host",
    "JitterWarning",
    "LowRankCovariance",
    "Replays",
    "along",
    "cholesky",
    "contraction",
    "exp_in_place",
    "exponential",
    "flags",
    "hopeful",
    "in_lapack_order",
    "in_row_order",
    "inverse",
    "inverse_root",
    "inverses",
    "is_hopeful",
    "is_numpy",
    "like",
    "log_determinant",
    "lower_triangle",
    "masked",
    "minus_product",
    "namespace",
    "on_device",
    "one_blas_thread",
    "room_for",
    "same_stream",
    "solve",
    "subtract_gram",
    "subtract_outer",
    "subtract_scaled",
    "subtract_symmetric",
    "there",
    "times_lower",
    "times_vector",
    "to_host",
    "transpose",
    "weighted_square",
]
