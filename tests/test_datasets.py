from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad

from gpproj import datasets
from gpproj.datasets import source
from gpproj.datasets.toy import TOY_FREQUENCY

LOADERS = {
    "boston.csv": (datasets.boston, (506, 13), "medv"),
    "automobile_p38_n193.csv": (datasets.automobile, (193, 38), "price"),
    "crime_p102_n1992.csv": (datasets.crime, (1992, 102), "log ViolentCrimesPerPop"),
    "heart_statlog.csv": (datasets.heart, (270, 13), "class"),
    "pima.csv": (datasets.pima, (768, 8), "class"),
    "bike_day.csv": (datasets.bike, (731, 11), "cnt"),
}
WHOLE = ("heart_statlog.csv", "pima.csv", "bike_day.csv")


@pytest.fixture(autouse=True)
def no_folder_in_the_environment(monkeypatch):
    monkeypatch.delenv("GPPROJ_DATA", raising=False)


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError(f"tests must not download: {args} {kwargs}")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuse)


# Toy example


def test_toy_frequencies_are_evenly_spaced():
    assert_allclose(TOY_FREQUENCY[[0, -1]], [np.pi / 10, np.pi])
    assert_allclose(np.diff(TOY_FREQUENCY), 9 * np.pi / 70)


@pytest.mark.parametrize("j", range(8))
def test_toy_functions_have_mean_zero_and_unit_variance(j):
    def latent(x):
        return datasets.toy_functions(np.full((1, 8), x))[0, j]

    mean = quad(lambda x: latent(x) / 2, -1, 1)[0]
    variance = quad(lambda x: latent(x) ** 2 / 2, -1, 1)[0]
    assert mean == pytest.approx(0.0, abs=1e-12)
    assert variance == pytest.approx(1.0, rel=1e-10)


def test_toy_functions_are_sines_of_their_own_input():
    X = np.random.default_rng(0).uniform(-1, 1, size=(5, 8))
    values = datasets.toy_functions(X)
    ratio = values / np.sin(TOY_FREQUENCY * X)
    assert_allclose(ratio, np.broadcast_to(ratio[0], ratio.shape))
    X[:, 3] = 0.0
    changed = datasets.toy_functions(X)
    assert_array_equal(changed[:, 3], 0.0)
    assert_array_equal(np.delete(changed, 3, axis=1), np.delete(values, 3, axis=1))


def test_toy_sines_is_functions_plus_noise():
    X, y = datasets.toy_sines(n=20_000, random_state=5)
    assert X.shape == (20_000, 8)
    assert y.shape == (20_000,)
    assert np.abs(X).max() <= 1
    assert_allclose(X.mean(0), 0.0, atol=0.02)
    assert_allclose(X.var(0), 1 / 3, rtol=0.03)
    noise = y - datasets.toy_functions(X).sum(axis=1)
    assert noise.std() == pytest.approx(0.3, rel=0.03)
    assert noise.mean() == pytest.approx(0.0, abs=0.01)
    assert_allclose(np.corrcoef(noise, X.T)[0, 1:], 0.0, atol=0.03)
    assert y.var() == pytest.approx(8.09, rel=0.05)


def test_toy_sines_defaults_and_type():
    data = datasets.toy_sines()
    assert isinstance(data, datasets.Dataset)
    assert data._fields == ("X", "y")
    assert data.X.shape == (300, 8)


def test_toy_sines_follows_its_random_state():
    first, again = (datasets.toy_sines(20, random_state=7) for _ in range(2))
    assert_array_equal(first.X, again.X)
    assert_array_equal(first.y, again.y)
    same = datasets.toy_sines(20, random_state=np.random.default_rng(7))
    assert_array_equal(first.y, same.y)
    assert_array_equal(first.y, datasets.toy_sines(20, random_state=np.int64(7)).y)
    assert not np.array_equal(first.y, datasets.toy_sines(20, random_state=8).y)
    random = np.random.default_rng(7)
    datasets.toy_sines(20, random_state=random)
    assert not np.array_equal(first.y, datasets.toy_sines(20, random_state=random).y)
    assert not np.array_equal(datasets.toy_sines(20).y, datasets.toy_sines(20).y)


