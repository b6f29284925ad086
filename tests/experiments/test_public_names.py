"""The scripts of the experiments use what any user of the package may use."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import ModuleType

import pytest

import gpproj

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"
DOTTED = re.compile(r"gpproj(\.\w+)+")


def private_names(path: Path) -> list[str]:
    """Each name of the package in a script that the door, or a public room, does not show."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("gpproj.")]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "gpproj":
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute) and DOTTED.fullmatch(ast.unparse(node)):
            names = [ast.unparse(node)]
        else:
            continue
        found += [name for name in names if not is_public(name)]
    return found


def is_public(name: str) -> bool:
    """Whether a dotted name is in what its modules list; parts of functions and classes are."""
    module = gpproj
    for part in name.split(".")[1:]:
        if part not in module.__all__:
            return False
        module = getattr(module, part)
        if not isinstance(module, ModuleType):
            return True
    return True


def test_experiments_use_public_names_only():
    scripts = sorted(EXPERIMENTS.rglob("*.py"))
    assert len(scripts) > 10
    assert {str(path): private_names(path) for path in scripts if private_names(path)} == {}


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        ("import gpproj\nfit_mode(1).kernel.private", []),
        ("from gpproj import kernels\nfrom gpproj.plots import BLUE\nimport gpproj.priors", []),
        ("import gpproj\ngpproj.store.digest(1)", ["gpproj.store.digest", "gpproj.store"]),
        ("from gpproj.execute import run", ["gpproj.execute.run"]),
        ("from gpproj.plots import style", ["gpproj.plots.style"]),
        ("import gpproj.linalg", ["gpproj.linalg"]),
    ],
)
def test_a_private_name_is_seen(tmp_path, code, seen):
    file = tmp_path / "script.py"
    file.write_text(code)
    assert private_names(file) == seen
