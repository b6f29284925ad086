"""`write_report`: the page put together, and written whole or not at all."""

from __future__ import annotations

import base64
import os
import platform
import sys
from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from gpproj import store
from gpproj.reference.sampling import check_count
from gpproj.report import chosen, moving, sections
from gpproj.report.answer import learning
from gpproj.report.concerns import remarks
from gpproj.report.findings import Findings, size_of
from gpproj.report.markup import Markup, joined, tag
from gpproj.report.matrix import stand_ins as stand_ins_section
from gpproj.validation import Validation

TITLE = "Which inputs are enough"


def write_report(
    cv: Validation,
    file: str | os.PathLike[str],
    *,
    size: int | None = None,
    title: str | None = None,
    command: str | None = None,
    seed: int | None = None,
    warnings: Iterable[Any] = (),
    effects: int = 12,
    rows: int = 100,
    points: int = 30,
    stand_ins: int = 3,
    target: str | None = None,
    interactions: int = 3,
) -> Path:
    """Write what a validation found as one HTML file, for a colleague without gpproj.

    The page needs no network, no other file and no library: it holds its style, its script and its
    drawings. It starts with the answer in a sentence and what is lost by it. The figures are those
    of `cv.summary()`, `cv.reference_summary()`, `cv.ranking_proportions()`, `cv.pointwise`,
    `cv.path.summary()`, `cv.path.alternatives()`, `ref.check()`, `gpproj.effects` and
    `gpproj.interactions`.

    Parameters
    ----------
    cv : Validation
    file : path
        Written beside its name and then renamed, so that it is whole or as it was before.
    size : int, optional
        Size of the submodel that is shown: by default the suggested size. Where none is suggested
        it is the smallest one that may be enough, and the largest where none may.
    title : str, optional
    command : str, optional
        What was run, to be shown under "How to reproduce this".
    seed : int, optional
        Seed of the run, shown there too.
    warnings : iterable of str or warning
        What was warned of on the way, to be shown among the diagnostics: text, or what
        `warnings.catch_warnings(record=True)` has caught.
    effects : int
        Inputs whose effects are drawn, at most. They take most of the time; 0 leaves them out.
    rows, points : int
        Training rows that effects are averaged over, and values of each input; see
        `gpproj.plots.effects`.
    stand_ins : int
        Stand-ins of each chosen input that are shown, at most; see `SearchPath.alternatives`. They
        take about as long as the search did up to this size; 0 leaves them out.
    target : str, optional
        What the target is called, for the pictures of effects.
    interactions : int
        Pairs of inputs that act together, of which the joint effect is drawn, at most: those that
        matter. 0 leaves them out.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import gpproj
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((40, 2))
    >>> ref = gpproj.fit(X, X[:, 0] + 0.3 * rng.standard_normal(40))
    >>> cv = gpproj.validate(ref, folds=2, random_state=0, progress=False)
    >>> with TemporaryDirectory() as folder:
    ...     file = gpproj.write_report(cv, f"{folder}/report.html", title="A line")
    ...     "<title>A line</title>" in file.read_text(encoding="utf-8")
    True
    """
    counts = {"effects": effects, "rows": rows, "points": points, "stand_ins": stand_ins}
    for name, count in (counts | {"interactions": interactions}).items():
        check_count(name, count, {"rows": 1, "points": 2}.get(name, 0))
    place = Path(file)
    if not place.parent.is_dir():
        raise FileNotFoundError(f"cannot write {place}: there is no folder {place.parent}")
    sizes = size_of(cv, size)
    findings = Findings(cv, *sizes, effects, rows, points, stand_ins, target, interactions)
    text = page(findings, title or TITLE, command, provenance(findings, seed), list(warnings))
    store.write_text(place, text)
    return place


def page(
    findings: Findings, title: str, command: str | None, facts: dict[str, str], given: list[Any]
) -> str:
    """Return the page."""
    folder = resources.files("gpproj.report")
    style, script = (
        Markup((folder / name).read_text(encoding="utf-8")) for name in ("page.css", "page.js")
    )
    said = remarks(findings, given)
    # Nothing may be fetched, and no script may run but this one: the browser holds the page to it.
    allowed = base64.b64encode(sha256(script.encode()).digest()).decode()
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        f"form-action 'none'; script-src 'sha256-{allowed}'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=f"gpproj {facts['gpproj']}"),
        tag("title", title),
        tag("link", rel="icon", href="data:,"),
        tag("style", style),
    )
    body = tag(
        "body",
        tag(
            "main",
            sections.opening(findings, title, said),
            sections.curves(findings),
            sections.ranking(findings),
            sections.stability(findings),
            stand_ins_section(findings),
            moving.effects(findings),
            moving.pairs(findings),
            chosen.losses(findings),
            chosen.calibration(findings),
            sections.diagnostics(said),
            sections.reproduction(facts, command),
            sections.copies(findings),
        ),
        tag("script", script),
    )
    return joined(Markup("<!doctype html>\n"), tag("html", head, body, lang="en"), "\n")


def provenance(findings: Findings, seed: int | None) -> dict[str, str]:
    """Return what was used, by name."""
    cv, reference, path = findings.cv, findings.cv.reference, findings.cv.path
    inducing, sampled = reference.inducing, reference.count > 1
    names = f"learn={path.learn!r}, criterion={path.criterion!r}"
    clusters = "" if path.clusters is None else f", clusters={path.clusters!r}"
    left_out = "rows" if cv.method == "loo" else "folds"
    packages = ["numpy", "scipy", *(("nutpie", "arviz") if sampled else ())]
    return {
        "Date": datetime.now().astimezone().isoformat(" ", "minutes"),
        "Seed": "not given" if seed is None else str(seed),
        "Reference": repr(reference),
        **({} if inducing is None else {"Inducing points": f"{inducing.count}, {inducing.method}"}),
        "Submodels": f"{learning(findings)} ({names}{clusters})",
        "Validation": f"{cv.method}, search {cv.search}, {findings.folds} {left_out}",
        # Looked up, not imported: the door is below this room and always loaded before it.
        "gpproj": sys.modules["gpproj"].__version__,
        "Python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        **{name: _version(name) for name in packages},
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # the draws may be another machine's
        return "not installed"
