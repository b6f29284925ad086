"""Cholesky factors, inverses and jitter: NumPy's fast path and the array-API path alike."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest

from gpproj.linalg import (
    DenseCovariance,
    JitterWarning,
    cholesky,
    contraction,
    flags,
    inverse,
    inverse_root,
    lapack,
    log_determinant,
    lower_triangle,
    one_blas_thread,
    solve,
    subtract_gram,
    subtract_outer,
    subtract_symmetric,
    times_lower,
    to_host,
    weighted_square,
)
from gpproj.linalg.lapack_wrapped import Wrapped

LIBRARIES = [np, array_api_strict]


@pytest.fixture(autouse=True, params=["chosen", "wrapped"])
def calls(request, monkeypatch):
    """Every test has LAPACK as it was chosen at import, and by SciPy's wrappers."""
    if request.param == "wrapped":
        monkeypatch.setattr(lapack, "CALLS", Wrapped())


def positive_definite(lanes: int, n: int, seed: int = 0) -> np.ndarray:
    root = np.random.default_rng(seed).standard_normal((lanes, n, n))
    return root @ root.swapaxes(1, 2) + n * np.eye(n)


@pytest.mark.parametrize("xp", LIBRARIES)
@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 65, 130])
def test_factor_inverse_solution_and_determinant(xp, n):
    A = positive_definite(3, n)
    added = np.linspace(0.1, 1.0, 3)[:, None]
    full = A + added[:, :, None] * np.eye(n)
    right = np.random.default_rng(1).standard_normal((3, n, 2))
    factor = cholesky(xp.asarray(A), xp.asarray(added))
    lower = to_host(lower_triangle(factor))
    np.testing.assert_allclose(lower @ lower.swapaxes(1, 2), full, rtol=1e-12, atol=1e-12)
    assert not flags(factor.failed).any()
    assert not factor.jitter.any()
    expected = np.linalg.inv(full)
    close = {"rtol": 1e-10, "atol": 1e-13}
    np.testing.assert_allclose(to_host(inverse(factor)), expected, **close)
    root = to_host(inverse_root(factor))
    assert not np.triu(root, 1).any()
    np.testing.assert_allclose(root.swapaxes(1, 2) @ root, expected, **close)
    np.testing.assert_allclose(to_host(solve(factor, xp.asarray(right))), expected @ right, **close)
    np.testing.assert_allclose(
        to_host(log_determinant(factor)), np.linalg.slogdet(full).logabsdet, rtol=1e-12
    )


