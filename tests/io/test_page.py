"""The page on saving names every file and every field."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

import gpproj
from gpproj import store
from gpproj.io.folder import FORMAT, OLDEST
from gpproj.io.loading import FILES
from gpproj.io.plain import ARGUMENTS
from gpproj.io.records import RECORDS, record_class
from tests.fitting import fit_mode

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "saving.md").read_text()
FORMATS = Path(__file__).resolve().parent / "formats"


def test_the_page_names_every_file_and_field():
    for kind, files in FILES.items():
        named = ", ".join(f"`{name}.npz`" for name in files)
        assert f"| `{kind}` | {named} |" in PAGE
    words = set(re.findall(r"`(\w+)`", PAGE.replace("_*`", "`")))
    files = [*FORMATS.glob("v*/*/*.npz")]
    assert {file.stem for file in files} == {name for names in FILES.values() for name in names}
    for file in files:
        check(words, file, file.stem)


def test_the_page_shows_the_present_format():
    assert f'"format": {FORMAT},' in PAGE
    assert f"This gpproj writes format {FORMAT} and reads formats {OLDEST} and {FORMAT}" in PAGE


def check(words, file, kind):
    content, arrays = store.read(file, kind)
    fields = set(named_in(content))
    if kind == "path":  # arrays are named by size
        fields |= {re.sub(r"_\d+$", "_k", name) for name in arrays}
    assert len(fields) > 5
    assert sorted(fields - words) == []


def named_in(content):
    """Give the names of records and of fields, down to what `plain` has written."""
    plain = {one.__name__ for one in ARGUMENTS} | {"array", "half", "number"}
    if isinstance(content, list):
        for one in content:
            yield from named_in(one)
    elif isinstance(content, dict) and not plain & set(content):
        for name, one in content.items():
            if name not in ("statistics", "recipe", "prior"):
                if name != "mapping":
                    yield name
                yield from named_in(one)


def test_the_page_names_every_record():
    assert [name for name in RECORDS if f"`{name}`" not in PAGE] == []


def test_another_program_predicts_by_the_formula_of_the_page(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 3))
    ref = fit_mode(X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(12))
    sub = gpproj.project(ref, ["x1", "x0"])
    sub.save(tmp_path / "sub")
    content, arrays = store.read(tmp_path / "sub" / "submodel.npz", "submodel")

    def array(field):
        return arrays[field["array"]]

    submodel = content["GaussianProcessSubmodel"]
    part = submodel["parts"][0]["Part"]["predictor"]["LatentPredictor"]
    both = part["kernel"]["Sum"]
    constant = both["left"]["Constant"]["variance"]
    signal, scales = both["right"]["SquaredExponential"].values()
    columns = submodel["data_columns"]["Columns"]
    scaling = columns["scaling"]["Scaling"]
    places = [columns["feature_names"].index(name) for name in submodel["inputs"]]
    new = rng.standard_normal((4, 3))
    z = ((new - array(scaling["input_mean"])) / array(scaling["input_scale"]))[:, places]
    away = (z[:, None, :] - array(part["X"])[None, :, :]) / scales
    c = constant + signal * np.exp(-0.5 * (away**2).sum(axis=2))
    mean = c @ array(part["coefficients"])
    gap = (array(part["X"])[:, None, :] - array(part["X"])[None, :, :]) / scales
    K = constant + signal * np.exp(-0.5 * (gap**2).sum(axis=2)) + part["extra"] * np.eye(12)
    tau = array(part["precision"])
    L = np.linalg.cholesky(np.eye(12) + np.sqrt(tau)[:, None] * K * np.sqrt(tau))
    root = np.linalg.solve(L, np.diag(np.sqrt(tau)))
    reduced = ((root @ c.T) ** 2).sum(axis=0)
    variance = constant + signal + part["extra"] - reduced
    scale = scaling["target_scale"]
    found = sub.predict(new)
    np.testing.assert_allclose(scaling["target_mean"] + scale * mean, found.mean, rtol=1e-9)
    np.testing.assert_allclose(scale**2 * variance, found.variance, rtol=1e-7)


def test_everything_that_can_be_saved_is_public():
    rooms = (gpproj.kernels, gpproj.priors, gpproj.likelihoods, gpproj)
    for one in ARGUMENTS:
        assert any(one.__name__ in room.__all__ for room in rooms)


def test_records_are_defined_where_the_table_says():
    # Else a record would be saved as if nobody knew it.
    for name, module in RECORDS.items():
        assert (record_class(name).__name__, record_class(name).__module__) == (name, module)
