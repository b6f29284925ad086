"""`validate` on classes and counts: folds, leave-one-out, exposure, scores and sizes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

import gpproj
from gpproj.kernels import Constant, SquaredExponential
from gpproj.reference.draws import Draws
from gpproj.validation.deletion import PointDeletion, SampledDeletion, downdated
from gpproj.validation.folds import folds_of
from tests.fitting import fit_mode

# What a validation warns of is another file's subject.
pytestmark = pytest.mark.filterwarnings(
    "ignore:some submodels seem to predict better:UserWarning",
    "ignore:the .* predicts better:UserWarning",
)

NAMES = list("abcd")
KERNEL = Constant(0.3) + SquaredExponential(4.0, [2.0, 3.0, 10.0, 15.0])
SMALL_KERNEL = Constant(0.3) + SquaredExponential(4.0, [2.0, 3.0])


def make_classes(n=48, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 4)), columns=NAMES)
    f = 2.5 * np.sin(X["a"]) + 1.5 * X["b"] + 0.5 * rng.standard_normal(n)
    return X, np.where(f > np.quantile(f, 0.7), "sick", "healthy")


def make_counts(n=50, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 4)), columns=NAMES)
    exposure = rng.choice([0.5, 1.0, 5.0], n)
    return X, rng.poisson(exposure * np.exp(np.sin(X["a"]) + 0.7 * X["b"])), exposure


@pytest.fixture(scope="module")
def classes():
    return gpproj.condition(*make_classes(), KERNEL, "probit", standardize=True)


@pytest.fixture(scope="module")
def counts():
    X, y, exposure = make_counts()
    return gpproj.condition(X, y, KERNEL, "poisson", standardize=True, exposure=exposure)


@pytest.fixture(scope="module")
def fitted():
    """Of a learned reference, small."""
    X, y = make_classes(n=30)
    ref = fit_mode(X[["a", "c"]], y, "probit")
    return ref, gpproj.forward_search(ref, progress=False)


def quiet(*args, **options):
    return gpproj.validate(*args, **{"progress": False, "random_state": 0} | options)


# K-fold


@pytest.fixture(scope="module")
def class_cv(classes):
    path = gpproj.forward_search(classes, 2, progress=False)
    return quiet(classes, path, folds=3)


@pytest.fixture(scope="module")
def count_cv(counts):
    path = gpproj.forward_search(counts, 2, progress=False)
    return quiet(counts, path, folds=3)


def test_folds_are_the_default_and_have_the_share_of_the_classes(classes, class_cv):
    _, y = make_classes()
    assert class_cv.method == "kfold"
    assert class_cv.search == "inside"
    scores = class_cv.scores
    np.testing.assert_array_equal(np.sort(scores.rows), np.arange(48))
    np.testing.assert_array_equal(scores.y, (y == "sick")[scores.rows])
    for fold in range(3):
        assert np.mean(scores.y[scores.fold == fold]) == pytest.approx(0.3, abs=0.05)


def test_scores_of_classes_are_what_the_predictions_give(class_cv):
    table = class_cv.summary()
    assert {"elpd", "mlpd", "accuracy", "auc"} <= set(table.columns)
    every = class_cv.summary(["brier", "deviance"])
    point = class_cv.pointwise
    for size in range(3):
        own = point[point["size"] == size]
        y, p = own["y"].to_numpy(), own["mean"].to_numpy()
        np.testing.assert_allclose(
            own["log_density"], np.log(np.where(y == 1, p, 1 - p)), rtol=1e-9
        )
        assert table["accuracy"][size] == pytest.approx(np.mean((p > 0.5) == (y == 1)))
        assert table["auc"][size] == pytest.approx(roc_auc_score(y, np.round(p, 12)))
        assert every["brier"][size] == pytest.approx(np.mean((y - p) ** 2))
        assert every["deviance"][size] == pytest.approx(-2 * table["mlpd"][size])
    assert table["accuracy"][2] > table["accuracy"][0] + 0.1
    assert table["auc"][2] > 0.85
    assert np.all(np.isfinite(table.select_dtypes("number").drop(columns="agreement").to_numpy()))


def test_the_null_model_of_each_fold_predicts_the_share_of_its_rows(class_cv):
    null = class_cv.pointwise.query("size == 0")
    assert null.groupby("fold")["mean"].nunique().max() <= 2  # but for rounding
    np.testing.assert_allclose(null["mean"], 0.3, atol=0.06)


def test_the_size_and_the_answer_of_classes(class_cv):
    assert class_cv.suggest_size() == 2
    assert set(class_cv.submodel().inputs) == {"a", "b"}
    assert class_cv.submodel().classes == ("healthy", "sick")
    assert "a" in class_cv.answer()
    assert "b" in class_cv.answer()


def test_a_fold_is_a_model_of_the_other_rows(classes, class_cv):
    """By hand: labels, names, centre and the search anew on the training rows of one fold."""
    X, y = make_classes()
    scores = class_cv.scores
    test = scores.rows[scores.fold == 2]
    train = np.setdiff1d(np.arange(48), test)
    own = gpproj.condition(X.iloc[train], y[train], KERNEL, "probit", standardize=True)
    path = gpproj.forward_search(own, 2, progress=False, start_from=class_cv.path)
    assert class_cv.orders[2] == path.order
    columns = scores.fold == 2
    for line, model in enumerate([own, *(path[size] for size in range(3))]):
        np.testing.assert_allclose(
            scores.mean[line, columns], model.predict_response(X.iloc[test]).mean, rtol=1e-6
        )
        np.testing.assert_allclose(
            scores.log_density[line, columns],
            model.log_density(X.iloc[test], y[test]),
            rtol=1e-6,
        )


def test_folds_of_counts_keep_the_exposure(counts, count_cv):
    X, y, exposure = make_counts()
    scores = count_cv.scores
    np.testing.assert_array_equal(scores.y, y[scores.rows])
    test = scores.rows[scores.fold == 1]
    train = np.setdiff1d(np.arange(50), test)
    own = gpproj.condition(
        X.iloc[train], y[train], KERNEL, "poisson", standardize=True, exposure=exposure[train]
    )
    columns = scores.fold == 1
    found = own.predict_response(X.iloc[test], exposure[test]).mean
    np.testing.assert_allclose(scores.mean[0, columns], found, rtol=1e-6)
    density = own.log_density(X.iloc[test], y[test], exposure[test])
    np.testing.assert_allclose(scores.log_density[0, columns], density, rtol=1e-6)
    table = count_cv.summary()
    assert {"elpd", "mlpd", "rmse", "deviance"} <= set(table.columns)
    assert table["deviance"][2] < table["deviance"][0]
    assert np.all(np.isfinite(table.select_dtypes("number").drop(columns="agreement").to_numpy()))
    assert set(count_cv.path.order[:2]) == {"a", "b"}
    assert count_cv.size_in_question in (1, 2)


def test_rare_events_are_spread_over_the_folds():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 4))
    for y, name in [([1, 1, 1] + [0] * 17, "probit"), ([4, 1, 9] + [0] * 17, "poisson")]:
        ref = gpproj.condition(X, y, KERNEL, name, standardize=True)
        for seed in range(20):
            for number in (2, 3, 5):
                folds = folds_of(ref, number, None, seed)
                events = [int(np.sum(np.array(y)[fold.test] > 0)) for fold in folds]
                assert max(events) <= -(-3 // number)
                sizes = [fold.test.size for fold in folds]
                assert max(sizes) - min(sizes) <= 1


def test_counts_without_zeros_have_random_folds_all_the_same():
    X = np.random.default_rng(0).standard_normal((9, 4))
    ref = gpproj.condition(X, np.arange(1, 10), KERNEL, "poisson")
    folds = folds_of(ref, 3, None, 0)
    np.testing.assert_array_equal(np.sort(np.concatenate([one.test for one in folds])), range(9))


def test_a_splitter_of_scikit_learn_sees_the_classes(classes):
    folds = folds_of(classes, StratifiedKFold(3, shuffle=True, random_state=0), None, None)
    _, y = make_classes()
    assert [int(np.sum(y[fold.test] == "sick")) for fold in folds] == [5, 5, 5]


@pytest.mark.parametrize(
    ("name", "y", "text"),
    [
        ("probit", [1] + [0] * 11, "one class only"),
        ("poisson", [3] + [0] * 11, "no event"),
    ],
)
def test_folds_that_teach_nothing_are_refused_at_once(name, y, text):
    X = np.random.default_rng(0).standard_normal((12, 4))
    ref = gpproj.condition(X, y, KERNEL, name, standardize=True)
    path = gpproj.forward_search(ref, 1, progress=False)
    with pytest.raises(ValueError, match=f"training rows of fold [0-9]+ have {text}"):
        quiet(ref, path, folds=3)
    with pytest.raises(ValueError, match=text):
        quiet(ref, path, "loo", search="inside")
    # Without refits nothing is missing.
    assert np.all(np.isfinite(quiet(ref, path, "loo").summary("elpd")["elpd"]))


def test_a_size_is_chosen_inside_every_fold():
    X, y = make_classes(n=27)
    ref = gpproj.condition(X[["a", "b"]], y, SMALL_KERNEL, "probit", standardize=True)
    cv = quiet(ref, gpproj.forward_search(ref, 1, progress=False), folds=2, nested=True)
    assert len(cv.chosen) == 2
    table = cv.nested_summary()
    assert {"elpd", "accuracy", "auc"} <= set(table.columns)
    assert 0.5 < table["accuracy"]["chosen"] <= 1


def test_workers_and_checkpoints_change_nothing(counts, count_cv, tmp_path):
    folder = tmp_path / "folds"
    for _ in range(2):
        again = quiet(counts, count_cv.path, folds=3, n_jobs=2, checkpoint=folder)
        np.testing.assert_allclose(again.scores.mean, count_cv.scores.mean, rtol=1e-9)
        np.testing.assert_array_equal(again.scores.rows, count_cv.scores.rows)
    assert len(list(folder.iterdir())) == 3


# Leave-one-out


def test_held_loo_is_that_of_the_reference_and_of_its_submodels(fitted):
    ref, path = fitted
    cv = quiet(ref, path, "loo", hyperparameters="held")
    loo = ref.loo()
    np.testing.assert_allclose(cv.scores.mean[0], loo.mean, rtol=1e-8)
    np.testing.assert_allclose(cv.scores.log_density[0], loo.log_density, rtol=1e-8)
    assert cv.summary("accuracy")["accuracy"].between(0, 1).all()
    # A submodel on all inputs without a prior is the reference.
    full = gpproj.project_path(ref, ref.feature_names, prior=None)
    same = quiet(ref, full, "loo", hyperparameters="held").scores
    np.testing.assert_allclose(same.log_density[-1], loo.log_density, atol=1e-3)


def test_held_loo_of_a_submodel_is_close_to_a_model_of_the_other_rows(classes):
    X, y = make_classes()
    path = gpproj.project_path(classes, ["a", "b"])
    cv = quiet(classes, path, "loo", hyperparameters="held", points=12)
    sub = path[2]
    unit = classes.target.nugget / classes.problem.nugget
    share = (sub.extra_variance + classes.target.nugget) / unit
    assert share < 1
    Z = (X - X.mean()) / X.std(ddof=0)
    for column, row in enumerate(cv.scores.rows):
        rest = np.arange(48) != row
        own = gpproj.condition(
            Z.iloc[rest][["a", "b"]], y[rest], sub.kernel, "probit", nugget=share
        )
        centred = classes.training.scaling.target_mean
        if abs(centred) > 1e-12:
            own = shifted(own, centred)
        found = own.log_density(Z.iloc[[row]], y[[row]])[0]
        assert cv.scores.log_density[3, column] == pytest.approx(found, abs=0.05)


def shifted(ref, centre):
    """The same model with a latent function around another centre."""
    training = replace(
        ref.training,
        scaling=replace(ref.training.scaling, target_mean=centre),
        offset=np.full(ref.training.n, centre),
    )
    problem = replace(ref.problem, offset=training.offset)
    return type(ref)(training=training, problem=problem, draws=ref.draws)


@pytest.mark.slow
def test_updated_loo_is_close_to_refits(fitted):
    ref, path = fitted
    X, y = make_classes(n=30)
    X = X[["a", "c"]]
    updated = quiet(ref, path, "loo", points=5)
    held = quiet(ref, path, "loo", points=5, hyperparameters="held")
    refits = []
    for row in updated.scores.rows:
        rest = np.arange(30) != row
        own = fit_mode(X.iloc[rest], y[rest], "probit")
        refits.append(own.log_density(X.iloc[[row]], y[[row]])[0])
    away, further = (np.abs(cv.scores.log_density[0] - refits).mean() for cv in (updated, held))
    assert away < 0.02
    assert away < further


@pytest.mark.parametrize("name", ["classes", "counts"])
def test_taking_an_observation_out_of_the_latent_posterior(request, name):
    ref = request.getfixturevalue(name)
    n = ref.training.n
    K = ref.model_kernel(ref.training.X) + ref.target.nugget * np.eye(n)
    tau, nu = (np.array(part) for part in ref.latent.sites)
    for i in (0, 17):
        found = downdated(ref.latent, i)
        rest = np.arange(n) != i
        cov = np.linalg.inv(np.linalg.inv(K) + np.diag(np.where(rest, tau, 0.0)))
        np.testing.assert_allclose(found.latent_cov.dense(), cov, atol=1e-7)
        np.testing.assert_allclose(found.latent_mean, cov @ np.where(rest, nu, 0.0), atol=1e-6)
        left = PointDeletion(ref, held=True)(i)
        np.testing.assert_allclose(left.target.site_precision, tau[rest], rtol=1e-9)
        np.testing.assert_allclose(
            left.target.latent_cov.dense(), cov[np.ix_(rest, rest)], atol=1e-7
        )


@pytest.fixture(scope="module")
def drawn(fitted):
    """Sixty draws around the optimum."""
    ref, _ = fitted
    rng = np.random.default_rng(0)
    spread = 0.3 * rng.standard_normal((60, ref.draws.parameters.size))
    return replace(ref, draws=Draws.equal(ref.draws.parameters + spread))


def test_loo_of_draws_weighs_them_anew(drawn):
    deletion = SampledDeletion(drawn)
    i = 4
    densities = deletion.loo_density[:, i]
    raw = -densities - logsumexp(-densities)
    np.testing.assert_allclose(deletion.log_weights[:, i], raw, atol=0.3)
    w = np.exp(deletion.log_weights[:, i])
    left = deletion(i)
    tau = np.stack([one.precision for one in deletion.sites])
    rest = np.arange(30) != i
    np.testing.assert_allclose(left.target.site_precision, (w @ tau)[rest], rtol=1e-9)
    assert left.log_density == pytest.approx(drawn.loo().log_density[i], abs=1e-9)
    assert left.mean == pytest.approx(drawn.loo().mean[i], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [None, 2])
def test_loo_of_draws_through_a_path(drawn, clusters):
    path = gpproj.project_path(drawn, ["a"], clusters=clusters)
    cv = quiet(drawn, path)
    assert cv.method == "loo"
    assert 0 < len(cv.refitted) < 6
    kept = ~np.isin(cv.scores.rows, cv.refitted)
    expected = drawn.loo().log_density[cv.scores.rows]
    np.testing.assert_allclose(cv.scores.log_density[0, kept], expected[kept], rtol=1e-9)
    table = cv.summary()
    assert table["auc"][1] > 0.6
    assert set(cv.scores.rows) == set(range(30))
    assert np.all(np.isfinite(cv.scores.log_density))
    assert np.all((cv.scores.mean > 0) & (cv.scores.mean < 1))


def test_loo_of_counts_with_exposure(counts):
    X, y, exposure = make_counts()
    path = gpproj.project_path(counts, ["a", "b"])
    cv = quiet(counts, path, "loo", points=8)
    np.testing.assert_array_equal(cv.scores.y, y[cv.scores.rows])
    for column, row in enumerate(cv.scores.rows):
        rest = np.arange(50) != row
        own = gpproj.condition(
            X.iloc[rest], y[rest], KERNEL, "poisson", standardize=True, exposure=exposure[rest]
        )
        density = own.log_density(X.iloc[[row]], y[[row]], exposure[[row]])[0]
        assert cv.scores.log_density[0, column] == pytest.approx(density, abs=0.15)
        mean = own.predict_response(X.iloc[[row]], exposure[[row]]).mean[0]
        assert cv.scores.mean[0, column] == pytest.approx(mean, rel=0.2)
