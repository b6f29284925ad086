"""What a report says may be wrong: each remark appears when it should, and only then."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpproj.reference.draws import Draws
from gpproj.report.concerns import remarks
from gpproj.report.findings import Findings, size_of

KINDS = ("look", "note", "fine")


def said(cv, given=(), size=None):
    """Remarks by their kind."""
    found = remarks(Findings(cv, *size_of(cv, size), 0, 10, 2), given)
    return {kind: [one.text for one in found if one.kind == kind] for kind in KINDS}


def scored(cv, shift, **changes):
    """The same with other log densities: the reference's, plus a shift for each size."""
    scores = cv.scores
    density = scores.log_density.copy()
    wobble = 0.01 * np.random.default_rng(0).standard_normal(density.shape[1])
    density[1:] = density[0] + np.asarray(shift, dtype=float)[:, None] + wobble
    return replace(cv, scores=scores._replace(log_density=density), **changes)


def starting(texts, start):
    return [text for text in texts if text.startswith(start)]


def test_a_good_run_has_nothing_to_look_at(real_cv):
    found = said(real_cv)
    assert found["look"] == []
    assert starting(found["fine"], "The reference predicts better than the null model")
    assert starting(found["fine"], "All 4 projections converged.")
    assert starting(found["fine"], "The fit of the reference converged")
    assert starting(found["note"], "Only 50 rows were predicted")


def test_what_is_wrong_comes_first(poor_cv):
    kinds = [
        one.kind for one in remarks(Findings(poor_cv, *size_of(poor_cv, None), 0, 10, 2), ["a"])
    ]
    assert kinds == sorted(kinds, key=KINDS.index)
    assert len(set(kinds)) == 3


def test_a_null_model_that_is_better(small_cv):
    cv = scored(small_cv, [0.5, 0, 0, 0, 0, 0])
    (text,) = starting(said(cv)["look"], "The null model predicts clearly better than the")
    assert "(elpd difference 20." in text
    assert not starting(said(cv)["fine"], "The reference predicts better")


def test_a_reference_that_is_hardly_better_than_the_null_model(small_cv):
    assert starting(said(small_cv)["fine"], "The reference predicts better than the null model")
    cv = scored(small_cv, np.zeros(6))
    cv.scores.log_density[1, 0] -= 1.0
    found = said(cv)
    assert starting(found["note"], "The reference predicts hardly better than the null model")


def test_a_bulge_of_a_search_that_was_not_repeated(small_cv):
    shift = [-1, -0.5, 0.3, 0.3, 0.1, 0]
    once = said(scored(small_cv, shift, search="once"))
    assert starting(once["look"], "Some submodels seem to predict better than the reference")
    assert not starting(said(scored(small_cv, shift))["look"], "Some submodels")


def test_a_reference_that_explains_nothing(small_cv):
    scores = small_cv.scores
    bad = replace(small_cv, scores=scores._replace(mean=-scores.mean))
    assert starting(said(bad)["look"], "The reference explains nothing of rows")
    assert not starting(said(small_cv)["look"], "The reference explains nothing")


def test_a_reference_that_does_not_tell_classes_apart(class_cv, count_cv):
    bad = replace(class_cv, scores=class_cv.scores._replace(mean=1.0 - class_cv.scores.mean))
    (text,) = starting(said(bad)["look"], "The reference does not tell the classes apart")
    assert f"(AUC {bad.reference_summary('auc')['auc']:.2f})" in text
    assert not starting(said(class_cv)["look"], "The reference does not")
    wrong = count_cv.scores._replace(mean=1.0 / count_cv.scores.mean)
    assert starting(said(replace(count_cv, scores=wrong))["look"], "The reference explains nothing")
    assert not starting(said(count_cv)["look"], "The reference explains nothing")


def test_no_size_that_is_enough(poor_cv):
    (text,) = starting(said(poor_cv)["look"], "No submodel of up to 3 inputs is shown to be enough")
    assert text.endswith("search further, or choose a size from what it keeps.")


