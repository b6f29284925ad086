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
    times_lower,
    to_host,
)

LIBRARIES = [np, array_api_strict]


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
        lapack.factorise(np.eye(6)[::2, ::2])


@pytest.mark.parametrize("n", [1, 95, 97, 200, 301])
def test_triangles_are_inverted_at_every_size(n):
    lower = np.asfortranarray(np.tril(np.random.default_rng(n).uniform(0.1, 1.0, (n, n))))
    lower += n * np.eye(n)
    above = np.triu(np.full((n, n), 7.0), 1)
    result = np.asfortranarray(lower + above)
    lapack.invert_lower(result)
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
    assert covariance.contract(xp.asarray(C.T + 1)) == pytest.approx(np.sum(C * (C + 1)))
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
