"""The bricks of a page: escaping, and numbers as they are printed."""

from __future__ import annotations

import math
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpproj.plots.numbers import number, percent, significant
from gpproj.plots.style import cut
from gpproj.report.markup import (
    FORBIDDEN,
    Markup,
    escaped,
    listing,
    tag,
)

MINUS = "\N{MINUS SIGN}"


class Seen(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


@given(st.text())
def test_any_text_comes_back_as_text(text):
    page = tag("p", text, title=text)
    page.encode("utf-8")
    seen = Seen(page)
    wanted = FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
    assert seen.tags == ["p"]
    assert seen.attributes == [("title", wanted)]
    assert seen.text == wanted


def test_markup_is_not_escaped_again():
    assert tag("p", tag("b", "<")) == "<p><b>&lt;</b></p>"
    assert escaped(Markup("<b>")) == "<b>"
    assert escaped("a" + Markup("<b>")) == "a&lt;b&gt;"  # plain text in front makes plain text


@pytest.mark.parametrize(
    ("value", "decimals", "shown"),
    [
        (1.25, 1, "1.2"),
        (-3.0, 0, f"{MINUS}3"),
        (-0.04, 1, "0.0"),
        (-0.04, 2, f"{MINUS}0.04"),
        (1.5e9, 1, "1.5e+09"),
        (math.inf, 1, "∞"),
        (-math.inf, 1, f"{MINUS}∞"),
        (math.nan, 1, "\N{EN DASH}"),
    ],
)
def test_numbers_are_printed(value, decimals, shown):
    assert number(value, decimals) == shown


@given(st.floats(-1e12, 1e12))
def test_significant_digits_are_kept(value):
    shown = significant(value, 3).replace(MINUS, "-")
    assert float(shown) == pytest.approx(value, rel=0.006)


def test_shares_are_percentages():
    assert (percent(0.256), percent(math.nan)) == ("26 %", "\N{EN DASH}")


@given(st.text(min_size=1), st.integers(5, 40))
def test_names_are_cut_to_length_and_keep_their_ends(name, most):
    short = cut(name, most)
    assert len(short) <= max(most, len(name) if len(name) <= most else 0)
    assert short[0] == name[0]
    assert short[-1] == name[-1]


def test_lists_are_not_cut_for_a_single_name():
    names = [f"x{j}" for j in range(4)]
    assert "more" not in listing(names, most=3)
    assert listing(names, most=2).endswith(", and 2 more")
