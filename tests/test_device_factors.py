"""Factors and their inverses on a device: of small matrices, and of others by halves."""

from __future__ import annotations

import re
import warnings
from contextlib import nullcontext
from threading import Thread
from typing import Any, NamedTuple

import numpy as np
import pytest

from gpproj.linalg import (
    JitterWarning,
    cholesky,
    deferred_failures,
    defers_failures,
    device_leaf,
    flags,
    inverse_root,
    log_determinant,
    lower_triangle,
)
from gpproj.linalg import device_factor as by_halves

torch = pytest.importorskip("torch")


def make_matrices(n, lanes=5):
    A = np.random.default_rng(n).standard_normal((lanes, n, n + 5))
    return A @ A.swapaxes(1, 2) / n + 0.1 * np.eye(n)


def inverted(way, A):
    root, log_det = torch.zeros_like(A), A.new_empty((len(A), 3))
    way(A, root, log_det[:, 1])
    return root.cpu().numpy(), log_det[:, 1].cpu().numpy()


def agrees(way, A):
    root, log_det = inverted(way, A)
    matrices = A.cpu().numpy()
    np.testing.assert_allclose(root, np.linalg.inv(np.linalg.cholesky(matrices)), atol=1e-10)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(matrices)[1], rtol=1e-11, atol=1e-13)
    assert not np.triu(root, 1).any()


def tells(way, device, n):
    A = torch.tensor(make_matrices(n), device=device)
    good = inverted(way, A)[0]
    A[1, n - 1, n - 1] = -1.0
    A[3, 0, 0] = torch.nan
    A[4, 0, 0] = 0.0
    root, log_det = inverted(way, A)
    assert np.isfinite(log_det).tolist() == [True, False, True, False, False]
    np.testing.assert_allclose(root[[0, 2]], good[[0, 2]], rtol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 17, 64, 100])
def test_the_library_agrees_with_lapack(n):
    agrees(device_leaf.by_library, torch.tensor(make_matrices(n)))


@pytest.mark.parametrize("n", [1, 20, 64])
def test_the_library_tells_what_has_no_factor(n):
    tells(device_leaf.by_library, "cpu", n)


def test_processors_have_the_library():
    assert device_leaf.leaf_for(torch.zeros(1)) is device_leaf.by_library


@pytest.fixture
def kernel(gpu):
    way = device_leaf.leaf_for(torch.zeros(1, device=gpu))
    assert way is not device_leaf.by_library
    return way


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 31, 32, 33, 48, 50, 63, 64])
def test_the_kernel_agrees_with_lapack(kernel, gpu, n):
    agrees(kernel, torch.tensor(make_matrices(n), device=gpu))


@pytest.mark.parametrize("n", [1, 20, 64])
def test_the_kernel_tells_what_has_no_factor(kernel, gpu, n):
    tells(kernel, gpu, n)


def test_the_kernel_takes_parts_of_larger_matrices(kernel, gpu):
    whole = torch.tensor(make_matrices(150), device=gpu)
    agrees(kernel, whole[:, 70:120, 70:120])
    agrees(kernel, whole[:, :50, :50].mT)


def test_without_a_compiler_gpus_have_the_library(gpu, monkeypatch):
    def fail(*arguments):
        raise RuntimeError("there is none")

    monkeypatch.setattr(torch.cuda, "_compile_kernel", fail)
    monkeypatch.setattr(device_leaf, "_LEAVES", {})
    monkeypatch.setattr(device_leaf, "_LOST", [])
    with pytest.warns(RuntimeWarning, match="there is none"):
        assert device_leaf.leaf_for(torch.zeros(1, device=gpu)) is device_leaf.by_library


class Elsewhere(NamedTuple):
    """Has no more than an array's device."""

    device: Any


@pytest.fixture
def first_gpu(monkeypatch):
    """A GPU that is this processor: everything but the kernel itself is as on a real one."""
    whole = device_leaf._trial
    monkeypatch.setattr(device_leaf, "_LEAVES", {})
    monkeypatch.setattr(device_leaf, "_LOST", [])
    monkeypatch.setattr(device_leaf, "_trial", lambda device: whole("cpu"))
    monkeypatch.setattr(torch.cuda, "device", lambda device: nullcontext())
    return Elsewhere(torch.device("cuda", 0))


def compiling(monkeypatch, kernel):
    monkeypatch.setattr(torch.cuda, "_compile_kernel", lambda source, name: kernel, raising=False)


def right(grid, block, arguments):
    device_leaf.by_library(*arguments[:3])


def wrong_root(grid, block, arguments):
    right(grid, block, arguments)
    arguments[1][0, 3, 2] += 1e-6


def wrong_determinant(grid, block, arguments):
    right(grid, block, arguments)
    arguments[2][0] = torch.nan


def broken(*arguments):
    raise RuntimeError("nvrtc is missing\nand this is how it was found out")


def test_a_kernel_that_works_is_taken_without_a_word(first_gpu, monkeypatch):
    compiling(monkeypatch, right)
    way = device_leaf.leaf_for(first_gpu)
    assert way is not device_leaf.by_library
    agrees(way, torch.tensor(make_matrices(40)))


