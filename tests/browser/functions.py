"""Functions that the pipelines of these tests call."""

import os
from pathlib import Path

from pyspark.sql import DataFrame

STAGING = "SHOWN_STAGING_ROOT"
"""The variable that names the staging root to the function; a function of a pipeline is not told it."""


def fails_once_and_loses_its_input(frame: DataFrame) -> DataFrame:
    """On the first call ever, delete what this run has staged and fail; on any other call, return the rows."""
    staged = list(Path(os.environ[STAGING]).glob("recovered/**/*.parquet"))
    called = Path(os.environ[STAGING]) / "called"
    if not called.exists():
        called.touch()
        for file in staged:
            file.unlink()
        raise ConnectionError("the disk of the stage went away")
    return frame