@pytest.mark.parametrize("random_state", [-1, 1.5, "seed", True, np.random.RandomState])
def test_bad_random_state(random_state):
    with pytest.raises(ValueError, match="random_state must be None, a non-negative integer or"):
        datasets.toy_sines(5, random_state=random_state)


@pytest.mark.parametrize("n", [0, -3, 2.0, True, "10"])
def test_bad_number_of_rows(n):
    with pytest.raises(ValueError, match="n must be a positive integer; saw"):
        datasets.toy_sines(n)


@pytest.mark.parametrize("X", [np.zeros(8), np.zeros((2, 7)), np.zeros((2, 9))])
def test_bad_toy_inputs(X):
    with pytest.raises(ValueError, match=r"X must have shape \(n, 8\); saw"):
        datasets.toy_functions(X)


# Embedded sets


def test_diabetes():
    X, y = datasets.diabetes()
    assert isinstance(X, pd.DataFrame)
    assert isinstance(y, pd.Series)
    assert X.shape == (442, 10)
    assert y.shape == (442,)
    # In their own units: years, and the two codes of sex.
    assert X["age"].between(19, 79).all()
    assert set(X["sex"]) == {1.0, 2.0}


def test_breast_cancer():
    X, y = datasets.breast_cancer()
    assert isinstance(X, pd.DataFrame)
    assert isinstance(y, pd.Series)
    assert X.shape == (569, 30)
    assert y.value_counts().to_dict() == {1: 357, 0: 212}


# Files


@pytest.mark.parametrize("file", LOADERS)
@pytest.mark.parametrize("way", ["argument", "text", "environment"])
def test_files_are_read(file, way, data_dir, monkeypatch):
    loader, shape, target = LOADERS[file]
    if way == "environment":
        monkeypatch.setenv("GPPROJ_DATA", str(data_dir))
    data = (
        loader() if way == "environment" else loader(str(data_dir) if way == "text" else data_dir)
    )
    assert isinstance(data, datasets.Dataset)
    assert isinstance(data.X, pd.DataFrame)
    assert isinstance(data.y, pd.Series)
    assert data.X.shape == shape
    assert data.y.shape == shape[:1]
    assert data.y.name == target
    assert (data.X.dtypes == np.float64).all()
    assert data.y.dtype == (np.int64 if file in WHOLE else np.float64)
    assert data.X.columns.is_unique
    assert np.isfinite(data.X.to_numpy()).all()
    assert np.isfinite(data.y).all()


def test_boston_values(data_dir):
    X, y = datasets.boston(data_dir)
    assert list(X.columns[:3]) == ["crim", "zn", "indus"]
    assert X.loc[0, "crim"] == 0.00632
    assert y.iloc[0] == 24.0


def test_the_target_of_crime_is_the_log_rate(data_dir):
    X, y = datasets.crime(data_dir)
    raw = pd.read_csv(data_dir / "crime_p102_n1992.csv")
    assert_allclose(np.exp(y), raw["ViolentCrimesPerPop"])
    assert "ViolentCrimesPerPop" not in X


def test_heart_keeps_the_labels_of_its_file(data_dir):
    X, y = datasets.heart(data_dir)
    assert y.value_counts().to_dict() == {1: 150, 2: 120}
    assert y.head(3).tolist() == [2, 1, 2]
    assert X.loc[0, ["age", "oldpeak", "thal"]].tolist() == [70.0, 2.4, 3.0]


def test_zeros_that_stand_for_missing_values_are_kept(data_dir):
    X, y = datasets.pima(data_dir)
    measured = ["glucose", "blood_pressure", "skin_thickness", "insulin", "bmi"]
    assert (X[measured] == 0.0).sum().tolist() == [5, 35, 227, 374, 11]
    assert y.value_counts().to_dict() == {0: 500, 1: 268}


def test_bike_leaves_out_what_sums_to_its_target(data_dir):
    X, y = datasets.bike(data_dir)
    raw = pd.read_csv(data_dir / "bike_day.csv")
    assert_array_equal(y, raw["casual"] + raw["registered"])
    dropped = ["instant", "dteday", "casual", "registered", "cnt"]
    assert list(X) == [name for name in raw if name not in dropped]
    assert_array_equal(X["windspeed"], raw["windspeed"])


