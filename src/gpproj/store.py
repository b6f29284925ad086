"""Arrays and JSON written whole or not at all, with checksums; checkpoints and saved models use it.

A file is an uncompressed `.npz` archive that plain NumPy opens too: one `.npy` entry for each array
and one, `manifest.json`, with the UTF-8 bytes of

    {"format": 1, "kind": ..., "gpproj": ..., "content": ...,
     "sha256": {"content": ..., "arrays": {name: ...}}}

Reading executes nothing: no entry may hold a pickle.
"""

from __future__ import annotations

import io
import json
import os
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

FORMAT = 1  # goes up when an older gpproj could no longer read the files
MANIFEST = "manifest.json"  # no identifier, so never the name of an array


class StoreError(ValueError):
    """A file that is not whole, not ours, or not of the wanted kind."""


class Stored(NamedTuple):
    """What a file holds."""

    content: dict[str, Any]
    """JSON values; tuples come back as lists."""
    arrays: dict[str, NDArray[Any]]
    """Arrays by name, with the dtype, shape and memory order they had."""


def named_path(argument: str, value: Any) -> Path:
    """Return a path that a user gives, or say which argument is none.

    Examples
    --------
    >>> named_path("checkpoint", "search.npz").name
    'search.npz'
    """
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str):
        raise TypeError(f"{argument} must be a path, got {value!r}")
    return Path(value)