@pytest.mark.parametrize("xp", LIBRARIES)
def test_scaled_matrices_are_factorised_in_one_go(xp):
    A = positive_definite(2, 40)
    half = np.linspace(0.5, 2.0, 40)
    scale, diagonal = np.outer(half, half)[None], np.ones((2, 1))
    factor = cholesky(xp.asarray(A), xp.asarray(diagonal), xp.asarray(scale))
    expected = np.linalg.inv(A * scale + np.eye(40))
    np.testing.assert_allclose(to_host(inverse(factor)), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("xp", LIBRARIES)
def test_one_number_scales_like_a_matrix_of_it(xp):
    A, number = xp.asarray(positive_definite(2, 40)), 0.3
    factors = [
        cholesky(A, xp.asarray(np.ones((2, 40))), xp.asarray(np.full((1, size, size), number)))
        for size in (1, 40)
    ]
    one, other = (to_host(lower_triangle(factor)) for factor in factors)
    np.testing.assert_array_equal(one, other)


def test_read_only_and_partial_matrices_are_found_in_memory():
    A, L = positive_definite(1, 30), np.tril(positive_definite(1, 40)[0])
    expected = times_lower(A, np.asfortranarray(L[:30, :30]))
    part = np.asfortranarray(L)[:30, :30]  # its columns lie apart
    np.testing.assert_array_equal(times_lower(A, part), expected)
    frozen = np.asfortranarray(L[:30, :30])
    frozen.flags.writeable = False
    np.testing.assert_array_equal(times_lower(A, frozen), expected)
    kept = frozen.copy()
    solve(cholesky(A), frozen[None, :, :])
    np.testing.assert_array_equal(frozen, kept)


def test_matrices_without_contiguous_columns_are_refused():
    with pytest.raises(ValueError, match="not contiguous"):
        lapack.CALLS.factorise(np.eye(6)[::2, ::2])


@pytest.mark.parametrize("n", [1, 95, 97, 200, 301])
def test_triangles_are_inverted_at_every_size(n):
    lower = np.asfortranarray(np.tril(np.random.default_rng(n).uniform(0.1, 1.0, (n, n))))
    lower += n * np.eye(n)
    above = np.triu(np.full((n, n), 7.0), 1)
    result = np.asfortranarray(lower + above)
    lapack.CALLS.invert_lower(result)
    np.testing.assert_allclose(np.tril(result) @ lower, np.eye(n), atol=1e-12)
    np.testing.assert_array_equal(np.triu(result, 1), above)


@pytest.mark.parametrize("xp", LIBRARIES)
def test_triangular_products_and_contractions(xp):
    A, L = positive_definite(2, 40), np.tril(positive_definite(1, 40)[0])
    P = times_lower(xp.asarray(A), xp.asarray(L))
    np.testing.assert_allclose(to_host(P), A @ L, rtol=1e-12)
    np.testing.assert_allclose(
        to_host(contraction(P, xp.asarray(L))), np.sum((A @ L) * L, axis=(1, 2)), rtol=1e-12
    )
    difference = subtract_gram(xp.asarray(A.copy()), P)
    np.testing.assert_allclose(to_host(difference), A - (A @ L) @ (A @ L).swapaxes(1, 2))


def test_inputs_are_left_untouched_and_inverse_is_symmetric():
    A = positive_definite(2, 70)
    kept = A.copy()
    factor = cholesky(A)
    lower = factor.lower.copy()
    result = inverse(factor)
    assert np.array_equal(A, kept)
    assert np.array_equal(factor.lower, lower)
    assert np.array_equal(result, result.swapaxes(1, 2))
    np.testing.assert_array_equal(inverse(factor, overwrite=True), result)


def test_fortran_ordered_batches_are_factorised_as_well():
    A = np.asfortranarray(positive_definite(2, 40))
    lower = lower_triangle(cholesky(A))
    np.testing.assert_allclose(lower @ lower.swapaxes(1, 2), A, rtol=1e-12)


def test_a_lane_does_not_depend_on_its_batch():
    A = positive_definite(5, 90)
    together = inverse(cholesky(A))
    for lane in range(5):
        alone = inverse(cholesky(A[lane : lane + 1]))
        assert np.array_equal(alone[0], together[lane])


@pytest.mark.parametrize("xp", LIBRARIES)
def test_jitter_is_recorded_warned_about_and_limited_to_the_lane_that_needs_it(xp):
    n = 30
    singular = np.ones((n, n))
    A = np.stack([positive_definite(1, n)[0], singular])
    with pytest.warns(JitterWarning, match="singular"):
        factor = cholesky(xp.asarray(A))
    assert factor.jitter[0] == 0
    assert 0 < factor.jitter[1] <= 1e-6
    assert not flags(factor.failed).any()
    lower = to_host(lower_triangle(factor))
    np.testing.assert_allclose(lower[1] @ lower[1].T, singular, atol=2e-6)


@pytest.mark.parametrize("xp", LIBRARIES)
def test_failure_is_reported_per_lane_and_stays_finite(xp):
    A = np.stack([np.eye(4), np.diag([1.0, 1.0, -5.0, 1.0]), 3 * np.eye(4)])
    factor = cholesky(xp.asarray(A))
    assert flags(factor.failed).tolist() == [False, True, False]
    assert np.all(np.isfinite(to_host(factor.lower)))
    np.testing.assert_allclose(to_host(factor.lower)[2], np.sqrt(3) * np.eye(4))


def test_non_finite_lanes_fail_instead_of_spreading():
    A = np.stack([np.full((3, 3), np.nan), np.eye(3)])
    factor = cholesky(A)
    assert flags(factor.failed).tolist() == [True, False]
    assert np.all(np.isfinite(factor.lower))


@pytest.mark.parametrize("xp", LIBRARIES)
def test_subtract_outer(xp):
    A = positive_definite(2, 6)
    v = np.random.default_rng(2).standard_normal((2, 6))
    expected = A - v[:, :, None] * v[:, None, :]
    result = subtract_outer(xp.asarray(A.copy()), xp.asarray(v))
    np.testing.assert_allclose(to_host(result), expected, rtol=1e-14)
    fortran = np.asfortranarray(A[0])[None]
    np.testing.assert_allclose(subtract_outer(fortran, v[:1])[0], expected[0], rtol=1e-14)


def in_order(A, order):
    """The same matrices, each of them in the memory order of rows or of columns."""
    return A if order == "C" else np.ascontiguousarray(A.swapaxes(1, 2)).swapaxes(1, 2)


@pytest.mark.parametrize("xp", LIBRARIES)
@pytest.mark.parametrize("n", [1, 6, 70])
def test_subtract_symmetric(xp, n):
    A = positive_definite(3, n)
    v, w = np.random.default_rng(2).standard_normal((2, 3, n))
    outer = v[:, :, None] * w[:, None, :]
    expected = A - 0.5 * (outer + outer.swapaxes(1, 2))
    kept = v.copy(), w.copy()
    result = subtract_symmetric(xp.asarray(A.copy()), xp.asarray(v), xp.asarray(w))
    np.testing.assert_allclose(to_host(result), expected, rtol=1e-13, atol=1e-13)
    for one, before in zip((v, w), kept, strict=True):
        np.testing.assert_array_equal(one, before)


def test_subtract_symmetric_reuses_matrices_of_either_order():
    A = positive_definite(2, 40)
    # Vectors whose numbers lie apart, as a view of a column gives them.
    v, w = np.moveaxis(np.random.default_rng(3).standard_normal((40, 2, 2)), 0, 2)
    expected = A - 0.5 * (v[:, :, None] * w[:, None, :] + w[:, :, None] * v[:, None, :])
    for order in "CF":
        own = in_order(A.copy(), order)
        result = subtract_symmetric(own, v, w)
        assert result is own
        np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-13)


