"""A sample of each format that is read: what is saved stays readable."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

import gpproj
from gpproj import store
from gpproj.io.folder import FORMAT, OLDEST
from gpproj.likelihoods import Bernoulli, NegativeBinomial
from gpproj.priors import Gamma, LogNormal

FORMATS = Path(__file__).resolve().parent / "formats"
VERSIONS = sorted(folder.name for folder in FORMATS.iterdir() if folder.name.startswith("v"))
KINDS = {
    "reference": gpproj.Reference,
    "submodel": gpproj.Submodel,
    "path": gpproj.SearchPath,
    "grouped": gpproj.SearchPath,
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


def test_the_formats_that_are_read_have_a_sample():
    assert [f"v{number}" for number in range(OLDEST, FORMAT + 1)] == VERSIONS
    for version in VERSIONS:
        assert list(FIGURES[version]) == list(KINDS)


def test_samples_are_small():
    size = sum(file.stat().st_size for file in FORMATS.rglob("*") if file.is_file())
    assert size < 400_000 * len(VERSIONS)


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
    grouped = gpproj.load(FORMATS / version / "grouped")
    assert grouped.reference.prior == {
        "lengthscale": LogNormal(2.0, 0.5),
        "noise_variance": Gamma(1.0, 2.0),
    }
    assert grouped.reference.recipe.func is gpproj.fit
    assert grouped.recipe.keywords["groups"] == {"pair": ("a", "b")}
    assert [unit.cost for unit in grouped.units] == [2.0]
    assert grouped[0].inputs == ("c",)
    assert (grouped.learn, grouped.criterion) == ("loo", "loo_divergence")
    assert grouped.projector.family.prior == "reference"
    given = gpproj.load(FORMATS / version / "path")
    assert (given.learn, given.criterion) == ("marginal_likelihood", "projection_error")
    assert given.projector.family.prior == "weak"
    sampled = gpproj.load(FORMATS / version / "reference")
    assert sampled.draws.count == 8
    assert sampled.recipe.keywords["random_state"] == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_samples_know_the_best_sets_beside_their_path(version):
    cv = gpproj.load(FORMATS / version / "validation")
    path = cv.path
    assert [path.is_better(size) for size in range(3)] == [False, False, True]
    assert path.order[0] == "c"
    assert path.best_inputs(2) == path.best(2).inputs == cv.submodel(2).inputs == ("a", "b")
    assert path.best_errors[2] < 0.5 * path.errors[2]
    assert {tuple(unit.name for unit in own.units) for own in path.pool} > {("a", "b")}
    assert not np.array_equal(cv.along.mean, cv.scores.mean)
    longer = gpproj.forward_search(path.reference, 3, extend=path, progress=False)
    assert longer.order[:2] == path.order


@pytest.mark.parametrize("version", VERSIONS)
def test_samples_know_what_was_compared(version):
    cv = gpproj.load(FORMATS / version / "validation")
    assert list(cv.compared) == ["process", "linear"]
    assert cv.comparison()["model"].tolist() == ["submodel", "process", "linear"] * 3
    np.testing.assert_array_equal(cv.compared["linear"].mean[0], cv.scores.mean[0])


@pytest.mark.parametrize("version", VERSIONS)
def test_samples_know_their_likelihoods(version):
    classes = gpproj.load(FORMATS / version / "classes")
    assert classes.reference.classes == classes[1].classes == ("no", "yes")
    assert classes.reference.likelihood == Bernoulli()
    assert classes.reference.recipe.keywords["likelihood"] == "bernoulli"
    counts = gpproj.load(FORMATS / version / "counts")
    assert isinstance(counts.likelihood, NegativeBinomial)


@pytest.mark.parametrize("version", VERSIONS)
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


@pytest.mark.parametrize("version", VERSIONS)
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


def test_files_say_the_figures_of_every_divergence_that_was_asked_for(tmp_path):
    path = gpproj.load(FORMATS / VERSIONS[0] / "validation").path
    names = ("posterior_kl", "projection_error", "loo_divergence")
    table = path.summary()
    path.save(tmp_path / "path")
    content = store.read(tmp_path / "path" / "path.npz", "path").content
    for size, one in enumerate(content["projections"]):
        assert one["figures"] == [table.loc[size, name] for name in names]
