"""The answer in a sentence, for every way a validation can end, and what it says is lost."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import gpproj
from gpproj.plots.numbers import significant
from gpproj.report.answer import apart


def opening(words, tree):
    header = tree.find(".//header")
    return [words(one) for one in header.iter("p")]


def told(words, tree):
    """How well both predict, in plain words and in those of statistics."""
    said = opening(words, tree)
    return (next(one for one in said if one.startswith(start)) for start in ("In rows", "On rows"))


def as_good(cv, sizes, more=0.0):
    """The same where submodels predict as the reference does, or with more density."""
    scores, lines = cv.scores, [1 + size for size in sizes]
    mean, density, divergence = (
        part.copy() for part in (scores.mean, scores.log_density, scores.divergence)
    )
    mean[lines], density[lines], divergence[lines] = mean[0], density[0] + more, 0.0
    changed = {"mean": mean, "log_density": density, "divergence": divergence}
    return replace(cv, scores=scores._replace(**changed))


def better_null(cv):
    return as_good(cv, [0], more=0.1)


def test_some_inputs_are_enough(small_cv, written, words):
    _, tree = written(small_cv)
    answer, plain, kept, lost, how = opening(words, tree)
    assert answer == "3 of 5 inputs predict as well as all: age, bmi, bp."
    row, reference = small_cv.summary().loc[3], small_cv.reference_summary()
    side = "above" if row["elpd_diff"] > 0 else "below"
    own, whole = (f"{100.0 * one['r2']:.0f} %" for one in (row, reference))
    assert plain == (
        f"In rows that had been left out, the model on these 3 inputs explains {own} of the "
        f"variance of the target; with all inputs it is {whole}."
    )
    assert lost == (
        f"On rows that had been left out, the submodel's elpd is {abs(row['elpd_diff']):.1f} ± "
        f"{row['elpd_diff_se']:.1f} (s.e.) {side} the reference's; its R² is {row['r2']:.2f}, "
        f"the reference's {reference['r2']:.2f}. The verdict goes by elpd, which is explained "
        "below."
    )
    assert kept == small_cv.trade_off()
    assert how == (
        "40 rows, 5 inputs; cross-validation with 4 folds, with the search repeated each time."
    )


def test_of_classes_the_loss_is_told_by_area_and_accuracy(class_cv, written, words):
    _, tree = written(class_cv, effects=0)
    plain, lost = told(words, tree)
    row, reference = class_cv.summary().loc[class_cv.suggest_size()], class_cv.reference_summary()
    right = [f"{100.0 * one['accuracy']:.0f} %" for one in (row, reference)]
    assert plain.endswith(
        "finds the right class of {} of the rows; with all inputs it is {}.".format(*right)
    )
    assert (
        f"the reference's; its AUC is {row['auc']:.2f}, the reference's {reference['auc']:.2f}; "
        f"its accuracy is {row['accuracy']:.2f}, the reference's {reference['accuracy']:.2f}."
    ) in lost


def test_of_counts_the_loss_is_told_by_the_deviance(count_cv, written, words):
    _, tree = written(count_cv, effects=0)
    plain, lost = told(words, tree)
    row, reference = count_cv.summary().loc[count_cv.suggest_size()], count_cv.reference_summary()
    off = [significant(one["rmse"]) for one in (row, reference)]
    assert plain.endswith(
        "off by {}, as a root mean square; with all inputs it is {}.".format(*off)
    )
    assert (
        f"the reference's; its mean deviance is {row['deviance']:.2f}, the reference's "
        f"{reference['deviance']:.2f}."
    ) in lost


def test_the_answer_is_that_of_the_validation(small_cv, poor_cv, written, words):
    for cv in (small_cv, poor_cv):
        _, tree = written(cv, effects=0)
        assert opening(words, tree)[0] == cv.answer()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"enough": 1}, "1 of 3 inputs predicts as well as all: a."),
        ({"enough": 3}, "All 3 inputs are needed: a, b, c."),
        ({"enough": 9}, "No submodel of up to 3 inputs predicts as well as all 3 inputs: the lar"),
        (
            {"enough": 1, "groups": [("pair", (0, 1)), ("c", (2,))]},
            "2 of 3 inputs predict as well as all: a, b.",
        ),
        (
            {"enough": 1, "always": (2,)},
            "2 of 3 inputs predict as well as all: c, a.",
        ),
        ({"enough": 0, "always": (2,)}, "The input that is always in is enough, 1 of 3: c."),
        ({"enough": 0, "always": (2, 1)}, "The inputs that are always in are enough, 2 of 3: c, b"),
        (
            {"enough": 9, "groups": []},
            "No submodel without further inputs predicts as well",
        ),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, dict) else "",
)
def test_the_answer_counts_inputs_and_names_steps(make, written, words, options, said):
    _, tree = written(make(list("abc"), **options), effects=0)
    assert opening(words, tree)[0].startswith(said)


def test_one_input_is_not_all_of_several(make, written, words):
    cv = make(["only"], enough=5)
    _, tree = written(cv, effects=0)
    said = "No submodel of up to 1 input predicts as well as the only input: the largest keeps "
    assert opening(words, tree)[0].startswith(said)
    _, tree = written(as_good(cv, [1]), effects=0)
    assert opening(words, tree)[0] == "The only input is needed: only."


def test_a_null_model_that_is_better_is_no_success(small_cv, written, words):
    _, tree = written(better_null(small_cv))
    answer, pointer, _, _, lost, _ = opening(words, tree)
    assert answer.startswith("No input helps: the null model predicts better than all 5")
    assert "the null model's elpd is 4.0 ± 0.0 (s.e.) above the reference's" in lost
    assert pointer == "One thing needs a look first: see diagnostics."


def test_no_input_is_needed_where_nothing_is_lost_without(make, written, words):
    _, tree = written(as_good(make(list("abc")), range(4)), effects=0)
    assert opening(words, tree)[0].startswith("No input is ")


def test_where_no_size_is_enough_the_one_in_question_is_shown(poor_cv, written, words):
    _, tree = written(poor_cv)
    lost = opening(words, tree)[-2]
    assert lost.startswith(f"The submodel on {poor_cv.size_in_question} inputs has an elpd ")
    assert "below the reference's" in lost
    assert "suggested size" not in words(tree.find(".//figure[@class='scores']"))


def test_a_size_of_ones_own_is_told_from_the_suggested_one(small_cv, written, words):
    _, tree = written(small_cv, size=1)
    answer, *_, lost, _ = opening(words, tree)
    assert answer == "This report is about the submodel on 1 of 5 inputs: age."
    assert "The suggested size is 3, not 1." in lost
    _, tree = written(small_cv, size=0)
    assert opening(words, tree)[0] == "This report is about the submodel on no inputs."


def test_the_best_inputs_of_a_size_are_named_not_the_first_that_entered(
    exchanged_cv, written, words
):
    _, tree = written(exchanged_cv)
    assert exchanged_cv.path.order == ("c", "a")
    assert opening(words, tree)[0] == exchanged_cv.answer()
    assert exchanged_cv.answer().endswith(": a, b.")


def test_many_names_are_counted_and_long_ones_are_cut(large_cv, nasty_cv, written, words):
    _, tree = written(large_cv, effects=0)
    answer = opening(words, tree)[0]
    several = len(large_cv.submodel().inputs)
    start = f"{several} of 100 inputs predict as well as all: PctOfPeopleWithSomething0,"
    assert answer.startswith(start)
    assert answer.endswith(f"input14, and {several - 15} more.")
    _, tree = written(nasty_cv, effects=0)
    long = next(one for one in tree.iter("bdi") if "w" * 9 in one.text)
    assert len(long.text) == 60
    assert long.get("title") == "w" * 400


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"search": "once"}, "with the order of the inputs found from all rows."),
        ({"method": "loo"}, "leave-one-out, with the search repeated each time."),
    ],
)
def test_the_procedure_is_named(make, written, words, change, said):
    _, tree = written(replace(make(list("abc"), enough=9), **change), effects=0)
    assert opening(words, tree)[-1].endswith(said)


def test_leave_one_out_of_some_rows_says_how_many(small_cv, written, words):
    scores = small_cv.scores.take(np.arange(12))
    _, tree = written(replace(small_cv, scores=scores, method="loo"))
    assert "leave-one-out of 12 rows" in opening(words, tree)[-1]


def test_an_error_that_is_not_known_is_said_to_be():
    assert apart(1.0, math.nan) == "1.0 (s.e. unknown) above the reference's"


def test_sizes_that_do_not_exist_are_refused(small_cv, tmp_path):
    with pytest.raises(ValueError, match="size must be from 0 to 5, got 6"):
        gpproj.write_report(small_cv, tmp_path / "report.html", size=6)
    assert list(tmp_path.iterdir()) == []


def test_what_may_be_wrong_is_said_below_the_answer(small_cv, written, words):
    _, tree = written(small_cv, effects=0, warnings=[f"thing {one}" for one in "abcde"])
    header = tree.find(".//header")
    (box,) = header.findall("div[@class='alarm']")
    assert words(box.find("p")) == "5 things need a look first: see diagnostics."
    assert [words(one) for one in box.iter("li")] == [f"thing {one}" for one in "abcd"]
    assert list(header).index(box) == 2  # after the title and the answer
    _, tree = written(small_cv, effects=0)
    assert tree.find(".//header/div") is None


def test_the_target_has_its_name(small_cv, written, words):
    _, tree = written(small_cv, effects=1, target="price <b>")
    assert "of the variance of price <b>; with all" in opening(words, tree)[1]
    said = words(tree.find(".//section[@id='effects']"))
    assert "Drawn upwards: average price <b>." in said
    drawn = tree.find(".//section[@id='effects']//svg").get("aria-label")
    assert drawn.startswith("average price <b> as age moves")
