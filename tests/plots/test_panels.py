"""Effects on the scale of the response, columns as bars, and pairs that act together."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.dependence import joint_effect
from gpproj.kernels import Linear, SquaredExponential
from gpproj.likelihoods import Gaussian
from gpproj.plots.numbers import significant
from gpproj.plots.panels import values_of

GROUPS = {"colour": ["colour=blue", "colour=green", "colour=red"], "sex": ["sex=m"]}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    colour, sex = rng.choice(["blue", "green", "red"], 40), rng.choice(["f", "m"], 40)
    X = pd.DataFrame({f"colour={one}": (colour == one).astype(float) for one in np.unique(colour)})
    X = X.assign(**{"sex=m": (sex == "m").astype(float), "size": rng.standard_normal(40)})
    y = 2.0 * (colour == "red") - (colour == "blue") + (sex == "m") * X["size"]
    return X, y


@pytest.fixture(scope="module")
def ref(data):
    return gpproj.condition(*data, SquaredExponential(4.0, [2.0] * 5), Gaussian(0.05))


@pytest.fixture(scope="module")
def sub(ref):
    return gpproj.project(ref, list(ref.feature_names))


@pytest.fixture(scope="module")
def yes(data):
    X, y = data
    ref = gpproj.condition(X, np.where(y > 0, "yes", "no"), Linear(4.0), "logit")
    return ref, gpproj.project(ref, ["size", "sex=m"])


def said_by(ax):
    (found,) = [one.get_text() for one in ax.texts if one.get_gid() == "conclusion"]
    return ax.get_title(loc="left"), " ".join(found.split())


def test_a_column_is_one_panel_with_a_bar_for_each_level_the_largest_first(data, ref, sub):
    X, _ = data
    axes = gpproj.plots.effects(sub, ref, rows=range(40), points=3, groups=GROUPS, target="price")
    assert [ax.get_xlabel() for ax in axes] == ["colour", "sex", "size"]
    table = gpproj.effects(sub, X, points=3, groups=GROUPS)
    own = table[table["input"] == "colour"].set_index("x").sort_values("mean", ascending=False)
    names = [one.get_text() for one in axes[0].get_xticklabels()]
    assert names == list(own.index)
    assert names[0] == "red"
    (bars,) = [one for one in axes[0].containers if hasattr(one, "patches")]
    tops = [bar.get_y() + bar.get_height() for bar in bars]
    np.testing.assert_allclose(tops, own["mean"])
    shares = X[[f"colour={name}" for name in own.index]].mean().to_numpy()
    np.testing.assert_allclose([bar.get_y() for bar in bars], shares @ own["mean"].to_numpy())
    assert axes[0].get_ylabel() == "average price"
    assert axes[0].figure.get_suptitle() == "What each input does to price"
    title, said = said_by(axes[0])
    assert title == "colour"
    low, high = own["mean"].min(), own["mean"].max()
    assert said == f"between {significant(low)} and {significant(high)}"
    assert axes[0].get_ylim() == axes[2].get_ylim()


def test_levels_of_rows(data, ref):
    X, _ = data
    from gpproj.dependence import factors_of

    colour, sex = factors_of(ref.columns, GROUPS)
    assert values_of(ref, X.assign(**{"colour=red": 0.0}), colour).tolist().count("red") == 0
    np.testing.assert_array_equal(values_of(ref, X, sex), np.where(X["sex=m"] > 0.5, "m", "not m"))


def test_classes_are_drawn_as_probabilities_unless_asked_otherwise(data, yes):
    ref, sub = yes
    X, _ = data
    (ax,) = gpproj.plots.effects(sub, ref, ["size"], rows=range(40), points=5)
    wanted = gpproj.effects(sub, X, ["size"], points=5, scale="response")["mean"]
    drawn = next(line for line in ax.lines if line.get_gid() == "submodels")
    np.testing.assert_allclose(drawn.get_ydata(), wanted)
    assert " ".join(ax.get_ylabel().split()) == "average probability of yes"
    assert said_by(ax)[1] == f"between {100 * wanted.min():.0f} % and {100 * wanted.max():.0f} %"
    (ax,) = gpproj.plots.effects(sub, ref, ["size"], rows=10, points=5, scale="latent")
    assert ax.get_ylabel() == "average latent function"
    (ax,) = gpproj.plots.effects(sub, ref, ["size"], rows=10, points=5, target="bought")
    assert " ".join(ax.get_ylabel().split()) == "average probability of bought = yes"


def test_pairs_are_those_of_the_table_with_a_line_for_each_value(data, ref, sub):
    X, _ = data
    (ax,) = gpproj.plots.interactions(sub, ref, 1, rows=40, points=4, groups=GROUPS)
    first = gpproj.interactions(sub, X, groups=GROUPS).iloc[0]
    assert {first["input"], first["other"]} == {"sex", "size"}
    table = joint_effect(sub, X, ("sex", "size"), points=4, groups=GROUPS)
    for place, (_, own) in enumerate(table.groupby("at", sort=False)):
        (line,) = (one for one in ax.lines if one.get_gid() == f"at-{place}")
        np.testing.assert_allclose(line.get_ydata(), own["mean"])
    assert [one.get_text() for one in ax.get_legend().get_texts()] == ["not m", "m"]
    title, said = said_by(ax)
    assert title == "size, at values of sex"
    assert said.startswith(f"{100 * first['share']:.0f} % of the variance of the predictions")


def test_pairs_that_do_nothing_together_say_so(yes):
    ref, sub = yes
    axes = gpproj.plots.interactions(sub, ref, rows=10, points=3)
    assert said_by(axes[0])[1] == "Next to nothing beyond the sum of their own effects."
    with pytest.raises(ValueError, match="at least two inputs"):
        gpproj.plots.interactions(gpproj.project(ref, ["size"]), ref)
    _, given = plt.subplots()
    assert gpproj.plots.interactions(sub, ref, rows=10, points=3, axes=given)[0] is given
