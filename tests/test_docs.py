"""The documentation: its examples run and print what it says, and it names every public name.

The blocks of a page are one script. Three comments mean something in them: `# not run` in the first
line leaves a block out, `# warns: TEXT` allows warnings that contain the text in that block, and
what stands behind a `print` is checked if it is a literal. A block of text, or an indented one,
right after an example is what it prints. `renew_docs.py` writes that.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import gpproj
from gpproj.kernels import KINDS
from gpproj.projection import CRITERIA
from gpproj.search.strategies import STRATEGIES

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for path in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
    if "_build" not in path.parts
}

NEEDED = {"gpproj.sample(": "nutpie", "import torch": "torch"}
"""What examples use, and the package that brings it."""

SLOW = {
    "README.md",
    "docs/faq.md",
    "docs/howto/any-predictor.md",
    "docs/howto/categories-and-missing.md",
    "docs/howto/classification.md",
    "docs/howto/clusters.md",
    "docs/howto/compare.md",
    "docs/howto/correlated-inputs.md",
    "docs/howto/false-selections.md",
    "docs/howto/gpu.md",
    "docs/howto/grouped-and-time-ordered.md",
    "docs/howto/groups-and-costs.md",
    "docs/howto/large-data.md",
    "docs/howto/linear-models.md",
    "docs/howto/long-runs.md",
    "docs/howto/own-reference.md",
    "docs/howto/reporting.md",
    "docs/howto/sampled.md",
    "docs/howto/scikit-learn.md",
    "docs/plots.md",
    "docs/report.md",
    "docs/searching.md",
    "docs/tutorial.md",
    "docs/validating.md",
}
"""Three seconds and more on an idle core; the README runs with the other tests."""

FENCE = re.compile(r"^```python\n(?P<code>.*?)^```\n", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(
    r"\n```text\n(?P<fenced>.*?)^```\n|\n(?P<indented>(?: {4}[^\n]+\n)+)", re.M | re.S
)
NUMBER = re.compile(r"(-?\d+\.\d*(?:e[+-]?\d+)?)")


class Block(NamedTuple):
    """One example of a page."""

    code: str
    line: int
    """Lines of the page before its first one."""
    printed: str | None
    """What the page says that it prints; None if it does not say."""


def blocks_of(page: str) -> list[Block]:
    found = []
    for match in FENCE.finditer(page):
        if match["code"].startswith("# not run"):
            continue
        says = PRINTED.match(page, match.end())
        printed = says and (says["fenced"] or says["indented"])
        found.append(Block(match["code"], page.count("\n", 0, match.start("code")), printed))
    return found


def alike(seen: str, said: str) -> bool:
    """Whether two texts are the same but for blanks, and for rounding of decimal fractions."""

    def close(one: str, other: str) -> bool:
        if not (NUMBER.fullmatch(one) and NUMBER.fullmatch(other)):
            return one == other
        digits = len(other.partition(".")[2].partition("e")[0])
        allowed = 0.02 * abs(float(other)) + 1.01 * 10.0**-digits
        return abs(float(one) - float(other)) <= allowed

    left, right = (
        [part for word in text.split() for part in NUMBER.split(word)] for text in (seen, said)
    )
    return len(left) == len(right) and all(map(close, left, right))


class Example(NamedTuple):
    """A block that was run."""

    block: Block
    parts: list[tuple[int, str]]
    """What each `print` printed, and the line of the page that it is on."""

    @property
    def printed(self) -> str:
        """All that it printed."""
        return "\n".join(part for _, part in self.parts)


def examples_of(page: str, name: str, names: dict[str, Any] | None = None) -> Iterator[Example]:
    """Run the examples of a page one after the other; `names` is where they make theirs."""
    text: list[tuple[int, str]] = []

    def recorded(*values: Any, **options: Any) -> None:
        line = sys._getframe(1).f_lineno
        text.append((line, options.get("sep", " ").join(map(str, values))))
        builtins.print(*values, **options)

    names = {} if names is None else names
    names.update({"__name__": "__main__", "print": recorded})
    for block in blocks_of(page):
        text.clear()
        # The line numbers of the page, so that a traceback points into it.
        code = compile("\n" * block.line + block.code, name, "exec")
        with warnings.catch_warnings():
            for allowed in re.findall(r"# warns: (.+)", block.code):
                warnings.filterwarnings("ignore", ".*" + re.escape(allowed.strip()))
            exec(code, names)
        yield Example(block, list(text))


def run_page(page: str, name: str = "page") -> dict[str, Any]:
    """Run the examples of a page, and return the names they have made."""
    names: dict[str, Any] = {}
    lines = page.splitlines()
    for example in examples_of(page, name, names):
        said = example.block.printed
        if said is not None:
            where = f"{name}:{example.block.line}"
            assert alike(example.printed, said), f"{where} prints\n{example.printed}"
        for line, part in example.parts:
            said = literal_behind(lines[line - 1])
            assert said is None or alike(part, said), f"{name}:{line} prints {part}"
    return names


def literal_behind(line: str) -> str | None:
    """Return the literal in a comment behind a `print`, as it is printed."""
    match = re.match(r"\s*print\(.*\)\s+# (.+)$", line)
    try:
        return None if match is None else str(ast.literal_eval(match[1]))
    except (SyntaxError, ValueError):
        return None


def examples() -> list[Any]:
    return [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name, page in PAGES.items()
        if blocks_of(page)
    ]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    plt.close("all")


@pytest.fixture
def registries():
    """What a page adds to kinds, strategies and criteria is gone when it ends."""
    known = (KINDS, STRATEGIES, CRITERIA)
    before = [dict(one) for one in known]
    yield
    for one, old in zip(known, before, strict=True):
        one.clear()
        one.update(old)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", examples())
def test_the_examples_of_a_page_run(name, folder, registries):
    page = PAGES[name]
    for words, package in NEEDED.items():
        if any(words in block.code for block in blocks_of(page)):
            pytest.importorskip(package)
    run_page(page, str(ROOT / name))
    if name == "docs/tutorial.md":
        # Pages show what the tutorial draws, under the same names.
        drawn, shown = (set(place.glob("*.png")) for place in (folder, DOCS / "images"))
        assert {file.name for file in drawn} == {file.name for file in shown}


def test_every_example_is_found():
    for name, page in PAGES.items():
        assert page.count("```python") == len(FENCE.findall(page)), name
    assert set(PAGES) >= SLOW


def example(code: str, after: str = "") -> str:
    return f"Text.\n\n```python\n{code}\n```\n{after}"


@pytest.mark.parametrize(
    "page",
    [
        example("x = 1") + example("assert x == 1"),
        example("# not run: takes long\nraise ValueError"),
        example("print(1.234, 's5')", "\n```text\n1.24 s5\n```\n"),
        example("print('two'); print('lines')", "\n    two\n    lines\n\nText.\n"),
        example("print((1, 'a'))  # (1, 'a')"),
        example("print(2)  # as it should be"),
        example("import warnings\nwarnings.warn('it is so')  # warns: is so"),
    ],
    ids=["one script", "not run", "text", "indented", "literal", "remark", "warning"],
)
def test_a_right_page_passes(page):
    run_page(page)


@pytest.mark.parametrize(
    ("page", "error"),
    [
        (example("x = 1") + example("y + x"), NameError),
        (example("print(1.3, 's5')", "\n```text\n1.2 s4\n```\n"), AssertionError),
        (example("print(1.4, 's5')", "\n```text\n1.2 s5\n```\n"), AssertionError),
        (example("print(3)", "\n    4\n"), AssertionError),
        (example("print((1, 'a'))  # (1, 'b')"), AssertionError),
        (example("import warnings\nwarnings.warn('it is so')"), UserWarning),
        (example("import warnings\nwarnings.warn('so')  # warns: not"), UserWarning),
        (
            example("import warnings  # warns: so") + example("warnings.warn('so')"),
            UserWarning,
        ),
    ],
    ids=["name", "word", "number", "indented", "literal", "warning", "another", "elsewhere"],
)
def test_a_wrong_page_fails(page, error):
    with pytest.raises(error):
        run_page(page)


def test_a_traceback_has_the_line_of_the_page():
    with pytest.raises(ZeroDivisionError) as caught:
        run_page(example("x = 0\n1 / x"), "some page")
    assert [(str(entry.path), entry.lineno + 1) for entry in caught.traceback][-1] == (
        "some page",
        5,
    )


def test_every_public_name_is_on_the_reference_page():
    page = PAGES["docs/api.md"]
    shown = re.findall(r"\.\. auto(?:function|class|module):: gpproj\.(\w+)$", page, re.MULTILINE)
    assert "`gpproj.__version__`" in page
    assert set(gpproj.__all__) - {"__version__"} == set(shown)


SPLITS = {"boston": 50, "automobile": 50, "crime": 50}


def lost(name: str, curve: str, size: int) -> str:
    """Return what a curve of an experiment loses against its reference, as the README has it."""
    raw = pd.read_csv(ROOT / "experiments" / name / f"{name}.csv")
    by_split = raw.set_index("split")
    reference = by_split.loc[by_split["curve"] == "reference", "log_density"]
    own = by_split.loc[(by_split["curve"] == curve) & (by_split["size"] == size), "log_density"]
    difference = reference - own
    assert len(difference) == raw["split"].nunique() == SPLITS[name]
    return f"{difference.mean():.2f} ± {difference.std() / np.sqrt(len(difference)):.2f}"


def test_the_readme_has_the_figures_of_the_experiments():
    page = PAGES["README.md"]
    names = {"boston": "Boston", "automobile": "Automobile", "crime": "Crime"}
    orders = {"projection": "projection", "length-scales (ARD)": "ARD"}
    for name, label in names.items():
        for order, curve in orders.items():
            cells = [lost(name, f"{curve}, weak prior", size) for size in (2, 4, 6, 10)]
            (row,) = re.findall(rf"^\| {label}[^|]*\| {re.escape(order)} \|(.*)\|$", page, re.M)
            assert [cell.strip() for cell in row.split("|")] == cells
    toy = pd.read_csv(ROOT / "experiments" / "toy" / "toy.csv")
    means = toy.groupby("input")[["ard_relevance", "leave_input_out"]].mean()
    spread = means.min() / means.max()
    assert f"{spread['ard_relevance']:.2f} to 1 " in " ".join(page.split())
    assert f"{100 * (1 - spread['leave_input_out']):.0f} %" in page
    assert f"{toy['realisation'].nunique()} data sets" in " ".join(page.split())


def test_pictures_of_the_readme_are_there():
    shown = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", PAGES["README.md"])
    assert shown
    assert all((ROOT / file).stat().st_size > 10_000 for file in shown)


def rows_of(page: str, start: str) -> dict[str, list[str]]:
    """Return the rows of the first table after a text, by their first cell."""
    table = page[page.index(start) :].split("\n\n|")[1].split("\n\n")[0]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.split("\n")[2:]]
    return {first: others for first, *others in cells}


@pytest.mark.parametrize(
    ("name", "start", "digits"),
    [
        ("boston", "learning, Boston:", 2),
        ("automobile", "and Automobile,", 2),
        ("crime", "and Crime (", 3),
    ],
)
def test_the_reproduction_has_the_figures_of_the_experiments(name, start, digits):
    page = PAGES["docs/reproduction.md"].split("## Beyond the paper")[1]
    folder = ROOT / "experiments" / name
    raw = pd.read_csv(folder / f"{name}.csv")
    means = raw.pivot_table(index="curve", columns="size", values="difference")
    sizes = [size for size in (1, 2, 3, 5, 8, 13, 20) if means.loc["ARD"].notna().get(size, False)]
    for curve, cells in rows_of(page, start).items():
        own = [f"{round(means.loc[curve, size], digits) + 0.0:.{digits}f}" for size in sizes]
        assert cells == own, curve
    counted = pd.read_csv(folder / f"{name}_suggested.csv")[["splits", "found", "found_within"]]
    (row,) = counted.itertuples(index=False)
    told = " | ".join(f"{number:.0f}" for number in row)
    assert f"| {name.capitalize()} | {told} |" in page
