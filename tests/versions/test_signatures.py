"""Each supported Spark has the classes and methods that our modules call in its JVM (used.txt).

A newer Spark may take away what is private, and the first pipeline would find that. Here its jars are read.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.versions.class_files import CONSTRUCTOR, Jars
from tests.versions.recording import INSTALLED, USED

pytestmark = pytest.mark.versions

OTHERS = Path(__file__).with_name("jars")
"""Made by Maven (pom.xml), a folder for each version."""
FOLDERS = {"4.1": OTHERS / "4.1.3", "4.2": OTHERS / "4.2.0", "installed": INSTALLED}
CATALYST = "org.apache.spark.sql.catalyst"
SOURCES = "org.apache.spark.sql.execution.datasources"
ASKED = {
    (f"{CATALYST}.trees.TreePattern", "CAST_TO_TIMESTAMP", 0),
    (f"{CATALYST}.expressions.Cast", "isTimeToTimestampNTZ", 2),
    (f"{CATALYST}.expressions.Cast", "isTimeToTimestampLTZ", 2),
    (f"{CATALYST}.expressions.MakeTimestampLTZ", CONSTRUCTOR, 3),
    (f"{SOURCES}.DataSource", CONSTRUCTOR, 9),
    (f"{SOURCES}.DataSource$", "apply$default$9", 0),
    (f"{SOURCES}.FileFormatWriter$", "write", 12),
    (f"{SOURCES}.FileFormatWriter$", "write$default$12", 0),
    (f"{SOURCES}.orc.OrcUtils", "readSchema", 4),
    (f"{SOURCES}.orc.OrcUtils", "readSchema$default$4", 0),
}
"""What only some versions have: spark_internals/versions.py asks for it."""


@pytest.fixture(scope="module", params=FOLDERS)
def jars(request: pytest.FixtureRequest) -> Jars:
    return Jars(FOLDERS[request.param])


def used() -> list[tuple[str, str, int]]:
    lines = [line.split() for line in USED.read_text().splitlines()]
    return [(name, method, int(arguments)) for name, method, arguments in lines]


def test_a_version_has_all_that_is_called(jars: Jars) -> None:
    calls = set(used()) - ASKED
    assert len(calls) > 150
    assert [call for call in sorted(calls) if not jars.has(*call)] == []


def test_what_only_some_versions_have_is_seen() -> None:
    old, new = Jars(FOLDERS["4.1"]), Jars(FOLDERS["installed"])
    assert [call for call in ASKED if old.has(*call)] == []
    assert [call for call in ASKED if not new.has(*call)] == []
    assert old.has(f"{SOURCES}.DataSource", CONSTRUCTOR, 8)
    assert old.has(f"{SOURCES}.FileFormatWriter$", "write", 11)
    assert old.has(f"{SOURCES}.orc.OrcUtils", "readSchema", 3)
    assert old.has(f"{CATALYST}.plans.logical.Project", "containsPattern", 1), "it is inherited"


def test_the_calls_that_differ_are_used() -> None:
    assert set(used()) >= ASKED
