"""Staging without Spark; the log is printed as programs print it, since tests look at it."""

from collections.abc import Iterator

import pytest

from tests.harness.shown_log import shown_log


@pytest.fixture(autouse=True)
def as_programs_print() -> Iterator[None]:
    """Print the package's log."""
    with shown_log():
        yield