@pytest.mark.parametrize("file", LOADERS)
def test_a_missing_file_is_named(file, tmp_path):
    with pytest.raises(FileNotFoundError, match=f"no file {file} in the folder .*data_dir"):
        LOADERS[file][0](tmp_path)


@pytest.mark.parametrize("file", LOADERS)
def test_a_changed_file_is_refused(file, tmp_path):
    (tmp_path / file).write_text("a,b\n1,2\n")
    with pytest.raises(
        ValueError, match=rf"{file} is not the file it should be: its sha256 is \w+"
    ):
        LOADERS[file][0](tmp_path)


def test_the_argument_goes_before_the_environment(tmp_path, data_dir, monkeypatch):
    monkeypatch.setenv("GPPROJ_DATA", str(tmp_path))
    assert datasets.boston(data_dir).X.shape == (506, 13)
    with pytest.raises(FileNotFoundError):
        datasets.boston()


# Downloads, with OpenML replaced by tables of the same form


def openml_boston(data_dir):
    """OpenML's form: other names, and two inputs that are categories of strings."""
    table = pd.read_csv(data_dir / "boston.csv")
    table.columns = [name.upper() for name in table.columns]
    table = table.rename(columns={"BLACK": "B"})
    for name in ("CHAS", "RAD"):
        table[name] = table[name].astype(int).astype(str).astype("category")
    return table


def openml_autos(data_dir, risk="symboling"):
    """OpenML's form: numbers parsed, missing cells NaN, categories, the risk rating last."""
    raw = pd.read_csv(data_dir / "automobile.csv", na_values="?")
    text = [name for name in raw.columns if not pd.api.types.is_numeric_dtype(raw[name])]
    for name in (*text, "symboling"):
        kept = raw[name].dropna().index
        raw[name] = raw.loc[kept, name].astype(str).astype("category").reindex(raw.index)
    raw[risk] = raw.pop("symboling")
    return raw


def openml_heart(data_dir):
    """OpenML's form: long names, and classes in words."""
    names = {
        "cp": "chest",
        "trestbps": "resting_blood_pressure",
        "chol": "serum_cholestoral",
        "fbs": "fasting_blood_sugar",
        "restecg": "resting_electrocardiographic_results",
        "thalach": "maximum_heart_rate_achieved",
        "exang": "exercise_induced_angina",
        "ca": "number_of_major_vessels",
    }
    table = pd.read_csv(data_dir / "heart_statlog.csv").rename(columns=names)
    words = table["class"].map({1: "absent", 2: "present"})
    return table.assign(**{"class": words.astype("category")})


def openml_pima(data_dir):
    """OpenML's form: short names, and classes in words."""
    table = pd.read_csv(data_dir / "pima.csv")
    table.columns = ["preg", "plas", "pres", "skin", "insu", "mass", "pedi", "age", "class"]
    words = table["class"].map({0: "tested_negative", 1: "tested_positive"})
    return table.assign(**{"class": words.astype("category")})


def serve(monkeypatch, expected_id, table):
    asked = []

    def download(data_id):
        asked.append(data_id)
        assert data_id == expected_id
        return table

    monkeypatch.setattr(source, "download", download)
    return asked


def test_boston_is_rebuilt_from_openml(data_dir, monkeypatch):
    asked = serve(monkeypatch, 531, openml_boston(data_dir))
    downloaded, read = datasets.boston(), datasets.boston(data_dir)
    assert asked == [531]
    pd.testing.assert_frame_equal(downloaded.X, read.X, check_exact=True)
    pd.testing.assert_series_equal(downloaded.y, read.y, check_exact=True)


@pytest.mark.parametrize("risk", ["symboling", "class"])
def test_automobile_is_rebuilt_from_openml(risk, data_dir, monkeypatch):
    asked = serve(monkeypatch, 9, openml_autos(data_dir, risk))
    downloaded, read = datasets.automobile(), datasets.automobile(data_dir)
    assert asked == [9]
    pd.testing.assert_frame_equal(downloaded.X, read.X, check_exact=True)
    pd.testing.assert_series_equal(downloaded.y, read.y, check_exact=True)


