"""Submodels as files of Python: they predict the same, and need nothing but NumPy."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from functools import cache

import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.kernels import Constant, Linear, Matern32, Matern52, SquaredExponential
from gpproj.likelihoods import Bernoulli, Gaussian, NegativeBinomial, Poisson, StudentT

KERNEL = Constant(0.5) + SquaredExponential(1.0, [1.0, 2.0, 3.0]) * Linear([0.5, 1.0, 1.0])
ROUGH = Constant(0.5) + Matern32(0.7, [1.0, 2.0, 3.0]) + Matern52(0.7, [3.0, 1.0, 0.5])


@cache
def rows(kind="real"):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((35, 3)), columns=["age", "b m i", "c"])
    f = (np.sin(2.0 * X["age"]) + 0.5 * X["c"]).to_numpy()
    y = {
        "real": 5.0 + f + 0.1 * rng.standard_normal(35),
        "binary": np.where(f > 0.0, "yes", "no"),
        "count": rng.poisson(np.exp(f + 1.0)),
    }
    return X, y[kind]


def conditioned(likelihood, kernel=KERNEL, inputs=("age", "c"), **options):
    X, y = rows(str(likelihood.kind))
    options = {"standardize": True, **options}
    ref = gpproj.condition(X, y, kernel, likelihood, **options)
    return gpproj.project(ref, list(inputs), learn="projection")


def mixture():
    X, y = rows()
    ref = gpproj.fit(X, y, kernel=Constant() + SquaredExponential(), draws=3, check=False)
    return gpproj.project(ref, ["c", "age"])


def linear(family="gaussian"):
    X, y = rows({"gaussian": "real", "binomial": "binary", "poisson": "count"}[family])
    weights = np.random.default_rng(1).standard_normal((20, 3)) * 0.2
    noise = np.linspace(0.1, 0.4, 20) if family == "gaussian" else None
    return gpproj.project(gpproj.from_linear_draws(X, y, weights, noise, family), ["b m i"])


SUBMODELS = {
    "numbers": lambda: conditioned(Gaussian(0.05)),
    "rough": lambda: conditioned(Gaussian(0.05), ROUGH),
    "null": lambda: conditioned(Gaussian(0.05), inputs=()),
    "inducing": lambda: conditioned(Gaussian(0.05), ROUGH, inference=gpproj.Sparse(9)),
    "heavy tails": lambda: conditioned(StudentT(0.05, 5.0)),
    "probit": lambda: conditioned(Bernoulli()),
    "logit": lambda: conditioned(Bernoulli("logit")),
    "poisson": lambda: conditioned(Poisson()),
    "negative binomial": lambda: conditioned(NegativeBinomial(0.3)),
    "mixture": mixture,
    "linear": linear,
    "linear classes": lambda: linear("binomial"),
    "linear counts": lambda: linear("poisson"),
    **{
        transform: lambda transform=transform: conditioned(Gaussian(0.05), transform=transform)
        for transform in ("log", "box-cox", "yeo-johnson")
    },
}


@cache
def submodel(name):
    return SUBMODELS[name]()


def imported(file):
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", SUBMODELS)
def test_an_export_predicts_what_the_submodel_does(name, tmp_path):
    sub = submodel(name)
    sub.to_python(tmp_path / "model.py")
    exported = imported(tmp_path / "model.py")
    assert exported.inputs == sub.inputs
    rng = np.random.default_rng(5)
    new = pd.DataFrame(3.0 * rng.standard_normal((6, 3)), columns=["age", "b m i", "c"])
    new.loc[5] = 1e300
    pairs = [("predict", {}), ("predict_response", {})]
    if sub.classes is None and name != "heavy tails":
        pairs += [("predict_interval", {}), ("predict_interval", {"level": 0.5})]
    for method, options in pairs:
        with np.errstate(over="ignore", invalid="ignore"):
            own, its = (getattr(one, method)(new[:5], **options) for one in (sub, exported))
        for one, other in zip(own, its, strict=True):
            known = ~np.isinf(other)  # bounds of large counts are not
            assert known.all() or (one[~known] > 20_000).all()
            np.testing.assert_allclose(other[known], one[known], rtol=1e-10, atol=1e-10)
    far = exported.predict(new[5:])
    assert not np.isnan(far).any()


def test_exposures_are_taken(tmp_path):
    sub, X = submodel("poisson"), rows()[0][:4]
    sub.to_python(tmp_path / "model.py")
    exported, exposure = imported(tmp_path / "model.py"), [0.1, 1.0, 20.0, 300.0]
    for method in ("predict_response", "predict_interval"):
        own = getattr(sub, method)(X, exposure=exposure)
        its = getattr(exported, method)(X, exposure=exposure)
        np.testing.assert_allclose(its, own, rtol=1e-9)


def test_nothing_but_numpy_is_needed(tmp_path):
    sub = submodel("mixture")
    sub.to_python(tmp_path / "model.py")
    code = """
import sys
import numpy as np
before = set(sys.modules)
class Nothing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in ("gpproj", "scipy", "pandas", "sklearn", "array_api_compat"):
            raise ImportError(name)
sys.meta_path.insert(0, Nothing())
import model
mean, variance = model.predict_response({"c": [0.5, 1.0], "age": [0.0, 2.0], "more": ["x", "y"]})
lower, upper = model.predict_interval(np.array([[0.5, 0.0]]), 0.9)
print(*mean, *variance, *lower, *upper)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    new = np.array([[0.5, 0.0], [1.0, 2.0]])
    expected = [*np.ravel(sub.predict_response(new)), *np.ravel(sub.predict_interval(new[:1], 0.9))]
    np.testing.assert_allclose([float(word) for word in done.stdout.split()], expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("X", "said"),
    [
        ({"age": [1.0]}, r"X lacks the inputs \['c'\]; it needs \['age', 'c'\]"),
        (np.ones((2, 3)), r"X must have 2 columns, \['age', 'c'\]; saw the shape \(2, 3\)"),
        (np.ones(2), r"saw the shape \(2,\)"),
        ({"age": [1.0, 2.0], "c": [0.0, np.nan]}, "X must be finite; saw nan in row 1 of 'c'"),
    ],
)
def test_what_is_missing_is_named(X, said, tmp_path):
    submodel("numbers").to_python(tmp_path / "model.py")
    with pytest.raises(ValueError, match=said):
        imported(tmp_path / "model.py").predict(X)


def test_structured_arrays_are_read_by_name(tmp_path):
    sub = submodel("numbers")
    sub.to_python(tmp_path / "model.py")
    X = np.array([(0.5, 1.0)], dtype=[("c", "f8"), ("age", "f8")])
    found = imported(tmp_path / "model.py").predict(X)[0]
    np.testing.assert_allclose(found, sub.predict(np.array([[1.0, 0.5]])).mean)


def test_files_are_not_overwritten_by_chance(tmp_path):
    sub, file = submodel("numbers"), tmp_path / "model.py"
    sub.to_python(file)
    with pytest.raises(FileExistsError, match="exists; overwrite=True replaces it"):
        sub.to_python(file)
    submodel("probit").to_python(file, overwrite=True)
    assert imported(file).classes == ["no", "yes"]
    with pytest.raises(ValueError, match=r"must be a name that Python can import, ending in \.py"):
        sub.to_python(tmp_path / "my-model.py")


def test_a_file_can_be_read(tmp_path):
    submodel("mixture").to_python(tmp_path / "model.py")
    text = (tmp_path / "model.py").read_text()
    assert max(len(line) for line in text.splitlines()) < 130
    assert text.startswith('"""Predicts a number from c, age, with NumPy alone')
    assert len(text) < 40_000
