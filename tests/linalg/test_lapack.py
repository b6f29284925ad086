"""LAPACK by address and by SciPy's wrappers: the same results, and no call that is not known."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import cython_blas, cython_lapack

import gpproj
from gpproj.kernels import Constant, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.linalg import lapack
from gpproj.linalg.lapack_direct import BLAS, LAPACK, Direct, has_signature
from gpproj.linalg.lapack_wrapped import Wrapped
from gpproj.projection import OBJECTIVES

both_ways = pytest.mark.parametrize("way", [lapack.choose(), Wrapped()], ids=["direct", "wrapped"])
SIZES = [0, 1, 2, 50, 97, 210]


def triangle(rng, n):
    return np.tril(rng.uniform(0.1, 1.0, (n, n))) + n * np.eye(n)


def square(rng, n):
    return rng.standard_normal((n, n))


def positive(rng, n):
    root = rng.standard_normal((n, n + 3))
    return root @ root.T


def tall(rng, n):
    return rng.standard_normal((n, 7))


def vector(rng, n):
    return rng.standard_normal(n)


# What each call takes.
CALLS = {
    "factorise": (positive,),
    "solve_factored": (triangle, tall),
    "invert_lower": (triangle,),
    "square_lower": (triangle,),
    "multiply_lower": (square, triangle),
    "subtract_square": (tall, positive),
    "add_square": (tall, positive),
    "subtract_outer": (vector, vector, square),
}


def laid_out(array, apart):
    """The same numbers in LAPACK's order, and the larger array of sevens that they lie in."""
    whole = np.full([size + apart for size in array.shape], 7.0, order="F")
    part = whole[tuple(slice(size) for size in array.shape)]
    part[...] = array
    return part, whole


def test_every_call_is_compared():
    for kind in (Direct, Wrapped):
        assert {name for name in vars(kind) if not name.startswith("_")} == set(CALLS)


@pytest.mark.parametrize("apart", [0, 5], ids=["whole", "part"])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("call", CALLS)
def test_wrappers_do_what_addresses_do(call, n, apart):
    rng = np.random.default_rng(n)
    arrays = [make(rng, n) for make in CALLS[call]]
    found = []
    for way in (lapack.choose(), Wrapped()):
        parts, wholes = zip(*(laid_out(array, apart) for array in arrays), strict=True)
        answer = getattr(way, call)(*parts)
        assert answer is (True if call == "factorise" else None)
        found.append(wholes)
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13 * max(n, 1))
        np.testing.assert_array_equal(other[n:], 7.0)  # nothing is written beside the part


@both_ways
def test_what_has_no_factor_is_told(way):
    assert way.factorise(np.asfortranarray(np.diag([1.0, -1.0]))) is False


@both_ways
def test_squares_are_written_whatever_stood_there(way):
    half, target = np.ones((4, 3), order="F"), np.full((4, 4), np.nan, order="F")
    way.add_square(half, target, overwrite=True)
    np.testing.assert_array_equal(np.tril(target), np.tril(np.full((4, 4), 3.0)))


@both_ways
@pytest.mark.parametrize("call", [name for name in CALLS if name != "subtract_outer"])
def test_columns_that_are_not_contiguous_are_refused(way, call):
    rng = np.random.default_rng(0)
    arrays = [np.ascontiguousarray(make(rng, 6)) for make in CALLS[call]]
    with pytest.raises(ValueError, match="not contiguous"):
        getattr(way, call)(*arrays)


@pytest.mark.parametrize("learn", OBJECTIVES)
@pytest.mark.parametrize("n", [30, 130])
def test_evaluations_do_not_depend_on_the_way(learn, n, monkeypatch):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 4))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n)
    kernel = Constant(0.3) + SquaredExponential(1.0, 2.0)
    parameters = np.append(kernel.log_parameters(4), np.log(0.1))[None, :]
    found = []
    for way in (lapack.choose(), Wrapped()):
        monkeypatch.setattr(lapack, "CALLS", way)
        target = gpproj.condition(X, y, kernel, Gaussian(0.1)).target
        objective = OBJECTIVES[learn]
        mask = np.array([[True, True, False, True]])
        found.append(objective.value(objective.compared_with(target), kernel, parameters, mask))
    np.testing.assert_allclose(found[0].value, found[1].value, rtol=1e-12)
    np.testing.assert_allclose(found[0].gradient, found[1].gradient, rtol=1e-9, atol=1e-9)


def test_addresses_are_chosen_where_integers_have_32_bits():
    assert isinstance(lapack.CALLS, Direct)


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

# Names and numbers that capsules point to for as long as they live.
KEPT = [
    b"void (char *, int64_t *, double *, int64_t *, int64_t *)",
    b"void (char *, int *, double *, int *)",
    b"void (char *, int *, float *, int *, int *)",
    b"int (char *, int *, double *, int *, int *)",
    ctypes.c_double(0.0),
]


def capsule(name):
    return new_capsule(ctypes.addressof(KEPT[-1]), name, None)


def exporting(module, **changed):
    """A module of SciPy that exports something else, or does not export something (None)."""
    both = {**module.__pyx_capi__, **changed}
    return SimpleNamespace(__pyx_capi__={name: one for name, one in both.items() if one})


@pytest.mark.parametrize("name", KEPT[:-1])
def test_another_signature_leads_to_the_wrappers(name):
    changed = exporting(cython_lapack, dpotrf=capsule(name))
    assert isinstance(lapack.choose(lapack=changed), Wrapped)


@pytest.mark.parametrize("other", [None, "a word", capsule(None)], ids=["none", "word", "unnamed"])
@pytest.mark.parametrize("name", [*LAPACK, *BLAS])
def test_one_missing_function_leads_to_the_wrappers(name, other):
    changed = {name: other}
    if name in LAPACK:
        way = lapack.choose(lapack=exporting(cython_lapack, **changed))
    else:
        way = lapack.choose(blas=exporting(cython_blas, **changed))
    assert isinstance(way, Wrapped)


def test_modules_that_export_nothing_lead_to_the_wrappers():
    assert isinstance(lapack.choose(SimpleNamespace(), SimpleNamespace()), Wrapped)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("void (int *, double *)", True),
        ("void (int *, __pyx_t_5scipy_6linalg_11cython_blas_d *)", True),
        ("void (int *, __pyx_t_5scipy_6linalg_13cython_lapack_d *)", True),
        ("void (int *, __pyx_t_5scipy_6linalg_13cython_lapack_s *)", False),
        ("void (__pyx_t_5scipy_6linalg_13cython_lapack_blas_int *, double *)", False),
        ("void (long *, double *)", False),
        ("void (int *, double *, int *)", False),
        ("void (int, double *)", False),
        ("", False),
    ],
)
def test_signatures_are_read_word_by_word(text, expected):
    assert has_signature(text, "id") is expected