def test_what_was_warned_of_is_said_once(small_cv, poor_cv):
    with pytest.warns(UserWarning, match="no submodel of up to 3") as caught:
        assert poor_cv.suggest_size() is None
    assert len(said(poor_cv, given=[*caught, "other", "other"])["look"]) == 2
    bad = scored(small_cv, [0.5, 0, 0, 0, 0, 0])
    assert said(bad, given=bad.problems)["look"] == said(bad)["look"]
    assert said(small_cv, given=["a < b"])["look"] == ["a &lt; b"]


def test_rows_that_were_never_predicted(small_cv):
    part = replace(small_cv, scores=small_cv.scores.take(np.arange(30)))
    assert "10 of 40 rows were never predicted." in said(part)["note"]
    assert not starting(said(replace(part, method="loo"))["note"], "10 of")


def test_an_order_that_was_found_once(small_cv):
    assert starting(said(replace(small_cv, search="once"))["note"], "The order of the inputs was")
    assert not starting(said(small_cv)["note"], "The order of the inputs was found")


def test_inputs_that_few_folds_found(small_cv):
    own = small_cv.path.order
    agreed = replace(small_cv, orders=(own,) * 4)
    assert starting(said(agreed)["fine"], "Each input of the submodel was among the first 3")
    other = (own[0], own[3], own[4], own[1], own[2])
    (text,) = starting(said(replace(agreed, orders=(own, *[other] * 3)))["note"], "Fewer than half")
    assert "bmi" in text
    assert "bp" in text
    assert "age" not in text


def test_sizes_that_were_chosen_in_every_fold(small_cv):
    nested = replace(small_cv, chosen=(3, 2, None, 4))
    (text,) = starting(said(nested)["note"], "With the size, too, chosen in every fold")
    row = nested.nested_summary().iloc[0]
    assert f"(on average {row['size']:.1f})" in text
    assert f"R² is {row['r2']:.2f}" in text


def test_sizes_of_classes_and_counts_that_were_chosen_in_every_fold(class_cv, count_cv):
    for cv, label, stat in ((class_cv, "AUC", "auc"), (count_cv, "mean deviance", "deviance")):
        nested = replace(cv, chosen=(3, 2, None, 4))
        (text,) = starting(said(nested)["note"], "With the size, too, chosen in every fold")
        value = nested.nested_summary().iloc[0][stat]
        assert text.endswith(f", and {label} is {value:.2f}.")


def test_projections_that_did_not_converge(small_cv):
    path = small_cv.path
    failed = path.projections[2]._replace(converged=False)
    found = (*path.projections[:2], failed, *path.projections[3:])
    cv = replace(small_cv, path=replace(path, projections=found))
    assert said(cv)["look"] == [
        "Size 2: the optimisation did not converge; its figures are those of its last point."
    ]
    assert not starting(said(cv)["fine"], "All")


def test_every_problem_of_the_validation_and_of_its_path_is_repeated(small_cv):
    path = small_cv.path
    found = [one._replace(error=10.0 - size) for size, one in enumerate(path.projections)]
    found[4] = found[4]._replace(error=9.0, doubt=0.5)
    path = replace(path, projections=tuple(found), null_error=10.0, full_error=0.0)
    cv = scored(small_cv, [0.5, 0, 0, 0, 0, 0], path=path)
    assert len(cv.problems) >= 3
    looks = said(cv)["look"]
    for problem in cv.problems:
        assert f"{problem}.".casefold() in [text.casefold() for text in looks]
    assert starting(looks, "The error rises at size 4: inputs were added")
    assert starting(looks, "Size 4: another optimum has nearly the same value")
    assert said(cv, given=cv.problems)["look"] == looks


def test_what_is_wrong_with_the_reference_comes_first(small_cv):
    better = scored(small_cv, [-1, -0.5, 0.3, 0.3, 0.1, 0])
    poor = replace(better, reference=replace(better.reference))  # whose check is its own
    assert poor.reference.check().problems
    first, *others = said(poor)["look"]
    assert first.startswith("The submodel of size 2 predicts clearly better than the reference")
    wrong = [f"{problem}.".casefold() for problem in poor.reference.check().problems]
    assert [text.casefold() for text in others[: len(wrong)]] == wrong
    assert not starting(said(poor)["fine"], "The check of the reference")
    assert starting(said(small_cv)["fine"], "The check of the reference found nothing wrong")