@pytest.mark.parametrize(
    ("loader", "data_id", "openml"),
    [(datasets.heart, 53, openml_heart), (datasets.pima, 37, openml_pima)],
    ids=["heart", "pima"],
)
def test_classes_are_rebuilt_from_openml(loader, data_id, openml, data_dir, monkeypatch):
    asked = serve(monkeypatch, data_id, openml(data_dir))
    downloaded, read = loader(), loader(data_dir)
    assert asked == [data_id]
    pd.testing.assert_frame_equal(downloaded.X, read.X, check_exact=True)
    pd.testing.assert_series_equal(downloaded.y, read.y, check_exact=True)


def test_a_class_under_another_name_is_refused(data_dir, monkeypatch):
    table = openml_heart(data_dir)
    table["class"] = table["class"].cat.rename_categories({"present": "severe"})
    serve(monkeypatch, 53, table)
    with pytest.raises(ValueError, match=r"download is not the table of heart_statlog\.csv"):
        datasets.heart()


def test_the_encoding_reproduces_the_derived_file(data_dir):
    raw = pd.read_csv(data_dir / "automobile.csv", dtype=str, keep_default_na=False)
    derived = pd.read_csv(data_dir / "automobile_p38_n193.csv", dtype=str).astype(float)
    pd.testing.assert_frame_equal(datasets.automobile_table(raw), derived, check_exact=True)


def test_the_encoding_drops_a_column_that_says_the_same(data_dir):
    raw = pd.read_csv(data_dir / "automobile.csv", dtype=str, keep_default_na=False)
    complete = raw[~(raw.drop(columns="normalized-losses") == "?").any(axis=1)]
    assert len(complete) == 193
    assert ((complete["fuel-system"] == "idi") == (complete["fuel-type"] == "diesel")).all()
    assert not datasets.automobile_table(raw).T.duplicated().any()


def test_a_changed_download_is_refused(data_dir, monkeypatch):
    table = openml_boston(data_dir)
    table.loc[17, "TAX"] += 1
    serve(monkeypatch, 531, table)
    with pytest.raises(ValueError, match=r"download is not the table of boston\.csv.*as data_dir"):
        datasets.boston()


def test_rows_in_another_order_are_refused(data_dir, monkeypatch):
    serve(monkeypatch, 531, openml_boston(data_dir)[::-1])
    with pytest.raises(ValueError, match=r"download is not the table of boston\.csv"):
        datasets.boston()


def test_crime_is_not_downloaded():
    with pytest.raises(
        FileNotFoundError,
        match=r"crime_p102_n1992\.csv as data_dir.*Communities and Crime Unnormalized.*UCI",
    ):
        datasets.crime()


def test_bike_is_not_downloaded():
    with pytest.raises(
        FileNotFoundError, match=r"bike_day\.csv as data_dir.*'Bike Sharing' of the UCI"
    ):
        datasets.bike()


def test_downloads_ask_scikit_learn_for_a_frame(monkeypatch):
    asked = {}

    class Bunch:
        frame = "table"

    def fetch_openml(**options):
        asked.update(options)
        return Bunch

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    assert source.download(531) == "table"
    assert asked == {"data_id": 531, "as_frame": True, "parser": "liac-arff"}


@pytest.mark.parametrize("file", source.CONTENT_CHECKSUMS)
def test_content_checksums_are_those_of_the_files(file, data_dir):
    table = pd.read_csv(data_dir / file)
    assert source.content_checksum(table) == source.CONTENT_CHECKSUMS[file]


def test_content_checksums_see_names_order_and_digits():
    table = pd.DataFrame({"a": [1.0, 2.5], "b": [0.0, 3.0]})
    same = source.content_checksum(table)
    assert source.content_checksum(table * (1 + 1e-9)) == same
    assert source.content_checksum(pd.DataFrame({"a": [1.0, 2.5], "b": [-0.0, 3.0]})) == same
    assert source.content_checksum(table.astype(object)) == same
    for other in (
        table[["b", "a"]],
        table[::-1],
        table.rename(columns={"a": "c"}),
        table * (1 + 1e-3),
    ):
        assert source.content_checksum(other) != same


def test_heavy_libraries_wait_until_they_are_needed():
    code = (
        "import sys, gpproj.datasets as d; d.toy_sines(3); "
        "print({'pandas', 'sklearn', 'matplotlib'} & set(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"
