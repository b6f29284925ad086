"""K-fold validation: everything repeated without the rows that are predicted."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)

import gpproj
from gpproj.reference.draws import Draws
from gpproj.validation.folds import folds_of
from gpproj.validation.scores import Scores
from gpproj.validation.validating import _plan
from tests.fitting import fit_mode

# What a validation warns of is another file's subject.
pytestmark = pytest.mark.filterwarnings(
    "ignore:some submodels seem to predict better:UserWarning",
    "ignore:the .* predicts better:UserWarning",
)

N = 30


def make_data(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 3)), columns=list("abc"))
    return X, np.asarray(np.sin(X["a"]) + X["b"] + 0.3 * rng.standard_normal(n))


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def ref(data):
    return fit_mode(*data)


@pytest.fixture(scope="module")
def path(ref):
    return gpproj.forward_search(ref, 2, progress=False)


@pytest.fixture(scope="module")
def null(ref):
    """The path without a step: quick to repeat."""
    return gpproj.forward_search(ref, 0, progress=False)


@pytest.fixture(scope="module")
def cv(ref, path):
    return gpproj.validate(ref, path, folds=3, random_state=0, progress=False)


def by_hand(data, ref, again, folds):
    """The scores of a plain loop: refit, search again, predict."""
    X, y = data
    parts, orders = [], []
    for number, (train, test) in enumerate(folds):
        own = ref.refit(X.iloc[train], y[train])
        found = again(own)
        models = [own, *(found[size] for size in range(len(found)))]
        parts.append(
            (
                test,
                np.full(test.size, number),
                y[test],
                np.stack([model.predict_response(X.iloc[test]).mean for model in models]),
                np.stack([model.log_density(X.iloc[test], y[test]) for model in models]),
            )
        )
        orders.append(found.order)
    scores = Scores(*(np.concatenate(field, axis=-1) for field in zip(*parts, strict=True)))
    return scores, tuple(orders)


def same(found, expected, tolerance=1e-4):
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_array_equal(found.fold, expected.fold)
    np.testing.assert_allclose(found.y, expected.y, rtol=1e-12)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.log_density, expected.log_density, rtol=0, atol=tolerance)


def test_folds_refit_search_and_predict(data, ref, path, cv):
    folds = KFold(3, shuffle=True, random_state=0).split(data[0])
    expected, orders = by_hand(data, ref, path.repeat_nearby, folds)
    same(cv.scores, expected)
    assert cv.orders == orders
    assert cv.method == "kfold"
    assert cv.search == "inside"
    assert cv.chosen == ()
    assert cv.k_hat is None


def test_an_order_that_is_kept_has_seen_the_rows(data, ref, path, cv):
    once = gpproj.validate(ref, path, search="once", folds=3, random_state=0, progress=False)
    folds = KFold(3, shuffle=True, random_state=0).split(data[0])
    expected, orders = by_hand(data, ref, path.reproject, folds)
    same(once.scores, expected)
    assert once.orders == orders == (path.order,) * 3
    assert len(set(cv.orders)) > 1
    assert once.search == "once"


def test_workers_do_not_change_the_answer(ref, path, cv):
    two = gpproj.validate(ref, path, folds=3, random_state=0, n_jobs=2, progress=False)
    same(two.scores, cv.scores, 1e-12)
    assert two.orders == cv.orders
    loo = [
        gpproj.validate(ref, path, "loo", points=4, random_state=0, n_jobs=n_jobs, progress=False)
        for n_jobs in (1, 2)
    ]
    same(loo[1].scores, loo[0].scores, 1e-12)


def test_a_seed_decides_the_folds(ref, null):
    one, two, other = (
        gpproj.validate(ref, null, folds=3, random_state=seed, progress=False).scores
        for seed in (0, 0, 1)
    )
    same(one, two, 1e-12)
    assert one.rows.tolist() != other.rows.tolist()
    assert sorted(other.rows.tolist()) == list(range(N))


def test_a_path_is_searched_for_when_none_is_given(ref, path, cv):
    found = gpproj.validate(ref, max_inputs=2, folds=3, random_state=0, progress=False)
    assert found.path.order == path.order
    same(found.scores, cv.scores, 1e-12)


@pytest.mark.slow
def test_kfold_of_single_rows_is_leave_one_out_with_the_search_inside(data, ref, path):
    found = gpproj.validate(
        ref, path, "loo", search="inside", points=2, random_state=0, progress=False
    )
    assert found.method == "loo"
    assert found.search == "inside"
    assert len(found.orders) == 2
    pairs = [(np.delete(np.arange(N), i), np.array([i])) for i in found.scores.rows]
    expected, orders = by_hand(data, ref, path.repeat_nearby, pairs)
    same(found.scores, expected)
    assert found.orders == orders


# Other folds


def test_labels_of_groups_need_no_splitter(ref):
    labels = np.repeat(list("abcde"), N // 5)
    for train, test in (one[1:] for one in folds_of(ref, 3, labels, 0)):
        assert not set(labels[train]) & set(labels[test])


@pytest.mark.parametrize("folds", [KFold(3, shuffle=True, random_state=0), TimeSeriesSplit(3)])
def test_folds_that_part_groups_are_refused(ref, folds):
    labels = np.repeat(list("abcde"), N // 5)
    with pytest.raises(
        ValueError, match=r"in fold \d rows \d+ and \d+ are of one group.*GroupKFold"
    ):
        folds_of(ref, folds, labels, None)
    with pytest.raises(ValueError, match="folds must keep groups of rows together"):
        folds_of(ref.with_row_groups(labels), folds, None, None)


def test_leaving_out_single_rows_knows_no_groups(ref, null):
    labels = np.arange(N) // 2
    many = replace(ref, draws=Draws.equal(np.repeat(ref.draws.parameters, 30, axis=0)))
    assert many.usual_validation == "loo"
    path = gpproj.forward_search(many, 0, progress=False)
    with pytest.raises(ValueError, match='row_groups: method="loo" leaves out single rows'):
        gpproj.validate(many, path, "loo", row_groups=labels, progress=False)
    with pytest.raises(ValueError, match="fold 0 rows"):  # by folds, unless told otherwise
        gpproj.validate(many, path, folds=KFold(2, shuffle=True), row_groups=labels)


def test_groups_of_rows_stay_together(ref, null):
    labels = np.repeat(np.arange(6), 5)
    scores = gpproj.validate(
        ref, null, folds=GroupKFold(3), row_groups=labels, progress=False
    ).scores
    for label in range(6):
        assert len(set(scores.fold[np.isin(scores.rows, np.flatnonzero(labels == label))])) == 1
    assert len(set(scores.fold)) == 3


def test_rows_that_are_never_predicted(ref, null):
    """The first ones of a series have nothing before them; sums stand for all rows anyway."""
    cv = gpproj.validate(ref, null, folds=TimeSeriesSplit(2), progress=False)
    assert cv.scores.rows.tolist() == list(range(10, N))
    found = cv.reference_summary(["elpd", "mlpd"])
    assert found["mlpd"] == pytest.approx(cv.scores.log_density[0].mean())
    assert found["elpd"] == pytest.approx(N * found["mlpd"])


def test_pairs_of_rows(data, ref, null):
    pairs = [(range(20), [25, 21]), (np.arange(10, 30), np.array([3]))]
    cv = gpproj.validate(ref, null, folds=iter(pairs), progress=False)
    arrays = [(np.asarray(train), np.asarray(test)) for train, test in pairs]
    same(cv.scores, by_hand(data, ref, null.repeat, arrays)[0])


@pytest.mark.filterwarnings("ignore:the reference expects to gain")  # from 15 rows
def test_repeated_folds_are_averaged(ref, null):
    folds = RepeatedKFold(n_splits=2, n_repeats=3, random_state=0)
    cv = gpproj.validate(ref, null, folds=folds, progress=False)
    assert cv.scores.rows.size == 3 * N
    assert len(cv.orders) == 6
    density = pd.Series(cv.scores.log_density[0]).groupby(cv.scores.rows).mean()
    found = cv.reference_summary("elpd")
    assert found["elpd"] == pytest.approx(density.sum())
    assert found["elpd_se"] == pytest.approx(np.sqrt(N) * density.std())


def test_a_splitter_sees_the_targets(ref):
    class ByTarget:
        def split(self, X, y, groups):
            high = y > np.median(y)
            assert len(X) == len(y) == N
            yield np.flatnonzero(~high), np.flatnonzero(high)

    (fold,) = folds_of(ref, ByTarget(), None, None)
    y = np.asarray(ref.training.y)
    assert y[fold.test].min() > y[fold.train].max()


def test_as_many_folds_as_rows(ref):
    found = folds_of(ref, N, None, 0)
    expected = folds_of(ref, LeaveOneOut(), None, None)
    assert sorted(fold.test.tolist() for fold in found) == [fold.test.tolist() for fold in expected]


def with_classes(ref, members):
    """Classes, of which the second has so many members, far from evenly spread."""
    y = (np.arange(N) >= N - members).astype(float)
    training = replace(ref.training, kind="binary", classes=("no", "yes"), y=y)
    return replace(ref, training=training), y


def test_folds_of_classes_have_the_same_share_of_each(ref):
    own, y = with_classes(ref, 10)
    found = folds_of(own, 5, None, 0)
    expected = StratifiedKFold(5, shuffle=True, random_state=0).split(np.zeros((N, 1)), y)
    for fold, (train, test) in zip(found, expected, strict=True):
        np.testing.assert_array_equal(fold.train, train)
        np.testing.assert_array_equal(fold.test, test)
        assert y[fold.test].sum() == 2


@pytest.mark.parametrize(
    ("members", "folds"), [(3, 5), (2, 2), (2, 5), (27, 5), (15, 20), (2, N), (15, N)]
)
@pytest.mark.parametrize("seed", [0, 1, None])
def test_a_class_of_few_is_in_every_training_part(ref, members, folds, seed):
    own, y = with_classes(ref, members)
    found = folds_of(own, folds, None, seed)
    assert len(found) == folds
    assert sorted(row for fold in found for row in fold.test) == list(range(N))
    for fold in found:
        assert sorted([*fold.train, *fold.test]) == list(range(N))
        assert set(y[fold.train]) == {0.0, 1.0}
    sizes = [fold.test.size for fold in found]
    assert max(sizes) - min(sizes) <= 1
    few = [int((y[fold.test] == 1.0).sum()) for fold in found]
    assert max(few) - min(few) <= 1


def test_a_seed_decides_the_folds_of_few(ref):
    own, _ = with_classes(ref, 3)
    one, two, other = (
        [fold.test.tolist() for fold in folds_of(own, 5, None, s)] for s in (0, 0, 1)
    )
    assert one == two != other


# Paths


def test_folds_repeat_the_search_with_its_settings(ref):
    path = gpproj.forward_search(
        ref,
        1,
        always=["c"],
        groups={"pair": ["a", "b"]},
        costs={"pair": 3.0},
        prior=None,
        progress=False,
    )
    assert path.order == ("pair",)
    cv = gpproj.validate(ref, path, folds=2, random_state=0, progress=False)
    assert cv.orders == (("pair",), ("pair",))
    assert cv.summary()["input"].tolist() == ["", "pair"]
    assert cv.submodel(1).inputs == ("c", "a", "b")


def test_frames_keep_their_names(ref):
    """Folds hand frames on: a recipe that asks for names finds them."""
    seen = []

    def recipe(X, y):
        seen.append(list(X.columns))
        return ref.recipe(X[["a", "b", "c"]], y)

    other = replace(ref, recipe=recipe)
    gpproj.validate(other, max_inputs=0, folds=2, random_state=0, progress=False)
    assert seen == [["a", "b", "c"]] * 2


def test_inputs_that_are_constant_in_a_fold_are_not_worth_a_warning():
    X, y = make_data(20)
    X["c"] = np.append(np.zeros(18), [1.0, 1.0])
    ref = fit_mode(X, y)
    pairs = [(np.arange(18), np.arange(18, 20)), (np.arange(10, 20), np.arange(10))]
    cv = gpproj.validate(ref, folds=pairs, progress=False)
    assert np.isfinite(cv.scores.log_density).all()
    assert cv.orders[0][-1] == "c"


def test_filters_of_warnings_are_left_as_they_were(ref, null):
    before = list(warnings.filters)
    gpproj.validate(ref, null, folds=6, random_state=0, n_jobs=3, progress=False)
    assert warnings.filters == before


# Refusals


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"method": "bootstrap"}, ValueError, 'method must be "loo" or "kfold"'),
        ({"search": "twice"}, ValueError, 'search must be "inside" or "once"'),
        ({"hyperparameters": "free"}, ValueError, 'hyperparameters must be "updated" or "held"'),
        ({"folds": 1}, ValueError, "folds must be from 2 to the number of rows, 30; got 1"),
        ({"folds": 31}, ValueError, "folds must be from 2"),
        ({"folds": True}, TypeError, "folds must be a number, a splitter"),
        ({"folds": "five"}, TypeError, "folds must be a number, a splitter"),
        ({"folds": 2.5}, TypeError, "folds must be a number, a splitter"),
        ({"folds": []}, ValueError, "folds must give at least one pair"),
        ({"folds": [1, 2]}, TypeError, "folds must be pairs"),
        ({"folds": [([0, 1],)]}, TypeError, "folds must be pairs"),
        ({"folds": [([0, 1, 2], [2, 3])]}, ValueError, "folds must be pairs .* share none"),
        ({"folds": [([0, 1, 2], [])]}, ValueError, "folds must be pairs"),
        ({"folds": [([0, 1, 2], [30])]}, ValueError, "folds must hold rows from 0 to 29"),
        ({"folds": [([0, 1, 2], [-1])]}, ValueError, "folds must hold rows from 0 to 29"),
        ({"folds": [([0, 1], [0.5])]}, TypeError, "folds must hold positions of rows"),
        ({"folds": [([True] * 30, [False] * 30)]}, TypeError, "folds must hold positions"),
        ({"folds": GroupKFold(2)}, ValueError, "groups"),
        ({"points": 5}, ValueError, 'points is for method="loo"'),
        ({"method": "loo", "points": 1}, ValueError, "points must be a number from 2 to 30"),
        ({"method": "loo", "points": 2.0}, ValueError, "points must be a number"),
        ({"method": "loo", "points": True}, ValueError, "points must be a number"),
        ({"method": "loo", "nested": True}, ValueError, "nested is for"),
        ({"search": "once", "nested": True}, ValueError, "nested is for"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be"),
        ({"max_inputs": 1}, ValueError, "max_inputs: for a search that has yet to be done"),
    ],
)
def test_bad_arguments_are_named(ref, null, options, error, text):
    with pytest.raises(error, match=text):
        gpproj.validate(ref, null, progress=False, **options)


def test_paths_of_other_references_are_refused(data, null):
    other = fit_mode(*data)
    with pytest.raises(ValueError, match="path must be a search of the same reference"):
        gpproj.validate(other, null, progress=False)


def test_defaults_follow_the_reference(ref):
    """Fixed hyperparameters favour the reference in leave-one-out; many posterior draws do not."""
    rest = (None, "updated", False, None)
    plan = _plan(ref, None, None, *rest)
    assert (plan.method, plan.search) == ("kfold", "inside")
    drawn = replace(ref, draws=Draws.equal(np.repeat(ref.draws.parameters, 25, axis=0)))
    plan = _plan(drawn, None, None, *rest)
    assert (plan.method, plan.search) == ("loo", "once")
    assert _plan(drawn, "kfold", None, *rest).search == "inside"
    np.testing.assert_array_equal(plan.points, np.arange(N))


def test_progress_may_be_silent(ref, null, capsys):
    gpproj.validate(ref, null, folds=2, random_state=0, progress=False)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


# The whole procedure


@pytest.mark.slow
def test_the_size_may_be_chosen_inside_every_fold(data, ref):
    path = gpproj.project_path(ref, ["b"])
    cv = gpproj.validate(ref, path, folds=2, nested=True, random_state=0, progress=False)
    assert len(cv.chosen) == 2
    pairs = folds_of(ref, 2, None, 0)
    X, y = data
    for fold, chosen in zip(pairs, cv.chosen, strict=True):
        own = ref.refit(X.iloc[fold.train], y[fold.train])
        inner = gpproj.validate(own, path.repeat(own), folds=2, random_state=0, progress=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert chosen == inner.suggest_size()


@pytest.mark.filterwarnings("ignore:folds disagree")  # in one of them the reference overfits
@pytest.mark.parametrize("seed", range(2))
def test_pure_noise_needs_no_inputs(seed):
    rng = np.random.default_rng(seed)
    ref = fit_mode(rng.standard_normal((60, 5)), rng.standard_normal(60))
    cv = gpproj.validate(ref, max_inputs=1, folds=3, random_state=0, progress=False)
    assert cv.suggest_size() == 0
    assert cv.suggest_size("elpd") == 0
    assert cv.submodel().inputs == ()


def test_other_backends_give_the_same_answer(ref, null):
    from joblib import parallel_config

    plain = gpproj.validate(ref, null, folds=2, random_state=0, progress=False)
    with parallel_config("loky", n_jobs=2):
        other = gpproj.validate(ref, null, folds=2, random_state=0, n_jobs=None, progress=False)
    same(other.scores, plain.scores, 1e-9)
