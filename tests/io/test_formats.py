"""Samples of every format there has been: this gpproj reads all of them."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

import gpproj
from gpproj.io.folder import FORMAT
from gpproj.likelihoods import Bernoulli, NegativeBinomial
from gpproj.priors import Gamma, LogNormal

FORMATS = Path(__file__).resolve().parent / "formats"
VERSIONS = sorted(folder.name for folder in FORMATS.iterdir() if folder.name.startswith("v"))
KINDS = {
    "reference": gpproj.Reference,
    "submodel": gpproj.Submodel,
    "path": gpproj.SearchPath,
    "validation": gpproj.Validation,
    "classes": gpproj.SearchPath,
    "counts": gpproj.Submodel,
    "sparse": gpproj.SearchPath,
    "points": gpproj.Reference,
    "foreign": gpproj.SearchPath,
}
FIGURES = {
    version: json.loads((FORMATS / version / "figures.json").read_text()) for version in VERSIONS
}


def assert_close(one, other):
    """Compare numbers down nested lists and dictionaries."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_close(one[key], other[key])
    elif isinstance(one, list) and one and isinstance(one[0], dict | list):
        for mine, its in zip(one, other, strict=True):
            assert_close(mine, its)
    elif isinstance(one, list) and one and isinstance(one[0], str):
        assert one == other
    else:
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


def test_every_format_has_a_sample():
    assert [f"v{number}" for number in range(1, FORMAT + 1)] == VERSIONS
    assert list(FIGURES["v1"]) == list(KINDS)[:4]
    assert list(FIGURES["v2"]) == list(KINDS)[:6]
    assert list(FIGURES[f"v{FORMAT}"]) == list(KINDS)


@pytest.mark.parametrize(
    ("version", "name"), [(version, name) for version in VERSIONS for name in FIGURES[version]]
)
def test_samples_give_the_figures_they_gave(version, name):
    make = runpy.run_path(str(FORMATS / "make.py"))
    found = gpproj.load(FORMATS / version / name)
    assert isinstance(found, KINDS[name])
    assert_close(make["figures"](found), FIGURES[version][name])


@pytest.mark.parametrize("version", VERSIONS)
def test_samples_know_how_they_were_made(version):
    cv = gpproj.load(FORMATS / version / "validation")
    assert cv.reference.prior == {
        "lengthscale": LogNormal(2.0, 0.5),
        "noise_variance": Gamma(1.0, 2.0),
    }
    assert cv.reference.recipe.func is gpproj.fit
    assert cv.path.recipe.keywords["groups"] == {"pair": ("a", "b")}
    assert [unit.cost for unit in cv.path.units] == [2.0]
    assert cv.path[0].inputs == ("c",)
    assert gpproj.load(FORMATS / version / "path").learn == "marginal_likelihood"
    sampled = gpproj.load(FORMATS / version / "reference")
    assert sampled.draws.count == 8
    assert sampled.recipe.keywords["random_state"] == 0


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_samples_know_their_likelihoods(version):
    classes = gpproj.load(FORMATS / version / "classes")
    assert classes.reference.classes == classes[1].classes == ("no", "yes")
    assert classes.reference.likelihood == Bernoulli()
    assert classes.reference.recipe.keywords["likelihood"] == "bernoulli"
    counts = gpproj.load(FORMATS / version / "counts")
    assert isinstance(counts.likelihood, NegativeBinomial)


@pytest.mark.parametrize("version", VERSIONS[2:])
def test_samples_know_their_inducing_points(version):
    path = gpproj.load(FORMATS / version / "sparse")
    inducing = path.reference.problem.inducing
    assert (inducing.count, inducing.method, inducing.selection) == (5, "fitc", "kmeans")
    assert path.reference.latent_cov.rank == 5
    assert path.reference.recipe.keywords["inference"].inducing == 5
    assert path.searched.rows == path.recipe.keywords["search_rows"] == 8
    given = gpproj.load(FORMATS / version / "points")
    assert given.problem.inducing.given
    assert given.recipe.keywords["inference"].inducing.columns.tolist() == ["c", "a", "b"]


@pytest.mark.parametrize("version", VERSIONS[2:])
def test_samples_know_where_they_come_from(version):
    ref = gpproj.load(FORMATS / version / "foreign").reference
    assert ref.source == "from_draws"
    assert ref.shrinkage.method == "Ledoit-Wolf"
    assert 0.0 < ref.shrinkage.amount < 1.0


@pytest.mark.parametrize("version", VERSIONS)
def test_a_sample_has_its_draws_as_arviz_data(version):
    pytest.importorskip("arviz")
    pytest.importorskip("nutpie")
    sampled = gpproj.load(FORMATS / version / "reference")
    posterior = sampled.posterior.posterior
    assert posterior["lengthscale"].dims == ("chain", "draw", "input")
    assert posterior["input"].values.tolist() == ["a", "b"]
    assert posterior.sizes["chain"] == 2
    assert not sampled.posterior.sample_stats["tuning"].any()