def write(
    file: Path, kind: str, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a file that is either all there or, whatever fails meanwhile, as it was before.

    Parameters
    ----------
    file : Path
        Replaced if it exists; its folder must exist.
    kind : str
        What the file is, for instance "forward_search checkpoint"; `read` asks for the same.
    content : mapping
        Values that JSON can hold: no NaN, no infinity, text as keys.
    arrays : mapping of str to array
        Names are identifiers. Numbers, booleans, dates and fixed-length text; no objects.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "path.checkpoint"
    ...     write(file, "checkpoint", {"step": 2}, {"errors": np.array([3.0, 1.0, 0.5])})
    ...     read(file, "checkpoint")
    Stored(content={'step': 2}, arrays={'errors': array([3. , 1. , 0.5])})
    """
    file = Path(file)
    if not file.parent.is_dir():
        raise FileNotFoundError(f"cannot write {file}: there is no folder {file.parent}")
    entries = {MANIFEST: _manifest(kind, content, arrays), **arrays}
    with whole(file) as handle, zipfile.ZipFile(handle, "w") as archive:
        for name, array in entries.items():
            # A given ZipInfo has no date: the same values make the same bytes.
            entry = zipfile.ZipInfo(f"{name}.npy")
            with archive.open(entry, "w", force_zip64=True) as opened:
                np.lib.format.write_array(opened, array, allow_pickle=False)


def write_text(file: str | os.PathLike[str], text: str) -> None:
    """Write text in UTF-8 that is either all there or, whatever fails meanwhile, as it was."""
    with whole(Path(file)) as handle:
        handle.write(text.encode())


@contextmanager
def whole(file: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes its name only when all of it is written."""
    temporary = file.parent / f".gpproj-{uuid4().hex}.tmp"
    try:
        # Not by `tempfile`: its files are closed to everybody else, whatever the umask says.
        with open(temporary, "xb") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, file)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _manifest(
    kind: str, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> NDArray[np.uint8]:
    """What is written beside the arrays, as bytes; refuses what would not come back as it was."""
    for name, array in arrays.items():
        if not (isinstance(name, str) and name.isascii() and name.isidentifier()):
            raise ValueError(f"names of arrays must be identifiers of ASCII letters; got {name!r}")
        _check_array(f"array {name!r}", array)
    content = dict(content)
    try:
        json.dumps(content, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise type(error)(f"content must be JSON without NaN or infinity: {error}") from error
    manifest = {
        "format": FORMAT,
        "kind": kind,
        # Looked up, not imported: the door is below this room and always loaded before it.
        "gpproj": sys.modules["gpproj"].__version__,
        "content": content,
        "sha256": {
            "content": digest(content),
            "arrays": {name: digest(array) for name, array in arrays.items()},
        },
    }
    return np.frombuffer(json.dumps(manifest).encode(), dtype=np.uint8)


def read(file: Path, kind: str) -> Stored:
    """Read what `write` wrote, checked against its checksums.

    Raises
    ------
    StoreError
        The file is foreign, cut short, damaged, of another kind or of a newer format.
    """
    # All of it first: after this an error comes from what the bytes say, never from the disk.
    data = io.BytesIO(Path(file).read_bytes())
    try:
        with zipfile.ZipFile(data) as archive:
            return _unpack(archive, file, kind)
    except (StoreError, MemoryError):
        raise
    except Exception as error:  # damage makes zip, npy and JSON readers raise a dozen types
        raise StoreError(f"{file} is cut short, damaged or was not written by gpproj") from error


def _unpack(archive: zipfile.ZipFile, file: Path, kind: str) -> Stored:
    names = set(archive.namelist())
    if f"{MANIFEST}.npy" not in names:
        raise StoreError(f"{file} was not written by gpproj: it has no {MANIFEST}")
    manifest = json.loads(_load(archive, MANIFEST).tobytes())
    if manifest["format"] > FORMAT:
        raise StoreError(
            f"{file} was written by a newer gpproj ({manifest['gpproj']}, format "
            f"{manifest['format']}; this one reads up to format {FORMAT})"
        )
    if manifest["kind"] != kind:
        raise StoreError(f"{file} holds a {manifest['kind']!r}, not a {kind!r}")
    content, checksums = manifest["content"], manifest["sha256"]
    missing = [name for name in checksums["arrays"] if f"{name}.npy" not in names]
    if missing:
        raise StoreError(f"{file} is damaged: it lacks the arrays {', '.join(missing)}")
    arrays = {name: _load(archive, name) for name in checksums["arrays"]}
    found = {name: digest(array) for name, array in arrays.items()}
    if {"content": digest(content), "arrays": found} != checksums:
        raise StoreError(f"{file} is damaged: what it holds does not match its checksums")
    return Stored(content, arrays)


def _load(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    entry = archive.getinfo(f"{name}.npy")
    if entry.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"entry {entry.filename} is compressed")
    # The whole entry before its header is parsed: the archive checks its sum at the last byte.
    return np.lib.format.read_array(io.BytesIO(archive.read(entry)), allow_pickle=False)


def digest(*parts: Any) -> str:
    """Fingerprint of data and settings: the SHA-256 of their values, types and nesting.

    Mappings count without their order, lists and tuples as the same (as they do in JSON), and
    scalars of NumPy as the numbers of Python.

    Parameters
    ----------
    *parts : array, str, bool, int, float, None, or lists, tuples and str-keyed mappings of them

    Returns
    -------
    str
        64 hexadecimal digits, the same in every process and on every machine.

    Examples
    --------
    >>> digest(np.eye(2), {"size": 3, "names": ["a", "b"]})[:12]
    '9b0d7b84e8d1'
    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    return sha256(json.dumps(_spelled(parts), sort_keys=True).encode()).hexdigest()


def _spelled(part: Any) -> Any:
    """Return what JSON spells differently for different values: containers say their type."""
    match part.item() if isinstance(part, np.generic) else part:
        case None | bool() | int() | float() | str() as value:
            return value
        case list() | tuple() as values:
            return ["list", *map(_spelled, values)]
        case Mapping() as values:
            odd = [key for key in values if not isinstance(key, str)]
            if odd:
                raise TypeError(f"keys of mappings must be text; got {odd[0]!r}")
            return ["mapping", {key: _spelled(value) for key, value in values.items()}]
        case np.ndarray() as array:
            _check_array("an array", array)
            plain = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            return ["array", array.dtype.str, array.shape, sha256(plain.data).hexdigest()]
        case other:
            allowed = "arrays, text, real numbers, None, lists, tuples and mappings"
            raise TypeError(f"only {allowed} have a digest; got {type(other).__name__}")


def _check_array(label: str, array: Any) -> None:
    """Refuse what its bytes do not tell whole: objects, masks, records, padded long doubles."""
    masked = isinstance(array, np.ma.MaskedArray)
    plain = isinstance(array, np.ndarray) and array.dtype.kind in "biufcmMSU"
    if masked or not plain or array.dtype.char in "gG":
        seen = f"{type(array).__name__} {getattr(array, 'dtype', '')}".strip()
        allowed = "a plain array of numbers, booleans, dates or fixed-length text"
        raise TypeError(f"{label} must be {allowed}; got {seen}")
