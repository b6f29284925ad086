from __future__ import annotations

from html.parser import HTMLParser
from io import StringIO
from xml.etree.ElementTree import Element, TreeBuilder

import numpy as np
import pandas as pd
import pytest

import gpproj
from tests.fitting import fit_mode

NASTY = (
    "<script>document.title='run'</script>",
    "a\"b'c&amp;<!--",
    "</style></script></textarea></title><img src='https://example.org/x.png' onerror=alert(1)>",
    "\N{HEBREW LETTER ALEF}\N{HEBREW LETTER BET} \N{CJK UNIFIED IDEOGRAPH-65E5}",
    "w" * 400,
    '=1+1, "quoted"\n\x00end',
)


@pytest.fixture(scope="session")
def nasty_cv(make):
    """Names that would break a page that takes them as they are."""
    return make(list(NASTY), enough=5)


@pytest.fixture(scope="session")
def real_cv():
    """A whole run, on a few rows."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((50, 3)), columns=["line", "wave", "noise"])
    X["noise"] = X["noise"].round()
    y = X["line"] + np.sin(2.0 * X["wave"]) + 0.2 * rng.standard_normal(50)
    ref = fit_mode(X, y)
    return gpproj.validate(ref, folds=2, random_state=0, progress=False)


class Reader(HTMLParser):
    """Builds a tree, and is strict about it: every element ends where it should."""

    VOID = frozenset({"br", "link", "meta"})

    def __init__(self):
        super().__init__()
        self.builder, self.open = TreeBuilder(), []

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute of {tag} is given twice"
        self.builder.start(tag, {name: value or "" for name, value in attrs})
        self.open.append(tag)
        if tag in self.VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.builder.end(tag)

    def handle_data(self, data):
        if self.open:
            self.builder.data(data)
        else:
            assert not data.strip()


def read_page(text) -> Element:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader.builder.close()


@pytest.fixture(scope="session")
def report_file(tmp_path_factory):
    """Write a report, the same one only once; return its file."""
    folder, known = tmp_path_factory.mktemp("reports"), {}

    def write(cv, **options):
        key = id(cv), repr(sorted(options.items()))
        if key not in known:
            file = gpproj.write_report(cv, folder / f"{len(known)}.html", **options)
            known[key] = file, cv  # held, so that no other one gets its id
        return known[key][0]

    return write


@pytest.fixture(scope="session")
def written(report_file):
    """Write a report; return its text and its tree."""

    def write(cv, **options):
        options = {"effects": 2, "stand_ins": 0, "interactions": 0} | options
        text = report_file(cv, **options).read_text(encoding="utf-8")
        return text, read_page(text)

    return write


def words_of(element) -> str:
    """All text of an element, in one line."""
    return " ".join("".join(element.itertext()).split())


@pytest.fixture(scope="session")
def words():
    return words_of


@pytest.fixture(scope="session", name="read_page")
def read_page_fixture():
    return read_page


@pytest.fixture(scope="session")
def csv():
    """The table that a page has to copy, by its name."""

    def table(tree, name, **options):
        return pd.read_csv(StringIO(tree.find(f".//textarea[@id='csv-{name}']").text), **options)

    return table
