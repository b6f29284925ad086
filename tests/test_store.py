"""Files written whole or not at all: round trips, damage, failures half-way, fingerprints."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import pickle
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from enum import Enum, IntEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import gpproj
from gpproj import store
from gpproj.store import StoreError, digest, read, write

KIND = "test checkpoint"
CONTENT = {"step": 3, "order": ["bmi", "s5"], "errors": [2.5, 0.125], "converged": True}
ARRAYS = {"parameters": np.linspace(0.0, 1.0, 12).reshape(3, 4), "inputs": np.array([True, False])}
MANIFEST = "manifest.json.npy"


def nested(leaves, keys):
    def containers(inner):
        return st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)

    return st.recursive(leaves, containers, max_leaves=10)


finite = st.floats(allow_nan=False, allow_infinity=False)
values = nested(st.none() | st.booleans() | st.integers() | finite | st.text(), st.text())
# So few that two draws are often equal, or nearly so.
few = nested(st.sampled_from([None, True, 1, 1.0, "", "1", "list"]), st.sampled_from("ab"))
dtypes = st.sampled_from(
    ["?", "i1", "u1", "<i4", "<i8", ">i8", "<f4", "<f8", ">f8", "<c16", "<U3", "S2", "<M8[ms]"]
)
any_array = dtypes.flatmap(lambda dtype: arrays(dtype, array_shapes(min_dims=0, min_side=0)))


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "search.checkpoint"
    write(file, KIND, CONTENT, ARRAYS)
    return file


def assert_same(found, content=CONTENT, arrays=ARRAYS):
    assert found.content == content
    assert list(found.arrays) == list(arrays)
    for name, array in arrays.items():
        assert found.arrays[name].dtype == array.dtype
        assert found.arrays[name].shape == array.shape
        assert found.arrays[name].tobytes() == array.tobytes()


def forge(file, changed):
    """Write the archive again with some entries changed (to bytes) or dropped (None)."""
    with zipfile.ZipFile(file) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in {**entries, **changed}.items():
            if data is not None:
                archive.writestr(name, data)


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def manifest(file):
    return json.loads(np.load(file)["manifest.json"].tobytes())


def forge_manifest(file, text):
    forge(file, {MANIFEST: npy(np.frombuffer(text.encode(), np.uint8))})


# Round trips


@given(st.dictionaries(st.text(), values, max_size=4))
def test_any_json_comes_back(content):
    with TemporaryDirectory() as folder:
        file = Path(folder) / "file"
        write(file, KIND, content, {})
        found = read(file, KIND).content
    # By their spelling: 1, 1.0 and True are equal to Python, and so are 0.0 and -0.0.
    assert repr(found) == repr(content)


@given(any_array, st.booleans())
def test_any_array_comes_back(array, fortran):
    array = np.asarray(array, order="F" if fortran else "C")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "file"
        write(file, KIND, {}, {"array": array, "other": array.T})
        found = read(file, KIND)
    assert_same(found, {}, {"array": array, "other": array.T})
    assert found.arrays["array"].flags.f_contiguous == array.flags.f_contiguous
    assert found.arrays["array"].flags.writeable


def test_arrays_that_own_no_memory_come_back(tmp_path):
    whole = np.arange(60.0).reshape(3, 4, 5)
    mapped = np.memmap(tmp_path / "mapped", dtype=np.float64, mode="w+", shape=(2, 3))
    views = {
        "strided": whole[::2, 1:, ::-1],
        "broadcast": np.broadcast_to(whole[0], (2, 4, 5)),
        "mapped": mapped,
        "frozen": np.frombuffer(b"12345678"),
    }
    write(tmp_path / "file", KIND, {}, views)
    assert_same(read(tmp_path / "file", KIND), {}, views)


def test_tuples_come_back_as_lists_and_text_keeps_half_a_surrogate_pair(tmp_path):
    write(tmp_path / "file", KIND, MappingProxyType({"order": ("a", ("b", "\ud800"))}), {})
    assert read(tmp_path / "file", KIND).content == {"order": ["a", ["b", "\ud800"]]}


@pytest.mark.parametrize("name", ["file", "self", "allow_pickle", "manifest", "content", "_1"])
def test_no_identifier_is_special(tmp_path, name):
    write(tmp_path / "file", KIND, {name: 1}, {name: np.arange(3)})
    assert_same(read(tmp_path / "file", KIND), {name: 1}, {name: np.arange(3)})


def test_numpy_alone_can_open_it_and_sees_what_wrote_it(file):
    np.testing.assert_array_equal(np.load(file)["parameters"], ARRAYS["parameters"])
    seen = manifest(file)
    assert seen["format"] == store.FORMAT == 1
    assert seen["kind"] == KIND
    assert seen["gpproj"] == gpproj.__version__
    assert seen["content"] == CONTENT


def test_the_same_values_make_the_same_bytes_and_replace_what_was_there(file):
    before = file.read_bytes()
    write(file, KIND, {"step": 4}, {})
    assert read(file, KIND) == ({"step": 4}, {})
    write(file, KIND, CONTENT, ARRAYS)
    assert file.read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_others_may_read_it_as_the_umask_says(tmp_path):
    (tmp_path / "plain").touch()
    write(tmp_path / "file", KIND, {}, {})
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "plain").stat().st_mode


# What is refused at the door, before anything is touched


class Colour(Enum):
    RED = 1


@pytest.mark.parametrize(
    ("content", "arrays", "error", "message"),
    [
        ({"error": math.nan}, {}, ValueError, "content must be JSON without NaN or infinity"),
        ({"a": [{"b": -math.inf}]}, {}, ValueError, "content must be JSON without NaN"),
        ({"a": np.arange(3)}, {}, TypeError, "content must be JSON.*ndarray"),
        ({"a": Colour.RED}, {}, TypeError, "content must be JSON.*Colour"),
        ({"a": {1: "one"}}, {}, TypeError, "keys of mappings must be text; got 1"),
        ({}, {"x": np.array([None])}, TypeError, "array 'x' must be a plain.*got ndarray object"),
        ({}, {"x": [1.0, 2.0]}, TypeError, "array 'x' must be a plain.*got list"),
        ({}, {"x": np.zeros(2, [("a", "f8")])}, TypeError, "array 'x' must be a plain"),
        ({}, {"x": np.ma.array([1.0], mask=[True])}, TypeError, "array 'x'.*got MaskedArray"),
        ({}, {"x": np.zeros(2, np.longdouble)}, TypeError, "array 'x' must be a plain"),
        ({}, {"manifest.json": np.zeros(2)}, ValueError, "must be identifiers.*'manifest.json'"),
        ({}, {"../x": np.zeros(2)}, ValueError, "must be identifiers.*'../x'"),
        ({}, {"é": np.zeros(2)}, ValueError, "must be identifiers.*'é'"),
        ({}, {"": np.zeros(2)}, ValueError, "must be identifiers.*''"),
        ({}, {1: np.zeros(2)}, ValueError, "must be identifiers.*got 1"),
    ],
)
def test_what_would_not_come_back_is_refused(file, content, arrays, error, message):
    with pytest.raises(error, match=message):
        write(file, KIND, content, arrays)
    assert_same(read(file, KIND))
    assert os.listdir(file.parent) == [file.name]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere"):
        write(tmp_path / "nowhere" / "file", KIND, {}, {})
    assert os.listdir(tmp_path) == []


# Failures half-way


class FullDisk(io.FileIO):
    """A file on a disk with room for so many bytes."""

    room = 0

    def write(self, data):
        size = memoryview(data).nbytes
        if size > self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.room -= size
        return super().write(data)


@pytest.mark.parametrize("room", [0, 100, 5_000, 100_000, 240_000])
def test_a_full_disk_leaves_the_old_file(file, monkeypatch, room):
    def open_on_full_disk(path, mode):
        raw = FullDisk(path, mode)
        raw.room = room
        return io.BufferedWriter(raw)

    monkeypatch.setattr(store, "open", open_on_full_disk, raising=False)
    with pytest.raises(OSError, match="No space left"):
        write(file, KIND, {"step": 4}, {"first": np.zeros(15_000), "second": np.zeros(15_000)})
    monkeypatch.undo()
    assert_same(read(file, KIND))
    assert os.listdir(file.parent) == [file.name]


@pytest.mark.parametrize("error", [OSError(errno.EIO, "I/O error"), KeyboardInterrupt()])
@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_a_failure_at_the_end_leaves_the_old_file(file, monkeypatch, name, error):
    def fail(*_):
        assert len(os.listdir(file.parent)) == 2  # else this test would show nothing
        raise error

    monkeypatch.setattr(store.os, name, fail)
    with pytest.raises(type(error)):
        write(file, KIND, {"step": 4}, {})
    monkeypatch.undo()
    assert_same(read(file, KIND))
    assert os.listdir(file.parent) == [file.name]


def test_an_interrupt_between_two_arrays_leaves_the_old_file_and_hides_the_new(file, monkeypatch):
    write_array = np.lib.format.write_array

    def interrupted(handle, array, **options):
        write_array(handle, array, **options)
        if array is ARRAYS["parameters"]:
            (new,) = {path.name for path in file.parent.iterdir()} - {file.name}
            assert new.startswith(".")
            raise KeyboardInterrupt

    monkeypatch.setattr(np.lib.format, "write_array", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(file, KIND, {"step": 4}, ARRAYS)
    monkeypatch.undo()
    assert_same(read(file, KIND))
    assert os.listdir(file.parent) == [file.name]


def test_nothing_is_renamed_before_it_is_on_the_disk(tmp_path, monkeypatch):
    done = []
    sync, rename = os.fsync, os.replace
    monkeypatch.setattr(store.os, "fsync", lambda *a: (done.append("fsync"), sync(*a)))
    monkeypatch.setattr(store.os, "replace", lambda *a: (done.append("replace"), rename(*a)))
    write(tmp_path / "file", KIND, CONTENT, ARRAYS)
    assert done == ["fsync", "replace"]


def test_a_process_that_dies_leaves_the_old_file(file):
    code = (
        "import os, sys, pathlib, numpy\n"
        "from gpproj import store\n"
        "store.os.fsync = lambda handle: os._exit(9)\n"
        "file = pathlib.Path(sys.argv[1])\n"
        f"store.write(file, {KIND!r}, {{}}, {{'x': numpy.zeros(9)}})\n"
    )
    source = str(Path(gpproj.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)], env={**os.environ, "PYTHONPATH": source}
    )
    assert done.returncode == 9
    assert_same(read(file, KIND))
    write(file, KIND, {"step": 4}, {})  # what the dead process left behind is in nobody's way
    assert read(file, KIND).content == {"step": 4}


def test_many_writers_leave_one_whole_file(tmp_path):
    file = tmp_path / "file"
    write(file, KIND, {"writer": 0}, {"x": np.full(5_000, 0)})

    def write_and_look(writer):
        for _ in range(15):
            write(file, KIND, {"writer": writer}, {"x": np.full(5_000, writer)})
            content, arrays = read(file, KIND)
            assert set(arrays["x"]) == {content["writer"]}
        return content["writer"]

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(write_and_look, range(4))) <= set(range(4))
    assert os.listdir(tmp_path) == ["file"]


# Damage


@pytest.mark.parametrize("flip", [0x01, 0xFF])
def test_every_flipped_byte_is_seen_or_harmless(file, flip):
    whole = file.read_bytes()
    messages, seen = set(), 0
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= flip
        file.write_bytes(damaged)
        try:
            found = read(file, KIND)
        except StoreError as error:
            messages.add(str(error))
            seen += 1
        else:
            assert_same(found)
    for message in messages:
        assert str(file) in message
        assert "\n" not in message
    # Only what unzipping does not look at may pass: dates, attributes, versions, spare fields.
    assert seen > 0.8 * len(whole)


@pytest.mark.parametrize("field", ["parameters", "inputs", "content"])
def test_changed_values_with_right_sums_of_zip_are_seen(file, field):
    if field == "content":
        changed = manifest(file)
        changed["content"]["step"] = 4
        forge_manifest(file, json.dumps(changed))
    else:
        array = ARRAYS[field].copy()
        array.flat[0] = 1 - array.flat[0]
        forge(file, {f"{field}.npy": npy(array)})
    with pytest.raises(StoreError, match=r"damaged: .* does not match its checksums"):
        read(file, KIND)


@pytest.mark.parametrize(
    "array",
    [
        ARRAYS["parameters"].reshape(4, 3),
        ARRAYS["parameters"].view(np.int64),
        ARRAYS["parameters"].astype(">f8"),
    ],
)
def test_changed_shapes_and_dtypes_are_seen(file, array):
    forge(file, {"parameters.npy": npy(array)})
    with pytest.raises(StoreError, match="does not match its checksums"):
        read(file, KIND)


def test_every_truncation_is_seen(file):
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises(StoreError, match="cut short"):
            read(file, KIND)


def test_missing_arrays_are_named(file):
    forge(file, {"inputs.npy": None})
    with pytest.raises(StoreError, match=r"lacks the arrays inputs$"):
        read(file, KIND)


def test_an_untouched_forgery_is_read(file):
    forge(file, {})
    assert_same(read(file, KIND))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"format": "1"}',
        '{"format": 1}',
        f'{{"format": 1, "kind": "{KIND}", "content": {{}}, "sha256": []}}',
        pytest.param("[" * 100_000, id="deep"),
    ],
)
def test_broken_manifests_are_refused(file, text):
    forge_manifest(file, text)
    with pytest.raises(StoreError, match="cut short, damaged or was not written by gpproj"):
        read(file, KIND)


def test_compressed_entries_are_refused_before_they_are_unpacked(file):
    with zipfile.ZipFile(file) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    with pytest.raises(StoreError, match="was not written by gpproj"):
        read(file, KIND)


# Other people's files


def test_another_kind_is_named(file):
    with pytest.raises(StoreError, match=f"holds a '{KIND}', not a 'saved path'"):
        read(file, "saved path")


def test_a_newer_format_is_named_before_anything_else_is_read(file):
    forge_manifest(file, '{"format": 2, "gpproj": "9.1", "kinds": ["another layout"]}')
    with pytest.raises(StoreError, match=r"written by a newer gpproj \(9.1, format 2; .* 1\)"):
        read(file, KIND)


def foreign_npz(file):
    np.savez(file, parameters=np.zeros(3))


def foreign_zip(file):
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("notes.txt", "hello")


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda file: file.write_bytes(b""), id="empty"),
        pytest.param(lambda file: file.write_text("x,y\n1,2\n" * 1_000), id="text"),
        pytest.param(lambda file: file.write_bytes(npy(np.zeros(3))), id="npy"),
        pytest.param(foreign_npz, id="npz"),
        pytest.param(foreign_zip, id="zip"),
    ],
)
def test_foreign_files_are_refused(tmp_path, make):
    file = tmp_path / "file.npz"
    make(file)
    with pytest.raises(StoreError, match="not written by gpproj") as caught:
        read(file, KIND)
    assert str(file) in str(caught.value)
    assert isinstance(caught.value, ValueError)


class Bomb:
    """Makes a folder where it is unpickled."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __reduce__(self):
        return os.mkdir, (self.folder,)


