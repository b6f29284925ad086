"""Checkpoints of validations: finished folds are not run again."""

from __future__ import annotations

import numpy as np
import pytest

import gpproj
from gpproj.store import StoreError
from gpproj.validation import folds
from tests.fitting import fit_mode


@pytest.fixture(scope="module")
def path():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2))
    ref = fit_mode(X, np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(30))
    return gpproj.forward_search(ref, progress=False)


def validated(path, folder, **options):
    options = {"folds": 3, "random_state": 0, "progress": False} | options
    return gpproj.validate(path.reference, path, "kfold", checkpoint=folder, **options)


@pytest.fixture(scope="module")
def whole(path):
    """A validation without a checkpoint."""
    return validated(path, None)


@pytest.fixture(scope="module")
def done(path, tmp_path_factory):
    """The checkpoint of a validation that has ended."""
    folder = tmp_path_factory.mktemp("kept") / "cv"
    validated(path, folder)
    return folder


def test_a_validation_that_was_stopped_goes_on_to_the_same_answer(
    path, whole, tmp_path, monkeypatch
):
    seen, work = [], folds._in_fold

    def stopped(*arguments):
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(arguments[-1].number)
        return work(*arguments)

    monkeypatch.setattr(folds, "_in_fold", stopped)
    with pytest.raises(KeyboardInterrupt):
        validated(path, tmp_path / "cv")
    assert seen == [0, 1]
    rest = []
    monkeypatch.setattr(
        folds, "_in_fold", lambda *arguments: rest.append(arguments[-1].number) or work(*arguments)
    )
    resumed = validated(path, tmp_path / "cv")
    assert rest == [2]
    assert resumed.orders == whole.orders
    for name in ("rows", "fold", "y", "mean", "log_density"):
        np.testing.assert_array_equal(getattr(resumed.scores, name), getattr(whole.scores, name))


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("other", [{"random_state": 1}, {"search": "once"}, {"folds": 4}])
def test_a_checkpoint_of_other_settings_is_refused(path, done, other):
    before = contents(done)
    with pytest.raises(StoreError, match="belongs to a validation of other data or settings"):
        validated(path, done, **other)
    assert contents(done) == before


def test_a_checkpoint_of_another_path_is_refused(path, done):
    shorter = gpproj.forward_search(path.reference, 1, progress=False)
    with pytest.raises(StoreError, match="other data or settings"):
        validated(shorter, done)
