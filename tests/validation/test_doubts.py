"""What is doubtful about an answer: folds that disagree, references that promise, few rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpproj.validation.doubts import few_rows, overpromising, uneven_folds


def scored(cv, loss, gain=1.0, expected=None):
    """A validation whose submodels lose so much on each row, `(sizes, m)`."""
    m = loss.shape[1]
    density = np.vstack([np.zeros(m), np.full(m, -gain), -loss])
    divergence = None
    if expected is not None:
        divergence = np.vstack([np.zeros(m), np.full(m, expected), np.abs(loss)])
    rows = np.arange(m)
    scores = cv.scores._replace(
        rows=rows,
        fold=rows % 5,
        y=np.zeros(m),
        mean=np.zeros(density.shape),
        log_density=density,
        divergence=divergence,
    )
    return replace(cv, scores=scores)


@pytest.fixture(scope="module")
def cv(make):
    return make(["a", "b"], n=40)


def noise(m=200, seed=0, tails=1000):
    return 0.1 * np.random.default_rng(seed).standard_t(tails, (2, m))


def test_folds_that_agree_are_nothing_to_say(cv):
    said = [uneven_folds(scored(cv, noise(seed=seed, tails=3))) for seed in range(200)]
    assert sum(map(bool, said)) <= 1  # of 200, each with a chance of a thousandth


def test_a_fold_that_loses_more_is_told(cv):
    loss = noise()
    loss[:, np.arange(200) % 5 == 3] += 0.6
    (said,) = uneven_folds(scored(cv, loss))
    assert said.startswith("folds disagree about the submodel of size 2: on average a row loses")
    assert "0.6" in said
    assert not uneven_folds(scored(cv, 0.01 * loss))  # by less than would matter


def test_folds_of_few_rows_are_not_compared(cv):
    loss = noise(20)
    loss[:, :4] += 5.0
    assert not uneven_folds(scored(cv, loss))


def test_a_reference_that_promises_more_than_it_keeps(cv):
    loss = noise()
    assert not overpromising(scored(cv, loss, gain=1.0, expected=1.05))
    uneven = scored(cv, loss, gain=1.0, expected=2.0)
    n = uneven.reference.training.n
    (said,) = overpromising(uneven)
    assert said.startswith(f"the reference expects to gain {2.0 * n:.1f} nats")
    assert not overpromising(scored(cv, loss, gain=1.0))  # nothing is known of what it expects
    assert not overpromising(scored(cv, loss[:, :20], gain=1.0, expected=2.0))


def test_rows_that_decide_are_named(cv):
    loss = noise()
    loss[:, 17] += 40.0
    (said,) = few_rows(scored(cv, loss))
    assert said.startswith("row 17 carries most of what is uncertain about the loss of size")
    assert not few_rows(scored(cv, noise()))
    assert not few_rows(scored(cv, loss[:, :25]))  # few rows always carry much
