"""The page as text: it needs nothing, holds what the tables say, and is written whole."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy
from pandas.testing import assert_frame_equal

import gpproj
from gpproj.data import raw_rows
from gpproj.kernels import SquaredExponential
from gpproj.plots.curves import SCORES
from gpproj.projection import check_criterion, check_learn
from tests.fitting import fit_mode

MINUS = "\N{MINUS SIGN}"


def section(tree, name):
    return tree.find(f".//section[@id='{name}']")


def places_of(path):
    """The points that a path of a drawing goes through, in pixels."""
    return np.array(re.findall(r"[ML] ([\d.-]+) ([\d.-]+)", path.get("d")), dtype=float)


def rows_of(words, table):
    return [[words(cell) for cell in row] for row in table.iter("tr")]


@pytest.fixture(params=["small_cv", "poor_cv", "large_cv", "nasty_cv", "real_cv"])
def any_cv(request):
    return request.getfixturevalue(request.param)


# Nothing from elsewhere


def test_the_page_needs_no_other_file(any_cv, written):
    text, tree = written(any_cv, title="http://example.org", command="curl https://example.org")
    for element in tree.iter():
        for name in ("src", "href", "action", "data", "poster", "srcset", "xlink:href"):
            assert re.match(r"#|data:,$|$", element.get(name, "")), element.attrib
        assert element.tag not in ("iframe", "object", "embed", "base", "img", "foreignobject")
        assert "style" not in element.attrib
        assert not [name for name in element.attrib if name.startswith("on")]
    style, script = tree.find(".//style").text, tree.find(".//script").text
    assert not re.search(r"url\(|@import|//[a-z]", style)
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(|innerHTML|https?:", script)
    assert text.startswith("<!doctype html>\n")
    assert tree.tag == "html"
    assert tree.get("lang") == "en"


def test_the_browser_is_told_to_fetch_nothing(small_cv, written):
    _, tree = written(small_cv)
    (policy,) = tree.findall(".//meta[@http-equiv='Content-Security-Policy']")
    assert policy.get("content").startswith("default-src 'none'; ")
    assert re.search(r"script-src 'sha256-[\w+/]{43}='$", policy.get("content"))


def test_what_users_name_is_only_ever_text(nasty_cv, written, words):
    title, command = "<script>alert('title')</script>", 'gpproj "<b>" && </pre>'
    text, tree = written(nasty_cv, title=title, command=command, warnings=["<img src=x>", "<i>"])
    assert "\x00" not in text
    assert len(tree.findall(".//script")) == 1
    assert tree.findall(".//img") == tree.findall(".//i") == tree.findall(".//b") == []
    assert tree.find("head/title").text == words(tree.find(".//h1")) == title
    assert tree.find(".//pre/code").text == command
    assert "<img src=x>" in [words(one) for one in section(tree, "diagnostics").iter("span")]
    names = [cell.text for cell in section(tree, "ranking").findall(".//td/bdi")]
    assert names[0] == nasty_cv.path.order[0]
    assert names[-1] == nasty_cv.path.order[-1].replace("\x00", "\N{REPLACEMENT CHARACTER}")


def test_drawings_are_the_same_each_time_whatever_the_style_of_the_user(small_cv, tmp_path):
    def drawings():
        file = gpproj.write_report(small_cv, tmp_path / "report.html", effects=2, interactions=0)
        return re.findall(r"<svg.*?</svg>", file.read_text())

    once = drawings()
    assert len(once) == 6 + 1 + 2 + 1
    with plt.style.context("dark_background"), plt.rc_context({"font.size": 30.0}):
        assert drawings() == once
    assert plt.get_fignums() == []


def test_drawings_scale_with_the_page_and_have_its_colours(real_cv, written):
    _, tree = written(real_cv)
    for drawing in tree.iter("svg"):
        assert drawing.get("viewbox").startswith("0 0 ")
        assert drawing.get("height") is None
        assert drawing.get("aria-label")
        texts = list(drawing.iter("text"))
        assert texts
        assert not [one for one in texts if "font-family" in one.attrib]
        if drawing.get("class") != "heat":  # which is light on every page
            for element in drawing.iter():
                for name in ("fill", "stroke"):
                    assert re.match(r"none$|var\(--\w+\)$", element.get(name, "none"))


def test_ids_are_unique_and_links_lead_somewhere(any_cv, written):
    _, tree = written(any_cv, warnings=["look"])
    ids = [one.get("id") for one in tree.iter() if "id" in one.attrib]
    assert len(ids) == len(set(ids))
    for element in tree.iter():
        for reference in (element.get("aria-labelledby"), element.get("data-copies")):
            assert reference is None or reference in ids
        if element.get("href", "").startswith("#"):
            assert element.get("href")[1:] in ids
    heads = [int(one.tag[1]) for one in tree.iter() if re.fullmatch(r"h\d", one.tag)]
    assert heads[0] == 1
    assert heads.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(heads))


# The tables


def test_tables_to_copy_are_the_tables_of_the_validation(real_cv, written, csv):
    _, tree = written(real_cv, effects=3, points=11)
    assert_frame_equal(
        csv(tree, "scores", index_col="size", keep_default_na=False, na_values={"agreement": ""}),
        real_cv.summary(),
        check_index_type=False,
        check_dtype=False,
        rtol=1e-6,
    )
    shares = csv(tree, "folds", index_col="size")
    proportions = real_cv.ranking_proportions(cumulate=True)
    assert_frame_equal(shares, proportions, check_index_type=False, check_dtype=False)
    errors = csv(tree, "path", index_col="size")["error"].to_numpy()
    np.testing.assert_allclose(errors, real_cv.path.errors, rtol=1e-6)


def test_predictions_to_copy_are_side_by_side(real_cv, written, csv):
    size = real_cv.suggest_size()
    _, tree = written(real_cv)
    found, table = csv(tree, "rows"), real_cv.pointwise
    own = table[(table["size"] == size).fillna(False)]
    for label, part in (("reference", table[table["size"].isna()]), ("submodel", own)):
        for column in ("mean", "log_density"):
            np.testing.assert_allclose(found[f"{label}_{column}"], part[column], rtol=1e-6)
        np.testing.assert_array_equal(found["observation"], part["observation"])
    assert len(section(tree, "losses").findall(".//g[@class='rows']//use")) == len(found)


def test_effects_to_copy_are_those_of_the_public_function(real_cv, written, csv):
    _, tree = written(real_cv, effects=5, rows=1000, points=11)
    sub = real_cv.submodel()
    X = raw_rows(real_cv.reference.training, range(50)).X
    found = csv(tree, "effects")
    for label, model in (("submodel", sub), ("reference", real_cv.reference)):
        wanted = gpproj.effects(model, X, list(sub.inputs), points=11)
        one = found[found["model"] == label].drop(columns="model").reset_index(drop=True)
        assert_frame_equal(one, wanted, check_dtype=False, rtol=1e-6)
    panels = section(tree, "effects").findall(".//figure")
    assert [one.find("figcaption/bdi").text for one in panels] == list(sub.inputs)


def test_the_ranking_table_has_the_figures_of_every_size(small_cv, written, words):
    _, tree = written(small_cv)
    head, *lines = rows_of(words, section(tree, "ranking"))
    scores = ["Elpd difference", "s.e.", "R²", "RMSE"]
    assert head == ["Size", "Input added", "Verdict", "Kept", *scores, "Agreement"]
    table, reference = small_cv.summary(), small_cv.reference_summary()
    assert len(lines) == len(table) + 1
    for size, line in enumerate(lines[:-1]):
        row = table.loc[size]
        shown = row["input"] + (" suggested" if size == 3 else "") if size else "none"
        assert line[:2] == [str(size), shown]
        wanted = [f"{row['elpd_diff']:.1f}", f"{row['elpd_diff_se']:.1f}", f"{row['r2']:.2f}"]
        wanted = [re.sub(r"^-(0\.0+)$", r"\1", one).replace("-", MINUS) for one in wanted]
        assert line[2] == row["verdict"]
        shares = [f"{100.0 * row[one]:.0f}" for one in ("kept", "kept_low", "kept_high")]
        shares = [re.sub(r"^-0$", "0", one).replace("-", MINUS) for one in shares]
        assert line[3] == "{} % ({} to {})".format(*shares)
        assert line[4:7] == wanted
        assert line[8] == (f"{row['agreement']:.0%}".replace("%", " %") if size else "")
    assert lines[-1][:2] == ["all", "reference"]
    assert lines[-1][6] == f"{reference['r2']:.2f}"
    marked = [words(one[0]) for one in section(tree, "ranking").findall(".//tr[@class='marked']")]
    assert marked == ["1", "2", "3"]


def test_best_inputs_that_did_not_enter_first_have_a_table_of_their_own(
    exchanged_cv, small_cv, written, words
):
    path, scores = exchanged_cv.path, exchanged_cv.summary()
    _, tree = written(exchanged_cv, size=2)
    part = section(tree, "ranking")
    ranking, best, compared = part.iter("table")
    assert len(rows_of(words, compared)) == 1 + len(exchanged_cv.path)
    entered = [line[1] for line in rows_of(words, ranking)[1:-1]]
    assert [name.split()[0] for name in entered] == ["none", *path.order]
    assert ["exchanged" in name for name in entered] == [False, False, True]
    marked = {words(row[1]).split()[0] for row in ranking.findall(".//tr[@class='marked']")}
    assert marked == set(path.order) & {"a", "b"}
    head, *lines = rows_of(words, best)
    assert head == ["Size", "Set", "Inputs", "Relative error", "Elpd difference"]
    table, along = path.summary().loc[2], exchanged_cv.along_path().summary().loc[2]
    wanted = [
        ("2", "best", "a, b", table.best_relative_error, scores.elpd_diff[2]),
        ("2", "entered first", ", ".join(path.order), table.relative_error, along.elpd_diff),
    ]
    assert lines == [
        [*texts, f"{error:.3f}", f"{elpd:.1f}".replace("-", MINUS)]
        for *texts, error, elpd in wanted
    ]
    assert "the divergence of leave-one-out predictions, one without inputs" in words(part)
    _, tree = written(small_cv)
    assert len(list(section(tree, "ranking").iter("table"))) == 1


@pytest.mark.parametrize("stat", ["elpd", "r2", "rmse"])
def test_the_first_inputs_that_entered_are_drawn_lightly_where_others_are_better(
    exchanged_cv, small_cv, written, words, stat
):
    place = ["elpd", "r2", "rmse"].index(stat)
    _, tree = written(exchanged_cv, size=2)
    figure = section(tree, "sizes").findall(".//figure[@class='scores']")[place]
    assert "first inputs that entered" in words(figure)
    drawn = {
        (name, place): places_of(drawing.find(f".//g[@class='{name}']/path"))
        for name in ("submodels", "nested-order")
        for place, drawing in enumerate(figure.findall("svg"))
    }
    own, along = (one.summary()[stat] for one in (exchanged_cv, exchanged_cv.along_path()))
    for drawing in range(2):
        best, first = drawn["submodels", drawing], drawn["nested-order", drawing]
        np.testing.assert_array_equal(best[:, 0], first[:, 0])
        slope, level = np.polyfit(own, best[:, 1], 1)
        np.testing.assert_allclose(first[:, 1], level + slope * along, atol=0.1)
    _, tree = written(small_cv)
    assert section(tree, "sizes").findall(".//g[@class='nested-order']") == []
    assert "first inputs that entered" not in words(section(tree, "sizes"))


def test_figures_in_words_name_the_best_inputs(exchanged_cv, written):
    _, tree = written(exchanged_cv)
    points = (
        section(tree, "sizes")
        .findall(".//figure[@class='scores']/svg")[0]
        .findall(".//g[@role='img']")
    )
    first, second = (one.get("aria-label") for one in points[1:])
    assert first.startswith(f"Size 1 (+ {exchanged_cv.path.order[0]}): ")
    assert "; agreement " in first
    assert second.startswith("Size 2 (a, b): ")
    assert "agreement" not in second  # which is that of the order


@pytest.mark.parametrize("stat", ["elpd", "r2", "rmse"])
def test_points_stand_at_the_scores(small_cv, written, stat):
    _, tree = written(small_cv)
    figures = section(tree, "sizes").findall(".//figure[@class='scores']")
    figure = figures[["elpd", "r2", "rmse"].index(stat)]
    table, reference = small_cv.summary(), small_cv.reference_summary()
    for drawing in figure.findall("svg"):
        groups = {one.get("class"): one for one in drawing.iter("g")}
        markers = groups["submodels"].findall(".//use")
        heights = np.array([float(one.get("y")) for one in markers])
        bars = np.array([places_of(one)[:, 1] for one in groups["errors"].findall(".//path")])
        values = table[stat].to_numpy()
        slope, _ = np.polyfit(values, heights, 1)
        assert slope < 0  # more is further up
        np.testing.assert_allclose(heights - heights[0], slope * (values - values[0]), atol=0.03)
        lengths = -2.0 * slope * table[f"{stat}_diff_se"].to_numpy()
        np.testing.assert_allclose(bars[:, 0] - bars[:, 1], lengths, atol=0.03)
        level = places_of(groups["reference"].find("path"))[:, 1]
        at = heights[0] + slope * (reference[stat] - values[0])
        np.testing.assert_allclose(level, at, atol=0.03)
        if stat != "elpd":  # of which the difference is drawn
            band = places_of(groups["reference-band"].find("path"))[:, 1]
            height = -2.0 * slope * reference[f"{stat}_se"]
            assert np.ptp(band) == pytest.approx(height, abs=0.03)
        (ring,) = groups["suggested"].findall(".//use")
        suggested = markers[small_cv.suggest_size()]
        assert [ring.get("x"), ring.get("y")] == [suggested.get("x"), suggested.get("y")]
        columns = [places_of(one.find("path"))[:, 0] for one in points_of(drawing)]
        assert all(one.min() < float(marker.get("x")) < one.max()
                   for one, marker in zip(columns, markers, strict=True))  # fmt: skip


def points_of(drawing):
    """What stands for the sizes in a drawing."""
    return [one for one in drawing.iter("g") if one.get("class", "").split()[:1] == ["point"]]


def test_every_size_has_its_figures_in_words(small_cv, written):
    _, tree = written(small_cv)
    for drawing in section(tree, "sizes").findall(".//figure[@class='scores']/svg"):
        points = points_of(drawing)
        assert len(points) == 6
        for size, (point, row) in enumerate(
            zip(points, small_cv.summary().itertuples(), strict=True)
        ):
            said = point.get("aria-label")
            assert point.find("title").text == said
            assert said.startswith(f"Size {size}{f' (+ {row.input})' if size else ''}: keeps ")
            kept = f"keeps {100.0 * row.kept:.0f} % (".replace("-", MINUS)
            assert kept.replace(f"{MINUS}0 ", "0 ") in said
            assert f"elpd {row.elpd:.1f}".replace("-", MINUS) in said
            assert f"{abs(row.elpd_diff):.1f} ± {row.elpd_diff_se:.1f} (s.e.)" in said
            assert f"R² {row.r2:.2f}".replace("-", MINUS) in said


@pytest.mark.parametrize(
    ("name", "stats", "titles"),
    [
        ("class_cv", ("auc", "accuracy"), ["AUC", "Accuracy"]),
        ("count_cv", ("deviance", "rmse"), ["Mean deviance", "RMSE"]),
    ],
)
def test_other_targets_have_statistics_of_their_own(request, written, words, name, stats, titles):
    cv = request.getfixturevalue(name)
    text, tree = written(cv, effects=0)
    table, reference = cv.summary(), cv.reference_summary()
    assert "R²" not in text
    assert "log density" not in words(tree.find(".//main"))
    head, *lines = rows_of(words, section(tree, "ranking"))
    assert head[6:8] == titles
    for size, line in enumerate(lines[:-1]):
        assert line[6] == f"{table.loc[size, stats[0]]:.2f}"
    assert lines[-1][6] == f"{reference[stats[0]]:.2f}"
    both = rows_of(words, next(section(tree, "losses").iter("table")))
    assert [line[0] for line in both[1:]] == ["Elpd", *titles]
    assert both[2][1:3] == [
        f"{reference[stats[0]]:.3f}",
        f"{table.loc[cv.suggest_size(), stats[0]]:.3f}",
    ]
    captions = [words(one) for one in section(tree, "sizes").iter("figcaption")]
    for caption, label in zip(captions[-2:], map(SCORES.get, stats), strict=True):
        assert caption.startswith(f"{label[0].upper()}{label[1:]} in rows that were left out")
    point = section(tree, "sizes").find(".//g[@role='img']").get("aria-label")
    said = titles[0][:1].lower() + titles[0][1:] if name == "count_cv" else titles[0]
    assert f"; {said} {table.loc[0, stats[0]]:.2f}; " in point


def test_classes_have_the_names_that_the_user_gave_them(class_cv, written, words):
    training = replace(class_cv.reference.training, classes=("<b>no</b>", "y" * 80))
    reference = replace(class_cv.reference, training=training)
    vars(reference)["_check"] = class_cv.reference.check()
    cv = replace(class_cv, reference=reference)
    _, tree = written(cv, effects=0)
    part = section(tree, "losses")
    *_, table = part.iter("table")
    shown = [line[1] for line in rows_of(words, table)[1:]]
    seen = cv.pointwise.drop_duplicates("observation").set_index("observation")["y"]
    rows = [int(line[0]) for line in rows_of(words, table)[1:]]
    short = f"{'y' * 36}…{'y' * 23}"
    assert shown == [short if seen[row] else "<b>no</b>" for row in rows]
    assert f"Probabilities of {short}." in words(part)
    titles = [one.text for one in part.findall(".//svg//use/title")]
    assert sum(one.endswith("observed <b>no</b>") for one in titles) == (seen == 0).sum()


def small_run(likelihood):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((30, 2)), columns=["line", "noise"])
    y = {
        "gaussian": X["line"],
        "logit": np.where(X["line"] > 0, "yes", "no"),
        "poisson": rng.poisson(np.exp(X["line"])),
    }
    ref = gpproj.condition(X, y[likelihood], SquaredExponential(1.0, 2.0), likelihood)
    path = gpproj.project_path(ref, ["line"])
    return gpproj.validate(ref, path, folds=2, random_state=0, progress=False)


@pytest.mark.parametrize(
    ("likelihood", "averaged"),
    [("gaussian", "prediction"), ("logit", "probability of yes"), ("poisson", "rate")],
)
def test_effects_name_what_they_are_of(written, words, csv, likelihood, averaged):
    cv = small_run(likelihood)
    _, tree = written(cv, size=1)
    part = section(tree, "effects")
    assert f"Drawn upwards: average {averaged}." in words(part)
    assert ("at an exposure of one" in words(part)) == (likelihood == "poisson")
    drawn = part.find(".//figure/svg").get("aria-label")
    assert drawn.startswith(f"average {averaged} as line moves")
    table = csv(tree, "effects")
    if likelihood == "logit":
        assert table[["lower", "upper"]].stack().between(0.0, 1.0).all()
    own = table.loc[table["model"] == "submodel", "mean"]
    assert words(part.find(".//figcaption")).startswith("linebetween ")
    assert own.max() > own.min()


def test_targets_are_shown_as_the_user_knows_them(written, words, csv):
    for likelihood, known in (("logit", r"no|yes"), ("poisson", r"\d+")):
        _, tree = written(small_run(likelihood), effects=0)
        *_, table = section(tree, "losses").iter("table")
        told = [line[1] for line in rows_of(words, table)[1:]]
        assert all(re.fullmatch(known, one) for one in told)
        assert set(told) <= set(csv(tree, "rows")["y"].astype(str))


def test_left_out_one_by_one_classes_are_explained(class_cv, written, words):
    text = "its AUC is near zero, not one half"
    for method, told in (("loo", True), ("kfold", False)):
        _, tree = written(replace(class_cv, method=method), effects=0)
        assert (text in words(section(tree, "sizes"))) is told


def test_an_area_that_is_not_known_leaves_no_trace(class_cv, written):
    ones = np.flatnonzero(class_cv.scores.y == 1.0)
    _, tree = written(replace(class_cv, scores=class_cv.scores.take(ones)), effects=0)
    for element in section(tree, "sizes").iter():
        assert "nan" not in [*element.attrib.values()]
    figure = section(tree, "sizes").findall(".//figure[@class='scores']")[1]
    for drawing in figure.findall("svg"):
        assert drawing.findall(".//g[@class='submodels']//use") == []
        assert not drawing.find(".//g[@class='reference']/path").get("d")


def test_the_heat_map_has_the_shares_of_the_folds(small_cv, written):
    _, tree = written(small_cv)
    shares = small_cv.ranking_proportions(cumulate=True).to_numpy().T
    drawn = section(tree, "stability").findall(".//text")
    cells = [one.text for one in drawn if one.text.endswith("%")]
    assert cells == [f"{share:.0%}" for share in shares.ravel() if share > 0]


def test_a_large_heat_map_is_drawn_in_part_and_says_so(large_cv, written, words):
    text, tree = written(large_cv)
    part = section(tree, "stability")
    said = re.search(r"Drawn are the first (\d+) sizes and (\d+) inputs", words(part))
    assert all(20 <= int(one) <= 40 for one in said.groups())
    assert len(section(tree, "ranking").findall(".//tr")) == 1 + 101 + 1
    assert len(text) < 1_500_000


def test_an_order_that_was_not_searched_again_is_not_called_stable(make, written, words):
    _, tree = written(make(list("abc"), enough=2, search="once"))
    assert "Not tested" in words(section(tree, "stability"))
    assert "Agreement" not in words(section(tree, "ranking"))
    assert tree.find(".//textarea[@id='csv-folds']") is None
    assert "agreement" not in section(tree, "sizes").find(".//g[@role='img']").get("aria-label")


def test_rows_that_lost_the_most_are_listed(real_cv, written, words, csv):
    _, tree = written(real_cv)
    rows = csv(tree, "rows")
    away = rows["submodel_log_density"] - rows["reference_log_density"]
    *_, table = section(tree, "losses").iter("table")
    lines = rows_of(words, table)[1:]
    listed = [line[0] for line in lines]
    assert lines[0][-1] == f"{-away.min():.2f}"
    assert listed == [str(row) for row in rows["observation"][away.sort_values().index[:5]]]


def test_effects_are_as_many_as_asked_for(small_cv, written, words):
    _, tree = written(small_cv, effects=2)
    assert len(section(tree, "effects").findall(".//figure")) == 2
    assert "The first 2 of 3 inputs." in words(section(tree, "effects"))
    for options, why in (({"effects": 0}, "left out"), ({"size": 0}, "the submodel has no inputs")):
        _, tree = written(small_cv, **options)
        assert words(section(tree, "effects")).endswith(f"No effects to show: {why}.")
        assert tree.find(".//textarea[@id='csv-effects']") is None


def test_arrays_without_names_have_reports_too(written, words):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 2))
    ref = fit_mode(X, X[:, 1] + 0.1 * rng.standard_normal(30))
    cv = gpproj.validate(ref, folds=3, random_state=0, progress=False)
    _, tree = written(cv)
    assert words(tree.find(".//header/p")) == "1 of 2 inputs predicts as well as all: x1."
    ticks = section(tree, "effects").findall(".//g[@class='values']//use")
    assert len(ticks) == 30


# How to do it again


def test_what_was_used_is_written_down(small_cv, written, words):
    before = datetime.now().astimezone().replace(second=0, microsecond=0)
    _, tree = written(small_cv, command="gpproj select data.csv", seed=7)
    part = section(tree, "reproduce")
    keys, values = ([words(one) for one in part.iter(tag)] for tag in ("dt", "dd"))
    facts = dict(zip(keys, values, strict=True))
    assert facts["Seed"] == "7"
    assert facts["gpproj"] == gpproj.__version__
    assert facts["numpy"] == np.__version__
    assert facts["scipy"] == scipy.__version__
    assert facts["Python"].startswith(platform.python_version())
    assert facts["Reference"] == repr(small_cv.reference)
    assert before <= datetime.fromisoformat(facts["Date"]) <= datetime.now().astimezone()
    assert part.find("pre/code").text == "gpproj select data.csv"


LEARNED = [
    ("loo", None, "the cross-validated projection", "divergence of leave-one-out predictions"),
    ("projection", None, "the projection of the posterior", "projection error"),
    ("projection", "loo_divergence", "the projection of the posterior", "divergence of leave-one"),
    ("marginal_likelihood", None, "the marginal likelihood", "projection error"),
]


@pytest.mark.parametrize(("learn", "criterion", "how", "by"), LEARNED)
def test_how_submodels_were_learned_and_compared_is_named(
    small_cv, written, words, learn, criterion, how, by
):
    way = check_learn(learn)
    figure = check_criterion(criterion, way)
    projector = replace(small_cv.path.projector, learn=way, criterion=figure)
    cv = replace(small_cv, path=replace(small_cv.path, projector=projector))
    _, tree = written(cv, effects=0)
    said = f"learned by {how} and compared by the {by}"
    assert f"Submodels were {said}" in words(section(tree, "sizes"))
    facts = words(section(tree, "reproduce"))
    assert f"Submodels{said}" in facts
    assert f"(learn='{learn}', criterion='{figure.name}')" in facts


def test_what_is_not_known_is_not_made_up(small_cv, written, words):
    _, tree = written(small_cv)
    part = section(tree, "reproduce")
    assert part.find("pre") is None
    assert "Seed not given" in re.sub(r"(Seed)(not)", r"\1 \2", words(part))
    assert tree.find("head/title").text == "Which inputs are enough"


# The file


def test_the_file_is_returned_and_may_be_named_by_text(small_cv, tmp_path):
    file = gpproj.write_report(small_cv, str(tmp_path / "a.html"), effects=0)
    assert file == tmp_path / "a.html"
    assert [one.name for one in tmp_path.iterdir()] == ["a.html"]


def test_a_failure_leaves_the_old_file_and_nothing_else(small_cv, tmp_path, monkeypatch):
    file = tmp_path / "report.html"
    file.write_text("old")

    def fail(*arguments):
        raise OSError("disk full")

    for name in ("replace", "fsync"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(OSError, match="disk full"):
                gpproj.write_report(small_cv, file, effects=0)
        assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
        assert file.read_text() == "old"


def test_a_folder_that_is_not_there_is_named_before_any_work(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        gpproj.write_report(None, tmp_path / "nowhere" / "report.html")


@pytest.mark.parametrize("option", ["effects", "rows", "points", "stand_ins", "interactions"])
def test_counts_are_checked(small_cv, tmp_path, option):
    with pytest.raises((TypeError, ValueError), match=f"{option} must be"):
        gpproj.write_report(small_cv, tmp_path / "report.html", **{option: -1})


@pytest.mark.slow
def test_references_from_elsewhere_have_reports(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.2 * rng.standard_normal(40)

    def make(X, y):
        own = fit_mode(X, y)
        moments = own.latent_mean, own.latent_cov, own.noise_variance
        return gpproj.from_moments(X, y, *moments, predict=own.predict, refit=make)

    ref = make(X, y)
    cv = gpproj.validate(ref, folds=2, random_state=0, progress=False)
    page = tmp_path / "page.html"
    gpproj.write_report(cv, page)
    assert "of the submodel and of the reference" not in page.read_text()
    assert gpproj.plots.effects(cv.path[1], ref).size == 1


def test_plain_models_have_a_table_where_some_were_fitted(small_cv, written, words):
    _, tree = written(small_cv)
    assert "Beside models fitted to the same inputs" not in words(section(tree, "ranking"))
    worse = small_cv.scores._replace(log_density=small_cv.scores.log_density - 1.0)
    worse = worse._replace(
        log_density=np.vstack([small_cv.scores.log_density[:1], worse.log_density[1:]])
    )
    _, tree = written(replace(small_cv, compared={"linear": worse}))
    part = section(tree, "ranking")
    assert "Beside models fitted to the same inputs" in words(part)
    head, *lines = part.findall(".//table")[-1].iter("tr")
    assert [words(cell) for cell in head] == ["Size", "Submodel", "Linear regression"]
    gaps = [
        float(words(cells[1]).replace(MINUS, "-")) - float(words(cells[2]).replace(MINUS, "-"))
        for cells in lines
    ]
    np.testing.assert_allclose(gaps, 40.0, atol=0.11)  # a nat for each of forty rows


# Pairs, columns and calibration


@pytest.fixture(scope="module")
def table_cv():
    """A run with columns of text, whose levels count once."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(
        {
            "region": rng.choice(["north", "south", "west"], 48),
            "sex": rng.choice(["f", "m"], 48),
            "size": rng.uniform(-1.0, 1.0, 48),
        }
    )
    y = 2.0 * (X["region"] == "south") + 2.0 * (X["sex"] == "m") * X["size"]
    ref = fit_mode(X, y + 0.1 * rng.standard_normal(48))
    path = gpproj.project_path(ref, ["region", "size", "sex"])
    return gpproj.validate(ref, path, folds=2, search="once", random_state=0, progress=False)