def test_pickles_are_refused_and_never_run(file, tmp_path):
    crater = tmp_path / "crater"
    objects = np.array([Bomb(crater)], dtype=object)

    foreign, plain = tmp_path / "foreign.npz", tmp_path / "plain"
    np.savez(foreign, x=objects)
    plain.write_bytes(pickle.dumps(Bomb(crater)))
    forged, sly = tmp_path / "forged", tmp_path / "sly"
    for copy in (forged, sly):
        copy.write_bytes(file.read_bytes())
    forge(forged, {"parameters.npy": npy(objects)})
    forge(sly, {MANIFEST: npy(objects)})

    for path in (foreign, plain, forged, sly):
        with pytest.raises(StoreError):
            read(path, KIND)
    assert not crater.exists()
    pickle.loads(plain.read_bytes())
    assert crater.exists()  # the bomb was live


def test_what_the_system_refuses_keeps_its_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nowhere", KIND)
    with pytest.raises(OSError, match=r"directory|denied"):
        read(tmp_path, KIND)


# Fingerprints


class Size(IntEnum):
    TWO = 2


def test_digests_tell_apart_what_differs():
    matrix = np.array([[1.0, 2.0], [3.0, 4.0]])
    scalars = [None, "", "None", 0, 0.0, -0.0, "0", False, 1, 1.0, True, math.nan, "nan", math.inf]
    lists = [[], [[]], [[], []], ["a"], ["a", "b"], ["ab"], ["a", ["b"]], [["a"], "b"], [0.0, 0.0]]
    mappings = [{}, {"a": 1}, {"a": {"b": 1}}, {"a": 1, "b": 2}, {"a": 2, "b": 1}, [{"a": 1}]]
    tagged = [["a", 1], ["list", "a", 1], ["mapping", {"a": 1}], ["mapping", ["mapping", {}]]]
    shapes = [np.zeros(shape) for shape in [(), 0, 1, 2, 4, (2, 0), (0, 2), (2, 1), (1, 2)]]
    types = [np.zeros(2, dtype) for dtype in ["f4", "c8", "i8", ">f8", "<M8[s]", "<M8[ms]", "S8"]]
    singles = [*scalars, *lists, *mappings, *tagged, *shapes, *types, matrix, matrix.T]
    several = [(), ("a", "bc"), ("ab", "c"), ([], []), ("mapping", {"a": 1}), (np.zeros(2), [])]
    different = [*((single,) for single in singles), *several]
    assert len({digest(*parts) for parts in different}) == len(different)


