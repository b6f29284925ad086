"""Folders that are whole or absent: overwriting, failures, damage, other people's files."""

from __future__ import annotations

import io
import json
import os
import pickle
import shutil
import zipfile
from hashlib import sha256

import numpy as np
import pytest

import gpproj
from gpproj import store
from gpproj.io import folder as folders
from gpproj.store import StoreError


@pytest.fixture(scope="module")
def saved(ref, path, tmp_path_factory):
    """A saved path; look, do not touch."""
    folder = tmp_path_factory.mktemp("saved") / "path"
    path.save(folder)
    return folder


@pytest.fixture
def folder(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "path")


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text())


def forge(folder, **changed):
    """Change the manifest."""
    (folder / "manifest.json").write_text(json.dumps({**manifest(folder), **changed}))


def forge_sums(folder):
    """Make the manifest agree with the files."""
    sums = {name: sha256(data).hexdigest() for name, data in contents(folder).items()}
    del sums["manifest.json"]
    forge(folder, sha256=sums)


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def test_the_manifest_says_what_there_is(saved):
    found = manifest(saved)
    assert found["format"] == folders.FORMAT == 8
    assert found["kind"] == "SearchPath"
    assert found["gpproj"] == gpproj.__version__
    assert found["summary"] == repr(gpproj.load(saved))
    assert found["sha256"] == {
        name: sha256(data).hexdigest()
        for name, data in contents(saved).items()
        if name != "manifest.json"
    }
    assert set(contents(saved)) == {"manifest.json", "reference.npz", "path.npz"}


def test_numpy_alone_reads_the_files(saved, ref):
    with np.load(saved / "reference.npz", allow_pickle=False) as held:
        np.testing.assert_array_equal(held["training_X"], ref.training.X)
        content = json.loads(held["manifest.json"].tobytes())["content"]
    found = content["GaussianProcessReference"]
    assert found["training"]["TrainingSet"]["feature_names"] == ["a", "b", "c", "d"]
    assert found["recipe"]["recipe"]["name"] == "fit"


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_others_may_read_it_as_the_umask_says(ref, tmp_path):
    (tmp_path / "plain").mkdir()
    ref.save(tmp_path / "ref")
    assert (tmp_path / "ref").stat().st_mode == (tmp_path / "plain").stat().st_mode


# Overwriting


def test_text_is_as_good_as_a_path(ref, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ref.save("ref")
    assert gpproj.load("ref").feature_names == ref.feature_names


def test_what_exists_is_refused_unless_told_otherwise(folder, ref):
    before = contents(folder)
    with pytest.raises(FileExistsError, match=r"path exists; overwrite=True"):
        ref.save(folder)
    assert contents(folder) == before
    ref.save(folder, overwrite=True)
    assert isinstance(gpproj.load(folder), gpproj.Reference)
    assert set(contents(folder)) == {"manifest.json", "reference.npz"}
    assert os.listdir(folder.parent) == ["path"]


def test_overwriting_where_nothing_is_just_writes(ref, tmp_path):
    ref.save(tmp_path / "ref", overwrite=True)
    assert os.listdir(tmp_path) == ["ref"]


def test_a_damaged_folder_and_one_of_a_newer_format_may_be_replaced(folder, ref):
    (folder / "path.npz").unlink()
    forge(folder, format=99)
    ref.save(folder, overwrite=True)
    assert isinstance(gpproj.load(folder), gpproj.Reference)


def make_file(target):
    target.write_text("mine")


def make_empty(target):
    target.mkdir()


def make_foreign(target):
    target.mkdir()
    (target / "manifest.json").write_text('{"name": "an app of the web"}')


@pytest.mark.parametrize("make", [make_file, make_empty, make_foreign])
def test_what_gpproj_has_not_saved_is_never_replaced(ref, tmp_path, make):
    target = tmp_path / "target"
    make(target)
    for overwrite in (False, True):
        with pytest.raises(FileExistsError, match="target"):
            ref.save(target, overwrite=overwrite)
    assert os.listdir(tmp_path) == ["target"]
    assert target.is_file() == (make is make_file)


def test_a_folder_that_something_was_added_to_is_not_replaced(folder, ref):
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"has not saved, notes\.txt"):
        ref.save(folder, overwrite=True)
    assert gpproj.load(folder).order  # though it is still read
    assert (folder / "notes.txt").read_text() == "mine"


