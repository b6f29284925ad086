"""Three regressions on which searches go wrong more easily than on the paper's."""

from __future__ import annotations

from pathlib import Path

from gpproj.datasets import source
from gpproj.datasets.source import Dataset


def energy(data_dir: str | Path | None = None) -> Dataset:
    """Heating load of simulated buildings (UCI Energy efficiency), 768 x 8, target `Y1`.

    A designed experiment: few values of each input, some of them functions of others, and hardly
    any noise. The cooling load `Y2` is left out. It is read from a folder only.

    Parameters
    ----------
    data_dir : path, optional
        Folder with `energy.csv`; else the folder in `GPPROJ_DATA`.
    """
    table = source.load_table(
        "energy.csv",
        data_dir,
        source.not_downloaded("energy", "energy.csv", "Energy efficiency"),
        drop=("Y2",),
    )
    return source.split(table, "Y1")


def yacht(data_dir: str | Path | None = None) -> Dataset:
    """Resistance of sailing yachts (UCI Yacht hydrodynamics), 308 x 6, target `resistance`.

    Steep in one input, `froude`, with hardly any noise. It is read from a folder only.

    Parameters
    ----------
    data_dir : path, optional
        Folder with `yacht.csv`; else the folder in `GPPROJ_DATA`.
    """
    table = source.load_table(
        "yacht.csv", data_dir, source.not_downloaded("yacht", "yacht.csv", "Yacht Hydrodynamics")
    )
    return source.split(table, "resistance")


def parkinsons(data_dir: str | Path | None = None) -> Dataset:
    """Parkinson's disease by voice (UCI telemonitoring), 5875 x 19, target `total_UPDRS`.

    The number of the person and the other score are left out; the age nearly tells the person. It
    is read from a folder only.

    Parameters
    ----------
    data_dir : path, optional
        Folder with `parkinsons_updrs.csv`; else the folder in `GPPROJ_DATA`.
    """
    table = source.load_table(
        "parkinsons_updrs.csv",
        data_dir,
        source.not_downloaded("parkinsons", "parkinsons_updrs.csv", "Parkinsons Telemonitoring"),
        drop=("subject#", "motor_UPDRS"),
    )
    return source.split(table, "total_UPDRS")
