"""The rules of the house: what may import what, what stays out, what the door shows."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import gpproj

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
SOURCE = ROOT / "src" / "gpproj"
DOOR = "gpproj"

# Top to bottom: a room imports only rooms above it. The door shows the rooms above it.
ROOMS = (
    "linalg",
    "execute",
    "store",
    "recipes",
    "notebook",
    "data",
    "kernels",
    "priors",
    "likelihoods",
    "optimise",
    "divergence",
    "inference",
    "prediction",
    "reference",
    "projection",
    "sensitivity",
    "dependence",
    "search",
    "validation",
    "plots",
    "io",
    "datasets",
    "report",
    "estimators",
    DOOR,
    "cli",
    "__main__",
)

# One-line methods that import a lower room inside themselves: (file below src/gpproj, room).
DOWNWARD: frozenset[tuple[str, str]] = frozenset(
    {
        ("projection/submodel.py", "io"),
        ("reference/base.py", "io"),
        ("search/path.py", "io"),
        ("search/path.py", "plots"),
        ("validation/result.py", "io"),
        ("validation/result.py", "plots"),
    }
)

HEAVY = ("matplotlib", "nutpie", "pandas", "sklearn", "torch")
# Rooms that are about a heavy library may import it at their top.
MAY_BE_HEAVY = frozenset({"plots", "report", "estimators"})


def imported_rooms(path: Path, root: Path) -> Iterator[tuple[str, bool, int]]:
    """Each room that a file imports, whether inside a function, and the line."""
    package = [DOOR, *path.relative_to(root).parts[:-1]]

    def visit(node: ast.AST, inside: bool) -> Iterator[tuple[str, bool, int]]:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            if module == DOOR:
                names = [
                    f"{DOOR}.{alias.name}" if alias.name in ROOMS else DOOR for alias in node.names
                ]
            else:
                names = [module]
        else:
            inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for child in ast.iter_child_nodes(node):
                yield from visit(child, inside)
            return
        for name in names:
            head, _, rest = name.partition(".")
            if head == DOOR:
                yield rest.partition(".")[0] or DOOR, inside, node.lineno

    yield from visit(ast.parse(path.read_text()), inside=False)


def broken_order(root: Path, downward: frozenset[tuple[str, str]] = DOWNWARD) -> list[str]:
    """Each import under `root` that breaks the order, and each exception that no code needs."""
    found = []
    unused = set(downward)
    for path in sorted(root.rglob("*.py")):
        file = path.relative_to(root).as_posix()
        if file == "__init__.py":
            continue
        room = file.partition("/")[0].removesuffix(".py")
        if room not in ROOMS:
            found.append(f"{file}: {room} is not a room")
            continue
        for target, inside, line in imported_rooms(path, root):
            if target not in ROOMS:
                found.append(f"{file}:{line}: {target} is not a room")
            elif inside and (file, target) in downward:
                unused.discard((file, target))
            elif target != room and ROOMS.index(target) > ROOMS.index(room):
                found.append(f"{file}:{line}: {room} imports {target}, which is below it")
    return found + [f"{file}: listed as importing {room} and does not" for file, room in unused]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    # Plugins of other packages that happen to be installed take longer to load than a test.
    environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        cwd=ROOT,
    )


def test_rooms_import_only_rooms_above_them():
    assert broken_order(SOURCE) == []


@pytest.mark.parametrize(
    ("file", "code", "seen"),
    [
        ("linalg.py", "from gpproj.reference import fit", "linalg.py:1: linalg imports reference"),
        ("linalg/dense.py", "import gpproj.cli", "linalg/dense.py:1: linalg imports cli"),
        ("linalg/dense.py", "from ..data import frames", "linalg/dense.py:1: linalg imports data"),
        ("data.py", "from . import kernels", "data.py:1: data imports kernels"),
        ("data.py", "from gpproj import fit", "data.py:1: data imports gpproj"),
        ("data.py", "def f():\n    import gpproj.priors", "data.py:2: data imports priors"),
        ("cupboard.py", "", "cupboard.py: cupboard is not a room"),
        ("data.py", "import gpproj.cupboard", "data.py:1: cupboard is not a room"),
    ],
)
def test_a_broken_order_is_seen(tmp_path, file, code, seen):
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(code)
    (found,) = broken_order(tmp_path, frozenset())
    assert found.startswith(seen)


def test_a_listed_exception_holds_inside_a_function_only(tmp_path):
    listed = frozenset({("data.py", "plots")})
    path = tmp_path / "data.py"
    path.write_text("def plot(self):\n    from gpproj import plots\n")
    assert broken_order(tmp_path, listed) == []
    path.write_text("from gpproj import plots\n")
    assert len(broken_order(tmp_path, listed)) == 2
    path.write_text("")
    assert broken_order(tmp_path, listed) == ["data.py: listed as importing plots and does not"]


def test_the_order_allows_what_it_should(tmp_path):
    (tmp_path / "cli.py").write_text("import gpproj\nfrom gpproj import fit, datasets\n")
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "base.py").write_text("from . import sums\nfrom ..linalg import Array")
    assert broken_order(tmp_path, frozenset()) == []


def test_the_architecture_page_lists_the_rooms_that_exist():
    rooms = (ROOT / "docs" / "architecture.md").read_text().split("## The rooms")[1]
    listed = re.findall(r"^\| `(\w+)` \|", rooms.split("## Rules")[0], re.MULTILINE)
    assert listed == [
        room
        for room in ROOMS
        if (SOURCE / f"{room}.py").exists() or (SOURCE / room / "__init__.py").exists()
        if not room.startswith("__")
    ]


def loaded(code: str) -> list[str]:
    """Which heavy libraries a fresh interpreter has loaded after running `code`."""
    done = run(
        "-c", f"import sys\n{code}\nprint(*(name for name in {HEAVY} if name in sys.modules))"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_import_loads_nothing_heavy():
    assert loaded("import gpproj") == []


def test_core_rooms_load_nothing_heavy():
    modules = [
        ".".join([DOOR, *path.relative_to(SOURCE).with_suffix("").parts])
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).parts[0].removesuffix(".py") not in MAY_BE_HEAVY
    ]
    lines = [f"import {module.removesuffix('.__init__')}" for module in modules]
    assert loaded("\n".join(lines)) == []
    assert loaded("import pandas") == ["pandas"]


@pytest.mark.parametrize("name", gpproj.__all__)
def test_public_name_resolves(name):
    assert getattr(gpproj, name) is not None
    assert name in dir(gpproj)


def test_unknown_name_is_named():
    with pytest.raises(AttributeError, match="'gpproj' has no attribute 'frobnicate'"):
        _ = gpproj.frobnicate


def test_no_module_has_the_name_of_a_public_function():
    # Else `gpproj.fit` would be the module or the function, whichever was imported last.
    modules = {path.stem for path in SOURCE.rglob("*.py")} - set(ROOMS)
    assert modules.isdisjoint(gpproj.__all__)


def test_python_dash_m_is_the_command_line():
    done = run("-m", "gpproj", "--help")
    assert done.returncode == 0, done.stderr
    assert "demo" in done.stdout


def requirements() -> dict[str, Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    found = [Requirement(line) for lines in lists for line in lines]
    return {requirement.name: requirement for requirement in found}


def test_every_dependency_is_pinned_within_its_bounds():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    wanted = requirements()
    # The Makefile chooses the build of torch, and that build brings its own companions.
    assert wanted.pop("torch")
    assert not [name for name in pins if re.match("torch|nvidia|triton", name)]
    for name, requirement in wanted.items():
        assert requirement.specifier.contains(pins[name]), name


def test_every_dependency_has_its_reason():
    text = (ROOT / "docs" / "dependencies.md").read_text()
    assert [name for name in requirements() if f"| `{name}` |" not in text] == []


@pytest.mark.parametrize(
    "code",
    [
        "import pytest\npytest.importorskip('no_such_package')\ndef test(): pass",
        "import pytest\ndef test(): pytest.importorskip('no_such_package')",
    ],
    ids=["module", "test"],
)
def test_a_missing_package_fails_where_skips_are_forbidden(tmp_path, code):
    shutil.copy(TESTS / "conftest.py", tmp_path)
    (tmp_path / "test_it.py").write_text(code)
    command = ("-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path))
    assert "1 skipped" in run(*command, GPPROJ_NO_SKIP="").stdout
    forbidden = run(*command, GPPROJ_NO_SKIP="1")
    assert forbidden.returncode != 0
    assert "forbids this skip" in forbidden.stdout


def test_an_absent_browser_may_be_skipped_all_the_same(tmp_path):
    shutil.copy(TESTS / "conftest.py", tmp_path)
    (tmp_path / "test_it.py").write_text("def test(browser_program): pass")
    command = ("-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path))
    done = run(*command, GPPROJ_NO_SKIP="1", PATH=str(tmp_path))
    assert done.returncode == 0
    assert "1 skipped" in done.stdout


def test_absent_data_may_be_skipped_all_the_same(tmp_path):
    folder = tmp_path / "tests"
    folder.mkdir()
    shutil.copy(TESTS / "conftest.py", folder)
    (folder / "test_it.py").write_text("def test(data_dir): pass")
    command = ("-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(folder))
    done = run(*command, GPPROJ_NO_SKIP="1", GPPROJ_DATA="")
    assert done.returncode == 0
    assert "1 skipped" in done.stdout
    assert run(*command, GPPROJ_DATA=str(tmp_path / "nowhere")).returncode == 1