def test_a_missing_folder_is_named(ref, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere"):
        ref.save(tmp_path / "nowhere" / "ref")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
def test_a_link_stays_a_link(folder, ref, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    ref.save(tmp_path / "link", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert isinstance(gpproj.load(folder), gpproj.Reference)
    assert sorted(os.listdir(tmp_path)) == ["link", "path"]


# Failures half-way


@pytest.mark.parametrize("error", [OSError("No space left"), KeyboardInterrupt()])
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_failure_between_files_leaves_nothing(
    saved, path, tmp_path, monkeypatch, after, overwrite, error
):
    target = tmp_path / "path"
    if overwrite:
        shutil.copytree(saved, target)
    before = contents(target) if overwrite else None
    write, done = folders.store.write, []

    def failing(file, *rest):
        if len(done) == after:
            raise error
        done.append(write(file, *rest))

    monkeypatch.setattr(folders.store, "write", failing)
    if after == 2:  # the files are there, and the manifest is not
        monkeypatch.setattr(folders, "_sum", lambda file: failing(file))
    with pytest.raises(type(error)):
        path.save(target, overwrite=overwrite)
    assert os.listdir(tmp_path) == (["path"] if overwrite else [])
    if overwrite:
        assert contents(target) == before


@pytest.mark.parametrize("failing", [1, 2])
def test_a_failure_while_renaming_leaves_the_old_folder(folder, ref, monkeypatch, failing):
    before, rename, calls = contents(folder), folders.Path.rename, []

    def failed(self, target):
        calls.append(target)
        if len(calls) == failing:
            raise OSError("device or resource busy")
        return rename(self, target)

    monkeypatch.setattr(folders.Path, "rename", failed)
    with pytest.raises(OSError, match="busy"):
        ref.save(folder, overwrite=True)
    assert contents(folder) == before
    assert os.listdir(folder.parent) == ["path"]


def test_the_new_folder_is_whole_before_it_has_its_name(path, tmp_path, monkeypatch):
    put, seen = folders._put, []

    def looked_at(temporary, target):
        seen.append((os.listdir(tmp_path), repr(gpproj.load(temporary))))
        put(temporary, target)

    monkeypatch.setattr(folders, "_put", looked_at)
    path.save(tmp_path / "path")
    (((hidden,), text),) = seen
    assert hidden.startswith(".gpproj-")
    assert text == repr(path)


# Damage


@pytest.mark.parametrize("name", ["manifest.json", "reference.npz", "path.npz"])
def test_truncations_are_seen(folder, name):
    whole = (folder / name).read_bytes()
    lengths = {0, 1, 4, 30, len(whole) // 4, len(whole) // 2, len(whole) - 200, len(whole) - 2}
    for length in sorted(lengths):
        (folder / name).write_bytes(whole[: max(length, 0)])
        with pytest.raises(StoreError, match=r"damaged"):
            gpproj.load(folder)


@pytest.mark.parametrize("name", ["reference.npz", "path.npz"])
def test_flipped_bytes_are_seen(folder, name):
    whole = (folder / name).read_bytes()
    for position in np.random.default_rng(0).integers(len(whole), size=30).tolist():
        damaged = bytearray(whole)
        damaged[position] ^= 0x10
        (folder / name).write_bytes(damaged)
        with pytest.raises(StoreError, match=f"{name} does not match its checksum"):
            gpproj.load(folder)


@pytest.mark.parametrize("flip", [0x01, 0xFF])
def test_every_flipped_byte_of_the_manifest_is_seen_or_harmless(folder, flip, path):
    file, refused = folder / "manifest.json", 0
    whole = file.read_bytes()
    harmless = whole.index(b'"gpproj"'), whole.index(b'"sha256"')
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= flip
        file.write_bytes(damaged)
        try:
            found = gpproj.load(folder)
        except StoreError:
            refused += 1
        else:
            assert found.order == path.order
            spaces = whole[position : position + 1].isspace()
            assert harmless[0] < position < harmless[1] or spaces
    assert refused > 0.5 * len(whole)


@pytest.mark.parametrize("name", ["reference.npz", "path.npz"])
def test_missing_files_are_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(StoreError, match=f"lacks {name}"):
        gpproj.load(folder)


def test_files_of_another_model_are_seen(folder, ref, data, tmp_path):
    other = ref.refit(data[0][:12], data[1][:12])
    other.save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "reference.npz", folder)
    with pytest.raises(StoreError, match="does not match its checksum"):
        gpproj.load(folder)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        "null",
        '{"format": "1", "kind": "SearchPath", "gpproj": "0", "sha256": {}}',
        '{"format": true, "kind": "SearchPath", "gpproj": "0", "sha256": {}}',
        '{"format": 0, "kind": "SearchPath", "gpproj": "0", "sha256": {}}',
        '{"format": 1, "kind": ["SearchPath"], "gpproj": "0", "sha256": {}}',
        '{"format": 1, "kind": "SearchPath", "gpproj": "0", "sha256": []}',
        pytest.param("[" * 100_000, id="deep"),
        pytest.param("\xff", id="latin"),
    ],
)
def test_broken_manifests_are_refused(folder, text):
    (folder / "manifest.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(StoreError, match="cut short, damaged or was not written by gpproj"):
        gpproj.load(folder)


def test_whole_files_that_make_no_sense_are_refused(folder, path):
    reference, found = (store.read(folder / f"{one}.npz", one) for one in ("reference", "path"))

    def forged(**changes):
        (held,) = reference.content.values()
        return {"GaussianProcessReference": {**held, **changes}}

    odd = [
        ("path", {**found.content, "kernel": {"Own": {}}}),
        ("path", {**found.content, "kernel": "SquaredExponential"}),
        ("path", {**found.content, "order": ["nobody"]}),
        ("path", {**found.content, "learn": "by heart"}),
        ("path", {**found.content, "criterion": "beauty"}),
        ("path", {**found.content, "better": [{"units": ["nobody"]}]}),
        ("path", {"order": []}),
        ("reference", forged(recipe={"recipe": {"name": "os.system", "settings": {}}})),
        ("reference", forged(problem={"array": "nobody"})),
        ("reference", forged(training={"Popen": {"args": "true"}})),
        ("reference", {"Sites": {"precision": 1.0, "shift": 1.0}}),
    ]
    for name, content in odd:
        arrays = {"path": found, "reference": reference}[name].arrays
        before = (folder / f"{name}.npz").read_bytes()
        store.write(folder / f"{name}.npz", name, content, arrays)
        forge_sums(folder)
        with pytest.raises(StoreError, match=r"makes no sense|damaged"):
            gpproj.load(folder)
        (folder / f"{name}.npz").write_bytes(before)
    forge_sums(folder)
    assert gpproj.load(folder).order == path.order


# Other people's folders


@pytest.mark.parametrize("number", [1, 6, 9])
def test_another_format_is_named_before_anything_else_is_read(folder, number):
    forge(folder, format=number, gpproj="9.1", kind="Something new", sha256={})
    said = rf"saved in format {number}, by gpproj 9\.1; this gpproj reads formats 7 to 8"
    with pytest.raises(StoreError, match=said):
        gpproj.load(folder)


def test_a_folder_of_another_format_may_be_replaced(folder, path):
    forge(folder, format=4)
    path.save(folder, overwrite=True)
    assert gpproj.load(folder).order == path.order


def test_another_kind_is_named(folder):
    forge(folder, kind="Estimator")
    with pytest.raises(StoreError, match="holds a 'Estimator', not one of Gaussian"):
        gpproj.load(folder)


@pytest.mark.parametrize("make", [make_file, make_empty, make_foreign])
def test_foreign_folders_are_refused(tmp_path, make):
    target = tmp_path / "target"
    make(target)
    with pytest.raises(StoreError, match=r"not (saved|written) by gpproj"):
        gpproj.load(target)


def test_a_missing_folder_keeps_its_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere"):
        gpproj.load(tmp_path / "nowhere")


class Bomb:
    """Makes a folder where it is unpickled."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __reduce__(self):
        return os.mkdir, (self.folder,)


def add_entry(file, name, data):
    with zipfile.ZipFile(file) as archive:
        entries = {one: archive.read(one) for one in archive.namelist()}
    with zipfile.ZipFile(file, "w") as archive:
        for one, held in {**entries, name: data}.items():
            archive.writestr(one, held)


@pytest.mark.parametrize("name", ["extra.npy", "training_X.npy", "manifest.json.npy"])
def test_pickles_are_refused_and_never_run(folder, tmp_path, name):
    crater = tmp_path / "crater"
    objects = np.array([Bomb(crater)], dtype=object)
    add_entry(folder / "reference.npz", name, npy(objects))
    with pytest.raises(StoreError, match="does not match its checksum"):
        gpproj.load(folder)
    forge_sums(folder)
    if name == "extra.npy":
        gpproj.load(folder)  # an entry that nobody asks for is never opened
    else:
        with pytest.raises(StoreError, match="damaged"):
            gpproj.load(folder)
    assert not crater.exists()


def test_nothing_is_unpickled(saved, monkeypatch):
    def fail(*_, **__):
        raise AssertionError("a pickle was read")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, fail)
    assert gpproj.load(saved).order