def test_columns_are_counted_and_drawn_not_levels(table_cv, written, words, csv):
    _, tree = written(table_cv, size=3, effects=9, rows=30, points=4)
    answer = words(tree.find(".//header/p[@class='answer']"))
    assert answer.endswith("3 of 3 inputs: region, size, sex.") or answer == table_cv.answer()
    assert "48 rows, 3 inputs;" in words(tree.find(".//header"))
    panels = section(tree, "effects").findall(".//figure")
    assert [one.find("figcaption/bdi").text for one in panels] == ["region", "size", "sex"]
    texts = [one.text for one in panels[0].iter("text")]
    levels = [one for one in texts if one in ("north", "south", "west")]
    assert sorted(levels) == ["north", "south", "west"]
    assert levels[0] == "south"  # the largest first
    found = csv(tree, "effects")
    assert set(found.loc[found["input"] == "sex", "x"]) == {"f", "m"}


def test_pairs_that_matter_are_drawn(table_cv, written, words, csv):
    _, tree = written(table_cv, size=3, effects=0, rows=30, points=4, interactions=1)
    part = section(tree, "pairs")
    (panel,) = part.findall(".//figure")
    first = csv(tree, "pairs").iloc[0]
    assert {first["input"], first["other"]} == {"sex", "size"}
    said = words(panel.find("figcaption"))
    assert said.startswith("size, at values of sex")
    assert f"{100.0 * first['share']:.0f} % of the variance" in said
    assert {"f", "m"} <= {one.text for one in panel.iter("text")}