def test_digests_agree_where_the_values_do():
    matrix = np.arange(12.0).reshape(3, 4)
    assert digest(matrix) == digest(np.asfortranarray(matrix)) == digest(matrix.T.copy().T)
    assert digest(matrix[:, ::2]) == digest(matrix[:, ::2].copy())
    assert digest({"a": 1, "b": [2, {"c": 3, "d": 4}]}) == digest(
        MappingProxyType({"b": (2, {"d": 4, "c": 3}), "a": 1})
    )
    assert digest(np.float64(0.5), np.int32(3), np.bool_(True), np.str_("a")) == digest(
        0.5, 3, True, "a"
    )
    assert digest(Size.TWO) == digest(2)


def test_digests_are_the_same_everywhere():
    # A change here would make every checkpoint that people have one of "other data".
    parts = (np.eye(2), np.array([True]), {"b": [1, 2.5], "a": None}, "é", ("\ud800", False))
    assert digest(*parts) == ("3af604ae325726d40c647d02655ee0ec829d6eacaeab9b3fc64d9d55845a22f6")


@given(few, few)
def test_digests_are_equal_just_where_the_values_are(one, other):
    equal = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (digest(one) == digest(other)) == equal
    assert (digest(one, [other]) == digest(other, [one])) == equal
    assert digest(one, other) != digest([one, other])


@given(st.dictionaries(st.text(), values, min_size=2, max_size=4))
def test_the_order_of_a_mapping_does_not_count(mapping):
    assert digest(mapping) == digest(dict(reversed(mapping.items())))


@given(any_array.filter(lambda array: array.size > 0), st.data())
def test_every_bit_of_an_array_counts(array, data):
    other = np.ascontiguousarray(array).reshape(array.shape).copy()
    octets = other.reshape(-1).view(np.uint8)
    octets[data.draw(st.integers(0, octets.size - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert digest(other) != digest(array)


@pytest.mark.parametrize(
    "odd", [b"bytes", {1, 2}, 1j, object(), {1: 2}, {"a": {2: 3}}, np.array([None]), [Colour.RED]]
)
def test_what_has_no_digest_is_refused(odd):
    with pytest.raises(TypeError, match="got"):
        digest(1, [odd])