LOSSES = {
    "missing": (lambda patch: patch.delattr(torch.cuda, "_compile_kernel", False), "has no torch"),
    "compiler": (
        lambda patch: patch.setattr(torch.cuda, "_compile_kernel", broken, False),
        "nvrtc",
    ),
    "launch": (lambda patch: compiling(patch, broken), "RuntimeError: nvrtc is missing\\)"),
    "root": (lambda patch: compiling(patch, wrong_root), "does not agree"),
    "determinant": (lambda patch: compiling(patch, wrong_determinant), "does not agree"),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_kernel_that_is_lost_is_said_once(loss, first_gpu, monkeypatch):
    lose, reason = LOSSES[loss]
    lose(monkeypatch)
    with pytest.warns(RuntimeWarning, match="five times as long") as told:
        assert device_leaf.leaf_for(first_gpu) is device_leaf.by_library
    (only,) = told
    assert re.search(
        f"kernel for factors of small blocks .* on cuda:0 .*{reason}", str(only.message)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert device_leaf.leaf_for(first_gpu) is device_leaf.by_library
        assert device_leaf.leaf_for(Elsewhere(torch.device("cuda", 1))) is device_leaf.by_library


def test_a_warning_that_is_an_error_leaves_a_way(first_gpu, monkeypatch):
    compiling(monkeypatch, broken)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            device_leaf.leaf_for(first_gpu)
        assert device_leaf.leaf_for(first_gpu) is device_leaf.by_library


def test_processors_are_never_told_of_a_kernel(first_gpu, monkeypatch):
    monkeypatch.delattr(torch.cuda, "_compile_kernel", raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert device_leaf.leaf_for(torch.zeros(1)) is device_leaf.by_library
    assert device_leaf._LOST == []


@pytest.mark.parametrize("hurried", [False, True])
@pytest.mark.parametrize("n", [1, 64, 65, 130, 259])
def test_factors_by_halves_are_those_of_lapack(n, hurried):
    A = make_matrices(n, lanes=3)
    with deferred_failures() if hurried else nullcontext():
        found = by_halves.factorise(torch.tensor(A))
    L = np.linalg.cholesky(A)
    np.testing.assert_allclose(found.root, np.linalg.inv(L), rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.log_det, np.linalg.slogdet(A)[1], rtol=1e-11)
    assert not found.failed.any()
    assert not np.triu(found.root.numpy(), 1).any()


@pytest.mark.parametrize("n", [64, 150, 259])
def test_matrices_stay_as_they_are_unless_they_are_spent(n):
    A = make_matrices(n)
    given = torch.tensor(A).mT  # symmetric, and not in the order of rows
    with deferred_failures():
        kept = by_halves.factorise(given)
        np.testing.assert_array_equal(given, A.swapaxes(1, 2))
        spent = by_halves.factorise(given, overwrite=True)
    np.testing.assert_allclose(kept.root, np.linalg.inv(np.linalg.cholesky(A)), atol=1e-10)
    np.testing.assert_allclose(spent.root, kept.root, rtol=0, atol=1e-12)
    np.testing.assert_allclose(spent.log_det, kept.log_det, rtol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 64, 131, 259])
def test_products_of_triangles_are_those_of_whole_matrices(n):
    A = make_matrices(n, lanes=3)
    L = np.tril(A + 1.0)
    pairs = [(by_halves.squared(torch.tensor(L)), L.swapaxes(1, 2) @ L)]
    for lower in (L, L[0]):
        found = by_halves.times_lower(torch.tensor(A), torch.tensor(lower))
        pairs.append((found, A @ lower))
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("n", [20, 150])
@pytest.mark.parametrize("where", [0, -1])
def test_lanes_that_fail_are_told_and_leave_others_alone(n, where):
    A = make_matrices(n, lanes=3)
    A[1, where, where] = -1.0
    with deferred_failures():
        found = by_halves.factorise(torch.tensor(A))
    assert found.failed.tolist() == [False, True, False]
    roots = np.linalg.inv(np.linalg.cholesky(A[[0, 2]]))
    np.testing.assert_allclose(found.root[[0, 2]], roots, rtol=0, atol=1e-10)
    with deferred_failures(), warnings.catch_warnings():
        warnings.simplefilter("error")
        factor = cholesky(torch.tensor(A))
    assert isinstance(factor.failed, torch.Tensor)
    assert flags(factor.failed).tolist() == [False, True, False]
    assert not factor.jitter.any()
    np.testing.assert_allclose(inverse_root(factor)[[0, 2]], roots, rtol=0, atol=1e-10)


@pytest.mark.parametrize("n", [20, 150])
def test_without_hope_lanes_are_mended_one_by_one(n):
    A = make_matrices(n, lanes=4)
    A[1] = 1.0  # singular, which a jitter mends
    A[3, 0, 0] = -1.0
    with pytest.warns(JitterWarning):
        factor = cholesky(torch.tensor(A))
    assert flags(factor.failed).tolist() == [False, False, False, True]
    assert (factor.jitter > 0).tolist() == [False, True, False, False]
    expected = np.linalg.cholesky(A[[0, 2]])
    np.testing.assert_allclose(lower_triangle(factor)[[0, 2]], expected, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(lower_triangle(factor)[3], np.eye(n))
    np.testing.assert_allclose(
        log_determinant(factor)[[0, 2]], np.linalg.slogdet(A[[0, 2]])[1], rtol=1e-11
    )


def test_hope_ends_where_it_began():
    assert not defers_failures()
    with deferred_failures():
        with deferred_failures():
            assert defers_failures()
        assert defers_failures()
        elsewhere = []
        other = Thread(target=lambda: elsewhere.append(defers_failures()))
        other.start()
        other.join()
        assert elsewhere == [False]
    assert not defers_failures()
    with pytest.raises(KeyError), deferred_failures():
        raise KeyError
    assert not defers_failures()
