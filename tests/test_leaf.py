"""Factors and inverses of small matrices on a device: by torch's own calls, and by the kernel."""

from __future__ import annotations

import numpy as np
import pytest

from gpproj.linalg import leaf

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
    agrees(leaf.by_library, torch.tensor(make_matrices(n)))


@pytest.mark.parametrize("n", [1, 20, 64])
def test_the_library_tells_what_has_no_factor(n):
    tells(leaf.by_library, "cpu", n)


def test_processors_have_the_library():
    assert leaf.leaf_for(torch.zeros(1)) is leaf.by_library


@pytest.fixture
def kernel(gpu):
    way = leaf.leaf_for(torch.zeros(1, device=gpu))
    assert way is not leaf.by_library
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
    monkeypatch.setattr(leaf, "_LEAVES", {})
    assert leaf.leaf_for(torch.zeros(1, device=gpu)) is leaf.by_library
