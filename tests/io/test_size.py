"""What saved models take: what follows from the rest, or is there already, is not saved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gpproj
from gpproj import store
from gpproj.io.packing import stored
from gpproj.io.records import record_from
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.reference.draws import Draws


@pytest.fixture(scope="module")
def drawn():
    """A reference of 300 rows with sixteen draws."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(300)
    kernel = Constant(1.0) + SquaredExponential(1.0, [1.0, 2.0, 9.0, 9.0])
    ref = gpproj.condition(X, y, kernel, Gaussian(0.04))
    parameters = ref.draws.parameters + 0.1 * rng.standard_normal((16, 7))
    return replace(ref, draws=Draws.equal(parameters))


def saved(thing, tmp_path):
    thing.save(tmp_path / "kept")
    return sum(file.stat().st_size for file in (tmp_path / "kept").iterdir())


def test_a_mixture_of_sixteen_takes_less_than_a_megabyte(drawn, tmp_path):
    sub = gpproj.project(drawn, ["x0", "x1"], learn="projection", clusters=16)
    assert sub.clusters == 16
    assert saved(sub, tmp_path) < 300_000
    new = np.random.default_rng(1).standard_normal((5, 4))
    again = gpproj.load(tmp_path / "kept")
    for one, other in zip(sub.predict(new), again.predict(new), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_reference_takes_less_than_a_megabyte(drawn, tmp_path):
    assert saved(drawn, tmp_path) < 1_000_000
    again = gpproj.load(tmp_path / "kept")
    np.testing.assert_array_equal(again.latent_cov.dense(), drawn.latent_cov.dense())


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["symmetric", "lower", "neither", "a hair apart", "minus zero"])
def test_matrices_come_back_to_the_bit(kind, order):
    matrix = np.random.default_rng(0).standard_normal((40, 40))
    if kind in ("symmetric", "a hair apart"):
        matrix = matrix + matrix.T
    if kind == "a hair apart":
        matrix[3, 20] = np.nextafter(matrix[3, 20], 9.0)
    if kind in ("lower", "minus zero"):
        matrix = np.tril(matrix)
    if kind == "minus zero":
        matrix[3, 20] = -0.0
    matrix = np.asarray(matrix, order=order)
    found = stored({"matrix": matrix})
    half = kind in ("symmetric", "lower")
    assert found.arrays["matrix"].size == (820 if half else 1600)
    back = record_from(found)["matrix"]
    assert back.tobytes() == matrix.tobytes()
    assert back.flags.f_contiguous == matrix.flags.f_contiguous


def test_equal_arrays_are_saved_once():
    found = stored({"one": np.arange(5.0), "two": np.arange(5.0), "three": np.arange(5)})
    assert list(found.arrays) == ["one", "three"]
    assert record_from(found)["two"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("change", [{"kind": "upper"}, {"order": "K"}, {"of": "nothing"}])
def test_halves_that_make_no_sense_are_refused(drawn, tmp_path, change):
    drawn.save(tmp_path / "kept")
    file = tmp_path / "kept" / "reference.npz"
    content, arrays = store.read(file, "reference")
    central = content["GaussianProcessReference"]["_computed"]["Computed"]["central"]
    central["Conditioned"]["root"]["half"] |= change
    store.write(file, "reference", content, arrays)
    with pytest.raises((KeyError, ValueError)):
        record_from(store.read(file, "reference"))