def with_best(cv, size, **changes):
    """The same with another projection of the best set of a size."""
    better = list(cv.path.better)
    better[size] = better[size]._replace(projection=better[size].projection._replace(**changes))
    return replace(cv, path=replace(cv.path, better=tuple(better)))


def test_problems_of_the_best_inputs_are_told(exchanged_cv):
    doubtful = with_best(exchanged_cv, 2, doubt=0.5)
    start = "Best set of size 2: another optimum has nearly the same value"
    assert starting(said(doubtful)["look"], start)
    assert not starting(said(exchanged_cv)["look"], "Best set")


def test_an_order_does_not_tell_how_stable_exchanged_inputs_are(exchanged_cv):
    start = "The inputs of the submodel are not the first ones that entered."
    found = said(exchanged_cv, size=2)
    assert starting(found["note"], start)
    assert not starting(found["note"], "Fewer than half")
    assert not starting(found["fine"], "Each input of the submodel")
    assert not starting(said(exchanged_cv, size=1)["note"], start)


def test_a_fit_that_did_not_converge(real_cv):
    optimum = real_cv.reference.optimum
    none = optimum._replace(converged=np.zeros_like(optimum.converged))
    cv = replace(real_cv, reference=replace(real_cv.reference, optimum=none))
    assert starting(said(cv)["look"], "The fit of the reference did not converge")
    # Another start that failed is no harm.
    worst = int(np.argmax(optimum.value))
    some = optimum.converged.copy()
    some[worst] = False
    cv = replace(
        real_cv, reference=replace(real_cv.reference, optimum=optimum._replace(converged=some))
    )
    assert starting(said(cv)["fine"], "The fit of the reference converged")


def test_values_that_were_given_are_not_called_a_fit(small_cv):
    assert not starting(said(small_cv)["fine"], "The fit")


def test_weights_of_draws(small_cv):
    ref = small_cv.reference
    drawn = replace(ref, draws=Draws.equal(np.repeat(ref.draws.parameters, 100, axis=0)))
    k_hat = np.linspace(0.1, 0.4, 40)
    good = replace(small_cv, reference=drawn, method="loo", search="once", k_hat=k_hat)
    assert starting(said(good)["fine"], "Pareto k is at most 0.40, below its limit 0.50")
    bad = replace(good, k_hat=np.append(k_hat[2:], [0.6, 0.8]), refitted=(38, 39))
    (text,) = starting(said(bad)["note"], "Pareto k was above 0.50 (up to 0.80) for 2 rows")
    assert ">38</bdi>, " in text
    # Of rows that are not predicted nothing is known that matters.
    few = replace(bad, scores=bad.scores.take(np.arange(30)), refitted=())
    assert starting(said(few)["fine"], f"Pareto k is at most {k_hat[31]:.2f}")


def test_draws_of_a_posterior(small_cv):
    az = pytest.importorskip("arviz")

    def drawn(shift, diverging):
        draws = np.random.default_rng(0).standard_normal((4, 200)) + shift * np.arange(4)[:, None]
        flags = np.arange(800).reshape(4, 200) < diverging
        return az.from_dict(posterior={"noise_variance": draws}, sample_stats={"diverging": flags})

    def told(posterior):
        return said(replace(small_cv, reference=replace(small_cv.reference, posterior=posterior)))

    assert starting(told(drawn(0.0, 0))["fine"], "Sampling: no draw diverged, the chains agree")
    found = told(drawn(1.0, 3))
    assert starting(found["look"], "sampling: 3 of 800 draws diverged")
    assert starting(found["look"], "sampling: the chains disagree about noise_variance")
    assert not starting(found["fine"], "Sampling")
    alone = az.from_dict(posterior={"noise_variance": np.ones((2, 5))})
    assert not starting(told(alone)["fine"], "Sampling")
