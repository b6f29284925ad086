"""Folders that are whole or absent: files of `gpproj.store`, and a manifest that sums them up.

`manifest.json` is for people and for other programs:

    {"format": 5, "kind": "SearchPath", "gpproj": "0.1.0", "summary": "SearchPath(...)",
     "sha256": {"reference.npz": ..., "path.npz": ...}}

`format` is that of the whole folder, what its files hold included.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from hashlib import file_digest
from pathlib import Path
from typing import Any
from uuid import uuid4

from gpproj import store
from gpproj.store import Stored, StoreError

FORMAT = 8
"""Goes up when what the files hold changes."""

OLDEST = 7
"""The oldest format that is still read."""

MANIFEST = "manifest.json"


def write_folder(
    folder: Path, kind: str, summary: str, files: Mapping[str, Stored], overwrite: bool
) -> None:
    """Write a folder that is either all there or, whatever fails meanwhile, as it was before.

    Parameters
    ----------
    folder : Path
    kind : str
        What it holds.
    summary : str
        The same in more words, for people.
    files : mapping of str to Stored
        By their names, without the ending.
    overwrite : bool
        Replace a folder that gpproj has saved, and that nothing was added to.
    """
    target = folder.resolve()  # a link to a folder stays one
    _check_target(target, overwrite)
    temporary = _beside(target, "tmp")
    try:
        temporary.mkdir()
        for name, found in files.items():
            store.write(temporary / f"{name}.npz", name, *found)
        manifest = {
            "format": FORMAT,
            "kind": kind,
            "gpproj": sys.modules["gpproj"].__version__,  # the door is below this room
            "summary": summary,
            "sha256": {f"{name}.npz": _sum(temporary / f"{name}.npz") for name in files},
        }
        with open(temporary / MANIFEST, "x", encoding="utf-8") as handle:
            handle.write(json.dumps(manifest, indent=2) + "\n")
            handle.flush()
            os.fsync(handle.fileno())
        _put(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _check_target(target: Path, overwrite: bool) -> None:
    """Refuse to write where something is that could be missed."""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot save to {target}: there is no folder {target.parent}")
    if not target.exists():
        return
    if not overwrite:
        raise FileExistsError(f"{target} exists; overwrite=True replaces what gpproj has saved")
    try:
        ours = {MANIFEST, *_manifest(target)["sha256"]}
    except StoreError as error:
        raise FileExistsError(f"{target} is not replaced: {error}") from None
    strange = sorted({one.name for one in target.iterdir()} - ours)
    if strange:
        raise FileExistsError(
            f"{target} is not replaced: it holds what gpproj has not saved, {', '.join(strange)}"
        )


def _put(temporary: Path, target: Path) -> None:
    """Rename a folder, and only then remove what it replaces."""
    if not target.exists():
        temporary.rename(target)
        return
    old = _beside(target, "old")
    target.rename(old)
    try:
        temporary.rename(target)
    except BaseException:
        old.rename(target)
        raise
    with suppress(OSError):
        shutil.rmtree(old)


def _beside(target: Path, ending: str) -> Path:
    return target.with_name(f".gpproj-{uuid4().hex}.{ending}")


def read_folder(
    folder: Path, kinds: Mapping[str, tuple[str, ...]]
) -> tuple[str, dict[str, Stored]]:
    """Return the kind of a folder and the contents of its files, checked against their sums.

    Parameters
    ----------
    folder : Path
    kinds : mapping of str to names of files
        What each kind of folder must hold.
    """
    if not folder.exists():
        raise FileNotFoundError(f"there is no folder {folder}")
    manifest = _manifest(folder)
    if not OLDEST <= manifest["format"] <= FORMAT:
        raise StoreError(
            f"{folder} was saved in format {manifest['format']}, by gpproj {manifest['gpproj']}; "
            f"this gpproj reads formats {OLDEST} to {FORMAT}"
        )
    kind = manifest["kind"]
    if kind not in kinds:
        raise StoreError(f"{folder} holds a {kind!r}, not one of {', '.join(kinds)}")
    found = {}
    for name in kinds[kind]:
        file = folder / f"{name}.npz"
        if not file.is_file():
            raise StoreError(f"{folder} is damaged: it lacks {file.name}")
        if manifest["sha256"].get(file.name) != _sum(file):
            raise StoreError(f"{folder} is damaged: {file.name} does not match its checksum")
        found[name] = store.read(file, name)
    return kind, found


def _manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest; refuse folders that have none that could be ours."""
    file = folder / MANIFEST
    if not file.is_file():
        raise StoreError(f"{folder} was not saved by gpproj: it has no {MANIFEST}")
    text = file.read_bytes()
    try:
        manifest = json.loads(text)
        typed = {"format": int, "kind": str, "gpproj": str, "sha256": dict}
        whole = all(type(manifest[key]) is kind for key, kind in typed.items())
        whole = whole and manifest["format"] >= 1
    except (ValueError, TypeError, KeyError, RecursionError):
        whole = False
    if not whole:
        raise StoreError(f"{file} is cut short, damaged or was not written by gpproj")
    return manifest  # type: ignore[no-any-return]  # a dictionary, as was just seen


def _sum(file: Path) -> str:
    with open(file, "rb") as handle:
        return file_digest(handle, "sha256").hexdigest()