def test_pairs_that_do_nothing_together_are_not_drawn(table_cv, written, words):
    for size, options, said in (
        (3, {"interactions": 0}, "No pairs to show: left out."),
        (1, {"interactions": 2}, "No pairs to show: the submodel has fewer than two inputs."),
    ):
        _, tree = written(table_cv, size=size, effects=0, rows=20, **options)
        assert words(section(tree, "pairs")).endswith(said)
    _, tree = written(table_cv, size=2, effects=0, rows=20, interactions=2)
    part = section(tree, "pairs")
    assert part.findall(".//figure") == []
    assert "None of 1 pair does anything to speak of" in words(part)


def test_calibration_is_that_of_the_reference(table_cv, count_cv, class_cv, written, words):
    _, tree = written(table_cv, size=3, effects=0)
    part = section(tree, "calibration")
    assert len(part.findall(".//svg")) == 1
    inside = table_cv.reference.check().coverage[0.9]
    assert f"Intervals of 90 % hold {100.0 * inside:.0f} %" in words(part.find(".//figcaption"))
    _, tree = written(small_run("logit"), size=1, effects=0)
    assert "70 % should be of the class" in words(section(tree, "calibration"))
    _, tree = written(small_run("poisson"), size=1, effects=0)
    assert words(section(tree, "calibration")).endswith("there is no picture of it for counts.")
    _, tree = written(class_cv, effects=0)  # whose reference is made up
    assert words(section(tree, "calibration")).endswith("no row can be left out of this reference.")


def test_chosen_inputs_are_in_the_map_though_no_order_has_them(exchanged_cv, written):
    _, tree = written(exchanged_cv, size=2, effects=0)
    texts = section(tree, "stability").iter("text")
    names = {one.text for one in texts if one.get("font-weight") in ("bold", "700")}
    assert names == set(exchanged_cv.path.best_inputs(2))