WEIGHTS = {
    "both signs": lambda rng, n: rng.standard_normal(n),
    "positive": lambda rng, n: rng.uniform(0.1, 2.0, n),
    "negative": lambda rng, n: -rng.uniform(0.1, 2.0, n),
    "zero": lambda rng, n: np.zeros(n),
    "some zero": lambda rng, n: rng.standard_normal(n) * (np.arange(n) % 2),
}


@pytest.mark.parametrize("xp", LIBRARIES)
@pytest.mark.parametrize("n", [1, 33, 100])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_weighted_squares(xp, n, weights):
    rng = np.random.default_rng(4)
    A = positive_definite(2, n)
    w = np.stack([WEIGHTS[weights](rng, n), rng.standard_normal(n)])
    kept = A.copy()
    result = to_host(weighted_square(xp.asarray(A), xp.asarray(w)))
    expected = A @ (w[:, :, None] * A)
    np.testing.assert_allclose(result, expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max())
    np.testing.assert_array_equal(A, kept)
    if xp is np:
        np.testing.assert_array_equal(result, result.swapaxes(1, 2))


def test_weighted_squares_of_either_order_do_not_depend_on_their_batch():
    A, w = positive_definite(3, 50), np.random.default_rng(5).standard_normal((3, 50))
    together = weighted_square(A, w)
    np.testing.assert_array_equal(weighted_square(in_order(A, "F"), w), together)
    for lane in range(3):
        alone = weighted_square(A[lane : lane + 1], w[lane : lane + 1])
        np.testing.assert_array_equal(alone[0], together[lane])


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (40, 7), (40, 90)])
def test_squares_are_added_to_the_lower_triangle(n, k, overwrite):
    rng = np.random.default_rng(6)
    half = np.asfortranarray(rng.standard_normal((n, k)))
    before = np.asfortranarray(rng.standard_normal((n, n)))
    if overwrite:
        before[0, 0] = np.nan  # whatever stood there
    found = before.copy(order="F")
    lapack.CALLS.add_square(half, found, overwrite=overwrite)
    expected = half @ half.T + (0.0 if overwrite else before)
    np.testing.assert_allclose(np.tril(found), np.tril(expected), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(np.triu(found, 1), np.triu(before, 1))
    if not overwrite:
        lapack.CALLS.subtract_square(half, found)
        np.testing.assert_allclose(found, before, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("n", [1, 5, 64])
def test_the_product_of_two_vectors_is_subtracted(n):
    rng = np.random.default_rng(7)
    v, w = rng.standard_normal((2, n))
    matrix = np.asfortranarray(rng.standard_normal((n, n)))
    expected = matrix - np.outer(v, w)
    lapack.CALLS.subtract_outer(v, w, matrix)
    np.testing.assert_allclose(matrix, expected, rtol=1e-14, atol=1e-14)
    part = np.asfortranarray(np.zeros((n + 3, n + 3)))
    lapack.CALLS.subtract_outer(v, w, part[:n, :n])  # its columns lie apart
    np.testing.assert_allclose(part[:n, :n], -np.outer(v, w), rtol=1e-14)
    assert not part[n:].any()
    assert not part[:, n:].any()


@pytest.mark.parametrize("xp", LIBRARIES)
def test_dense_covariance_interface(xp):
    C = positive_definite(1, 8)[0]
    right = np.random.default_rng(3).standard_normal((8, 2))
    covariance = DenseCovariance(xp.asarray(C))
    assert covariance.shape == (8, 8)
    np.testing.assert_allclose(to_host(covariance.diagonal()), np.diag(C))
    np.testing.assert_allclose(to_host(covariance @ xp.asarray(right)), C @ right)
    expected = np.linalg.solve(C, right)
    np.testing.assert_allclose(to_host(covariance.solve(xp.asarray(right))), expected)
    np.testing.assert_allclose(to_host(covariance.solve(xp.asarray(right[:, 0]))), expected[:, 0])
    assert covariance.log_determinant() == pytest.approx(np.linalg.slogdet(C).logabsdet)
    np.testing.assert_allclose(np.asarray(covariance.scaled(2.0)), 2 * C)
    assert float(covariance[1, 2]) == C[1, 2]
    assert "n=8" in repr(covariance)


def test_dense_covariance_that_is_indefinite_says_so():
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        DenseCovariance(np.diag([1.0, -1.0])).log_determinant()


def test_one_blas_thread_holds_every_blas_to_one():
    from threadpoolctl import threadpool_info

    with one_blas_thread():
        counts = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    assert counts
    assert set(counts) == {1}
