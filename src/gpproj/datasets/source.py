"""Tables from a folder or from OpenML, with checks that they are the right ones."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gpproj.datasets.encoding import floats

# sha256 of the files that a folder may hold.
FILE_CHECKSUMS = {
    "boston.csv": "b9f88f3463a208dadd78546f0fb9ddacfa4897b4c92dd1b8269734f000fe377c",
    "automobile_p38_n193.csv": "4ef588feeb104e1e8c05c83423d3f9addc4c64a984f9275f92df99ebf8e73cd0",
    "crime_p102_n1992.csv": "8d1b0c1c4c27eb6aac0e981dd3969ef5d3ceae238074d1d315a95e49157ee44a",
    "heart_statlog.csv": "c9808f823ef39189d83abd231511c75e5b2da0cd6ce6c67e83e819cb8429195a",
    "pima.csv": "106308938972a63b288414947915414187f95fc8e286980ad70da7ef9fa6f14e",
    "bike_day.csv": "537e98e2c8b8f53e3094d953f847788b1dc224764a4a1e538b3e1ec4e30dac8a",
    "energy.csv": "bb7692db16414c0a1af5c116c4930da74f8a6e110cbec98774e41d191e96a44b",
    "yacht.csv": "aa2ea78051c6ecf444f2d1a7b8b030083059997ba91ddf729334a2194f453c6f",
    "parkinsons_updrs.csv": "f2c7d5025dec4e92e7feae367a5f7ccf58789a10ac6b54bdf15976c599f9dd39",
}

# `content_checksum` of the same tables, for data that come as numbers and not as these files.
CONTENT_CHECKSUMS = {
    "boston.csv": "5961a651d09e055b25ec65ad71458917211a4210da1b4fe2707845dd9e583343",
    "automobile_p38_n193.csv": "6f10cf5e5ff301d66711d06bff4c46dfd4e44a35d0463aefa4f00eca28d4beeb",
    "heart_statlog.csv": "7bee339569b46e8ca6da6592e46aba3219141b579d66730f47018df92bc1ceb2",
    "pima.csv": "72e480e3018aff79b9be475312826d1918476e4504e77f633a44d42687f8a921",
}


class Dataset(NamedTuple):
    """Inputs and target, to be unpacked as `X, y`."""

    X: Any
    """(n, d): an array for generated data, otherwise a pandas frame with column names."""
    y: Any
    """(n,): an array or a pandas series."""


def load(
    file: str,
    target: str,
    data_dir: str | Path | None,
    download: Callable[[], Any],
    drop: Sequence[str] = (),
) -> Dataset:
    """Return a table from a folder, or from a download where no folder is named; verified.

    Parameters
    ----------
    file : str
        Name of the table's file.
    target : str
        Name of the target's column.
    data_dir : path or None
        Folder; None stands for the one in the environment variable `GPPROJ_DATA`.
    download : callable
        Function that returns the same table where there is no folder.
    drop : sequence of str
        Columns of the file that are left out; they need not be numbers.
    """
    folder = data_dir or os.environ.get("GPPROJ_DATA")
    if folder:
        table = read_table(Path(folder).expanduser(), file, drop)
    else:
        table = verified(download(), file)
    return Dataset(table.drop(columns=target), table[target])


def from_uci(
    file: str,
    target: str,
    data_dir: str | Path | None,
    title: str,
    drop: Sequence[str] = (),
) -> Dataset:
    """Return a table as `load` does, or say where its file comes from: it is not downloaded.

    `title` is that of the data set in the UCI Machine Learning Repository.
    """

    def refuse() -> Any:
        raise FileNotFoundError(
            f"{title} is not downloaded: pass the folder that holds {file} as data_dir, or set "
            f"GPPROJ_DATA to it; the file is derived from {title!r} of the UCI Machine Learning "
            "Repository"
        )

    return load(file, target, data_dir, refuse, drop)


def read_table(folder: Path, file: str, drop: Sequence[str] = ()) -> Any:
    """Read a known file in float64, after comparing its sha256."""
    import pandas as pd

    path = folder / file
    if not path.is_file():
        raise FileNotFoundError(
            f"no file {file} in the folder {folder}, which comes from data_dir or GPPROJ_DATA"
        )
    content = path.read_bytes()
    seen, expected = hashlib.sha256(content).hexdigest(), FILE_CHECKSUMS[file]
    if seen != expected:
        raise ValueError(
            f"{path} is not the file it should be: its sha256 is {seen}, expected {expected}"
        )
    # As text first: not every version of pandas reads decimals to the last bit by itself.
    return floats(pd.read_csv(io.BytesIO(content), dtype=str).drop(columns=list(drop)))


def download(data_id: int) -> Any:
    """Return inputs and target of an OpenML data set in one frame; scikit-learn keeps a copy."""
    from sklearn.datasets import fetch_openml

    # The other parser of scikit-learn 1.9 fails on categories of integers with pandas 3.1.
    return fetch_openml(data_id=data_id, as_frame=True, parser="liac-arff").frame


def verified(table: Any, file: str) -> Any:
    """Return the table itself, if its numbers are those of a known file."""
    seen, expected = content_checksum(table), CONTENT_CHECKSUMS[file]
    if seen != expected:
        raise ValueError(
            f"the download is not the table of {file}: its checksum is {seen}, expected {expected} "
            f"(shape {table.shape}); pass a folder with {file} as data_dir instead"
        )
    return table


def content_checksum(table: Any) -> str:
    """Return a checksum of names and numbers, the same for every way of writing the same table.

    Numbers count to five significant digits, so that text, ARFF and binary copies agree.

    Parameters
    ----------
    table : pandas frame

    Returns
    -------
    str
        sha256 in hexadecimal.

    Examples
    --------
    >>> import pandas as pd
    >>> a, b = pd.DataFrame({"x": [0.1, 2]}), pd.DataFrame({"x": [0.1 + 1e-12, 2.0]})
    >>> content_checksum(a) == content_checksum(b)
    True
    """
    # Adding zero turns a negative zero into zero.
    rows = (",".join(f"{cell + 0.0:.5g}" for cell in row) for row in table.to_numpy(dtype=float))
    text = "\n".join([",".join(table.columns), *rows])
    return hashlib.sha256(text.encode()).hexdigest()
